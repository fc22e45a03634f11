"""Permeable volumes from a map and its beams (paper A)."""
