"""Motion that was taken out of sweeps, and was not quite that of the drive.

Folders of SemanticKITTI and their like keep points that were moved to where they would lie had the sensor fired all
beams at once. What they were moved by shows in the rings (`resweep.sensors.infer.channel_motion`), and the poses show
how the sensor moved. KITTI's own compensation took 10 or 11 packets of 10 ms for a turn of 10.4, of the turn before: up
to a tenth of the motion is left in its points, 6 cm at each end of a sweep at 12 m/s.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from resweep import portable
from resweep.errors import ResweepError
from resweep.log import Log
from resweep.pose import Array, Trajectory, inverse, rotation_of
from resweep.registration import move_pose
from resweep.sensors.infer.beam_grid import estimate_grid, is_timed, sample_readable, thin_points
from resweep.sensors.infer.channel_motion import STILL, Channels, RingMotion, fit_motion
from resweep.sensors.infer.find_rings import compute_azimuth_deg, compute_beam_points
from resweep.sweep import Sweep

_SWEEPS = 5  # that the channels are found on
_POINTS = 12_000  # of a sweep, by which its motion is found
_NEAR_M = 1.0  # nearer points are on the vehicle that carries the sensor
_MIN_RINGS = 8  # fewer do not show how points were turned
_MIN_MOVED_M = 0.1  # of the places that the beams of a sweep start from
_MIN_DRIVE_M = 0.2  # of a turn: below it there is little to correct, and the direction of rotation is not seen
_MAX_LEFT = 0.5  # share of the motion: if more seems to be left, points were not compensated with this drive
_AROUND = (5, 3)  # sweeps by which speed and turn rate are read off the poses


@dataclass(eq=False)
class Compensation:
    """What compensation left in the sweeps of a log, or took out too much.

    Called with a sweep and its number, it gives the sweep with that motion as its ``trajectory``. Points stay as they
    are; `Sweep.deskewed` and all that trace their beams see them corrected. Beams are given times by their azimuth.
    Sweeps whose points have times, that were not compensated, or of logs whose poses or times are unknown, stay as
    they are. The lasers are found when the first sweep needs them.
    """

    log: Log

    @cached_property
    def period_s(self) -> float:
        """Seconds of a turn, 0 where the log does not show its motion."""
        log = self.log
        shown = log.poses_known and log.times_known and len(log) >= _AROUND[1]
        return float(np.median(np.diff(np.asarray(log.times, np.float64)))) if shown else 0.0

    @cached_property
    def channels(self) -> Channels | None:
        """The lasers, None where rings do not show them."""
        return _find_channels(self.log)

    def __call__(self, sweep: Sweep, at: int) -> Sweep:
        """Sweep ``at`` of the log, corrected."""
        if self.period_s <= 0 or sweep.trajectory is not None or is_timed(sweep) or not _is_compensated(sweep):
            return sweep
        drive = _read_drive(self.log.poses, np.asarray(self.log.times, np.float64), at, self.period_s)
        if portable.norm(drive.shift) < _MIN_DRIVE_M or self.channels is None:
            return sweep
        return _correct_sweep(sweep, self.channels, drive, self.period_s)


@dataclass(frozen=True, eq=False)
class _TurnMotion:
    """How the sensor moves in one turn, in its own frame: ``turn`` (3,) radians, ``shift`` (3,) metres."""

    turn: Array
    shift: Array


def _is_compensated(sweep: Sweep) -> bool:
    """Whether beams start from where a moving sensor was: their rings showed that motion was taken out."""
    return len(sweep) > 0 and bool((np.ptp(sweep.beam_origin[:, :2], axis=0) > _MIN_MOVED_M).any())


def _find_channels(log: Log) -> Channels | None:
    """The lasers of a log whose rings are known."""
    try:
        grid = estimate_grid(sample_readable(log, _SWEEPS))
    except ResweepError:  # without rings nothing shows by what points were moved
        return None
    return grid.channels if grid.source == "given" and grid.n_rings >= _MIN_RINGS else None


def _read_drive(poses: Array, times: Array, at: int, period_s: float) -> _TurnMotion:
    """The motion at sweep ``at`` by the poses around it."""
    rows, turned = (_choose_nearest(len(times), at, count) for count in _AROUND)
    T_here = inverse(poses[at])
    ahead = portable.matmul(poses[rows, :3, 3] - poses[at, :3, 3], T_here[:3, :3].T)
    turns = rotation_of(portable.matmul(T_here[:3, :3], poses[turned, :3, :3])).as_rotvec()
    since = times - times[at]
    return _TurnMotion(period_s * _fit_slope(since[turned], turns, 1), period_s * _fit_slope(since[rows], ahead, 2))


def _choose_nearest(count: int, at: int, wanted: int) -> slice:
    first = int(np.clip(at - wanted // 2, 0, max(count - wanted, 0)))
    return slice(first, min(first + wanted, count))


def _fit_slope(when: Array, values: Array, degree: int) -> Array:
    """The slope (3,) at 0 of a polynomial through ``values`` (n, 3)."""
    powers = np.stack([np.ones_like(when), when, when * when][: min(degree + 1, len(when))], axis=1)
    square = portable.matmul(powers.T, powers)
    return np.asarray(portable.solve(square, portable.matmul(powers.T, values))[1])


def _correct_sweep(sweep: Sweep, channels: Channels, drive: _TurnMotion, period_s: float) -> Sweep:
    points, ring = compute_beam_points(sweep), sweep.beam_ring.astype(np.int64)
    # Beams start where they were fired, so their azimuths are those measured.
    phase = (compute_azimuth_deg(sweep.beam_direction.astype(np.float64)) + 180.0) % 360.0 / 360.0 - 0.5
    motion = _find_motion(sweep, channels, points, ring)
    if motion is STILL:
        return sweep
    sense = float(np.sign(portable.matmul(motion.terms[:3], drive.shift)))
    left = _find_left(motion, sense, drive)
    if portable.norm(left[3:]) > _MAX_LEFT * portable.norm(drive.shift):
        return sweep
    rate = np.concatenate([portable.matmul(sweep.pose[:3, :3], part) for part in (left[:3], left[3:])])
    knots = np.array([-0.5, 0.0, 0.5])
    poses = np.stack([move_pose(sweep.pose, turn * rate) for turn in knots])
    motion_left = Trajectory(sweep.timestamp + period_s * knots, poses)
    time = np.clip(sweep.timestamp + period_s * sense * phase, motion_left.start, motion_left.end)
    return replace(sweep, beam_time=time, trajectory=motion_left)


def _find_motion(sweep: Sweep, channels: Channels, points: Array, ring: Array) -> RingMotion:
    """What the returns of a sweep were moved by."""
    returned = np.bincount(sweep.beam, minlength=sweep.n_beams) > 0
    sure = returned & (np.hypot(points[:, 0], points[:, 1]) > _NEAR_M) & (ring < len(channels.elevation_rad))
    sure[sure] = np.isfinite(channels.elevation_rad[ring[sure]])
    points = points[sure]
    phase = (compute_azimuth_deg(points) + 180.0) % 360.0 / 360.0 - 0.5
    return fit_motion(channels, *thin_points(_POINTS, points, ring[sure], phase), timed=False)


def _find_left(motion: RingMotion, sense: float, drive: _TurnMotion) -> Array:
    """Turn and shift (6,) of one turn that compensation left in the points.

    Rings do not show by how much points were turned about the axis: by the same share as they were shifted along.
    """
    taken = sense * motion.terms[:5]
    share = float(portable.matmul(taken[:3], drive.shift) / portable.matmul(drive.shift, drive.shift))
    turned = np.array([taken[3], taken[4], share * drive.turn[2]])
    return np.concatenate([drive.turn - turned, drive.shift - taken[:3]])
