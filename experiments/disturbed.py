"""A synthetic street recorded by a moving sensor whose lasers, poses and motion are off by known amounts."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

import resweep as rs
from resweep.calibration import Calibration
from resweep.pose import Array, Trajectory, from_xyz_rpy
from resweep.registration import move_pose
from resweep.scenes.street import StreetConfig, street

PERIOD_S = 0.1
SPEED_M_S = 14.0
MOTION = {"turn_rate_prior_rad_s": 0.01, "shift_rate_prior_m_s": 0.1}  # how far motion is off, poses aside
_POSE_SIGMA = np.array([0.001] * 3 + [0.01] * 3 + [0.01] * 3 + [0.1] * 3)


@dataclass(frozen=True, eq=False)
class Disturbed:
    """The ``log`` as it was recorded, the ``truth``, and what corrects one to the other.

    ``changes`` (n, 12) are a turn and a shift of each pose, then a turn and a shift a second, in world axes. The latter
    are about what takes one pose's change to the next one's.
    """

    log: rs.Log
    truth: rs.Log
    lasers: Calibration
    changes: Array


def scan_disturbed(sensor: str, sweeps: int, seed: int, length_m: float = 80.0) -> Disturbed:
    """A drive at 14 m/s down a street, each sweep of which takes a tenth of a second."""
    truth = _drive(sensor, sweeps, length_m)
    rng = np.random.default_rng(seed)
    rings = 1 + max(int(sweep.beam_ring.max()) for sweep in truth)
    lasers = Calibration(
        np.radians(0.2) + rng.normal(0, np.radians(0.05), rings),
        0.01 + rng.normal(0, 0.015, rings),
        range_slope=rng.normal(0, 4e-4, rings),
    )
    changes = rng.normal(0, _POSE_SIGMA, (len(truth), 12))
    changes[:, 6:] += np.gradient(changes[:, :6], PERIOD_S, axis=0)  # a drive has no jumps
    wrong = [_disturb(sweep, lasers, change) for sweep, change in zip(truth, changes, strict=True)]
    return Disturbed(rs.Log.from_sweeps(wrong), truth, lasers, changes)


def _drive(sensor: str, sweeps: int, length_m: float) -> rs.Log:
    world = street(1, StreetConfig(length_m=length_m))
    sim = rs.Simulator(world, rs.load_sensor(sensor).with_(**{"beam.rays": "single"}), seed=1)
    times = np.linspace(0.0, sweeps * PERIOD_S, 10 * sweeps + 1)
    x = SPEED_M_S * (times - times.mean())
    poses = np.stack([from_xyz_rpy(at, 0.3 * np.sin(at / 3), 1.9, yaw=0.1 * np.cos(at / 3)) for at in x])
    way = Trajectory(times, poses)
    begin = PERIOD_S * np.arange(sweeps)
    return rs.Log.from_sweeps(
        [sim.sweep(way.window(at, at + PERIOD_S), index=number) for number, at in enumerate(begin.tolist())]
    )


def _disturb(sweep: rs.Sweep, lasers: Calibration, change: Array) -> rs.Sweep:
    """The sweep as lasers and poses that need the corrections ``lasers`` and ``change`` (12,) record it."""
    lower = Calibration(-lasers.elevation_rad, np.zeros_like(lasers.range_m))
    motion, centre = sweep.trajectory, sweep.pose[:3, 3]
    assert motion is not None
    knots = [
        move_pose(pose, -(change[:6] + late * change[6:]), centre)
        for pose, late in zip(motion.poses, motion.times - sweep.timestamp, strict=True)
    ]
    return replace(
        sweep,
        beam_direction=lower.directions(sweep.beam_direction, sweep.beam_ring).astype(np.float32),
        range=lasers.readings(sweep.range, sweep.ring, sweep.beam_direction[sweep.beam]).astype(np.float32),
        pose=move_pose(sweep.pose, -change[:6], centre),
        trajectory=Trajectory(motion.times, np.stack(knots)),
    )
