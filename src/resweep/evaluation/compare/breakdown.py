"""Where the errors are: by range, by place on the ground, and by the confidence that the simulation stated.

Like `MetricSums` these are sums over beams, which add up over sweeps.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from resweep.evaluation.compare.beam_comparison import ComparedBeams, Match, find_first_returns
from resweep.pose import Array
from resweep.sweep import Sweep

RANGE_EDGES_M = (0.0, 5.0, 10.0, 20.0, 30.0, 50.0, 80.0, np.inf)
RIGHT_M = 0.10  # a range is right within this, as in recovered_0.10m
CELL_M = 1.0  # of the ground, before cells are joined
CELLS_MAX = 4000  # that a report keeps
CONFIDENCE_BINS = 10
_BINS = len(RANGE_EDGES_M) - 1
_RANGE_COLUMNS = ("returned", "both", "right", "error", "surplus")
_CELL_COLUMNS = 2  # beams that truly returned, and those of them that are right


def _make_ranges() -> Array:
    return np.zeros((_BINS, len(_RANGE_COLUMNS)))


def _make_confidence() -> Array:
    return np.zeros((CONFIDENCE_BINS, 3))


@dataclass
class Breakdown:
    """Sums of matched beams: ``ranges`` (bins, 5) by `RANGE_EDGES_M`, ``cells`` of the ground, ``confidence`` (10, 3).

    Columns of ``ranges``: beams that truly returned, returned in both, right to `RIGHT_M`, absolute errors in metres;
    all of these by true range; and, by simulated range, beams that only the simulation returned. ``cells`` maps
    (x, y) in steps of `CELL_M` in the world to beams that truly returned there and those of them that are right.
    Columns of ``confidence``: simulated returns, sum of their confidence, how many are right.
    """

    ranges: Array = field(default_factory=_make_ranges)
    cells: dict[tuple[int, int], Array] = field(default_factory=dict)
    confidence: Array = field(default_factory=_make_confidence)

    def add(self, other: Breakdown) -> None:
        """Add the sums of another sweep."""
        self.ranges += other.ranges
        self.confidence += other.confidence
        for cell, counts in other.cells.items():
            known = self.cells.get(cell)
            self.cells[cell] = counts if known is None else known + counts

    def by_range(self) -> list[dict[str, float | None]]:
        """Figures by true range, nearest first; bins without any beam are left out."""
        rows = []
        for at, (returned, both, right, error, surplus) in enumerate(self.ranges.tolist()):
            if not returned and not surplus:
                continue
            high = RANGE_EDGES_M[at + 1]
            rows.append(
                {
                    "from_m": RANGE_EDGES_M[at],
                    "to_m": high if np.isfinite(high) else None,
                    "beams": int(returned),
                    "range_mean_m": error / both if both else None,
                    "recovered_0.10m": right / returned if returned else None,
                    "return_recall": both / returned if returned else None,
                    "surplus": int(surplus),
                }
            )
        return rows

    def ground(self, cells_max: int = CELLS_MAX) -> dict[str, Any]:
        """The map of what is right: ``cell_m``, and by cell ``x_m``, ``y_m`` of its corner, ``beams``, ``right``.

        Cells are joined by fours until at most ``cells_max`` are left, which gives their size.
        """
        cells, size = self.cells, CELL_M
        while len(cells) > cells_max:
            joined: dict[tuple[int, int], Array] = {}
            for (x, y), counts in cells.items():
                cell = (x // 2, y // 2)
                joined[cell] = joined[cell] + counts if cell in joined else counts
            cells, size = joined, 2 * size
        if not cells:
            return {}
        places = sorted(cells)
        return {
            "cell_m": size,
            "x_m": [x * size for x, _ in places],
            "y_m": [y * size for _, y in places],
            "beams": [int(cells[place][0]) for place in places],
            "right": [int(cells[place][1]) for place in places],
        }

    def calibration(self) -> list[dict[str, float]]:
        """By stated confidence, lowest first: the number of returns, their mean confidence, and the share right."""
        return [
            {"returns": int(count), "confidence": total / count, "right": right / count}
            for count, total, right in self.confidence.tolist()
            if count
        ]


def break_down(
    sim: Sweep, real: Sweep, beams: tuple[ComparedBeams, ComparedBeams], match: Match, placed: bool
) -> Breakdown:
    """The sums of one pair of sweeps; unless ``placed`` in the world, there are no cells."""
    made = Breakdown()
    of_sim, of_real = beams[0].range[match.sim], beams[1].range[match.real]
    hit_sim, hit_real = np.isfinite(of_sim), np.isfinite(of_real)
    error = np.where(hit_sim & hit_real, np.abs(of_sim - of_real), np.inf)
    right = error <= RIGHT_M
    columns = (hit_real, hit_sim & hit_real, right, np.where(np.isfinite(error), error, 0.0))
    by_real = np.searchsorted(RANGE_EDGES_M, of_real[hit_real], side="right") - 1
    for at, column in enumerate(columns):
        made.ranges[:, at] = np.bincount(by_real, weights=column[hit_real], minlength=_BINS)
    surplus = hit_sim & ~hit_real
    by_sim = np.searchsorted(RANGE_EDGES_M, of_sim[surplus], side="right") - 1
    made.ranges[:, 4] = np.bincount(by_sim, minlength=_BINS)
    if placed and hit_real.any():
        points = real.world_points()[find_first_returns(real)[match.real[hit_real]]]
        made.cells = _count_cells(points[:, :2], right[hit_real])
    stated = sim.extra.get("confidence")
    if stated is not None and hit_sim.any():
        chosen = np.asarray(stated, np.float64)[find_first_returns(sim)[match.sim[hit_sim]]]
        made.confidence = _count_confidence(chosen, right[hit_sim])
    return made


def _count_cells(places: Array, right: Array) -> dict[tuple[int, int], Array]:
    finite = np.isfinite(places).all(axis=1)
    cells, at = np.unique(np.floor(places[finite] / CELL_M).astype(np.int64), axis=0, return_inverse=True)
    at = at.reshape(-1)
    counts = np.stack(
        [np.bincount(at, minlength=len(cells)), np.bincount(at, weights=right[finite], minlength=len(cells))], axis=1
    )
    return {(int(x), int(y)): counts[row] for row, (x, y) in enumerate(cells)}


def _count_confidence(stated: Array, right: Array) -> Array:
    known = np.isfinite(stated)
    stated, right = stated[known], right[known]
    at = np.clip((stated * CONFIDENCE_BINS).astype(np.int64), 0, CONFIDENCE_BINS - 1)
    sums: Sequence[Array] = [
        np.bincount(at, weights=weights, minlength=CONFIDENCE_BINS)
        for weights in (np.ones(len(at)), stated, right.astype(np.float64))
    ]
    return np.stack(sums, axis=1)
