"""The returns of a sweep on a regular grid of azimuth and elevation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from resweep.pose import Array
from resweep.sweep import Sweep

_ROWS, _COLUMNS = 256, 2048
_MIN_RINGS = 4
_RING_SPREAD_DEG = 0.6  # within a ring: spinning sensors stay below it, rosettes are far above


@dataclass(frozen=True)
class SweepGrid:
    """``cells`` (rows, columns) index the nearest return of the beam in each cell, -1 where there is none.

    Row 0 is the lowest. ``extent`` is (left, right, bottom, top) in degrees; azimuth falls from left to
    right, as seen from the sensor.
    """

    cells: Array
    extent: tuple[float, float, float, float]


def angles_deg(direction: Array) -> tuple[Array, Array]:
    """Azimuth and elevation in degrees of directions (b, 3)."""
    x, y, z = np.asarray(direction, dtype=np.float64).T
    return np.degrees(np.arctan2(y, x)), np.degrees(np.arctan2(z, np.hypot(x, y)))


def range_grid(sweep: Sweep) -> SweepGrid | None:
    """The sweep as a grid, or None where the beams of a ring differ in elevation.

    Every cell takes the beam nearest in elevation, then in azimuth. A cell further from any beam than the spacing of
    rings and columns stays empty.
    """
    azimuth, elevation = angles_deg(sweep.beam_direction)
    order = np.lexsort((azimuth, sweep.beam_ring))
    rings, starts = np.unique(sweep.beam_ring[order], return_index=True)
    if len(rings) < _MIN_RINGS:
        return None
    members = np.split(order, starts[1:])
    level = np.array([np.median(elevation[ring]) for ring in members])
    spread = np.array([np.quantile(np.abs(elevation[ring] - at), 0.9) for ring, at in zip(members, level, strict=True)])
    if np.median(spread) > _RING_SPREAD_DEG:
        return None
    ranked = np.argsort(level)
    edges = (azimuth.max(), azimuth.min())
    margin = float(np.median(np.diff(np.sort(level)))) / 2
    bottom, top = level.min() - margin, level.max() + margin
    heights = bottom + (np.arange(_ROWS) + 0.5) * (top - bottom) / _ROWS
    across = edges[0] + (np.arange(_COLUMNS) + 0.5) * (edges[1] - edges[0]) / _COLUMNS
    returns = _find_nearest_return(sweep)
    lines = np.stack([_fill_row(azimuth[members[at]], returns[members[at]], across) for at in ranked])
    between = (level[ranked][1:] + level[ranked][:-1]) / 2
    cells = lines[np.searchsorted(between, heights)]
    return SweepGrid(cells, (float(edges[0]), float(edges[1]), float(bottom), float(top)))


def _find_nearest_return(sweep: Sweep) -> Array:
    """Index of the nearest return of each beam (b,), -1 where it has none."""
    result = np.full(sweep.n_beams, -1)
    far_first = np.argsort(-sweep.range, kind="stable")
    result[sweep.beam[far_first]] = far_first
    return result


def _fill_row(azimuth: Array, returns: Array, across: Array) -> Array:
    """The return at each azimuth of ``across`` on one ring, whose beams are sorted by azimuth."""
    if len(azimuth) < 2:
        return np.full(len(across), -1)
    right = np.clip(np.searchsorted(azimuth, across), 1, len(azimuth) - 1)
    nearest = np.where(across - azimuth[right - 1] < azimuth[right] - across, right - 1, right)
    step = max(float(np.median(np.diff(azimuth))), abs(float(across[1] - across[0])))
    return np.where(np.abs(azimuth[nearest] - across) <= 1.5 * step, returns[nearest], -1)
