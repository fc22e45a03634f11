"""What a network knows of the points of a thinned sweep, by name.

Intensities are ranks within their sweep, because their units differ from sensor to sensor. Shapes are those of C, 3.3.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from resweep.neighbours import Neighbours
from resweep.pose import Array
from resweep.segmentation.pyramid import thin
from resweep.sweep import Sweep
from resweep.voxels import number_voxels

_SHAPES = ("linear", "planar", "spherical", "upright")
# one: 1; height: metres above the ground nearby, a quarter; intensity: rank from -0.5 to 0.5, 0 where none is known;
# range: from the sensor, in 50 m. Shapes of neighbourhoods within 0.6 m, and within 1.5 m (wide).
FEATURES = ("one", "height", "intensity", "range", *_SHAPES, *(f"{name}_wide" for name in _SHAPES))

_SHAPE_SCALES = (("", 24, 0.6), ("_wide", 64, 1.5))  # suffix, most neighbours, radius in metres
_GROUND_CELL_M, _GROUND_REACH_M, _GROUND_CELLS, _GROUND_SHARE = 1.0, 5.0, 32, 0.25
_HEIGHTS_M = (-2.0, 12.0)
_RANGE_M = 50.0


@dataclass(frozen=True, eq=False)
class ThinnedSweep:
    """A sweep with one point a cell: ``points`` (m, 3), ``features`` (m, f) float32; ``cell`` (n,) of its returns."""

    points: Array
    features: Array
    cell: Array

    def __len__(self) -> int:
        return len(self.points)


def thin_sweep(sweep: Sweep, cell_m: float, names: tuple[str, ...] = FEATURES, threads: int = 1) -> ThinnedSweep:
    """The returns of a sweep, motion undone, thinned to cells of ``cell_m``, with the features ``names``."""
    points, cell = thin(sweep.deskewed(), cell_m)
    count = np.bincount(cell, minlength=len(points))
    found = {
        "one": np.ones(len(points), np.float32),
        "height": np.clip(find_height_above_ground(points, threads), *_HEIGHTS_M) / 4,
        "intensity": np.bincount(cell, rank(sweep.intensity), len(points)) / count,
        "range": np.minimum(np.linalg.norm(points, axis=1), 2 * _RANGE_M) / _RANGE_M,
        **_describe_shapes(points, threads),
    }
    features = np.stack([found[name].astype(np.float32) for name in names], axis=1)
    return ThinnedSweep(points, features, cell)


def rank(values: Array) -> Array:
    """The rank (n,) of each value among all, from -0.5 to 0.5; equal values share one, and 0 if all are equal."""
    if len(values) == 0:
        return np.zeros(0)
    _, at, count = np.unique(values, return_inverse=True, return_counts=True)
    below = np.cumsum(count) - count
    middle = (below + 0.5 * count) / len(values) - 0.5
    return np.asarray(middle[at.reshape(-1)])


def find_height_above_ground(points: Array, threads: int = 1) -> Array:
    """Heights (n,) of points (n, 3) above the ground nearby: a low quantile of the lowest points in cells of 1 m."""
    flat = points.astype(np.float64)
    flat[:, 2] = 0.0
    column = number_voxels(flat, _GROUND_CELL_M)
    low = np.full(int(column.max()) + 1, np.inf)
    np.minimum.at(low, column, points[:, 2])
    centre = np.zeros((len(low), 3))
    count = np.bincount(column)
    for axis in (0, 1):
        centre[:, axis] = np.bincount(column, flat[:, axis]) / count
    near = Neighbours(centre, threads).knn(None, _GROUND_CELLS, _GROUND_REACH_M).index
    heights = np.sort(np.where(near < 0, np.inf, low[near]), axis=1)
    share = ((near >= 0).sum(axis=1) - 1) * _GROUND_SHARE
    ground = heights[np.arange(len(low)), share.astype(np.int64)]
    return np.asarray(points[:, 2] - ground[column])


def _describe_shapes(points: Array, threads: int) -> dict[str, Array]:
    """Linearity, planarity and sphericity of neighbourhoods (C, eq. 7), and how upright their planes are."""
    tree = Neighbours(points, threads)
    found: dict[str, Array] = {}
    for suffix, max_neighbours, radius_m in _SHAPE_SCALES:
        shape = tree.pca(max_neighbours, radius_m, ("normal", "eigenvalues"))
        values = shape.eigenvalues
        first = np.maximum(values[:, 0], np.finfo(np.float32).tiny)
        columns = (
            (values[:, 0] - values[:, 1]) / first,
            (values[:, 1] - values[:, 2]) / first,
            values[:, 2] / first,
            1 - np.abs(shape.normal[:, 2]),
        )
        found |= {name + suffix: column for name, column in zip(_SHAPES, columns, strict=True)}
    return found
