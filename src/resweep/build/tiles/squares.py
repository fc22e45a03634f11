"""The squares that a tile is built in: how many points each holds, and how much of what lies around it."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from resweep.build.settings.base import BuildConfig
from resweep.build.settings.hybrid import HybridConfig
from resweep.build.settings.splats import SplatSettings
from resweep.build.splats.close import find_reach
from resweep.build.splats.splats import Scales
from resweep.build.volumes.gaussians import MAX_REACH_M
from resweep.map.store.grid import Square

# Chosen by hand but for the first.
_RADII = 6.0  # times R̄: as far as the normals of a splat's neighbours depend on points
_MIN_MARGIN_M, _MAX_MARGIN_M = 1.0, 10.0  # of a square, whatever R̄ is
_MIN_SQUARE_M = 1.5  # its margin holds more than itself


def find_margin(config: BuildConfig, scales: Scales | None) -> float:
    """How far around a square points are read with it, metres."""
    if scales is None:
        return _MIN_MARGIN_M
    reach = _RADII * scales.radius_m
    settings = config.splats if isinstance(config, HybridConfig) else config
    if isinstance(settings, SplatSettings):
        reach = max(reach, find_reach(settings.close, scales.radius_m))
    if isinstance(config, HybridConfig) and config.volumes.neighbour_slope:
        reach = max(reach, MAX_REACH_M)
    return float(np.clip(reach, _MIN_MARGIN_M, _MAX_MARGIN_M))


def plan_squares(
    tile: Square, counts: Mapping[tuple[int, int], int], margin_m: float, max_points: float, cell_m: float
) -> tuple[Square, ...]:
    """The tile, or the quarters of it, and of those again, that hold about ``max_points`` at most with their margins.

    Squares of less than twice `_MIN_SQUARE_M` are not divided.
    """
    if tile.size_m < 2 * _MIN_SQUARE_M or _estimate_points(tile, counts, margin_m, cell_m) <= max_points:
        return (tile,)
    return tuple(
        square for quarter in tile.quarters() for square in plan_squares(quarter, counts, margin_m, max_points, cell_m)
    )


def _estimate_points(square: Square, counts: Mapping[tuple[int, int], int], margin_m: float, cell_m: float) -> float:
    """Points of a square and its margin, if those of each cell are spread evenly over it."""
    total = 0.0
    low, high = square.low - margin_m, square.high + margin_m
    for cell in square.cells(cell_m, margin_m):
        count = counts.get(cell, 0)
        if count:
            corner = np.array(cell) * cell_m
            inside = np.minimum(high, corner + cell_m) - np.maximum(low, corner)
            total += count * float(np.prod(np.maximum(inside, 0.0))) / cell_m**2
    return total
