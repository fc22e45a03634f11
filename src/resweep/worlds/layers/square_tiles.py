"""Square tiles that layers are divided into: on disk, and in the scenes that rays are traced in.

A primitive belongs to the tile that its centre lies in. It may reach beyond, which the box of the tile includes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from resweep.pose import Array

TILE_SIZE_M = 50.0  # of worlds that do not say otherwise


def group_by_tile(position: Array, tile_size_m: float) -> tuple[Array, Array, Array]:
    """Sort rows at ``position`` (n, 2 or 3) into tiles.

    Gives the order (n,) int64 that brings the rows of a tile together and keeps their sequence, the
    tiles' places in the grid (t, 2) int64, and their numbers of rows (t,). An infinite tile size
    puts all rows into one tile.
    """
    if np.isinf(tile_size_m):
        return np.arange(len(position)), np.zeros((1, 2), np.int64), np.array([len(position)])
    cell = np.floor(np.asarray(position, dtype=np.float64)[:, :2] / tile_size_m).astype(np.int64)
    low = cell.min(axis=0)
    width = int(cell[:, 1].max() - low[1]) + 1
    key = (cell[:, 0] - low[0]) * width + (cell[:, 1] - low[1])
    order = np.argsort(key, kind="stable")
    keys, counts = np.unique(key, return_counts=True)
    return order, np.stack([keys // width, keys % width], axis=1) + low, counts


@dataclass(frozen=True)
class TileTable:
    """The tiles of a layer: places (t, 2), rows and points of each (t,), boxes (t, 2, 3) around them."""

    place: Array
    n_rows: Array
    n_points: Array
    bounds: Array

    def column(self) -> Array:
        """The table as one float64 column (t, 10): place, counts and corners of each tile."""
        counts = np.stack([self.n_rows, self.n_points], axis=1)
        return np.concatenate([self.place, counts, self.bounds.reshape(-1, 6)], axis=1).astype(np.float64)

    def within(self, bounds: Array | None) -> Array:
        """Tiles (t,) bool whose contents reach into ``bounds`` (2, 2 or 3), metres from the origin."""
        if bounds is None:
            return np.ones(len(self.n_rows), bool)
        axes = bounds.shape[1]
        low, high = self.bounds[:, 0, :axes], self.bounds[:, 1, :axes]
        return np.asarray(((low <= bounds[1]) & (high >= bounds[0])).all(axis=1))


@dataclass(frozen=True)
class Division:
    """How a layer is divided: the order (n,) that brings the rows of each tile together, and the table of tiles."""

    order: Array
    table: TileTable

    def rows(self, tile: int) -> Array:
        """The rows (k,) of one tile, in the order of the layer."""
        end = int(self.table.n_rows[: tile + 1].sum())
        return self.order[end - int(self.table.n_rows[tile]) : end]


def divide_boxes(centres: Array, boxes: Array, tile_size_m: float) -> Division:
    """Divide primitives by the tile of their centres (n, 3); ``boxes`` (n, 2, 3) hold what they reach to."""
    order, place, counts = group_by_tile(centres[:, :2], tile_size_m)
    starts = np.cumsum(counts) - counts
    low, high = (boxes[:, side][order] for side in range(2))
    around = np.stack([np.minimum.reduceat(low, starts), np.maximum.reduceat(high, starts)], axis=1, dtype=np.float64)
    return Division(order, TileTable(place, counts, np.zeros_like(counts), around))
