"""Rigid poses and trajectories: where a frame is, and where it is at any time.

A pose is a 4x4 float64 matrix named ``T_target_source``: it takes coordinates in *source* to
coordinates in *target*. Metres, seconds, radians; x forward, y left, z up.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.transform import Rotation

from resweep import _core, portable
from resweep.bounds import check_positions, check_times
from resweep.errors import ResweepError

Array = NDArray[Any]

RIGID_TOLERANCE = 1e-4


def check_rigid(pose: ArrayLike, what: str = "pose") -> Array:
    """Return ``pose`` as float64 (..., 4, 4), or raise if any is no rigid motion, or leads to no place on Earth."""
    try:
        matrix = np.asarray(pose, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ResweepError(f"{what}: expected numbers in a 4x4 matrix ({error})") from error
    if matrix.shape[-2:] != (4, 4):
        raise ResweepError(f"{what}: expected a 4x4 matrix, got shape {matrix.shape}")
    flat = matrix.reshape(-1, 4, 4)
    deviation = np.asarray(_core.rigid_deviations(np.ascontiguousarray(flat)))
    if np.isnan(deviation).any():
        bad = int(np.flatnonzero(np.isnan(deviation))[0])
        raise ResweepError(f"{what} {bad}: holds NaN or infinity; every pose must be finite")
    if flat.size and deviation.max() > RIGID_TOLERANCE:
        worst = int(deviation.argmax())
        raise ResweepError(
            f"{what} {worst}: not a rigid motion (rotation is not orthonormal with determinant +1, "
            f"or the last row is not 0 0 0 1; deviation {deviation[worst]:.3g}); "
            "scale and shear do not belong in a pose"
        )
    check_positions(what, flat[:, :3, 3])
    return matrix


def inverse(pose: Array) -> Array:
    """The inverse of rigid poses (..., 4, 4)."""
    result = np.zeros_like(pose)
    rotation = np.swapaxes(pose[..., :3, :3], -1, -2)
    result[..., :3, :3] = rotation
    result[..., :3, 3] = -(portable.matmul(rotation, pose[..., :3, 3:]))[..., 0]
    result[..., 3, 3] = 1.0
    return result


def transform(pose: Array, points: Array) -> Array:
    """Points (n, 3) taken by one pose (4, 4), or each by its own (n, 4, 4)."""
    if pose.ndim == 2:
        return np.asarray(portable.matmul(points, pose[:3, :3].T) + pose[:3, 3])
    return np.asarray(np.einsum("nij,nj->ni", pose[:, :3, :3], points) + pose[:, :3, 3])


def rotation_of(pose: Array) -> Rotation:
    """The rotation of poses (..., 4, 4) or of matrices (..., 3, 3), the nearest one where rounding left none.

    `Rotation.from_matrix` alone asks LAPACK for the nearest one, which has other bytes on other processors.
    """
    return Rotation.from_matrix(portable.nearest_rotation(pose[..., :3, :3]))


def from_xyz_rpy(
    x: float = 0.0, y: float = 0.0, z: float = 0.0, roll: float = 0.0, pitch: float = 0.0, yaw: float = 0.0
) -> Array:
    """A pose from metres and radians; yaw about z, then pitch about y, then roll about x.

    Example: ``pose = rs.from_xyz_rpy(10.0, -2.0, 1.73, yaw=0.5)``
    """
    pose = np.eye(4)
    pose[:3, :3] = Rotation.from_euler("ZYX", [yaw, pitch, roll]).as_matrix()
    pose[:3, 3] = x, y, z
    return pose


@dataclass(frozen=True, eq=False)
class Trajectory:
    """Poses ``T_world_sensor`` over time, interpolated on SE(3).

    ``times`` (n,) float64 seconds, strictly increasing; ``poses`` (n, 4, 4) float64 rigid. Between
    two knots the rotation turns at constant rate about one axis (slerp) and the position moves at
    constant velocity. Nothing is extrapolated: a time outside the knots is an error.
    """

    times: Array
    poses: Array

    def __post_init__(self) -> None:
        times = np.atleast_1d(np.asarray(self.times, dtype=np.float64))
        poses = check_rigid(np.asarray(self.poses), "trajectory pose")
        poses = poses.reshape(-1, 4, 4)
        if len(times) != len(poses) or times.ndim != 1:
            raise ResweepError(f"trajectory: {len(times)} times for {len(poses)} poses; they must pair up")
        if len(times) == 0:
            raise ResweepError("trajectory: no pose; give at least one")
        check_times("trajectory", times)
        steps = np.diff(times)
        if (steps <= 0).any():
            at = int(np.flatnonzero(steps <= 0)[0]) + 1
            raise ResweepError(
                f"trajectory: time {times[at]:.6f} s of pose {at} does not come after "
                f"{times[at - 1]:.6f} s of pose {at - 1}; times must increase"
            )
        object.__setattr__(self, "times", times)
        object.__setattr__(self, "poses", poses)

    @cached_property
    def native(self) -> _core.Motion:
        """The same for native functions."""
        return _core.Motion(self.times, np.ascontiguousarray(self.poses))

    def __getstate__(self) -> dict[str, Array]:
        """What is pickled and copied: the knots, without what is derived from them."""
        return {"times": self.times, "poses": self.poses}

    def __len__(self) -> int:
        return len(self.times)

    def __repr__(self) -> str:
        many = "1 pose" if len(self) == 1 else f"{len(self)} poses"
        return f"Trajectory({many}, {self.start:.6f} to {self.end:.6f} s, {self.length_m:.2f} m long)"

    @property
    def start(self) -> float:
        """First time, seconds."""
        return float(self.times[0])

    @property
    def end(self) -> float:
        """Last time, seconds."""
        return float(self.times[-1])

    @property
    def length_m(self) -> float:
        """Path length in metres."""
        return float(np.linalg.norm(np.diff(self.poses[:, :3, 3], axis=0), axis=1).sum())

    def covers(self, start: float, end: float, slack: float = 1e-9) -> bool:
        """Whether every time from ``start`` to ``end`` lies within the knots."""
        return self.start - slack <= start and end <= self.end + slack

    def _check_covers(self, times: Array) -> None:
        if not times.size:
            return
        first, last = (float(times[0]),) * 2 if times.size == 1 else (float(times.min()), float(times.max()))
        if not self.covers(first, last):
            raise ResweepError(
                f"trajectory covers {self.start:.6f} to {self.end:.6f} s, but a pose is asked for at "
                f"{first:.6f} to {last:.6f} s; extend it or shorten the request"
            )

    def at(self, time: ArrayLike) -> Array:
        """Poses at ``time``: (4, 4) for a number, (n, 4, 4) for an array."""
        query = np.asarray(time, dtype=np.float64)
        flat = query.reshape(-1)
        self._check_covers(flat)
        if len(self.times) == 1:
            return np.array(np.broadcast_to(self.poses[0], (*query.shape, 4, 4)))
        found = self.native.at(np.ascontiguousarray(flat))
        return np.asarray(found).reshape(*query.shape, 4, 4)

    def carried(self, times: Array, vectors: Array, directions: bool = False) -> Array:
        """Points (n, 3) of the moving frame, each at its own time (n,), in the frame that the poses lead to.

        As `at` and `transform` give it, but natively, without a matrix a point, and in the precision of ``vectors``;
        ``directions`` are turned only.
        """
        when = np.ascontiguousarray(times, np.float64)
        if len(self.times) > 1:
            self._check_covers(when)
        motion = self.native
        if vectors.dtype == np.float32:
            single = np.ascontiguousarray(vectors, np.float32)
            return np.asarray(motion.to_world_float(when, single, directions))
        rows = np.ascontiguousarray(vectors, np.float64)
        return np.asarray(motion.to_world(when, rows, directions))

    def window(self, start: float, end: float) -> Trajectory:
        """The part from ``start`` to ``end``, with poses interpolated at both ends."""
        inside = (self.times > start) & (self.times < end)
        times = np.concatenate([[start], self.times[inside], [end]]) if end > start else np.array([start], np.float64)
        return Trajectory.trusted(times, self.at(times))

    def moved(self, T_new_world: Array) -> Trajectory:
        """The same motion seen from another world frame."""
        return Trajectory(self.times, portable.matmul(T_new_world, self.poses))

    def offset(self, T_sensor_mount: Array) -> Trajectory:
        """The trajectory of a frame fixed to this one: ``T_world_sensor @ T_sensor_mount``."""
        return Trajectory(self.times, portable.matmul(self.poses, T_sensor_mount))

    @classmethod
    def trusted(cls, times: Array, poses: Array) -> Trajectory:
        """The trajectory of float64 arrays that are known to be right, such as parts of another: nothing is checked."""
        instance = object.__new__(cls)
        object.__setattr__(instance, "times", times)
        object.__setattr__(instance, "poses", poses)
        return instance

    def extended(self, margin_s: float) -> Trajectory:
        """The trajectory with ``margin_s`` more at both ends, at the velocities it has there.

        Sweeps begin before their reference time and end after it, so the first and the last reach out of the
        recorded poses.
        """
        times, poses = self.times, self.poses
        ends = []
        for at, other, sign in ((0, min(1, len(times) - 1), -1.0), (len(times) - 1, max(len(times) - 2, 0), 1.0)):
            pose = poses[at].copy()
            if at != other:
                share = margin_s / abs(times[at] - times[other])
                pose[:3, 3] += share * (poses[at, :3, 3] - poses[other, :3, 3])
                here, there = rotation_of(poses[at]), rotation_of(poses[other])
                turn = (here.inv() * there).as_rotvec()
                pose[:3, :3] = (here * Rotation.from_rotvec(-share * turn)).as_matrix()
            ends.append((times[at] + sign * margin_s, pose))
        (first, before), (last, after) = ends
        return Trajectory(np.r_[first, times, last], np.concatenate([before[None], poses, after[None]]))
