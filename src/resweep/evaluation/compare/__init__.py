"""Simulated sweeps against real ones."""
