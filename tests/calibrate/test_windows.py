"""Long drives calibrated in parts: lasers on stretches, poses in windows that overlap."""

from __future__ import annotations

import itertools
import pickle
import weakref
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import resweep as rs
from resweep.build import CalibrateConfig
from resweep.calibrate import calibrate as calibrating
from resweep.calibrate import local_planes, views, windows
from resweep.calibrate.calibrate import calibrate
from resweep.calibrate.unknowns import Unknowns
from resweep.calibrate.windows import choose_stretches, choose_windows, refine_poses
from resweep.calibration import Calibration
from resweep.log import Log
from resweep.pose import Array, from_xyz_rpy
from resweep.scenes import SCENES
from resweep.work import OneProcess

CONFIG = CalibrateConfig(
    sweeps=8, stretch=4, window=10, samples=8000, points_per_sweep=12_000, window_points=8000, window_iterations=3
)
RINGS = 32


def along(positions: Array) -> Array:
    return np.stack([from_xyz_rpy(x, 0.3 * np.sin(x / 3), 1.9, yaw=0.1 * np.cos(x / 3)) for x in positions])


@pytest.fixture(scope="module")
def street() -> Log:
    """Twenty-two sweeps along a street, from a sensor without noise."""
    quiet = {"receiver.range_noise_sigma_m": 0.0, "receiver.range_quantisation_m": 0.0, "beam.rays": "single"}
    sensor = rs.load_sensor("velodyne-hdl-32e").with_(**quiet)
    sim = rs.Simulator(SCENES["street"](seed=1), sensor, seed=1)
    return Log.from_sweeps(list(sim.run(along(np.linspace(-14, 14, 22)))))


def disturb(log: Log, lasers: Calibration) -> Log:
    """The log with other lasers, and poses that are off by 2 cm and a milliradian each."""
    rng = np.random.default_rng(3)
    sweeps = []
    for sweep in log:
        pose = sweep.pose.copy()
        pose[:3, 3] += rng.normal(0, 0.02, 3)
        pose[:3, :3] = Rotation.from_rotvec(rng.normal(0, 0.001, 3)).as_matrix() @ pose[:3, :3]
        sweeps.append(replace(lasers.applied(sweep), pose=pose))
    return Log.from_sweeps(sweeps)


def pose_errors(log: Log, truth: Log) -> tuple[Array, Array]:
    """Where each pose is off (n, 3), metres, and how it is turned (n, 3), radians."""
    turn = log.poses[:, :3, :3] @ truth.poses[:, :3, :3].transpose(0, 2, 1)
    return log.poses[:, :3, 3] - truth.poses[:, :3, 3], Rotation.from_matrix(turn).as_rotvec()


def steps(errors: Array) -> Array:
    """How the error changes from each sweep to the next."""
    return np.linalg.norm(np.diff(errors, axis=0), axis=1)


def test_lasers_and_poses_of_a_long_drive_are_found(street: Log) -> None:
    rng = np.random.default_rng(5)
    truth = Calibration(rng.normal(0, np.radians(0.08), RINGS), rng.normal(0, 0.02, RINGS))
    log = disturb(street, Calibration(-truth.elevation_rad, -truth.range_m))
    found = calibrate(log, CONFIG)
    many = np.bincount(street[0].ring, minlength=RINGS) > 300
    for name in ("elevation_rad", "range_m"):
        true = getattr(truth, name)[many]
        assert np.std(getattr(found.calibration, name)[many] - true) < 0.7 * np.std(true)
    assert found.plane_residual_m[1] < 0.3 * found.plane_residual_m[0]
    for before, after in zip(pose_errors(log, street), pose_errors(found.log, street), strict=True):
        assert np.linalg.norm(after, axis=1).mean() < 0.6 * np.linalg.norm(before, axis=1).mean()
        # No jump where one window ends and the next begins: every step is small.
        assert steps(after).max() < 0.2 * steps(before).mean()


def test_a_true_drive_is_left_nearly_as_it_is(street: Log) -> None:
    nothing = Calibration(np.zeros(RINGS), np.zeros(RINGS))
    poses = refine_poses(street, nothing, CONFIG, None, False, OneProcess()).poses
    np.testing.assert_allclose(poses, street.poses, atol=0.005)


class Elsewhere:
    """Runs tasks in another order, the last one first; their function is one of a module, as workers need it."""

    count = 2

    def map(
        self, function: Callable[[Any], Any], items: Sequence[Any], what: str, *, show: bool = True
    ) -> Iterator[Any]:
        assert isinstance(function, partial)
        assert pickle.loads(pickle.dumps((function.func, items))) == (function.func, items)
        return reversed([function(item) for item in reversed(items)])


def test_windows_give_the_same_bytes_elsewhere(street: Log) -> None:
    lasers = Calibration(np.zeros(RINGS), np.zeros(RINGS))
    log = disturb(street[::2], lasers)
    config = CONFIG.model_copy(update={"window_points": 2000, "window_iterations": 1})
    here = refine_poses(log, lasers, config, None, False, OneProcess())
    there = refine_poses(log, lasers, config, None, False, Elsewhere())
    assert (here.poses != log.poses).any()
    for name in ("poses", "changes", "sigmas"):
        assert getattr(there, name).tobytes() == getattr(here, name).tobytes(), name


def test_only_the_sweeps_of_a_window_are_in_memory(monkeypatch: pytest.MonkeyPatch, street: Log) -> None:
    alive: weakref.WeakSet[views.SweepView] = weakref.WeakSet()
    most = 0

    class Watched(views.SweepView):
        __hash__ = object.__hash__

    def make_view(*given: Any) -> views.SweepView:
        nonlocal most
        view = views.make_view(*given)
        watched = Watched(**view.__dict__)
        alive.add(watched)
        most = max(most, len(alive))
        return watched

    def step(parts: Any, calibration: Calibration, *_: Any) -> local_planes.GaussNewtonStep:
        layout = Unknowns(len(calibration.range_m), sum(map(len, parts)), False)
        return local_planes.GaussNewtonStep(calibration, 0.0, layout, np.eye(layout.count))

    for module in (calibrating, windows):
        monkeypatch.setattr(module, "make_view", make_view)
        monkeypatch.setattr(module, "step", step)
    for count in (40, 120):
        log = street[[at % len(street) for at in range(count)]]
        most = 0
        calibrate(log, CONFIG)
        assert most <= 4 * CONFIG.window, count  # type: ignore[operator]  # two windows, and their copies


def test_without_windows_the_poses_stay(street: Log) -> None:
    config = CONFIG.model_copy(update={"window": None, "iterations": 1})
    assert calibrate(street, config).log.poses.tobytes() == street.poses.tobytes()


@pytest.mark.parametrize(("count", "size"), [(11, 10), (101, 50), (1000, 50), (9, 50), (53, 5)])
def test_windows_cover_all_sweeps_and_overlap(count: int, size: int) -> None:
    found = choose_windows(count, size)
    assert found[0][0] == 0
    assert found[-1][1] == count
    assert all(end - begin == min(size, count) for begin, end in found)
    overlap = [before[1] - after[0] for before, after in itertools.pairwise(found)]
    assert all(shared >= max(1, size // 5) for shared in overlap)
    weight = np.zeros(count)
    for window in found:
        weight[slice(*window)] += windows._fade(window, count)
    assert (weight > 0).all()


def test_stretches_are_spread_along_the_way() -> None:
    """The first half of the sweeps stand: they take no more than their share of the way."""
    poses = along(np.r_[np.zeros(500), np.linspace(0, 100, 500)])
    found = choose_stretches(poses, CalibrateConfig())
    assert len(found) == 5
    assert sum(end - begin for begin, end in found) == 100
    assert all(before[1] <= after[0] for before, after in itertools.pairwise(found))
    middle = poses[[(begin + end) // 2 for begin, end in found], 0, 3]
    np.testing.assert_allclose(middle, [10, 30, 50, 70, 90], atol=2.5)


@pytest.mark.parametrize("positions", [np.zeros(101), np.r_[np.zeros(100), 50.0], np.r_[0.0, np.full(100, 50.0)]])
def test_stretches_of_drives_that_hardly_move(positions: Array) -> None:
    found = choose_stretches(along(positions), CalibrateConfig())
    assert sum(end - begin for begin, end in found) == 100
    assert found[0][0] >= 0
    assert found[-1][1] <= 101
    assert all(before[1] <= after[0] for before, after in itertools.pairwise(found))
