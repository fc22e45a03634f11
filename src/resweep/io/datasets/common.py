"""What readers of driving datasets share: their JSON, quaternions, tracks, boxes and missing times."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from resweep.boxes import Boxes
from resweep.errors import ResweepError, nearest_names
from resweep.pose import Array, Trajectory, transform
from resweep.sweep import Sweep

_QUATERNION_TOLERANCE = 1e-2
_SAME = 1e-2
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def read_json(path: Path) -> Any:
    """The contents of a JSON file."""
    try:
        return json.loads(path.read_bytes())
    except OSError as error:
        raise ResweepError(f"{path}: cannot be read ({error.strerror or error}); is the dataset complete?") from error
    except ValueError as error:
        raise ResweepError(f"{path}: damaged or not JSON ({error}); fetch it again") from error


def poses_of(position: Any, quaternion: Any, where: str) -> Array:
    """Poses (n, 4, 4) from positions (n, 3) in metres and quaternions (n, 4) in the order w x y z."""
    position = np.asarray(position, np.float64).reshape(-1, 3)
    quaternion = np.asarray(quaternion, np.float64).reshape(-1, 4)
    bad = ~np.isfinite(position).all(axis=1) | ~(np.abs(np.linalg.norm(quaternion, axis=1) - 1) < _QUATERNION_TOLERANCE)
    if bad.any():
        raise ResweepError(
            f"{where}: row {int(np.flatnonzero(bad)[0])} is no rigid pose (a quaternion not of length 1, or NaN); "
            "fetch it again"
        )
    poses = np.tile(np.eye(4), (len(position), 1, 1))
    if len(position):
        poses[:, :3, :3] = Rotation.from_quat(quaternion[:, [1, 2, 3, 0]]).as_matrix()
    poses[:, :3, 3] = position
    return poses


def pose_of(position: Any, quaternion: Any, where: str) -> Array:
    """One pose (4, 4), as `poses_of`."""
    return np.asarray(poses_of(position, quaternion, where)[0])


def rigid(numbers: Any, where: str) -> Array:
    """A pose (4, 4) from the twelve or sixteen numbers of a matrix, its rotation made exact."""
    matrix = np.eye(4)
    values = np.asarray(numbers, np.float64).reshape(-1)
    if values.size not in (12, 16):
        raise ResweepError(f"{where}: {values.size} numbers; a pose has 12 (3x4) or 16 (4x4)")
    matrix[:3] = values.reshape(-1, 4)[:3]
    rotation = matrix[:3, :3]
    error = np.abs(rotation @ rotation.T - np.eye(3)).max()
    if not error < 1e-3 or np.linalg.det(rotation) < 0 or not np.isfinite(matrix).all():
        raise ResweepError(
            f"{where}: no rigid pose (its 3x3 part is no rotation, deviation {error:.3g}); fetch it again"
        )
    matrix[:3, :3] = Rotation.from_matrix(rotation).as_matrix()
    return matrix


def trajectory_of(times: Array, poses: Array, where: str) -> Trajectory:
    """A trajectory from rows in any order; two poses of one time are an error unless they agree to a centimetre."""
    order = np.argsort(times, kind="stable")
    times, poses = times[order], poses[order]
    repeated = np.r_[False, np.diff(times) <= 0]
    apart = np.r_[0.0, np.abs(np.diff(poses, axis=0)).max(axis=(1, 2), initial=0.0)]
    wrong = np.flatnonzero(repeated & (apart > _SAME))
    if len(wrong):
        raise ResweepError(
            f"{where}: two different poses at {float(times[wrong[0]]):.6f} s; each time may have one pose only"
        )
    return Trajectory(times[~repeated], poses[~repeated])


def extended(trajectory: Trajectory, margin_s: float) -> Trajectory:
    """The trajectory with ``margin_s`` more at both ends, at the velocities it has there.

    Sweeps begin before their reference time and end after it, so the first and the last reach out of the
    recorded poses.
    """
    times, poses = trajectory.times, trajectory.poses
    ends = []
    for at, other, sign in ((0, min(1, len(times) - 1), -1.0), (len(times) - 1, max(len(times) - 2, 0), 1.0)):
        pose = poses[at].copy()
        if at != other:
            share = margin_s / abs(times[at] - times[other])
            pose[:3, 3] += share * (poses[at, :3, 3] - poses[other, :3, 3])
            here, there = Rotation.from_matrix(poses[at, :3, :3]), Rotation.from_matrix(poses[other, :3, :3])
            turn = (here.inv() * there).as_rotvec()
            pose[:3, :3] = (here * Rotation.from_rotvec(-share * turn)).as_matrix()
        ends.append((times[at] + sign * margin_s, pose))
    (first, before), (last, after) = ends
    return Trajectory(np.r_[first, times, last], np.concatenate([before[None], poses, after[None]]))


def moving(sweep: Sweep, motion: Trajectory, timestamp: float) -> Sweep:
    """A sweep of raw points with ``motion`` through its beams' times, which the motion must cover."""
    first = min(float(sweep.beam_time.min()), timestamp) if sweep.n_beams else timestamp
    last = max(float(sweep.beam_time.max()), timestamp) if sweep.n_beams else timestamp
    return replace(sweep, pose=motion.at(timestamp), timestamp=timestamp, trajectory=motion.window(first, last))


def from_origins(sweep: Sweep, origin: Array) -> Sweep:
    """The same points, measured from ``origin`` (n, 3) in place of the frame's own: one a beam."""
    offset = sweep.points.astype(np.float64) - origin
    distance = np.linalg.norm(offset, axis=1)
    direction = offset / np.maximum(distance, 1e-12)[:, None]
    return replace(sweep, beam_origin=origin.astype(np.float32), beam_direction=direction, range=distance)


def boxes_in(T_frame_boxes: Array, poses: Array, size: Any, name: Sequence[str], track: Any) -> Boxes:
    """Boxes from their poses (k, 4, 4) in another frame; x of a box is its heading. Tilt is left out."""
    there = T_frame_boxes @ poses
    yaw = np.arctan2(there[:, 1, 0], there[:, 0, 0])
    return Boxes(there[:, :3, 3], size, yaw, name, track)


def boxes_turned(T_frame_boxes: Array, centre: Any, yaw: Any, size: Any, name: Sequence[str], track: Any) -> Boxes:
    """Boxes from centres (k, 3) and yaws (k,) in another frame."""
    yaw = np.asarray(yaw, np.float64).reshape(-1)
    heading = np.stack([np.cos(yaw), np.sin(yaw), np.zeros_like(yaw)], axis=1) @ T_frame_boxes[:3, :3].T
    centre = transform(T_frame_boxes, np.asarray(centre, np.float64).reshape(-1, 3))
    return Boxes(centre, size, np.arctan2(heading[:, 1], heading[:, 0]), name, track)


class Tracks:
    """Numbers for a dataset's object names, from 0 in the order of their first mention."""

    def __init__(self, names: Iterable[str] = ()) -> None:
        self._number: dict[str, int] = {}
        for name in names:
            self._number.setdefault(name, len(self._number))

    def __getitem__(self, name: str) -> int:
        return self._number.setdefault(name, len(self._number))


def utc_seconds(text: str) -> float:
    """Seconds since 1970 of ``2011-09-26 13:02:25.951199337``; digits below the microsecond count too."""
    whole, _, fraction = text.strip().partition(".")
    moment = datetime.strptime(whole, "%Y-%m-%d %H:%M:%S").replace(tzinfo=UTC)
    return (moment - _EPOCH).total_seconds() + (float(f"0.{fraction}") if fraction else 0.0)


def chosen(given: str | None, names: Sequence[str], option: str, where: Path) -> str:
    """The one of ``names`` that is meant: the given one, or the only one there is."""
    if given is not None:
        if given not in names:
            raise ResweepError(f"{where}: no {option} '{given}'; {nearest_names(given, names)}")
        return given
    if len(names) == 1:
        return names[0]
    if not names:
        raise ResweepError(f"{where}: holds no {option}; is the dataset complete?")
    some = ", ".join(names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")
    raise ResweepError(f"{where}: holds {len(names)} of them; choose one with {option}= (it has {some})")
