"""A small sweep that uses every column: moving, with empty beams, double returns and extras."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from resweep.log import Log
from resweep.pose import Array, Trajectory, from_xyz_rpy
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


_RUN_KISS = """
import contextlib, ctypes, importlib.util, pathlib, sys, numpy
if importlib.util.find_spec("libusb_package"):  # Open3D's wheel wants the system's, which servers lack
    ctypes.CDLL(__import__("libusb_package").get_library_path(), mode=ctypes.RTLD_GLOBAL)
from kiss_icp.datasets import dataset_factory
from kiss_icp.pipeline import OdometryPipeline

loader, folder, output = sys.argv[1:4]
with contextlib.redirect_stdout(sys.stderr):
    data = dataset_factory(dataloader=loader, data_dir=pathlib.Path(folder), topic=None, sequence=None, meta=None)
    pipeline = OdometryPipeline(data)
    pipeline._run_pipeline()
numpy.save(output, pipeline.poses)
"""


@pytest.fixture
def kiss_icp(tmp_path: Path) -> Callable[[str, Path], Array]:
    """Poses (n, 4, 4) that KISS-ICP's own pipeline finds with one of its dataloaders.

    It runs in a process of its own, because its core ends the process where it cannot go on.
    """
    pytest.importorskip("kiss_icp")

    def run(loader: str, folder: Path) -> Array:
        output = tmp_path / "kiss_poses.npy"
        args = [sys.executable, "-c", _RUN_KISS, loader, str(folder), str(output)]
        result = subprocess.run(args, capture_output=True, text=True, check=False)
        assert result.returncode == 0, result.stderr[-2000:]
        poses: Array = np.load(output)
        return poses

    return run
