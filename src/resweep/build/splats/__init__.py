"""Splats over the surfaces of a map (papers C and D)."""
