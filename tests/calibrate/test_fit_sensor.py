"""A simulated log fitted again gives back the figures of its sensor, or says what it does not show."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from resweep.calibrate.sensor.detection import find_blind
from resweep.calibrate.sensor.fit_sensor import SensorFigures, fit_figures
from resweep.calibrate.sensor.surfaces import Expected
from resweep.calibrate.sensor.two_returns import SHARE, find_edge, fit_returns
from resweep.log import EmptyBeams, Log
from resweep.pose import from_xyz_rpy
from resweep.sensors import Lasers, Sensor
from resweep.simulate import Simulator
from resweep.sweep import Sweep
from tests.calibrate.sensor_yard import BIAS_M, CURVE, GAIN, drive, make_fence, make_sensor

SIGMA_M, PER_M, PER_TAN_M, RANGE_MIN_M, QUANTUM_M = 0.015, 0.0006, 0.008, 1.4, 0.002
PLAIN = make_sensor(receiver__range_quantisation_m=QUANTUM_M)


@pytest.fixture(scope="module")
def sensor() -> Sensor:
    return make_sensor(
        receiver__range_noise_sigma_m=SIGMA_M,
        receiver__range_noise_per_m=PER_M,
        receiver__range_noise_per_tan_m=PER_TAN_M,
        receiver__range_quantisation_m=QUANTUM_M,
        receiver__detection=CURVE,
        lasers=Lasers(range_bias_m=BIAS_M, intensity_gain=GAIN),
        range_min_m=RANGE_MIN_M,
    )


@pytest.fixture(scope="module")
def log(sensor: Sensor) -> Log:
    run = drive(sensor)
    return replace(Log.from_sweeps(list(run)), empty_beams=run.empty_beams, intensity_scale=1.0)


@pytest.fixture(scope="module")
def found(log: Log) -> SensorFigures:
    return fit_figures(log, PLAIN)


def test_noise_comes_back(found: SensorFigures) -> None:
    """The sigma at a few ranges and incidences within 10 %, and each figure within three of its uncertainties."""
    values = [found[f"range_noise_{name}"] for name in ("sigma_m", "per_m", "per_tan_m")]
    for value, true in zip(values, (SIGMA_M, PER_M, PER_TAN_M), strict=True):
        assert abs(value.value - true) < 3 * value.sigma
    for range_m, tangent in ((5.0, 0.0), (15.0, 0.5), (30.0, 0.0), (8.0, 2.0)):
        true = SIGMA_M + PER_M * range_m + PER_TAN_M * tangent
        assert values[0].value + values[1].value * range_m + values[2].value * tangent == pytest.approx(true, rel=0.1)


def test_biases_come_back(found: SensorFigures) -> None:
    """Each ring within three of its uncertainties, all within 1 cm (RMS); they differ by 2 cm."""
    bias, true = found["lasers.range_bias_m"], np.array(BIAS_M) - np.median(BIAS_M)
    error = bias.value - true
    assert (np.abs(error) < 3 * bias.sigma).all()
    assert np.sqrt(np.mean((error - error.mean()) ** 2)) < 0.01
    assert np.corrcoef(bias.value, true)[0, 1] > 0.9


def test_gains_come_back(found: SensorFigures) -> None:
    gain, true = found["lasers.intensity_gain"], np.array(GAIN) / np.median(GAIN)
    np.testing.assert_allclose(gain.value, true, rtol=0.04)


def test_detection_curve_comes_back(found: SensorFigures) -> None:
    """Each row within three uncertainties and 0.04; signals from a seventh of full detection up."""
    curve = found["receiver.detection"]
    true = np.interp(curve.at, CURVE.signal, CURVE.probability)
    assert (np.abs(curve.value - true) < np.maximum(3 * curve.sigma, 0.04)).all()
    assert curve.value.min() < 0.6
    assert curve.value.max() > 0.99


def test_blind_spots_are_no_detection() -> None:
    """Beams that one ring loses towards an azimuth say nothing of signals; weak ones that are lost everywhere do."""
    rng = np.random.default_rng(1)
    count = 60_000
    ring, azimuth = rng.integers(0, 16, count), rng.integers(0, 360, count)
    signal = rng.uniform(0.0, 1.0, count)
    behind_mount = (ring < 8) & (azimuth >= 100) & (azimuth < 120)
    weak = (azimuth >= 200) & (azimuth < 230)  # always looks at something dark
    signal = np.where(weak, 0.002, signal)
    lost = behind_mount | (rng.random(count) < np.where(signal < 0.01, 0.9, 0.01))
    ones = np.ones(count)
    beams = Expected(ones, ones, ones, ring, azimuth, ones, np.where(lost, np.inf, 1.0), ones, ring[:, None])
    blind = find_blind(signal, beams)
    assert blind[behind_mount].all()
    assert not blind[weak].any()
    assert np.count_nonzero(blind & ~behind_mount) < 0.15 * np.count_nonzero(behind_mount)


def test_smallest_range_comes_back(found: SensorFigures) -> None:
    assert found["range_min_m"].value == pytest.approx(RANGE_MIN_M, abs=0.03)


def test_fitted_sensor_simulates_like_the_true_one(found: SensorFigures, sensor: Sensor) -> None:
    """The figures go into the spec, and the shares of returns of both sensors agree."""
    fitted = found.applied(PLAIN)
    assert fitted.lasers is not None
    assert "receiver.detection" in fitted.description
    assert fitted.receiver.detection is not None
    assert Sensor.model_validate(fitted.model_dump()) == fitted
    shares = [len(drive(each, sweeps=1, seed=9)[0].range) for each in (sensor, fitted, PLAIN)]
    assert abs(shares[1] / shares[0] - 1) < 0.03 < abs(shares[2] / shares[0] - 1)


def _without(log: Log, **changes: Any) -> Log:
    sweeps = [replace(sweep, **{name: make(sweep) for name, make in changes.items()}) for sweep in log]
    return replace(Log.from_sweeps(sweeps), empty_beams=log.empty_beams, intensity_scale=log.intensity_scale)


def test_what_a_log_cannot_tell_is_said(log: Log) -> None:
    few = replace(Log.from_sweeps([log[0].select_beams(log[0].beam_column % 2 == 0)]), empty_beams=log.empty_beams)
    few = replace(few, intensity_scale=1.0)
    dark = _without(few, intensity=lambda sweep: np.zeros_like(sweep.intensity))
    bare = replace(
        _without(dark, beam_ring=lambda sweep: np.zeros_like(sweep.beam_ring)), empty_beams=EmptyBeams("unknown", "no")
    )
    found = fit_figures(bare, PLAIN)
    assert "no rings" in found["lasers.range_bias_m"].note
    assert "no rings" in found["lasers.intensity_gain"].note
    assert "beams without return are unknown" in found["receiver.detection"].note
    assert "no intensities" in fit_figures(dark, PLAIN)["receiver.detection"].note
    counts = _without(few, intensity=lambda sweep: 200 * sweep.intensity)
    assert "scale" in fit_figures(replace(counts, intensity_scale=None), PLAIN)["receiver.detection"].note
    assert found.applied(PLAIN).lasers is None
    assert not found["receiver.return_separation_m"].known


def test_unknown_position_of_the_sensor(log: Log) -> None:
    """Of a cloud only what returns show by themselves is estimated."""
    found = fit_figures(replace(log[:1], sensor_position_known=False), PLAIN)
    assert found["range_min_m"].known
    assert found["range_noise_sigma_m"].note == "where beams begin is unknown"


def test_unknown_poses_leave_one_sweep(log: Log) -> None:
    found = fit_figures(replace(log, poses_known=False), PLAIN)
    assert (found.sweeps, "no poses" in found.basis) == (1, True)


def test_separation_of_returns_comes_back() -> None:
    sensor = make_sensor(
        receiver__mode="multiple",
        receiver__max_returns=2,
        receiver__signal_cutoff_m=0.5,
        receiver__return_separation_m=1.6,
        receiver__range_noise_sigma_m=0.01,
        beam={"divergence_h_rad": 0.006, "divergence_v_rad": 0.006, "rays": "nine"},
    )
    simulator = Simulator(make_fence(), sensor, seed=3)
    poses = [from_xyz_rpy(0.07 * at, 0.05 * at, 0.0, yaw=0.37 * at) for at in range(12)]
    sweeps = [simulator.sweep(pose, index=at) for at, pose in enumerate(poses)]
    separation, share = fit_returns(sweeps)
    assert separation.value == pytest.approx(1.6, abs=0.04)
    beams = sum(len(np.unique(sweep.beam)) for sweep in sweeps)
    assert share.value == pytest.approx(sum((sweep.return_index == 1).sum() for sweep in sweeps) / beams)
    stored = [_as_points(sweep) for sweep in sweeps]
    again, same_share = fit_returns(stored)
    assert (again.value, same_share.name) == (pytest.approx(separation.value, abs=1e-4), SHARE)


def _as_points(sweep: Sweep) -> Sweep:
    """The returns as formats of points keep them: a beam for each, with the ring and time of its pulse."""
    order = np.random.default_rng(0).permutation(len(sweep.range))
    beam = sweep.beam[order]
    return Sweep.from_points(
        sweep.points[order], time=sweep.beam_time[beam], ring=sweep.beam_ring[beam], timestamp=sweep.timestamp
    )


def test_values_that_fade_out_have_no_edge() -> None:
    rng = np.random.default_rng(0)
    assert find_edge(2.0 + np.abs(rng.normal(scale=3.0, size=20_000))) is not None
    assert find_edge(np.abs(rng.normal(scale=0.15, size=2_000)) ** 0.2 + 1.0) is None
    assert find_edge(rng.uniform(1.0, 50.0, 100)) is None
