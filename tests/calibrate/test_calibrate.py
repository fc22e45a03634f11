"""Lasers and poses that are wrong by a known amount are found again on the map."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from resweep.build import CalibrateConfig
from resweep.calibrate.calibrate import calibrate
from resweep.calibration import Calibration
from resweep.log import Log
from resweep.pose import from_xyz_rpy
from resweep.scenes import SCENES
from resweep.simulate import Simulator
from tests.places import street_drive

CONFIG = CalibrateConfig(samples=20_000, points_per_sweep=20_000)


@pytest.fixture(scope="module")
def drive() -> Log:
    return street_drive()


def test_a_calibration_undoes_its_opposite(drive: Log) -> None:
    rng = np.random.default_rng(0)
    wrong = Calibration(rng.normal(0, 1e-3, 64), rng.normal(0, 0.02, 64))
    back = Calibration(-wrong.elevation_rad, -wrong.range_m)
    sweep = drive[0]
    np.testing.assert_allclose(back.applied(wrong.applied(sweep)).points, sweep.points, atol=2e-4)


def test_wrong_lasers_and_poses_are_found(drive: Log) -> None:
    rng = np.random.default_rng(3)
    truth = Calibration(rng.normal(0, np.radians(0.08), 64), rng.normal(0, 0.02, 64))
    wrong = Calibration(-truth.elevation_rad, -truth.range_m)
    shifts = rng.normal(0, 0.02, (len(drive), 3))
    sweeps = []
    for sweep, shift in zip(drive, shifts, strict=True):
        pose = sweep.pose.copy()
        pose[:3, 3] += shift
        sweeps.append(replace(wrong.applied(sweep), pose=pose))
    found = calibrate(Log.from_sweeps(sweeps), CONFIG)
    assert found.plane_residual_m[1] < 0.6 * found.plane_residual_m[0]
    # Lasers that often see flat things are estimated well; only differences between lasers can be.
    many = np.bincount(drive[0].ring, minlength=64) > 300
    for got, true in (
        (found.calibration.elevation_rad, truth.elevation_rad),
        (found.calibration.range_m, truth.range_m),
    ):
        assert np.corrcoef(got[many], true[many])[0, 1] > 0.8
    before = np.linalg.norm((shifts - shifts.mean(axis=0)), axis=1).mean()
    moved = found.log.poses[:, :3, 3] - drive.poses[:, :3, 3]
    assert np.linalg.norm(moved - moved.mean(axis=0), axis=1).mean() < 0.6 * before


@pytest.mark.slow
def test_a_true_log_is_left_nearly_as_it_is(drive: Log) -> None:
    found = calibrate(drive, CONFIG)
    many = np.bincount(drive[0].ring, minlength=64) > 300
    assert np.abs(found.calibration.elevation_rad[many]).max() < np.radians(0.03)
    assert np.abs(found.calibration.range_m[many]).max() < 0.01
    np.testing.assert_allclose(found.log.poses, drive.poses, atol=0.01)


def test_what_all_lasers_share_is_not_asked_of_a_sensor_that_stands(drive: Log) -> None:
    """Seen from one place, a ground that rises and lasers that point too low look the same."""
    config = CONFIG.model_copy(update={"samples": 3000, "points_per_sweep": 5000, "iterations": 1})
    stands, moves = (calibrate(drive[which], config).calibration for which in ([0, 0], [0, 4]))
    assert stands.sigma is not None
    assert moves.sigma is not None
    assert stands.sigma.elevation_bias_rad < 0.1 * CONFIG.elevation_bias_prior_rad
    assert abs(stands.elevation_bias_rad) < stands.sigma.elevation_bias_rad * 4
    assert moves.sigma.elevation_bias_rad > 0.2 * CONFIG.elevation_bias_prior_rad


@pytest.mark.parametrize("fired", [True, False], ids=["fired without return", "fired in later sweeps only"])
def test_lasers_that_hit_nothing_while_others_were_calibrated_stay_as_they_are(drive: Log, fired: bool) -> None:
    first, last, known = drive[0], drive[1], 60
    first = first.select(first.ring < known) if fired else first.select_beams(first.beam_ring < known)
    # Of three sweeps, the one in the middle of the way calibrates the lasers.
    sweeps = [last, first, last]
    found = calibrate(Log.from_sweeps(sweeps), CONFIG.model_copy(update={"sweeps": 1, "iterations": 1}))
    assert len(found.calibration.range_m) == (64 if fired else known)
    for at, given in enumerate(sweeps):
        above = given.beam_ring >= known
        np.testing.assert_allclose(found.log[at].beam_direction[above], given.beam_direction[above], atol=1e-6)
        returned = given.ring >= known
        np.testing.assert_array_equal(found.log[at].range[returned], given.range[returned])


@pytest.mark.slow
def test_a_slow_drift_of_poses_is_found_to_the_millimetre() -> None:
    """Planes move with the sweeps that they were fitted to: a drift that neighbouring sweeps share must not be lost."""
    quiet = {"receiver.range_noise_sigma_m": 0.0, "receiver.range_quantisation_m": 0.0, "beam.rays": "single"}
    sim = Simulator(SCENES["street"](seed=1), "velodyne-hdl-64e", seed=1)
    sim = sim.with_sensor(sim.sensor.with_(**quiet))
    along = np.linspace(0, 1, 24)
    poses = np.stack([from_xyz_rpy(24 * at - 12, 0.0, 1.9) for at in along])
    drift = np.cos(2 * np.pi * along)[:, None] * np.array([0.0, 0.08, 0.04])
    wrong = poses.copy()
    wrong[:, :3, 3] += drift
    sweeps = [replace(sweep, pose=pose) for sweep, pose in zip(sim.run(poses), wrong, strict=True)]
    left = calibrate(Log.from_sweeps(sweeps), CONFIG).log.poses[:, :3, 3] - poses[:, :3, 3]
    left -= left.mean(axis=0)
    assert (np.abs(left[:, 1:]).mean(axis=0) < 0.02 * np.abs(drift[:, 1:]).mean(axis=0)).all()
