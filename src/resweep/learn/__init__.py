"""What recordings teach of their sensor: which beams do not return, and how bright returns are (D, 4.2)."""
