"""Models learned from recordings: dropped beams and intensities (D, 4.2), and the class of each point (C, 3.2)."""
