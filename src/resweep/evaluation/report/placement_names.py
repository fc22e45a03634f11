"""Titles of the rows and columns of `Report.placements`."""

from __future__ import annotations

PLACEMENT_TITLE = "by placement of the held-out sweep, and kind of return"
PLACEMENT_RETURNS = {"drawn": "drawn", "most_likely": "most likely"}
PLACEMENT_FIGURES = {"range_median_m": "median, m", "within_0.10m": "within 10 cm"}
