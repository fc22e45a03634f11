"""Titles of the rows and columns of `Report.placements`."""

from __future__ import annotations

PLACEMENT_TITLE = "by where held-out sweeps are placed, and what stands for a return"
PLACEMENT_RETURNS = {"most_likely": "most likely return", "drawn": "drawn return"}
PLACEMENT_FIGURES = {"range_median_m": "median error, m", "within_0.10m": "within 10 cm"}
