"""Firings of a nuScenes scan: which laser fired each beam, which returned nothing, where the LiDAR was at each.

A scan holds whole firings of the 32 lasers, one after the other. A beam without return was measured as a point at
range 0, which motion compensation then moved as it moved all others: to where the LiDAR was when it fired, seen
from where it was at the scan's time. So these points show both the empty beams and the LiDAR's path, which is
straight to less than a millimetre over the 50 ms of a scan.

Folders that others converted keep the points in this order but not their rings. `number_lasers` finds them again.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from resweep import portable
from resweep.io.points.columns import sweep_from_columns
from resweep.pose import Array
from resweep.sensors.infer.find_rings import compute_elevation_deg, compute_group_medians
from resweep.sweep import Sweep

LASERS = 32
_UPPER = 16  # the lasers from here on look above the carrier's roof
_REACH_M = 2.0  # the LiDAR moves less than this in a scan
_AT_LIDAR_M = 0.02  # points this near to the LiDAR were measured at range 0
_MIN_FIRINGS = 20  # with an upper beam without return, for the path to be fitted
_ROUNDS = 3
_FAR_M = 5.0  # from where on the motion of the LiDAR in a scan does not mix its rings up
_MIN_FAR = 20  # points of a laser that show its elevation
_MIN_OWN = 0.95  # share of the far points that must be nearest to the elevation of their own laser


def sweep_from_firings(columns: dict[str, Array], path: Path, drop_nan: bool = False) -> Sweep:
    """A sweep of whole firings, its beams beginning where the LiDAR was, or of bare points."""
    firings = split_firings(columns)
    if firings is None:
        return sweep_from_columns(columns, str(path), drop_nan=drop_nan)
    columns, origin = firings
    sweep = sweep_from_columns(columns, str(path), drop_nan=drop_nan)
    return replace(sweep, beam_origin=origin[sweep.beam_column].astype(np.float32)) if origin.any() else sweep


def split_firings(columns: dict[str, Array]) -> tuple[dict[str, Array], Array] | None:
    """Columns seen from the LiDAR when it fired, with ``column``, and where it was (c, 3); None for other points.

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


def number_lasers(points: Array) -> Array | None:
    """The laser (n,) float32, from the lowest, of points (n, 3) that are stored firing by firing; None for others.

    In whole firings each 32nd point is of one laser: far points lie at its elevation, and elevations rise from one
    laser to the next.
    """
    if not len(points) or len(points) % LASERS or not np.isfinite(points).all():
        return None
    laser = np.tile(np.arange(LASERS), len(points) // LASERS)
    far = np.linalg.norm(points, axis=1) > _FAR_M
    own, elevation = laser[far], compute_elevation_deg(points[far])
    # A laser whose beams all end near by lies between its neighbours; it takes two of three to tell their order.
    shown = np.flatnonzero(np.bincount(own, minlength=LASERS) >= _MIN_FAR)
    if len(shown) < 2 * LASERS // 3:
        return None
    level = compute_group_medians(elevation, own, LASERS)[shown]
    if not (np.diff(level) > 0).all():
        return None
    known = np.isin(own, shown)
    nearest = shown[np.searchsorted((level[1:] + level[:-1]) / 2.0, elevation[known])]
    return laser.astype(np.float32) if np.mean(nearest == own[known]) > _MIN_OWN else None


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
