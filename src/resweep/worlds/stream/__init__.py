"""Worlds that are read tile by tile while they are traced."""
