"""Clouds without sweeps: survey tiles, COPC files and scans as logs, read piece by piece."""
