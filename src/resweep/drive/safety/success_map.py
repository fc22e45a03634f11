"""The map of a campaign: success over two of its parameters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

_GOOD, _BAD, _LOST, _INK = "#2f855a", "#c53030", "#718096", "#1f2a37"
_NAMES = {"speed_mps": "speed of the ego (m/s)", "trigger_s": "time at which the hidden car turns (s)"}


def draw_success(rows: Sequence[dict[str, Any]], x: str = "speed_mps", y: str = "trigger_s") -> Figure:
    """A dot for each case: green where it succeeded, larger the more distance was left to the watched actor.

    A red cross is a failure, a grey one a failure that no braking from the first sight on could have avoided.
    """
    figure = Figure(figsize=(7.6, 5.2), layout="constrained")
    axis = figure.subplots()
    good = [row for row in rows if row["success"]]
    bad = [row for row in rows if not row["success"]]
    gaps = np.array([10.0 if row["min_distance_m"] is None else min(10.0, row["min_distance_m"]) for row in good])
    axis.scatter(
        [row[x] for row in good], [row[y] for row in good], s=20 + 12 * gaps, color=_GOOD, alpha=0.75, linewidths=0,
        label=f"success: {len(good)}",
    )  # fmt: skip
    for colour, name, chosen in (
        (_BAD, "failure", [row for row in bad if row.get("avoidable") is not False]),
        (_LOST, "failure, unavoidable from the first sight on", [row for row in bad if row.get("avoidable") is False]),
    ):
        axis.scatter(
            [row[x] for row in chosen], [row[y] for row in chosen], s=70, marker="x", color=colour, linewidths=2,
            label=f"{name}: {len(chosen)}",
        )  # fmt: skip
    axis.set_xlabel(_NAMES.get(x, x), fontsize=9)
    axis.set_ylabel(_NAMES.get(y, y), fontsize=9)
    axis.set_title(
        f"{len(good)} of {len(rows)} cases succeed; larger dots: more distance to the car", fontsize=10, color=_INK
    )
    axis.grid(True, color="#d9dee5", linewidth=0.6)
    axis.set_axisbelow(True)
    axis.margins(0.08)
    figure.legend(loc="outside lower center", ncols=3, fontsize=9, frameon=False)
    return figure
