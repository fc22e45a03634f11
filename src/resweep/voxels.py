"""Voxels: the cells of a regular grid that points lie in, each cell known by one number."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from resweep.errors import ResweepError
from resweep.pose import Array

UNIFORM_VARIANCE_DIVISOR = 12  # a uniform distribution of width w has a variance of w² / 12

_MAX_CELLS = 2**62
_FEW_KEYS = 1 << 16


def number_voxels(points: Array, size_m: float, kind: Array | None = None) -> Array:
    """The voxel (n,) int64 of each point (n, 3) on a grid of side ``size_m`` with a corner at 0.

    Voxels that hold points are numbered from 0 without gaps. Points of another ``kind`` (n,) never share one.
    """
    return number_keys(make_cell_keys(find_cells(points, size_m), kind))


def find_first_in_voxels(points: Array, size_m: float) -> Array:
    """Rows (m,) of the first point in each voxel of side ``size_m``, in the order of the points."""
    if len(points) == 0:
        return np.zeros(0, np.int64)
    key = make_cell_keys(find_cells(points - points.min(axis=0), size_m))
    return np.sort(np.unique(key, return_index=True)[1])


def average_voxels(points: Array, size_m: float) -> Array:
    """The mean (m, 3) float64 of the points in each voxel of side ``size_m``, in the order of the voxels."""
    if len(points) == 0:
        return np.zeros((0, 3))
    key = make_cell_keys(find_cells(points - points.min(axis=0), size_m))
    _, voxel, count = np.unique(key, return_inverse=True, return_counts=True)
    sums = [np.bincount(voxel, points[:, axis], len(count)) for axis in range(3)]
    return np.stack(sums, axis=1) / count[:, None]


def find_cells(points: Array, size_m: float) -> Array:
    """The cell (n, 3) int64 of each point on a grid of side ``size_m`` with a corner at 0."""
    return np.floor(points.astype(np.float64) / size_m).astype(np.int64)


def make_cell_keys(cell: Array, kind: Array | None = None) -> Array:
    """One int64 (n,) for each cell (n, 3): the same for cells of one place and ``kind`` (n,), in their order."""
    if len(cell) == 0:
        return np.zeros(0, np.int64)
    cell = cell - cell.min(axis=0)
    return _pack(cell, kind, cell.max(axis=0) + 1)


def number_keys(key: Array) -> Array:
    """Keys (n,) as numbers from 0 without gaps, in the order of the keys."""
    if len(key) == 0:
        return np.zeros(0, np.int64)
    low, high = int(key.min()), int(key.max())
    if high - low < max(_FEW_KEYS, len(key)):  # a table is quicker than sorting
        at = np.asarray(key, np.int64) - low
        return np.asarray((np.cumsum(np.bincount(at) > 0) - 1)[at], np.int64)
    return np.unique(key, return_inverse=True)[1].astype(np.int64).reshape(-1)


def find_touching_cells(cell: Array, kind: Array | None = None) -> Array:
    """Pairs (e, 2) of rows of different cells (n, 3) that touch, corners included, and are of one ``kind`` (n,)."""
    steps = np.array([step for step in np.ndindex(3, 3, 3) if step > (1, 1, 1)]) - 1
    if len(cell) == 0:
        return np.zeros((0, 2), np.int64)
    inner = cell - cell.min(axis=0) + 1  # a border of one cell, so that no step leads into another row
    extent = inner.max(axis=0) + 2
    key = _pack(inner, kind, extent)
    order = np.argsort(key, kind="stable")
    beside = np.stack([_pack(inner + step, kind, extent) for step in steps], axis=1)
    at = np.minimum(np.searchsorted(key[order], beside), len(key) - 1)
    row, step = np.nonzero(key[order][at] == beside)
    return np.sort(np.stack([row, order[at[row, step]]], axis=1), axis=1)


def pack_cells(cell: Sequence[Array], extent: Sequence[int]) -> Array:
    """The place (n,) int64 of cells in a grid of ``extent`` cells along each axis; ``cell`` has a column (n,) an axis.

    The last axis runs fastest. `numpy.unravel_index` turns a place back into a cell.
    """
    if math.prod(extent) >= _MAX_CELLS:
        size = " x ".join(f"{length:,}" for length in extent)
        raise ResweepError(f"voxels: a grid of {size} is too large to be numbered; give larger voxels")
    key: Array = np.zeros(len(cell[0]), np.int64)
    for column, length in zip(cell, extent, strict=True):
        key = key * length + column
    return key


def _pack(cell: Array, kind: Array | None, extent: Array) -> Array:
    lengths = [int(length) for length in extent]
    if kind is None:
        return pack_cells(tuple(cell.T), lengths)
    number = number_keys(kind)
    return pack_cells((number, *cell.T), [int(number.max()) + 1, *lengths])
