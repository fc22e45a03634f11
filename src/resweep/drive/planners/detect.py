"""Obstacles in a scan: the ground is removed, and what is left is grouped by neighbouring cells."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from pydantic import Field
from scipy import ndimage

from resweep.config import Positive, Spec
from resweep.pose import Array


class DetectConfig(Spec):
    """How obstacles are found."""

    ground_cell_m: Annotated[float, Field(ge=0.1, le=100.0)] = 1.0
    """Cells of which the lowest return is taken for the ground, metres."""
    slope: Positive = 0.12
    """Steepest ground that is expected around the vehicle, metres a metre."""
    low_m: Positive = 0.3
    """Returns lower than this above the ground are ground, metres."""
    high_m: Positive = 2.6
    """Returns higher than this pass above the vehicle, metres."""
    cell_m: Annotated[float, Field(ge=0.05, le=100.0)] = 0.4
    """Cells that are joined to obstacles where they touch, metres."""
    points_min: int = Field(default=3, ge=1, le=1_000_000)
    """Returns that an obstacle has at least."""


@dataclass(frozen=True)
class Obstacle:
    """A rectangle along the lane: from ``s`` low to high, metres, and from ``d`` low to high to its left."""

    s: tuple[float, float]
    d: tuple[float, float]
    points: int

    @property
    def centre(self) -> tuple[float, float]:
        """Its middle, along and across."""
        return 0.5 * (self.s[0] + self.s[1]), 0.5 * (self.d[0] + self.d[1])


def find_above_ground(points: Array, here: tuple[float, float], config: DetectConfig) -> Array:
    """Whether each point (n, 3) lies above the ground and below the roof of a vehicle at ``here``.

    The ground of a cell is the lowest return in it and its eight neighbours, but not higher than a slope from the
    wheels leads: below a wall or a truck none may have been seen.
    """
    if not len(points):
        return np.zeros(0, bool)
    cells = np.floor(points[:, :2] / config.ground_cell_m).astype(np.int64)
    cells -= cells.min(axis=0)
    shape = tuple((cells.max(axis=0) + 1).tolist())
    flat = cells[:, 0] * shape[1] + cells[:, 1]
    lowest = np.full(shape, np.inf)
    np.minimum.at(lowest.reshape(-1), flat, points[:, 2])
    around = ndimage.minimum_filter(lowest, 3, mode="nearest").reshape(-1)
    away = np.sqrt(((points[:, :2] - np.array(here)) ** 2).sum(axis=1))
    height = points[:, 2] - np.minimum(around[flat], config.slope * away)
    return np.asarray((height > config.low_m) & (height < config.high_m))


def find_obstacles(s: Array, d: Array, config: DetectConfig) -> list[Obstacle]:
    """The obstacles of points (n,) given along and across the lane, nearest first."""
    if not len(s):
        return []
    cells = np.floor(np.column_stack([s, d]) / config.cell_m).astype(np.int64)
    cells -= cells.min(axis=0)
    grid = np.zeros(tuple((cells.max(axis=0) + 1).tolist()), bool)
    grid[cells[:, 0], cells[:, 1]] = True
    # A gap of one cell joins too: rings and columns of a LiDAR lie apart.
    wide = ndimage.binary_dilation(grid, np.ones((3, 3), bool))
    number, _ = ndimage.label(wide, np.ones((3, 3), int))
    group = number[cells[:, 0], cells[:, 1]]
    order = np.argsort(group, kind="stable")
    starts = np.flatnonzero(np.diff(group[order], prepend=-1))
    counts = np.diff(np.append(starts, len(order)))
    (s_low, s_high), (d_low, d_high) = (
        (np.minimum.reduceat(values[order], starts), np.maximum.reduceat(values[order], starts)) for values in (s, d)
    )
    found = [
        Obstacle((float(s_low[at]), float(s_high[at])), (float(d_low[at]), float(d_high[at])), int(counts[at]))
        for at in np.flatnonzero(counts >= config.points_min).tolist()
    ]
    return sorted(found, key=lambda obstacle: obstacle.s)
