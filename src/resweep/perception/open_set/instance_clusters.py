"""Instances from returns: those near each other are one, near being what the sensor resolves at their range."""

from __future__ import annotations

import numpy as np
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components
from scipy.spatial import cKDTree

from resweep.pose import Array

RADIUS_M = 0.35  # two returns nearer than this are of one object, however near the sensor is
RADIUS_PER_M = 0.02  # and so are those nearer than this share of their range: lasers are up to half a degree apart
_MAX_RADIUS_M = 0.8  # beyond, parked cars would join
_VOXEL_M = 0.1  # returns in one cube of this size are of one object, which saves most of the work


def find_clusters(
    points: Array,
    radius_m: float = RADIUS_M,
    radius_per_m: float = RADIUS_PER_M,
    max_radius_m: float = _MAX_RADIUS_M,
) -> Array:
    """The cluster (n,) from 1 of points (n, 3) in the sensor's frame, in the order of their first points.

    Two points join if they are no farther from each other than ``radius_m``, or ``radius_per_m`` of the smaller of
    their ranges, whichever is more, and never than ``max_radius_m``. Clusters are what is connected. Points in one
    cube of 10 cm count as one place, their mean.
    """
    if not len(points):
        return np.zeros(0, np.int64)
    cubes = np.floor(np.asarray(points, np.float64) / _VOXEL_M)
    voxels = np.unique(cubes, axis=0, return_inverse=True)[1].reshape(-1)
    return _number(_connect(_average(points, voxels), radius_m, radius_per_m, max_radius_m)[voxels])


def _average(points: Array, group: Array) -> Array:
    """The mean (g, 3) of the points (n, 3) of each group (n,)."""
    count = np.bincount(group)
    return np.column_stack([np.bincount(group, points[:, axis]) / count for axis in range(3)])


def _connect(place: Array, radius_m: float, radius_per_m: float, max_radius_m: float) -> Array:
    """The component (n,) of each place (n, 3)."""
    near = np.clip(radius_per_m * np.linalg.norm(place, axis=1), radius_m, max(radius_m, max_radius_m))
    pairs = cKDTree(place).query_pairs(float(near.max()), output_type="ndarray")
    apart = np.linalg.norm(place[pairs[:, 0]] - place[pairs[:, 1]], axis=1)
    pairs = pairs[apart <= near[pairs].min(axis=1)]
    graph = coo_matrix((np.ones(len(pairs), np.int8), (pairs[:, 0], pairs[:, 1])), shape=(len(place), len(place)))
    return np.asarray(connected_components(graph, directed=False)[1])


def _number(label: Array) -> Array:
    """Labels (n,) numbered from 1 in the order in which they come."""
    _, first, rows = np.unique(label, return_index=True, return_inverse=True)
    order = np.empty(len(first), np.int64)
    order[np.argsort(first, kind="stable")] = np.arange(1, len(first) + 1)
    return np.asarray(order[rows.reshape(-1)])
