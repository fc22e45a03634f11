"""Splats and permeable volumes in one world (papers A and C)."""
