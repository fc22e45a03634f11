"""Rigid poses and trajectories from the numbers that files hold, checked."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from resweep import portable
from resweep.bounds import check_positions
from resweep.errors import InputError
from resweep.pose import Array, Trajectory

_QUATERNION_TOLERANCE = 1e-2
_SAME_POSE_TOLERANCE = 1e-2


def poses_from_quaternions(position: Any, quaternion: Any, where: str) -> Array:
    """Poses (n, 4, 4) from positions (n, 3) in metres and quaternions (n, 4) in the order w x y z."""
    position = np.asarray(position, np.float64).reshape(-1, 3)
    quaternion = np.asarray(quaternion, np.float64).reshape(-1, 4)
    bad = ~np.isfinite(position).all(axis=1) | ~(np.abs(np.linalg.norm(quaternion, axis=1) - 1) < _QUATERNION_TOLERANCE)
    if bad.any():
        raise InputError(
            f"{where}: row {int(np.flatnonzero(bad)[0])} is no rigid pose (a quaternion not of length 1, or NaN); "
            "fetch it again"
        )
    check_positions(where, position)
    poses = np.tile(np.eye(4), (len(position), 1, 1))
    if len(position):
        poses[:, :3, :3] = Rotation.from_quat(quaternion[:, [1, 2, 3, 0]]).as_matrix()
    poses[:, :3, 3] = position
    return poses


def pose_from_quaternion(position: Any, quaternion: Any, where: str) -> Array:
    """One pose (4, 4), as `poses_from_quaternions`."""
    return np.asarray(poses_from_quaternions(position, quaternion, where)[0])


def pose_from_matrix(numbers: Any, where: str) -> Array:
    """A pose (4, 4) from the twelve or sixteen numbers of a matrix, its rotation made exact."""
    matrix = np.eye(4)
    values = np.asarray(numbers, np.float64).reshape(-1)
    if values.size not in (12, 16):
        raise InputError(f"{where}: {values.size} numbers; a pose has 12 (3x4) or 16 (4x4)")
    matrix[:3] = values.reshape(-1, 4)[:3]
    rotation = matrix[:3, :3]
    error = np.abs(portable.matmul(rotation, rotation.T) - np.eye(3)).max()
    if not error < 1e-3 or portable.det3(rotation) < 0 or not np.isfinite(matrix).all():
        raise InputError(f"{where}: no rigid pose (its 3x3 part is no rotation, deviation {error:.3g}); fetch it again")
    check_positions(where, matrix[None, :3, 3])
    matrix[:3, :3] = portable.nearest_rotation(rotation)
    return matrix


def trajectory_from_rows(times: Array, poses: Array, where: str) -> Trajectory:
    """A trajectory from rows in any order; two poses of one time are an error unless they agree to a centimetre."""
    order = np.argsort(times, kind="stable")
    times, poses = times[order], poses[order]
    repeated = np.r_[False, np.diff(times) <= 0]
    apart = np.r_[0.0, np.abs(np.diff(poses, axis=0)).max(axis=(1, 2), initial=0.0)]
    wrong = np.flatnonzero(repeated & (apart > _SAME_POSE_TOLERANCE))
    if len(wrong):
        raise InputError(
            f"{where}: two different poses at {float(times[wrong[0]]):.6f} s; each time may have one pose only"
        )
    return Trajectory(times[~repeated], poses[~repeated])
