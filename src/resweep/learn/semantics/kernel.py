"""Where the points of a kernel lie: as far from each other as they can, yet near the middle (KPConv, appendix B)."""

from __future__ import annotations

import math
from functools import cache

import numpy as np

from resweep.pose import Array

MEAN_RADIUS = 1.5  # of the points around the middle, in extents
_STEPS, _FIRST_STEP, _MAX_STEP = 4000, 0.05, 0.1


@cache
def _place_evenly(count: int) -> tuple[tuple[float, float, float], ...]:
    """Points that minimise |x|² of each and 1 / distance of each two; the first is held in the middle."""
    points = np.zeros((count, 3))
    points[1:] = _make_spiral(count - 1)
    for step in range(_STEPS):
        apart = points[:, None] - points[None]
        distance = np.linalg.norm(apart, axis=2)
        np.fill_diagonal(distance, np.inf)
        # The force on each point: repelled by all others, drawn to the middle.
        pull = (apart / (distance * distance * distance)[..., None]).sum(axis=1) - 2 * points
        pull *= _FIRST_STEP * (1 - step / _STEPS)
        length = np.maximum(np.linalg.norm(pull, axis=1, keepdims=True), 1e-30)
        points[1:] += (pull * np.minimum(1.0, _MAX_STEP / length))[1:]
    points *= MEAN_RADIUS / np.linalg.norm(points[1:], axis=1).mean()
    return tuple((float(x), float(y), float(z)) for x, y, z in points)


def _make_spiral(count: int) -> Array:
    """Points (n, 3) on the unit sphere that are about evenly apart, to begin with."""
    turn = math.pi * (3 - math.sqrt(5))
    z = [1 - (2 * at + 1) / count for at in range(count)]
    return np.array(
        [
            (math.sqrt(1 - h * h) * math.cos(turn * at), math.sqrt(1 - h * h) * math.sin(turn * at), h)
            for at, h in enumerate(z)
        ]
    )


def place_kernel_points(count: int, extent: float) -> Array:
    """The points (count, 3) float32 of a kernel, in cells; each reaches ``extent`` cells."""
    return (np.array(_place_evenly(count)) * extent).astype(np.float32)
