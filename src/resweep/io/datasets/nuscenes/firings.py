"""Firings of a nuScenes scan: which beams returned nothing, and where the LiDAR was at each.

A scan holds whole firings of the 32 lasers, one after the other. A beam without return was measured as a point at
range 0, which motion compensation then moved as it moved all others: to where the LiDAR was when it fired, seen
from where it was at the scan's time. So these points show both the empty beams and the LiDAR's path, which is
straight to less than a millimetre over the 50 ms of a scan.
"""

from __future__ import annotations

import numpy as np

from resweep import portable
from resweep.pose import Array

LASERS = 32
_UPPER = 16  # the lasers from here on look above the carrier's roof
_REACH_M = 2.0  # the LiDAR moves less than this in a scan
_AT_LIDAR_M = 0.02  # points this near to the LiDAR's place were measured at range 0
_MIN_FIRINGS = 20  # with an upper beam without return, for the path to be fitted
_ROUNDS = 3


def split_firings(columns: dict[str, Array]) -> tuple[dict[str, Array], Array] | None:
    """Columns seen from the LiDAR when it fired, with ``column``, and its places (c, 3); None for other points.

    Points of beams without return are at exactly 0 0 0.
    """
    count = len(columns["ring"])
    if not count or count % LASERS or (columns["ring"].reshape(-1, LASERS) != np.arange(LASERS)).any():
        return None
    points = np.stack([columns[axis] for axis in "xyz"], axis=1).astype(np.float64)
    place = _fit_path(points.reshape(-1, LASERS, 3))
    measured = points - np.repeat(place, LASERS, axis=0)
    measured[np.linalg.norm(measured, axis=1) < _AT_LIDAR_M] = 0.0
    column = np.repeat(np.arange(len(place), dtype=np.int32), LASERS)
    return {**columns, **dict(zip("xyz", measured.T, strict=True)), "column": column}, place


def _fit_path(points: Array) -> Array:
    """Where the LiDAR was (c, 3) at each firing of ``points`` (c, 32, 3); the origin where nothing shows it."""
    upper = points[:, _UPPER:]
    near = np.linalg.norm(upper, axis=2) < _REACH_M
    at, laser = np.nonzero(near)
    if len(np.unique(at)) < _MIN_FIRINGS:
        return np.zeros((len(points), 3))
    seen = upper[at, laser]
    design = np.stack([np.ones(len(at)), at / len(points)], axis=1)
    fit, good = np.zeros((2, 3)), np.ones(len(at), bool)
    for _ in range(_ROUNDS):
        rows = design[good]
        fit = portable.solve(portable.matmul(rows.T, rows), portable.matmul(rows.T, seen[good]))
        error = np.linalg.norm(seen - portable.matmul(design, fit), axis=1)
        good = error <= max(_AT_LIDAR_M, 2.0 * float(np.median(error)))
    if np.mean(error < _AT_LIDAR_M) < 0.5:
        return np.zeros((len(points), 3))  # near points that are no such way: rain, or a hand before the LiDAR
    firing = np.arange(len(points)) / len(points)
    return np.asarray(portable.matmul(np.stack([np.ones(len(points)), firing], axis=1), fit))
