"""Worlds of a sensor that stood still and fired the same directions again and again (paper A, section V-A)."""
