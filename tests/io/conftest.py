"""A small sweep that uses every column: moving, with empty beams, double returns and extras."""

from __future__ import annotations

import numpy as np
import pytest

from resweep.log import Log
from resweep.pose import Trajectory, from_xyz_rpy
from resweep.sweep import BeamStatus, Sweep


def make_sweep(seed: int = 0, start: float = 1_700_000_000.25, utm: bool = True) -> Sweep:
    rng = np.random.default_rng(seed)
    beams = 400
    direction = rng.normal(size=(beams, 3))
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    status = np.full(beams, BeamStatus.RETURN, np.uint8)
    status[::5] = BeamStatus.NOTHING_HIT
    first = np.flatnonzero(status == BeamStatus.RETURN)
    beam = np.sort(np.concatenate([first, first[::4]]))
    index = np.r_[0, (np.diff(beam) == 0).astype(int)]
    count = len(beam)
    place = (448_262.123456, 5_411_932.654321, 260.5) if utm else (1.0, 2.0, 0.5)
    poses = np.stack([from_xyz_rpy(place[0] + 10 * dt, *place[1:], roll=0.1, yaw=1 + dt) for dt in (0.0, 0.05, 0.1)])
    return Sweep(
        pose=poses[0],
        beam_origin=np.broadcast_to(np.zeros(3, np.float32), (beams, 3)),
        beam_direction=direction,
        beam_time=start + np.linspace(0, 0.1, beams),
        beam_ring=np.arange(beams) % 16,
        beam_column=np.arange(beams) // 16,
        beam_status=status,
        beam=beam,
        range=rng.uniform(1, 90, count),
        intensity=rng.uniform(0, 1, count),
        return_index=index,
        label=rng.integers(0, 260, count),
        instance=rng.integers(0, 60_000, count),
        timestamp=start,
        trajectory=Trajectory(start + np.array([0.0, 0.05, 0.1]), poses),
        sensor="test 'sensor' é",
        extra={"width_m": rng.uniform(size=count).astype(np.float32), "flags": rng.integers(0, 9, count)},
    )


@pytest.fixture
def sweep() -> Sweep:
    return make_sweep()


@pytest.fixture
def log() -> Log:
    sweeps = [make_sweep(seed, 1_700_000_000.25 + seed * 0.1) for seed in range(3)]
    return Log.from_sweeps(sweeps, "drive", meta={"seed": 7, "config": {"rays": 9, "pose": np.eye(2)}})
