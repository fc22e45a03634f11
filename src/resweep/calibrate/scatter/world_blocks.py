"""How well sums over returns are known, where those of one place are alike: by blocks of the world."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from resweep.pose import Array
from resweep.voxels import find_cells, make_cell_keys, number_keys

BLOCK_M = 2.0  # side of the blocks, whose returns, of all sweeps, may be alike: that of a thing or a part of a wall


def number_blocks(points: Sequence[Array]) -> Array:
    """The block (n,) that each point lies in, as numbers from 0, of the points (n, 3) of all sweeps."""
    return number_keys(make_cell_keys(find_cells(np.concatenate(points), BLOCK_M)))


def find_inflation(values: Array, cell: Array, size: int, block: Array) -> Array:
    """How much larger (size,) the variance of the sums of the cells is than of independent values; 1 at least.

    ``values`` (n,) have a mean of 0 in each ``cell`` (n,), a number below ``size``. Those of different blocks are
    independent; of a cell with one block nothing is known, and all its values count as one.
    """
    blocks = int(block.max(initial=0)) + 1
    pairs, place = np.unique(cell.astype(np.int64) * blocks + block, return_inverse=True)
    sums, home = np.bincount(place.reshape(-1), values, len(pairs)), pairs // blocks
    clustered, count = np.bincount(home, sums**2, size), np.bincount(home, minlength=size)
    alone = np.bincount(cell, values**2, size)
    inflation = clustered / np.maximum(alone, 1e-30) * count / np.maximum(count - 1, 1)
    return np.maximum(np.where(count > 1, inflation, np.bincount(cell, minlength=size)), 1.0)
