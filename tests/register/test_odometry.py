"""Poses found from sweeps alone, against the truth of simulated drives and the poses of recorded ones."""

from __future__ import annotations

import builtins
import importlib
import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import resweep as rs
from resweep.build import CalibrateConfig
from resweep.calibrate.calibrate import calibrate
from resweep.log import Log
from resweep.pose import Trajectory, from_xyz_rpy, inverse
from resweep.register import OdometryConfig
from resweep.register.odometry import odometry
from resweep.scenes import SCENES
from resweep.simulate import Simulator
from resweep.sweep import Sweep

N = 14


@pytest.fixture(scope="module")
def drive() -> Log:
    """A VLP-16 that winds through the street at 8 m/s, each pulse fired where the sensor is by then."""
    times = np.linspace(0, 0.1 * N + 0.1, 60)
    x = -20 + 8 * times
    poses = [from_xyz_rpy(a, np.sin(a / 8), 1.9, yaw=np.arctan(np.cos(a / 8) / 8)) for a in x]
    sim = Simulator(SCENES["street"](seed=3), "velodyne-vlp-16", seed=5)
    return Log.from_sweeps(list(sim.run(Trajectory(times, np.stack(poses)), sweeps=N)), "street")


@pytest.fixture(scope="module")
def found(drive: Log) -> Log:
    return odometry(drive)


def errors(found: Log, truth: Log) -> tuple[np.ndarray, np.ndarray]:
    """Distances in metres and turns in degrees from the true poses, both logs set to begin at the first pose."""
    off = inverse(inverse(truth.poses[0]) @ truth.poses) @ (inverse(found.poses[0]) @ found.poses)
    return np.linalg.norm(off[:, :3, 3], axis=1), np.degrees(Rotation.from_matrix(off[:, :3, :3]).magnitude())


def test_a_street_driven_at_speed_is_found_to_centimetres(drive: Log, found: Log) -> None:
    distance, turn = errors(found, drive)
    assert np.linalg.norm(drive.poses[-1, :3, 3] - drive.poses[0, :3, 3]) > 10
    assert distance.max() < 0.03
    assert turn.max() < 0.2
    assert found.poses_known
    assert "odometry" in found.steps
    assert found.meta["odometry"]["length_m"] == pytest.approx(drive.trajectory.length_m, rel=0.01)
    np.testing.assert_allclose(found.poses[0], drive.poses[0], atol=1e-9)
    np.testing.assert_array_equal(found.times, drive.times)


def test_the_motion_within_sweeps_is_undone(drive: Log, found: Log) -> None:
    for at in (0, 1, N // 2, N - 1):
        bent = np.linalg.norm(drive[at].points - drive[at].deskewed(), axis=1).max()
        left = np.linalg.norm(found[at].deskewed() - drive[at].deskewed(), axis=1)
        assert bent > 0.5
        assert np.quantile(left, 0.95) < 0.03, at
        assert found[at].timestamp == drive[at].timestamp
        np.testing.assert_allclose(found[at].pose, found.poses[at])


def test_sweeps_of_one_frame_stay_as_they_are(drive: Log) -> None:
    still = []
    for sweep in drive[:6]:
        still.append(rs.Sweep.from_points(sweep.deskewed(), pose=np.eye(4), timestamp=sweep.timestamp))
    log = replace(Log.from_sweeps(still), poses_known=False)
    found = odometry(log)
    assert found[3].trajectory is None
    np.testing.assert_array_equal(found[3].points, still[3].points)
    assert errors(found, drive[:6])[0].max() < 0.03


def test_the_same_sweeps_give_the_same_poses(drive: Log) -> None:
    assert odometry(drive[:3]).poses.tobytes() == odometry(drive[:3]).poses.tobytes()


def test_a_log_that_cannot_be_followed_says_why(drive: Log) -> None:
    with pytest.raises(rs.ResweepError, match="time of sweep 1"):
        odometry(replace(drive, times=np.zeros(N)))
    empty = drive[0].select(np.zeros(len(drive[0]), bool))
    with pytest.raises(rs.ResweepError, match="sweep 0 has 0 returns"):
        odometry(Log.from_sweeps([empty, drive[1]]))
    assert odometry(drive[:1]) is not None


def test_a_sweep_from_elsewhere_is_reported_of(drive: Log) -> None:
    elsewhere = np.random.default_rng(0).uniform(5, 60, len(drive[2]))
    lost = replace(drive[2], range=elsewhere)
    with pytest.warns(UserWarning, match="hardly fit"):
        found = odometry(Log.from_sweeps([*drive[:2], lost]))
    assert found.meta["odometry"]["weak_sweeps"] == [2]


def test_without_kiss_icp_the_error_says_how_to_install_it(drive: Log, monkeypatch) -> None:
    real = importlib.import_module

    def absent(name: str, *rest):
        if name.startswith("kiss_icp"):
            raise builtins.ImportError(f"No module named '{name}'")
        return real(name, *rest)

    monkeypatch.setattr(importlib, "import_module", absent)
    with pytest.raises(rs.ResweepError, match=r"pip install 'resweep\[logs\]'"):
        odometry(drive[:3])


@pytest.mark.slow
@pytest.mark.parametrize("sequence", ["00", "03"])
def test_a_recorded_drive_makes_a_thinner_map_than_its_own_poses(sample_data, sequence: str) -> None:
    log = rs.open_log(sample_data / "semantickitti_mini" / "sequences" / sequence)[:6]
    found = odometry(replace(log, poses=np.tile(np.eye(4), (6, 1, 1)), poses_known=False))
    distance, turn = errors(found, log)
    assert distance.max() < 0.08
    assert turn.max() < 0.2
    once = CalibrateConfig(iterations=1)
    assert calibrate(found, once).plane_residual_m[0] < calibrate(log, once).plane_residual_m[0]


@pytest.mark.slow
def test_memory_does_not_grow_with_the_drive(monkeypatch: pytest.MonkeyPatch) -> None:
    """A long alley of boxes: what is held after 36 sweeps is what was held after 22, but for the poses.

    KISS-ICP, whose own map ends at its largest range, is replaced by the true motion.
    """
    module = importlib.import_module("resweep.register.odometry")

    class TrueMotion:
        def __init__(self, config: OdometryConfig) -> None:
            pass

        def step(self, seen: object) -> np.ndarray:
            return from_xyz_rpy(1.2)

    monkeypatch.setattr(module, "_Kiss", TrueMotion)
    rng = np.random.default_rng(1)
    x = rng.uniform(-8, 54, 8000)
    world = np.column_stack([x, rng.choice([-4.0, 4.0], len(x)), rng.uniform(0, 4, len(x))])
    world[::3, 0], world[::3, 1] = 5 * np.floor(x[::3] / 5), rng.uniform(-4, 4, len(x[::3]))  # across the alley
    world[1::3, 1], world[1::3, 2] = rng.uniform(-4, 4, len(x[1::3])), 0.0  # its ground
    held: dict[int, int] = {}

    def load(at: int) -> Sweep:
        held[at] = tracemalloc.get_traced_memory()[0]
        here = world - [1.2 * at, 0.0, 1.8]
        return Sweep.from_points(here[np.linalg.norm(here, axis=1) < 8], timestamp=0.1 * at)

    log = Log(load, 0.1 * np.arange(36), np.tile(np.eye(4), (36, 1, 1)), "alley")
    tracemalloc.start()
    try:
        found = odometry(log, OdometryConfig(range_max_m=8.0, keyframes=4, iterations=2, warm_up=2))
    finally:
        tracemalloc.stop()
    np.testing.assert_allclose(found.poses[-1, :3, 3], [42.0, 0.0, 0.0], atol=0.5)
    early, late = (np.mean([held[at] for at in range(first, first + 8)]) for first in (15, 28))
    # Bytes a sweep: its pose, times and how well it fits. Threads of other tests may add some; a sweep has 50,000.
    assert late - early < 13 * 8000
