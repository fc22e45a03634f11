"""Point-to-plane registration: where points lie best in the flat parts of a map.

A map's points are averaged in voxels; where the neighbourhood of one is a plane, it is a `Surface` that other
points can be held to. Points move by small turns and shifts of *knots*: one knot moves them rigidly, knots along
a drive let the correction change along it. Each step is a robust least-squares solution.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.spatial.transform import Rotation

from resweep.neighbours import Neighbours
from resweep.pose import Array
from resweep.voxels import voxel_means

_K = 16
_FLAT_M = 0.06  # what a plane may measure across, as a standard deviation
_FLATNESS = 0.05  # variance across a plane over that along its short side
_BREADTH = 0.05  # variance along the short side over that along the long one: a scan line spans no plane
_MIN_COUNT = 6


@dataclass(frozen=True, eq=False)
class Surface:
    """The flat places of a map: ``points`` on them and unit ``normal`` (n, 3) float64, metres."""

    points: Array
    normal: Array
    index: Neighbours

    def __len__(self) -> int:
        return len(self.points)

    def met_by(self, points: Array, reach_m: float) -> Met:
        """The plane nearest to each of ``points`` (m, 3), if one is within ``reach_m``."""
        if len(self) == 0 or len(points) == 0:
            return Met(np.zeros(0, np.int64), np.zeros((0, 3)), np.zeros(0))
        nearest = self.index.knn(points, 1, reach_m).index[:, 0]
        row = np.flatnonzero(nearest >= 0)
        at = nearest[row]
        return Met(row, self.normal[at], ((points[row] - self.points[at]) * self.normal[at]).sum(axis=1))


@dataclass(frozen=True, eq=False)
class Met:
    """Points that lie near a surface: their ``row``, the ``normal`` (n, 3) there and the signed ``error`` in metres."""

    row: Array
    normal: Array
    error: Array


def surface(points: Array, voxel_m: float, radius_m: float) -> Surface:
    """The flat places of a map of ``points`` (n, 3): one for each voxel, told by what lies within ``radius_m``."""
    thin = voxel_means(points, voxel_m)
    if len(thin) < _MIN_COUNT:
        none = np.zeros((0, 3))
        return Surface(none, none, Neighbours(none))
    shape = Neighbours(thin).pca(_K, radius_m)
    long, short, across = shape.eigenvalues.T.astype(np.float64)
    flat = (across < _FLAT_M**2) & (across < _FLATNESS * short) & (short > _BREADTH * long)
    flat &= shape.count >= _MIN_COUNT
    places = thin[flat] + shape.mean_offset[flat]
    return Surface(places, shape.normal[flat].astype(np.float64), Neighbours(places))


def robust_weight(error: Array, least_m: float) -> Array:
    """Weights (n,) of distances: Geman and McClure's, whose width is their typical size or ``least_m``."""
    width = max(least_m, 3.0 * float(np.median(np.abs(error)))) if len(error) else least_m
    return np.asarray(1.0 / (1.0 + (error / width) ** 2) ** 2)


def rigid_step(points: Array, centre: Array, met: Met, least_m: float) -> Array:
    """The turn about ``centre`` and the shift (6,) that bring the points that met a surface nearer to it."""
    slopes = np.concatenate([np.cross(points[met.row] - centre, met.normal), met.normal], axis=1)
    weighted = slopes * robust_weight(met.error, least_m)[:, None]
    # Directions that nothing tells stay as they are.
    system = weighted.T @ slopes + 1e-6 * max(len(slopes), 1) * np.eye(6)
    return np.asarray(np.linalg.solve(system, -weighted.T @ met.error))


def nudged(pose: Array, change: Array, centre: Array | None = None) -> Array:
    """A pose turned about ``centre`` (its own place by default) and shifted by ``change`` (6,), in world axes."""
    pivot = pose[:3, 3] if centre is None else centre
    turn = Rotation.from_rotvec(change[:3])
    moved = np.array(pose)
    moved[:3, :3] = turn.as_matrix() @ pose[:3, :3]
    moved[:3, 3] = turn.apply(pose[:3, 3] - pivot) + pivot + change[3:]
    return moved
