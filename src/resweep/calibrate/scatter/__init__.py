"""How the sensor of a log scatters about what its world predicts: intensities, ranges, and beams that are lost."""
