"""The map of a campaign: success over two of its parameters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

_GOOD, _BAD, _INK = "#2f855a", "#c53030", "#1f2a37"
_NAMES = {"speed_mps": "speed of the ego (m/s)", "trigger_s": "time at which the hidden car turns (s)"}


def draw_success(rows: Sequence[dict[str, Any]], x: str = "speed_mps", y: str = "trigger_s") -> Figure:
    """A dot for each case: green with its least distance where it succeeded, a red cross where not."""
    made = Figure(figsize=(7.6, 5.2), layout="constrained")
    axis = made.subplots()
    good = [row for row in rows if row["success"]]
    bad = [row for row in rows if not row["success"]]
    gaps = np.array([min(10.0, row["min_distance_m"] or 10.0) for row in good])
    axis.scatter(
        [row[x] for row in good], [row[y] for row in good], s=20 + 12 * gaps, color=_GOOD, alpha=0.75, linewidths=0,
        label=f"no collision: {len(good)}",
    )  # fmt: skip
    axis.scatter([row[x] for row in bad], [row[y] for row in bad], s=70, marker="x", color=_BAD, linewidths=2,
                 label=f"collision: {len(bad)}")  # fmt: skip
    axis.set_xlabel(_NAMES.get(x, x), fontsize=9)
    axis.set_ylabel(_NAMES.get(y, y), fontsize=9)
    axis.set_title(
        f"{len(good)} of {len(rows)} cases without a collision; larger dots: more distance", fontsize=10, color=_INK
    )
    axis.grid(True, color="#d9dee5", linewidth=0.6)
    axis.set_axisbelow(True)
    axis.margins(0.08)
    made.legend(loc="outside lower center", ncols=2, fontsize=9, frameon=False)
    return made
