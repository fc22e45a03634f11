"""Geometry where nothing was recorded, extrapolated from what lies around. All of it is marked."""
