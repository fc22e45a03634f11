"""Poses of a log that has none: KISS-ICP, refined point-to-plane, with the motion within each sweep.

KISS-ICP (Vizzo et al. 2023) finds the motion from sweep to sweep without any prior. Its point-to-point
steps lag behind, as the rings on the road move along with the sensor: 15 to 35 cm in 20 sweeps of a simulated street.
So each sweep is registered again to the flat parts of a local map of the sweeps before it, from where KISS-ICP or
constant velocity puts it, whichever fits better.

The pose of a sweep is found at the middle of its firing times. There a wrong guess of the motion within the sweep
distorts its two halves in opposite ways and hardly moves the pose; at its end, where KISS-ICP has it
(1.3.0 undoes motion towards the last return's time), it would shift the pose and the next guess would be worse.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from resweep import portable
from resweep.errors import InputError, ResweepError
from resweep.log import Log
from resweep.optional import require
from resweep.pose import Array, Trajectory, inverse, transform
from resweep.progress import track
from resweep.register.config import OdometryConfig
from resweep.registration import (
    POSE,
    RADIUS_PER_VOXEL,
    Planes,
    find_planes,
    geman_mcclure_weight,
    motion_matrix,
    motion_vector,
    move_pose,
    rigid_step,
)
from resweep.sweep import Sweep
from resweep.voxels import average_voxels, find_first_in_voxels

_GUESS_DIGITS = 6  # of the motion that KISS-ICP finds: micrometres
_MIN_POINTS, _MAX_POINTS = 100, 6000  # of a sweep, to be registered by; chosen by hand
_KEYFRAME_TURN_RAD = 0.2  # from which on a sweep sees other sides; chosen by hand
_TIME_STEP_S = 1e-4  # returns that fired within it are moved as one: under 4 mm at 130 km/h
# What follows was chosen by hand.
_RANGE_PER_VOXEL = 20  # median range of the first sweep over the side of a voxel
_MIN_VOXEL_M, _MAX_VOXEL_M = 0.1, 0.4  # whatever that range is
_WARM_ROUNDS = 3  # through the first sweeps, each from the mean motion that the last one found
_FAR_STEPS = 3  # of a registration, in which pairs may lie far apart
_FAR_VOXELS, _NEAR_VOXELS = 2.5, 1.25  # how far, in voxels, in those steps and in later ones
_WIDTHS_PER_VOXEL = 12  # least width of the robust weights in a voxel's side
_STOP = 2e-4  # radians and metres: smaller steps end a registration
_EXTENDED_SWEEPS = 2.0  # longest time between sweeps that the motion goes on for at either end


def odometry(log: Log, config: OdometryConfig | None = None, *, raw: bool | None = None, progress: bool = False) -> Log:
    """The log with poses found from its sweeps, and their trajectories, so that ``deskewed()`` undoes the motion.

    Poses that it had are replaced; the first sweep keeps its pose. ``raw`` says whether returns are as fired; by
    default they are if their times differ and the sweeps have a trajectory or the log has no known poses.
    ``meta["odometry"]`` keeps the typical distance from the map and the sweeps that fit badly.

    Example: ``log = rs.odometry(rs.open_log("drive.bag"))``
    """
    config = config or OdometryConfig()
    if len(log) == 0:
        raise InputError(f"log '{log.name}': holds no sweep; odometry needs at least one")
    if len(log) == 1:
        return log
    if (np.diff(log.times) <= 0).any():
        at = int(np.flatnonzero(np.diff(log.times) <= 0)[0])
        raise ResweepError(f"log '{log.name}': the time of sweep {at + 1} is not after that of {at}; odometry needs it")
    warm = [_select_returns(log[at], config, raw, log.poses_known) for at in range(min(config.warm_up, len(log)))]
    if len(warm[0].points) < _MIN_POINTS:
        raise ResweepError(f"log '{log.name}': sweep 0 has {len(warm[0].points)} returns in range; start with another")
    voxel_m = config.voxel_m or float(
        np.clip(np.median(np.linalg.norm(warm[0].points, axis=1)) / _RANGE_PER_VOXEL, _MIN_VOXEL_M, _MAX_VOXEL_M)
    )
    rate = None
    for _ in range(_WARM_ROUNDS):
        rate = _track_sweeps(_SensorTracker(config, voxel_m, rate), warm).mean_rate
    tracker = _track_sweeps(_SensorTracker(config, voxel_m, rate), warm)
    for sweep in track(log[len(warm) :], "finding poses", show=progress):
        tracker.add(_select_returns(sweep, config, raw, log.poses_known))
    return _pose_log(log, tracker, config)


@dataclass(frozen=True, eq=False)
class _OdometryReturns:
    """What odometry takes of a sweep: ``points`` (n, 3) and, if they moved while firing, ``later`` (n,) seconds.

    ``time`` is that of the pose, ``later`` counts from it; None for points of one frame.
    """

    points: Array
    later: Array | None
    time: float


def _select_returns(sweep: Sweep, config: OdometryConfig, raw: bool | None, poses_known: bool) -> _OdometryReturns:
    near = (sweep.range >= config.range_min_m) & (sweep.range <= config.range_max_m)
    near &= np.isfinite(sweep.points).all(axis=1)
    points, time = sweep.points[near].astype(np.float64), sweep.time[near]
    if raw is None:
        raw = sweep.trajectory is not None or not poses_known
    if not raw or len(time) == 0 or time.max() - time.min() < _TIME_STEP_S:
        return _OdometryReturns(points, None, sweep.timestamp)
    middle = 0.5 * (float(time.min()) + float(time.max()))
    return _OdometryReturns(points, time - middle, middle)


def _undo_motion(points: Array, later: Array | None, rate: Array) -> Array:
    """Points as seen from the middle of the sweep, for a sensor that turns and moves at ``rate`` (6,) a second."""
    if later is None:
        return points
    steps = np.round(later / _TIME_STEP_S).astype(np.int64)
    first = int(steps.min())
    share = (first + np.arange(int(steps.max()) - first + 1)) * _TIME_STEP_S
    motion = np.zeros((len(share), 4, 4))
    motion[:, :3, :3] = Rotation.from_rotvec(share[:, None] * rate[:3]).as_matrix()
    motion[:, :3, 3] = share[:, None] * rate[3:]
    return transform(motion[steps - first], points)


def _find_rate(first: Array, second: Array, seconds: float) -> Array:
    """Turn and shift (6,) a second from one pose to another, in the first one's frame."""
    return np.asarray(motion_vector(portable.matmul(inverse(first), second)) / seconds)


def _predict(pose: Array, rate: Array, seconds: float) -> Array:
    """The pose (4, 4) that ``seconds`` at ``rate`` (6,) lead to."""
    return np.asarray(portable.matmul(pose, motion_matrix(rate * seconds)))


class _SensorTracker:
    """Follows the sensor from sweep to sweep; ``rate`` (6,) a second is its motion at the start, if known."""

    def __init__(self, config: OdometryConfig, voxel_m: float, rate: Array | None) -> None:
        self.config, self.voxel_m = config, voxel_m
        self.kiss = _Kiss(config)
        self.rate = np.zeros(POSE) if rate is None else rate
        self.known = rate is not None
        self.times: list[float] = []
        self.raw: list[bool] = []
        self.poses: list[Array] = []
        self.fit: list[float] = []
        self.residuals: list[float] = []
        self.frames: list[Array] = []
        self.latest = np.eye(4)  # the pose of the last sweep that went into the map
        self.map: Planes | None = None

    def add(self, seen: _OdometryReturns) -> None:
        """Find the pose of the next sweep and add it to the local map."""
        guess = self.kiss.step(seen)
        if not self.poses:
            pose = np.eye(4)
        else:
            seconds = seen.time - self.times[-1]
            if seconds <= 0:
                raise ResweepError(f"sweep {len(self.poses)}: fires before the one before it; sort the log by time")
            starts = [portable.matmul(self.poses[-1], guess)]
            if self.known:
                starts.append(_predict(self.poses[-1], self.rate, seconds))
            enough = len(seen.points) >= _MIN_POINTS
            pose = self._register(seen, starts, seconds) if enough else self._extrapolate(starts)
            self.rate, self.known = _find_rate(self.poses[-1], pose, seconds), True
        self.times.append(seen.time)
        self.raw.append(seen.later is not None)
        self.poses.append(pose)
        if len(seen.points) >= _MIN_POINTS:
            self._add_keyframe(seen, pose)

    @property
    def mean_rate(self) -> Array:
        """Turn and shift (6,) a second from the first sweep to the last."""
        return _find_rate(self.poses[0], self.poses[-1], self.times[-1] - self.times[0])

    def _register(self, seen: _OdometryReturns, starts: list[Array], seconds: float) -> Array:
        """The pose (4, 4) of a sweep in the local map, from the better of ``starts``."""
        planes = self.map
        assert planes is not None
        rows = find_first_in_voxels(seen.points, self.voxel_m)
        rows = rows[:: 1 + len(rows) // _MAX_POINTS]
        points, later = seen.points[rows], None if seen.later is None else seen.later[rows]

        def place(pose: Array) -> Array:
            return transform(pose, _undo_motion(points, later, _find_rate(self.poses[-1], pose, seconds)))

        def count_near(pose: Array) -> int:
            return int((np.abs(planes.match(place(pose), self.voxel_m).error) < self.voxel_m / 2).sum())

        pose = max(starts, key=count_near)
        for at in range(self.config.iterations):
            world = place(pose)
            found = planes.match(world, self.voxel_m * (_FAR_VOXELS if at < _FAR_STEPS else _NEAR_VOXELS))
            weight = geman_mcclure_weight(found.error, self.voxel_m / _WIDTHS_PER_VOXEL)
            change = rigid_step(world[found.row], pose[:3, 3], found.normal, found.error, weight)
            pose = move_pose(pose, change)
            if np.abs(change).max() < _STOP:
                break
        found = planes.match(place(pose), self.voxel_m)
        self.fit.append(len(found.row) / max(len(points), 1))
        self.residuals.append(float(np.median(np.abs(found.error))) if len(found.row) else self.voxel_m)
        return pose

    def _extrapolate(self, starts: list[Array]) -> Array:
        """The pose (4, 4) of a sweep with too few returns: that of constant velocity."""
        self.fit.append(0.0)
        self.residuals.append(self.voxel_m)
        return starts[-1]

    def _add_keyframe(self, seen: _OdometryReturns, pose: Array) -> None:
        """Add a sweep to the local map if the sensor has moved enough since the last one."""
        if self.frames:
            step = _find_rate(self.latest, pose, 1.0)
            turned = portable.norm(step[:3]) > _KEYFRAME_TURN_RAD
            if not turned and portable.norm(step[3:]) < self.config.keyframe_gap_m:
                return
        self.latest = pose
        self.frames.append(
            average_voxels(transform(pose, _undo_motion(seen.points, seen.later, self.rate)), self.voxel_m)
        )
        del self.frames[: -self.config.keyframes]
        self.map = find_planes(np.concatenate(self.frames), self.voxel_m, RADIUS_PER_VOXEL * self.voxel_m)


class _Kiss:
    """KISS-ICP from sweep to sweep; on one thread, as its sums depend on how threads share them."""

    def __init__(self, config: OdometryConfig) -> None:
        settings = require("kiss_icp.config", "odometry").load_config(None)
        settings.data.min_range, settings.data.max_range = config.range_min_m, config.range_max_m
        settings.registration.max_num_threads = 1
        self.odometry: Any = require("kiss_icp.kiss_icp", "odometry").KissICP(settings)

    def step(self, seen: _OdometryReturns) -> Array:
        """The motion (4, 4) since the sweep before, as KISS-ICP finds it."""
        if len(seen.points) < _MIN_POINTS:
            return np.asarray(self.odometry.last_delta)
        # Without times nothing is undone; equal times would be divided by their spread of zero.
        times = np.zeros(0) if seen.later is None else seen.later
        self.odometry.register_frame(seen.points, times)
        # It multiplies poses with BLAS: rounded, the guess has the same bytes on every processor.
        step: Array = np.round(np.asarray(self.odometry.last_delta), _GUESS_DIGITS)
        step[:3, :3] = portable.nearest_rotation(step[:3, :3])
        return step


def _track_sweeps(tracker: _SensorTracker, sweeps: list[_OdometryReturns]) -> _SensorTracker:
    """The tracker after adding the sweeps."""
    for seen in sweeps:
        tracker.add(seen)
    return tracker


def _pose_log(log: Log, tracker: _SensorTracker, config: OdometryConfig) -> Log:
    """The log at the tracker's poses, its first sweep at the pose that it had."""
    lost = [at + 1 for at, fit in enumerate(tracker.fit) if fit < config.fit_min]
    if lost:
        shown = ", ".join(map(str, lost[:8])) + (" ..." if len(lost) > 8 else "")
        warnings.warn(
            f"odometry: {len(lost)} of the {len(log)} sweeps of '{log.name}' hardly fit those before them "
            f"({shown}); their poses may be wrong",
            stacklevel=3,
        )
    reach_s = _EXTENDED_SWEEPS * float(np.diff(tracker.times).max())
    motion = Trajectory(np.array(tracker.times), np.stack(tracker.poses))
    length_m, motion = motion.length_m, motion.extended(reach_s)
    motion = motion.moved(portable.matmul(log.poses[0], inverse(motion.at(log.times[0]))))
    poses, raw = motion.at(log.times), tracker.raw

    def place(sweep: Sweep, at: int) -> Sweep:
        if raw[at]:
            return sweep.with_motion(motion, float(log.times[at]))
        return replace(sweep, pose=poses[at], trajectory=None)

    found = {"plane_residual_m": float(np.median(tracker.residuals)), "weak_sweeps": lost, "length_m": length_m}
    meta = {**log.meta, "poses": "odometry", "odometry": found}
    return log.map(
        place, "odometry", indexed=True, poses=poses, poses_known=True, sensor_position_known=True, meta=meta
    )
