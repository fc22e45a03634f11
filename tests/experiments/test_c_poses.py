"""Lasers, poses and motion that are wrong by known amounts are found again, within their stated uncertainty."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from experiments.disturbed import MOTION, Disturbed, scan_disturbed
from resweep.build import CalibrateConfig
from resweep.calibrate.calibrate import CalibrationResult, calibrate, correct_log
from resweep.calibrate.checkpoint import pack_calibration, unpack_calibration
from resweep.calibration import Calibration
from resweep.log import Log

CONFIG = CalibrateConfig(samples=20_000, points_per_sweep=50_000, **MOTION)


@pytest.fixture(scope="module")
def known() -> Disturbed:
    return scan_disturbed("velodyne-hdl-32e", 7, seed=1, length_m=60.0)


@pytest.fixture(scope="module")
def found(known: Disturbed) -> CalibrationResult:
    return calibrate(known.log, CONFIG)


@pytest.mark.parametrize("name", ["elevation_rad", "range_m", "range_slope"])
def test_lasers_are_found_within_their_uncertainty(known: Disturbed, found: CalibrationResult, name: str) -> None:
    sigma = found.calibration.sigma
    assert sigma is not None
    z = (getattr(found.calibration, name) - getattr(known.lasers, name)) / getattr(sigma, name)
    assert np.abs(z).max() < 4.0  # of 32 rings
    assert np.mean(np.abs(z) < 3.0) > 0.95
    assert np.sqrt((z**2).mean()) < 1.6


def test_the_mean_elevation_is_found_within_its_uncertainty(known: Disturbed, found: CalibrationResult) -> None:
    lasers, sigma = found.calibration, found.calibration.sigma
    assert sigma is not None
    error = lasers.elevation_bias_rad - known.lasers.elevation_bias_rad
    assert abs(error) < 3 * sigma.elevation_bias_rad
    assert sigma.elevation_bias_rad < 0.5 * CONFIG.elevation_bias_prior_rad  # the data says it, not the prior


def test_motion_within_sweeps_is_found(known: Disturbed, found: CalibrationResult) -> None:
    poses = found.calibration.poses
    assert poses is not None
    before, after = (
        np.sqrt((each**2).mean(axis=0)) for each in (known.changes[:, 6:], known.changes[:, 6:] - found.rates)
    )
    assert (after[:3] < 0.7 * before[:3]).all()  # turns
    z = np.abs(known.changes[:, 6:] - found.rates) / ([poses.turn_sigma_rad_s] * 3 + [poses.shift_sigma_m_s] * 3)
    assert np.mean(z < 3.0) > 0.95
    true, wrong, right = (
        np.concatenate([sweep.world_points()[::20] for sweep in log]) for log in (known.truth, known.log, found.log)
    )
    assert np.median(np.abs(right - true)) < 0.5 * np.median(np.abs(wrong - true))


def test_windows_find_the_motion_too(known: Disturbed) -> None:
    lasers_right = Log.from_sweeps([known.lasers.applied(sweep) for sweep in known.log])
    config = CONFIG.model_copy(
        update={"sweeps": 2, "stretch": 2, "window": 6, "iterations": 1, "window_points": 12_000}
    )
    config = config.model_copy(update={"samples": 4000, "elevation_prior_rad": 1e-9, "elevation_bias_prior_rad": 1e-9})
    found = calibrate(lasers_right, config)
    error = known.changes[:, 6:] - found.rates
    assert (np.sqrt((error[:, :3] ** 2).mean(axis=0)) < np.sqrt((known.changes[:, 6:9] ** 2).mean(axis=0))).all()
    assert found.calibration.poses is not None
    assert found.calibration.poses.sweeps == len(known.log)
    assert 0 < found.calibration.poses.turn_sigma_rad_s < config.turn_rate_prior_rad_s


def test_a_calibrated_log_is_kept_and_read_back(known: Disturbed, found: CalibrationResult) -> None:
    again = unpack_calibration(known.log, pack_calibration(found))
    assert again.calibration.to_dict() == found.calibration.to_dict()
    np.testing.assert_array_equal(again.log[3].world_points(), found.log[3].world_points())


def test_worlds_keep_what_was_found(found: CalibrationResult) -> None:
    data = found.calibration.to_dict()
    again = Calibration.from_dict(data)
    assert again.to_dict() == data
    assert again.describe() == found.calibration.describe()
    assert any("±" in line and "cm/s" in line for line in again.describe())
    old = Calibration.from_dict({"elevation_rad": [0.0, 0.1], "range_m": [0.0, 0.01]})
    assert old.sigma is None
    assert not old.slope.any()


def test_readings_undo_ranges() -> None:
    lasers = Calibration(np.zeros(3), [0.01, -0.02, 0.0], range_slope=[1e-3, 0.0, -2e-3])
    reach, ring = np.array([1.0, 20.0, 80.0, 7.0]), np.array([0, 1, 2, 9])
    direction = np.tile([1.0, 0.0, 0.0], (4, 1))
    there = lasers.ranges(reach, ring, direction)
    np.testing.assert_allclose(lasers.readings(there, ring, direction), reach, rtol=1e-12)
    assert lasers.ranges(np.array([30.0]), np.array([0]), direction[:1])[0] == pytest.approx(30.02)


def test_compensated_sweeps_get_a_motion(known: Disturbed) -> None:
    """Sweeps whose points were compensated have no trajectory: what is left of their motion becomes one."""
    sweep = replace(known.log[0], trajectory=None)
    log = Log.from_sweeps([sweep])
    rate = np.array([[0, 0, 0.1, 1.0, 0, 0]])
    moved = correct_log(log, Calibration(np.zeros(32), np.zeros(32)), log.poses, rate)[0]
    assert moved.trajectory is not None
    away = moved.world_points() - sweep.world_points()
    late = sweep.time - sweep.timestamp
    arm = sweep.world_points() - sweep.pose[:3, 3]
    np.testing.assert_allclose(away[:, 0], late * (1.0 - 0.1 * arm[:, 1]), atol=2e-3)
    np.testing.assert_allclose(away[:, 1], late * 0.1 * arm[:, 0], atol=2e-3)
