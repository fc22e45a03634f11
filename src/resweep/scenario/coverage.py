"""How much of an object is known from each side: it decides which of two similar objects to place."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from resweep import portable
from resweep.pose import Array
from resweep.worlds import Layer

DIRECTIONS = 12  # around the object, the first from its front, then counter-clockwise
_FACING = 0.05  # cosine from which a surface is seen from a direction
_CELLS = 40  # along the longest side of the object's outline


def estimate_coverage(layers: Sequence[Layer], size_m: Sequence[float]) -> tuple[float, ...]:
    """Share of the box's outline that the surface fills as seen level from each of the `DIRECTIONS`.

    A surface that faces away does not count. A whole car fills about three quarters of its box.
    """
    length, width, height = (float(value) for value in size_m)
    outlines = [layer.list_outline() for layer in layers]
    points, normals, reach = (np.concatenate(parts) for parts in zip(*outlines, strict=True))
    cell = max(length, width, height) / _CELLS
    shares = []
    for angle in 2 * np.pi * np.arange(DIRECTIONS) / DIRECTIONS:
        towards = np.array([math.cos(angle), math.sin(angle), 0.0])
        seen = (portable.matmul(normals, towards) > _FACING) | ~normals.any(axis=1)
        half = (length * abs(towards[1]) + width * abs(towards[0])) / 2
        across = points[seen, 1] * towards[0] - points[seen, 0] * towards[1]
        shares.append(_measure_fill(across + half, points[seen, 2], reach[seen], 2 * half, height, cell))
    return tuple(shares)


def estimate_known_share(shares: Sequence[float]) -> float:
    """The share of its surroundings from which an object's shape is known, from its `coverage`: 1 all around.

    From opposite sides an object has the same outline, so the fuller of the two shows how much there is to know. An
    object recorded from one side, with nothing on its far side, has about 0.5; a mirrored far side counts as known.
    What is missing from both of two opposite sides is not noticed. NaN where nothing is known at all.
    """
    given = np.asarray(shares, np.float64)
    whole = np.maximum(given, np.roll(given, len(given) // 2))
    return float(given.sum() / whole.sum()) if whole.sum() > 0 else float("nan")


def interpolate_coverage(shares: Sequence[float], heading_rad: float) -> float:
    """The coverage at any angle from the object's front, between those of `coverage`."""
    at = (heading_rad / (2 * np.pi) * len(shares)) % len(shares)
    low = int(at) % len(shares)
    return float((1 - at % 1) * shares[low] + (at % 1) * shares[(low + 1) % len(shares)])


def _measure_fill(across: Array, up: Array, reach: Array, width: float, height: float, cell: float) -> float:
    """Share of the cells of a ``width`` × ``height`` outline that discs of radius ``reach`` touch."""
    columns, rows = max(1, round(width / cell)), max(1, round(height / cell))
    grid = np.zeros((columns, rows), bool)
    for x, z in ((0, 0), (0.7, 0.7), (-0.7, 0.7), (0.7, -0.7), (-0.7, -0.7)):
        column = np.floor((across + x * reach) / width * columns).astype(np.int64)
        row = np.floor((up + z * reach) / height * rows).astype(np.int64)
        inside = (column >= 0) & (column < columns) & (row >= 0) & (row < rows)
        grid[column[inside], row[inside]] = True
    return float(grid.mean())
