"""Figures as people read them."""

from __future__ import annotations

import math


def format_value(value: float | None, missing: str = "–") -> str:
    """A value for people: four significant digits, whole numbers without decimals, ``missing`` for None."""
    if value is None:
        return missing
    if value == int(value) and abs(value) < 1e15:
        return f"{int(value):,}"
    digits = max(0, 3 - math.floor(math.log10(abs(value))))
    return f"{value:,.{min(digits, 6)}f}" if abs(value) >= 1e-4 else f"{value:.2e}"
