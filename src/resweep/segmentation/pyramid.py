"""Grids of a cloud, each coarser than the one before, and who is whose neighbour: what a KPConv network runs on."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from resweep.neighbours import Neighbours
from resweep.pose import Array
from resweep.voxels import number_voxels

RADIUS_CELLS = 2.5  # of neighbourhoods (KPConv, 3.3)


@dataclass(frozen=True, eq=False)
class Pyramid:
    """A cloud on ever coarser grids.

    ``points`` of each level are (n, 3) float32, metres. ``same`` (n, h) int32 are neighbours of a level's points in it,
    ``down`` (m, h) those of the next level's points in this one, ``up`` (n,) the nearest point of the next level.
    A row that has fewer neighbours is filled with n of the level that it points into.
    """

    points: tuple[Array, ...]
    same: tuple[Array, ...]
    down: tuple[Array, ...]
    up: tuple[Array, ...]

    def inputs(self) -> dict[str, Array]:
        """The arrays by the names that they have in a network."""
        named = {"points": self.points, "same": self.same, "down": self.down, "up": self.up}
        return {f"{name}{at}": array for name, arrays in named.items() for at, array in enumerate(arrays)}


def thin(points: Array, cell_m: float) -> tuple[Array, Array]:
    """The mean (m, 3) float32 of the points (n, 3) in each cell, and the cell (n,) int64 of each point."""
    cell = number_voxels(points, cell_m)
    count = np.bincount(cell)
    sums = [np.bincount(cell, points[:, axis], len(count)) for axis in range(3)]
    return (np.stack(sums, axis=1) / count[:, None]).astype(np.float32), cell


def turn(points: Array, angle: float) -> Array:
    """Points (n, 3) float32 turned about z, counter-clockwise."""
    c, s = math.cos(angle), math.sin(angle)
    x, y, z = points.T
    return np.stack([c * x - s * y, s * x + c * y, z], axis=1).astype(np.float32)


def make_pyramid(points: Array, cell_m: float, levels: int, neighbours: int, threads: int = 1) -> Pyramid:
    """The pyramid of a cloud (n, 3) that is thinned to ``cell_m`` already; each level has cells of twice the size.

    At most ``neighbours`` are kept, the nearest ones; their distance is at most `RADIUS_CELLS`.
    """
    grids = [np.ascontiguousarray(points, np.float32)]
    for level in range(1, levels):
        grids.append(thin(grids[-1], cell_m * 2**level)[0])
    trees = [Neighbours(grid, threads) for grid in grids]
    reach = [RADIUS_CELLS * cell_m * 2**level for level in range(levels)]
    same = [_find(trees[at], None, neighbours, reach[at]) for at in range(levels)]
    down = [_find(trees[at], grids[at + 1], neighbours, reach[at]) for at in range(levels - 1)]
    up = [trees[at + 1].knn(grids[at], 1).index[:, 0] for at in range(levels - 1)]
    return Pyramid(tuple(grids), tuple(same), tuple(down), tuple(up))


def _find(tree: Neighbours, queries: Array | None, k: int, radius_m: float) -> Array:
    index = tree.knn(queries, k, radius_m).index
    return np.where(index < 0, np.int32(len(tree)), index)


def join_pyramids(parts: Sequence[Pyramid]) -> Pyramid:
    """Several clouds as one, in which no point has neighbours of another cloud."""
    levels = len(parts[0].points)
    counts = np.array([[len(points) for points in part.points] for part in parts])
    before, total = np.cumsum(counts, axis=0) - counts, counts.sum(axis=0)

    def shifted(name: str, level: int, into: int) -> Array:
        """Rows that point into the level ``into``, for all clouds."""
        rows = []
        for at, part in enumerate(parts):
            index = getattr(part, name)[level]
            none = index == counts[at, into]
            rows.append(np.where(none, total[into], index + before[at, into]).astype(np.int32))
        return np.concatenate(rows)

    below = range(levels - 1)
    return Pyramid(
        tuple(np.concatenate([part.points[at] for part in parts]) for at in range(levels)),
        tuple(shifted("same", at, at) for at in range(levels)),
        tuple(shifted("down", at, at) for at in below),
        tuple(shifted("up", at, at + 1) for at in below),
    )
