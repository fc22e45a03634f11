"""Range offsets that change with azimuth are found on the map, and taken out of ranges and put into readings."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from resweep.build import CalibrateConfig
from resweep.calibrate.calibrate import CalibrationResult, calibrate
from resweep.calibrate.checkpoint import pack_calibration, unpack_calibration
from resweep.calibration import AZIMUTH_HARMONICS, Calibration, LaserSigma, find_azimuth_harmonics
from resweep.errors import ResweepError
from resweep.log import Log
from resweep.pose import Array
from resweep.scenes import SCENES
from resweep.simulate import Retracer
from resweep.worlds import World
from tests.places import street_drive

RINGS = 64
CONFIG = CalibrateConfig(samples=20_000, points_per_sweep=20_000)


@pytest.fixture(scope="module")
def drive() -> Log:
    return street_drive(noise_m=0.01)


def make_biases(size_m: float) -> Array:
    """Amplitudes (k, 4) without anything in common."""
    biases = np.random.default_rng(5).normal(0, size_m, (RINGS, AZIMUTH_HARMONICS))
    return np.asarray(biases - biases.mean(axis=0))


def disturb(log: Log, biases: Array) -> Log:
    """The log as lasers that need ``biases`` record it."""
    lasers = Calibration(np.zeros(RINGS), np.zeros(RINGS), azimuth_bias_m=biases)
    read = [
        replace(s, range=lasers.readings(s.range, s.ring, s.beam_direction[s.beam]).astype(np.float32)) for s in log
    ]
    return Log.from_sweeps(read)


@pytest.fixture(scope="module")
def biased(drive: Log) -> Log:
    """The drive as lasers record it whose ranges change by a centimetre with azimuth."""
    return disturb(drive, make_biases(0.01))


@pytest.fixture(scope="module")
def calibrated(biased: Log) -> CalibrationResult:
    return calibrate(biased, CONFIG)


def test_biases_are_found_with_their_errors(drive: Log, calibrated: CalibrationResult) -> None:
    truth, found = make_biases(0.01), calibrated.calibration
    assert found.azimuth_bias_m is not None
    assert found.sigma is not None
    assert found.sigma.azimuth_bias_m is not None
    many = np.bincount(drive[0].ring, minlength=RINGS) > 300  # lasers that meet enough
    assert np.corrcoef(found.azimuth_bias_m[many].ravel(), truth[many].ravel())[0, 1] > 0.9
    error = (found.azimuth_bias_m - truth)[many]
    assert np.sqrt((error**2).mean()) < 0.5 * np.sqrt((truth[many] ** 2).mean())
    assert np.median(np.abs(error / found.sigma.azimuth_bias_m[many, None])) < 1.5
    assert any("mm by azimuth" in line for line in found.describe())


@pytest.mark.slow
def test_lasers_that_read_alike_all_around_get_no_biases(drive: Log) -> None:
    assert calibrate(drive, CONFIG).calibration.azimuth_bias_m is None


def test_a_sensor_that_stands_gets_no_biases(biased: Log) -> None:
    """From one place, a bent wall and a laser that reads long there look the same."""
    quick = CONFIG.model_copy(update={"iterations": 2})
    assert calibrate(biased[[3] * 8], quick).calibration.azimuth_bias_m is None
    without = quick.model_copy(update={"azimuth_bias_prior_m": 0.0})
    assert calibrate(biased, without).calibration.azimuth_bias_m is None


def test_biases_follow_the_azimuth() -> None:
    """By hand: 1 cm towards the front, none to the left, 2 cm to the two diagonals where the double has its sine."""
    biases = np.zeros((2, AZIMUTH_HARMONICS))
    biases[1] = [0.01, 0.0, 0.0, 0.02]
    lasers = Calibration(np.zeros(2), [0.0, 0.1], azimuth_bias_m=biases)
    half = np.sqrt(0.5)
    direction = np.array([[1.0, 0, 0], [-1.0, 0, 0], [0, 0.6, 0.8], [half, half, 0], [half, -half, 0], [0, 0, 1.0]])
    ring = np.ones(6, int)
    expected = 10.1 + np.array([0.01, -0.01, 0.0, 0.01 * half + 0.02, 0.01 * half - 0.02, 0.0])
    got = lasers.ranges(np.full(6, 10.0), ring, direction)
    np.testing.assert_allclose(got, expected, atol=1e-12)
    np.testing.assert_allclose(lasers.readings(got, ring, direction), 10.0, atol=1e-12)
    np.testing.assert_allclose(lasers.ranges(np.full(6, 10.0), np.array([0, 0, 0, 0, 7, 7]), direction), 10.0)
    assert find_azimuth_harmonics(np.zeros((0, 3))).shape == (0, AZIMUTH_HARMONICS)


def test_a_world_reads_as_the_lasers_did(drive: Log) -> None:
    """What a calibrated world predicts and simulates holds the biases of the lasers that recorded it."""
    world = SCENES["street"](seed=1)
    biases = make_biases(0.05)
    lasers = Calibration(np.zeros(RINGS), np.zeros(RINGS), azimuth_bias_m=biases)
    recorded, plain = disturb(drive, biases)[0], Retracer(world)
    reading = Retracer(World(world.layers, origin=world.origin, labels=world.labels, calibration=lasers))
    beams = drive[0].beam_direction
    for make in ("predict", "sweep"):
        before, after = getattr(plain, make)(drive[0]), getattr(reading, make)(recorded)
        np.testing.assert_array_equal(before.beam, after.beam)
        offset = (biases[before.ring] * find_azimuth_harmonics(beams[before.beam])).sum(axis=1)
        np.testing.assert_allclose(after.range, before.range - offset, atol=2e-4)
    likely, unlikely = (np.median(tracer.log_likelihood(recorded)) for tracer in (reading, plain))
    assert likely > unlikely + 0.5


def test_biases_are_kept(biased: Log, calibrated: CalibrationResult) -> None:
    found = calibrated
    again = unpack_calibration(biased, pack_calibration(found))
    assert again.calibration.to_dict() == found.calibration.to_dict()
    assert Calibration.from_dict(found.calibration.to_dict()).to_dict() == found.calibration.to_dict()
    assert "range_wave_m" in found.calibration.to_dict()  # as on disk
    np.testing.assert_array_equal(again.log[1].range, found.log[1].range)


def test_biases_of_another_sensor_are_refused() -> None:
    with pytest.raises(ResweepError, match="azimuth_bias_m must have 4 values a ring"):
        Calibration(np.zeros(2), np.zeros(2), azimuth_bias_m=np.zeros((3, AZIMUTH_HARMONICS)))
    assert LaserSigma(np.zeros(2), np.zeros(2), np.zeros(2), 0.1).to_dict().get("azimuth_bias_m") is None
