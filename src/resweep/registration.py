"""Point-to-plane registration: the motion that brings points onto the planes of a map.

The residual of a point is its signed distance from a plane, e = n · (p − q). A small turn and shift of the point about
a centre c changes it by [(p − c) × n, n] · (turn, shift): a row of the Jacobian J. Robust weights W keep wrong pairs
from counting much. A step solves the normal equations JᵀWJ x = −JᵀWe. What is unknown besides one rigid motion
(lasers, knots along a drive, several sweeps at once) adds columns to J and priors to the equations.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.spatial.transform import Rotation

from resweep import portable
from resweep.neighbours import Neighbours
from resweep.pose import Array, Trajectory, rotation_of
from resweep.sweep import Sweep
from resweep.voxels import average_voxels

POSE = 6  # unknowns of a pose: a turn vector, radians, and a shift, metres
RATES = 6  # unknowns of the motion within a sweep: the same a second

# Planes, chosen by hand for voxels of 0.1 to 0.4 m.
_K = 16  # neighbours
_FLAT_M = 0.06  # largest standard deviation across a plane
_FLATNESS = 0.05  # variance across a plane over that along its short side
RADIUS_PER_VOXEL = 3.75  # of the neighbourhood that makes a plane
_BREADTH = 0.05  # variance along the short side over that along the long one: a scan line spans no plane
_MIN_COUNT = 6  # of them within the radius
_KNOTS = 9  # of a motion that is not steady: between them it is taken for steady
DAMPING = 1e-6  # per residual: directions that no plane constrains stay as they are


@dataclass(frozen=True, eq=False)
class Matches:
    """Points near a plane: their ``row`` (m,), the ``normal`` (m, 3) there and the signed ``error`` (m,) in metres."""

    row: Array
    normal: Array
    error: Array


@dataclass(frozen=True, eq=False)
class Planes:
    """The flat places of a map: ``points`` on them and unit ``normal`` (n, 3) float64, metres."""

    points: Array
    normal: Array
    index: Neighbours

    def __len__(self) -> int:
        return len(self.points)

    def match(self, points: Array, reach_m: float) -> Matches:
        """The plane nearest to each of ``points`` (n, 3); points without one within ``reach_m`` are left out."""
        if len(self) == 0 or len(points) == 0:
            return Matches(np.zeros(0, np.int64), np.zeros((0, 3)), np.zeros(0))
        nearest = self.index.knn(points, 1, reach_m).index[:, 0]
        row = np.flatnonzero(nearest >= 0)
        at = nearest[row]
        return Matches(row, self.normal[at], plane_distances(points[row], self.points[at], self.normal[at]))


def find_planes(points: Array, voxel_m: float, radius_m: float) -> Planes:
    """The flat places of a map of ``points`` (n, 3): of the voxels' means, those whose neighbourhood is a plane.

    The neighbourhood of a mean is what lies within ``radius_m`` of it.
    """
    thin = average_voxels(points, voxel_m)
    if len(thin) < _MIN_COUNT:
        none = np.zeros((0, 3))
        return Planes(none, none, Neighbours(none))
    shape = Neighbours(thin).pca(_K, radius_m)
    long, short, across = shape.eigenvalues.T.astype(np.float64)
    flat = (across < _FLAT_M**2) & (across < _FLATNESS * short) & (short > _BREADTH * long)
    flat &= shape.count >= _MIN_COUNT
    places = thin[flat] + shape.mean_offset[flat]
    return Planes(places, shape.normal[flat].astype(np.float64), Neighbours(places))


def plane_distances(points: Array, places: Array, normal: Array) -> Array:
    """Signed distances (n,) of ``points`` (n, 3) from the planes through ``places`` (n, 3) with unit ``normal``."""
    return np.asarray(((points - places) * normal).sum(axis=1))


def motion_jacobian(lever: Array, direction: Array) -> Array:
    """Rows (n, 6): how direction · point changes with a small turn and shift.

    ``lever`` (n, 3) is the point less the centre that it is turned about, ``direction`` (n, 3) the plane's normal.
    """
    return np.concatenate([np.cross(lever, direction), direction], axis=1)


def huber_weight(error: Array, width_m: float) -> Array:
    """Weights (n,) of residuals: 1 up to ``width_m``, then falling as 1 / |error| (Huber)."""
    return np.asarray(1.0 / np.maximum(1.0, np.abs(error) / width_m))


def geman_mcclure_weight(error: Array, min_width_m: float) -> Array:
    """Weights (n,) of residuals (Geman and McClure); the width is three times their median, or ``min_width_m``."""
    width = max(min_width_m, 3.0 * float(np.median(np.abs(error)))) if len(error) else min_width_m
    return np.asarray(1.0 / (1.0 + (error / width) ** 2) ** 2)


def normal_equations(jacobian: Any, error: Array, weight: Array) -> tuple[Any, Array]:
    """JᵀWJ (k, k) and JᵀWe (k,) of residuals ``error`` (n,) with a dense or sparse ``jacobian`` (n, k)."""
    if sparse.issparse(jacobian):
        transposed = jacobian.T
        return transposed.dot(jacobian.multiply(weight[:, None])), transposed.dot(weight * error)  # sparse, no BLAS
    weighted = jacobian * weight[:, None]
    return portable.matmul(weighted.T, jacobian), portable.matmul(weighted.T, error)


def solve_step(jacobian: Any, error: Array, weight: Array, prior: Array, so_far: Array) -> Array:
    """The Gauss-Newton step (k,) of unknowns that are ``so_far`` (k,) and expected to be within ``prior`` (k,) of 0."""
    system, slope = normal_equations(jacobian, error, weight)
    dense = system.toarray() if sparse.issparse(system) else system
    return np.asarray(portable.solve(dense + np.diag(1.0 / prior**2), -slope - so_far / prior**2))


def rigid_step(points: Array, centre: Array, normal: Array, error: Array, weight: Array) -> Array:
    """The turn about ``centre`` (3,) and the shift (6,) that bring ``points`` (n, 3) nearer to their planes."""
    system, slope = normal_equations(motion_jacobian(points - centre, normal), error, weight)
    return np.asarray(portable.solve(system + DAMPING * max(len(error), 1) * np.eye(POSE), -slope))


def move_pose(pose: Array, change: Array, centre: Array | None = None) -> Array:
    """A pose turned about ``centre`` (its own position by default) and shifted by ``change`` (6,), in world axes."""
    pivot = pose[:3, 3] if centre is None else centre
    turn = Rotation.from_rotvec(change[:3]).as_matrix()
    moved = np.array(pose)
    moved[:3, :3] = portable.matmul(turn, pose[:3, :3])
    moved[:3, 3] = portable.matmul(turn, pose[:3, 3] - pivot) + pivot + change[3:]
    return moved


def correct_motion(sweep: Sweep, terms: Array) -> Trajectory:
    """The motion of a sweep changed by turns and shifts ``terms`` (k, 6): a second, a second squared, and so on.

    They are in world axes, and counted from the time of the sweep's pose. A sweep without motion gets one that covers
    its beams.
    """
    motion = sweep.trajectory
    if motion is None or len(motion) == 1:
        first, last = float(sweep.beam_time.min()), float(sweep.beam_time.max())
        times = np.unique([min(first, sweep.timestamp), sweep.timestamp, max(last, sweep.timestamp)])
        motion = Trajectory(times, np.repeat(sweep.pose[None], len(times), axis=0))
    if len(terms) > 1:
        times = np.union1d(motion.times, np.linspace(motion.start, motion.end, _KNOTS))
        motion = Trajectory(times, motion.at(times))
    changes = portable.matmul(list_powers(motion.times - sweep.timestamp, len(terms)), terms)
    centre = sweep.pose[:3, 3]
    knots = [move_pose(knot, change, centre) for knot, change in zip(motion.poses, changes, strict=True)]
    return Trajectory(motion.times, np.stack(knots))


def list_powers(values: Array, count: int) -> Array:
    """The first ``count`` powers (n, count) of ``values`` (n,), from the first power on."""
    return np.cumprod(np.repeat(np.asarray(values, np.float64)[:, None], count, axis=1), axis=1)


def motion_matrix(change: Array) -> Array:
    """The motion (4, 4) of a turn vector and a shift (6,)."""
    T = np.eye(4)
    T[:3, :3] = Rotation.from_rotvec(change[:3]).as_matrix()
    T[:3, 3] = change[3:]
    return T


def motion_vector(T: Array) -> Array:
    """The turn vector and the shift (6,) of a motion (4, 4)."""
    return np.concatenate([rotation_of(T).as_rotvec(), T[:3, 3]])
