"""Poses of a log that has none: KISS-ICP, refined point-to-plane, with the motion within each sweep.

KISS-ICP (Vizzo et al. 2023) finds the motion from sweep to sweep without being told anything. Its point-to-point
steps lag behind, as the rings on the road move along with the sensor: 15 to 35 cm in 20 sweeps of a simulated street.
So each sweep is registered again to the flat parts of a local map of the sweeps before it, from where KISS-ICP or
constant velocity puts it, whichever fits better.

The pose of a sweep is found at the middle of its firing times. There a wrong guess of the motion within the sweep
bends both of its halves the opposite way and hardly moves the pose; at its end, where KISS-ICP has it
(1.3.0 undoes motion towards the last return's time), it would shift the pose and the next guess would be worse.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np
from pydantic import Field
from scipy.spatial.transform import Rotation

from resweep.config import Spec
from resweep.errors import ResweepError
from resweep.log import Log
from resweep.optional import require
from resweep.pose import Array, Trajectory, inverse, transform
from resweep.reconstruction.config import Positive
from resweep.reconstruction.map.accumulate import tracked
from resweep.reconstruction.splats.surfels import one_per_voxel
from resweep.registration import Surface, nudged, rigid_step, surface, voxel_means
from resweep.sweep import Sweep

_MIN_POINTS, _MOST_POINTS = 100, 6000
_KEYFRAME_TURN_RAD = 0.2
_TIME_STEP_S = 1e-4  # returns that fired within it are moved as one: under 4 mm at 130 km/h
_RADIUS_PER_VOXEL = 3.75


class OdometryConfig(Spec):
    """How poses are found from the sweeps alone; metres.

    Returns between ``range_min_m`` and ``range_max_m`` take part. The local map keeps the last ``keyframes`` sweeps
    that are ``keyframe_gap_m`` apart, averaged in voxels of ``voxel_m`` (by default a 20th of the first sweep's median
    range, 0.1 to 0.4 m). The first ``warm_up`` sweeps are gone through thrice, so that their motion is known from
    the start. Sweeps of which less than ``fit_min`` of the returns lie within a voxel of the map are told of.
    """

    range_min_m: Annotated[float, Field(ge=0.0)] = 2.0
    range_max_m: Positive = 80.0
    voxel_m: Positive | None = None
    keyframes: Annotated[int, Field(ge=1)] = 25
    keyframe_gap_m: Annotated[float, Field(ge=0.0)] = 0.5
    iterations: Annotated[int, Field(ge=1, le=100)] = 15
    warm_up: Annotated[int, Field(ge=2)] = 5
    fit_min: Annotated[float, Field(ge=0.0, le=1.0)] = 0.1


def odometry(log: Log, config: OdometryConfig | None = None, *, raw: bool | None = None, progress: bool = False) -> Log:
    """The log with poses found from its sweeps, and their trajectories, so that ``deskewed()`` undoes the motion.

    Poses that it had are replaced; the first sweep stays at its pose. ``raw`` says whether returns are as fired; by
    default they are if their times differ and the log gives the sweeps a trajectory or knows no poses at all.
    ``meta["odometry"]`` keeps the typical distance from the map and the sweeps that fit badly.
    """
    config = config or OdometryConfig()
    if len(log) == 0:
        raise ResweepError(f"log '{log.name}': holds no sweep; odometry needs at least one")
    if len(log) == 1:
        return log
    if (np.diff(log.times) <= 0).any():
        at = int(np.flatnonzero(np.diff(log.times) <= 0)[0])
        raise ResweepError(f"log '{log.name}': the time of sweep {at + 1} is not after that of {at}; odometry needs it")
    unknown = log.meta.get("poses") == "unknown"
    warm = [_returns(log[at], config, raw, unknown) for at in range(min(config.warm_up, len(log)))]
    if len(warm[0].points) < _MIN_POINTS:
        raise ResweepError(f"log '{log.name}': sweep 0 has {len(warm[0].points)} returns in range; start with another")
    voxel_m = config.voxel_m or float(np.clip(np.median(np.linalg.norm(warm[0].points, axis=1)) / 20, 0.1, 0.4))
    rate = None
    for _ in range(3):
        rate = _followed(_Tracker(config, voxel_m, rate), warm).mean_rate
    tracker = _followed(_Tracker(config, voxel_m, rate), warm)
    for _, sweep in tracked(log[len(warm) :], "finding poses", progress):
        tracker.add(_returns(sweep, config, raw, unknown))
    return _posed(log, tracker, config)


@dataclass(frozen=True, eq=False)
class _Returns:
    """What odometry takes of a sweep: ``points`` (n, 3) and, if they moved while firing, ``later`` (n,) seconds.

    ``time`` is that of the pose, ``later`` counts from it; None for points of one frame.
    """

    points: Array
    later: Array | None
    time: float


def _returns(sweep: Sweep, config: OdometryConfig, raw: bool | None, unknown: bool) -> _Returns:
    near = (sweep.range >= config.range_min_m) & (sweep.range <= config.range_max_m)
    near &= np.isfinite(sweep.points).all(axis=1)
    points, time = sweep.points[near].astype(np.float64), sweep.time[near]
    if raw is None:
        raw = sweep.trajectory is not None or unknown
    if not raw or len(time) == 0 or time.max() - time.min() < _TIME_STEP_S:
        return _Returns(points, None, sweep.timestamp)
    middle = 0.5 * (float(time.min()) + float(time.max()))
    return _Returns(points, time - middle, middle)


def _moved(points: Array, later: Array | None, rate: Array) -> Array:
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


def _rate(first: Array, second: Array, seconds: float) -> Array:
    """Turn and shift (6,) a second from one pose to another, in the first one's frame."""
    step = inverse(first) @ second
    return np.asarray(np.r_[Rotation.from_matrix(step[:3, :3]).as_rotvec(), step[:3, 3]] / seconds)


def _ahead(pose: Array, rate: Array, seconds: float) -> Array:
    step = np.eye(4)
    step[:3, :3] = Rotation.from_rotvec(rate[:3] * seconds).as_matrix()
    step[:3, 3] = rate[3:] * seconds
    return np.asarray(pose @ step)


class _Tracker:
    """Follows the sensor from sweep to sweep; ``rate`` (6,) a second is its motion at the start, if known."""

    def __init__(self, config: OdometryConfig, voxel_m: float, rate: Array | None) -> None:
        self.config, self.voxel_m = config, voxel_m
        self.kiss = _Kiss(config)
        self.rate = np.zeros(6) if rate is None else rate
        self.known = rate is not None
        self.times: list[float] = []
        self.raw: list[bool] = []
        self.poses: list[Array] = []
        self.fit: list[float] = []
        self.misfit: list[float] = []
        self.frames: list[Array] = []
        self.latest = np.eye(4)  # the pose of the last sweep that went into the map
        self.map: Surface | None = None

    def add(self, seen: _Returns) -> None:
        """Find the pose of the next sweep and put it into the local map."""
        guess = self.kiss.step(seen)
        if not self.poses:
            pose = np.eye(4)
        else:
            seconds = seen.time - self.times[-1]
            if seconds <= 0:
                raise ResweepError(f"sweep {len(self.poses)}: fires before the one before it; sort the log by time")
            starts = [self.poses[-1] @ guess]
            if self.known:
                starts.append(_ahead(self.poses[-1], self.rate, seconds))
            pose = self._registered(seen, starts, seconds) if len(seen.points) >= _MIN_POINTS else self._blind(starts)
            self.rate, self.known = _rate(self.poses[-1], pose, seconds), True
        self.times.append(seen.time)
        self.raw.append(seen.later is not None)
        self.poses.append(pose)
        if len(seen.points) >= _MIN_POINTS:
            self._remember(seen, pose)

    @property
    def mean_rate(self) -> Array:
        """Turn and shift (6,) a second from the first sweep to the last."""
        return _rate(self.poses[0], self.poses[-1], self.times[-1] - self.times[0])

    def _registered(self, seen: _Returns, starts: list[Array], seconds: float) -> Array:
        flat = self.map
        assert flat is not None
        rows = one_per_voxel(seen.points, self.voxel_m)
        rows = rows[:: 1 + len(rows) // _MOST_POINTS]
        points, later = seen.points[rows], None if seen.later is None else seen.later[rows]

        def placed(pose: Array) -> Array:
            return transform(pose, _moved(points, later, _rate(self.poses[-1], pose, seconds)))

        def near(pose: Array) -> int:
            return int((np.abs(flat.met_by(placed(pose), self.voxel_m).error) < self.voxel_m / 2).sum())

        pose = max(starts, key=near)
        for at in range(self.config.iterations):
            world = placed(pose)
            met = flat.met_by(world, self.voxel_m * (2.5 if at < 3 else 1.25))
            change = rigid_step(world, pose[:3, 3], met, self.voxel_m / 12)
            pose = nudged(pose, change)
            if np.abs(change).max() < 2e-4:
                break
        met = flat.met_by(placed(pose), self.voxel_m)
        self.fit.append(len(met.row) / max(len(points), 1))
        self.misfit.append(float(np.median(np.abs(met.error))) if len(met.row) else self.voxel_m)
        return pose

    def _blind(self, starts: list[Array]) -> Array:
        """The pose of a sweep with hardly any return: where constant velocity puts it."""
        self.fit.append(0.0)
        self.misfit.append(self.voxel_m)
        return starts[-1]

    def _remember(self, seen: _Returns, pose: Array) -> None:
        if self.frames:
            step = _rate(self.latest, pose, 1.0)
            turned = np.linalg.norm(step[:3]) > _KEYFRAME_TURN_RAD
            if not turned and np.linalg.norm(step[3:]) < self.config.keyframe_gap_m:
                return
        self.latest = pose
        self.frames.append(voxel_means(transform(pose, _moved(seen.points, seen.later, self.rate)), self.voxel_m))
        del self.frames[: -self.config.keyframes]
        self.map = surface(np.concatenate(self.frames), self.voxel_m, _RADIUS_PER_VOXEL * self.voxel_m)


class _Kiss:
    """KISS-ICP from sweep to sweep; on one thread, as its sums depend on how threads share them."""

    def __init__(self, config: OdometryConfig) -> None:
        settings = require("kiss_icp.config", "odometry").load_config(None)
        settings.data.min_range, settings.data.max_range = config.range_min_m, config.range_max_m
        settings.registration.max_num_threads = 1
        self.odometry: Any = require("kiss_icp.kiss_icp", "odometry").KissICP(settings)

    def step(self, seen: _Returns) -> Array:
        """The motion (4, 4) since the sweep before, as KISS-ICP finds it."""
        if len(seen.points) < _MIN_POINTS:
            return np.asarray(self.odometry.last_delta)
        # Without times nothing is undone; equal times would be divided by their spread of zero.
        times = np.zeros(0) if seen.later is None else seen.later
        self.odometry.register_frame(seen.points, times)
        step = np.array(self.odometry.last_delta)
        step[:3, :3] = Rotation.from_matrix(step[:3, :3]).as_matrix()
        return step


def _followed(tracker: _Tracker, sweeps: list[_Returns]) -> _Tracker:
    for seen in sweeps:
        tracker.add(seen)
    return tracker


def _posed(log: Log, tracker: _Tracker, config: OdometryConfig) -> Log:
    """The log at the tracker's poses, its first sweep at the pose that it had."""
    lost = [at + 1 for at, fit in enumerate(tracker.fit) if fit < config.fit_min]
    if lost:
        shown = ", ".join(map(str, lost[:8])) + (" ..." if len(lost) > 8 else "")
        warnings.warn(
            f"odometry: {len(lost)} of the {len(log)} sweeps of '{log.name}' hardly fit those before them "
            f"({shown}); their poses may be wrong",
            stacklevel=3,
        )
    reach_s = 2.0 * float(np.diff(tracker.times).max())
    motion = Trajectory(np.array(tracker.times), np.stack(tracker.poses))
    length_m, motion = motion.length_m, motion.extended(reach_s)
    motion = motion.moved(log.poses[0] @ inverse(motion.at(log.times[0])))
    poses, load, raw = motion.at(log.times), log.load, tracker.raw

    def placed(at: int) -> Sweep:
        sweep = load(at)
        if raw[at]:
            return sweep.with_motion(motion, float(log.times[at]))
        return replace(sweep, pose=poses[at], trajectory=None)

    found = {"misfit_m": float(np.median(tracker.misfit)), "weak_sweeps": lost, "length_m": length_m}
    meta = {**log.meta, "poses": "odometry", "odometry": found}
    return replace(log, load=placed, poses=poses, poses_known=True, meta=meta)
