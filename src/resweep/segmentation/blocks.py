"""Large clouds in blocks: each with all that a network can see around it, so that blocks change no label."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from resweep.pose import Array
from resweep.segmentation.pyramid import RADIUS_CELLS

MAX_POINTS = 120_000  # of a block, without those around it: some gigabytes while a network runs


def find_reach(cell_m: float, levels: int) -> float:
    """How far a score can depend on other points, in metres.

    That is along all convolutions and strides, to the nearest coarse point, and over the cells that coarse points are
    means of: the last two are less than six of the coarsest cells.
    """
    reach = [RADIUS_CELLS * cell_m * 2**level for level in range(levels)]
    return float(reach[0] + sum(reach) + sum(reach[:-1]) + 6 * cell_m * 2 ** (levels - 1))


def split_blocks(points: Array, margin_m: float, max_points: int = MAX_POINTS) -> Iterator[tuple[Array, Array]]:
    """Rows of the points of each block, and of all points up to ``margin_m`` beside it; halved until they are small."""
    pending = [np.arange(len(points))]
    while pending:
        rows = pending.pop()
        low, high = points[rows, :2].min(axis=0), points[rows, :2].max(axis=0)
        if len(rows) > max_points:
            axis = int(np.argmax(high - low))
            order = rows[np.argsort(points[rows, axis], kind="stable")]
            pending += [np.sort(order[len(order) // 2 :]), np.sort(order[: len(order) // 2])]
            continue
        beside = (points[:, :2] >= low - margin_m) & (points[:, :2] <= high + margin_m)
        yield rows, np.flatnonzero(beside.all(axis=1))
