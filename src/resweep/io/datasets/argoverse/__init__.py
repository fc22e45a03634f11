"""Argoverse 1 and 2: logs, and the Arrow files that hold the second."""
