"""Instruments read the truth with the errors of their spec, and nothing in outages."""

from __future__ import annotations

import math

import numpy as np
import pytest

from resweep import World
from resweep.drive import Compass, Gps, Imu, Loop, LoopConfig, Odometry, Rig
from resweep.drive.sensing.instruments import VehicleMotion, make_instruments
from resweep.drive.vehicles.spec import GRAVITY_MPS2
from resweep.pose import Array, Trajectory, from_xyz_rpy

EXACT = Rig(
    gps=Gps(sigma_m=0.0, sigma_up_m=0.0, position_m=(1.0, 0.5, 1.5)),
    compass=Compass(sigma_rad=0.0),
    imu=Imu(gyro_sigma_radps=0.0, gyro_bias_radps=0.0, gyro_walk_radps=0.0, accel_sigma_mps2=0.0, accel_bias_mps2=0.0,
            accel_walk_mps2=0.0),
    odometry=Odometry(speed_sigma_mps=0.0, scale_sigma=0.0, yaw_rate_sigma_radps=0.0),
)  # fmt: skip


def at_rest(seconds: float) -> VehicleMotion:
    path = Trajectory(np.array([0.0, seconds]), np.stack([from_xyz_rpy(5.0, 6.0, 7.0, yaw=0.4)] * 2))
    return VehicleMotion(path, np.zeros(2), np.zeros(2), 0.0, seconds)


def test_without_errors_they_read_a_steady_circle(yard: World) -> None:
    """On a circle of radius R at speed v: yaw rate v / R, lateral force v² / R, and gravity upward."""
    loop = Loop(
        yard,
        "passenger-car",
        EXACT,
        start=(0.0, 0.0, 0.0),
        speed_mps=5.0,
        config=LoopConfig(duration_s=9.0),
        truth=True,
    )
    episode = loop.episode()
    episode.begin()
    for _ in range(30):
        observation = episode.step((0.0, 0.3))
    radius = loop.vehicle.wheelbase_m / math.tan(0.3)
    rate = 5.0 / radius
    np.testing.assert_allclose(observation.odometry.value, np.tile([5.0, rate], (5, 1)), atol=1e-9)
    pose = observation.truth.T_world_vehicle
    np.testing.assert_allclose(observation.gps.last, (pose @ [1.0, 0.5, 1.5, 1.0])[:3], atol=1e-9)
    assert observation.compass.last[0] == pytest.approx(math.atan2(pose[1, 0], pose[0, 0]))
    assert len(observation.imu) == 10
    gyro, force = observation.imu.value[4, :3], observation.imu.value[4, 3:]
    np.testing.assert_allclose(gyro, [0.0, 0.0, rate], atol=1e-6)
    np.testing.assert_allclose(force, [0.0, 5.0**2 / radius, GRAVITY_MPS2], atol=0.03)


def test_they_come_at_their_rates_and_times(yard: World) -> None:
    rig = Rig(gps=Gps(rate_hz=4.0), compass=None, imu=Imu(rate_hz=30.0), odometry=None)
    loop = Loop(yard, "passenger-car", rig, start=(0.0, 0.0, 0.0), speed_mps=5.0, config=LoopConfig(duration_s=9.0))
    episode = loop.episode()
    seen = [episode.begin()] + [episode.step((0.0, 0.0)) for _ in range(20)]
    np.testing.assert_allclose(np.concatenate([one.gps.time for one in seen]), np.arange(9) / 4.0)
    np.testing.assert_allclose(np.concatenate([one.imu.time for one in seen]), np.arange(61) / 30.0)
    assert all(one.gps.time.max(initial=0.0) <= one.time_s + 1e-9 for one in seen)
    assert not any(len(one.compass) for one in seen)


def read(rig: Rig, name: str, seed: int, seconds: float) -> Array:
    return make_instruments(rig, seed)[name].read(at_rest(seconds)).value


def test_noise_has_the_spread_of_the_spec() -> None:
    """6000 readings: the standard deviation is known to 1 %, so 5 % is over five of its own deviations."""
    value = read(Rig(gps=Gps(sigma_m=0.3, sigma_up_m=0.7)), "gps", 5, 600.0) - [5.0, 6.0, 7.0]
    np.testing.assert_allclose(value.std(axis=0), [0.3, 0.3, 0.7], rtol=0.05)
    assert np.abs(value.mean(axis=0)).max() < 5 * 0.7 / math.sqrt(6000)
    assert abs(np.corrcoef(value.T)[0, 1]) < 5 / math.sqrt(6000)


def test_a_drift_is_a_gauss_markov_process() -> None:
    spec = Gps(sigma_m=0.0, sigma_up_m=0.0, drift_sigma_m=1.0, drift_time_s=5.0)
    drift = read(Rig(gps=spec), "gps", 2, 6000.0) - [5.0, 6.0, 7.0]
    assert drift.std() == pytest.approx(1.0, rel=0.1)
    lag = np.corrcoef(drift[:-50, 0], drift[50:, 0])[0, 1]
    assert lag == pytest.approx(math.exp(-1.0), abs=0.1)


def test_a_walking_bias_spreads_with_the_root_of_time() -> None:
    rig = Rig(compass=Compass(sigma_rad=0.0, bias_walk_radpsqrts=0.01))
    ends = np.array([read(rig, "compass", seed, 9.0)[-1, 0] - 0.4 for seed in range(200)])
    assert ends.std() == pytest.approx(0.01 * 3.0, rel=0.25)


def test_outages_have_their_share_and_length() -> None:
    rig = Rig(gps=Gps(outage_share=0.2, outage_s=3.0))
    readings = make_instruments(rig, 4)["gps"].read(at_rest(8000.0))
    assert len(readings) / 80001 == pytest.approx(0.8, abs=0.03)
    gaps = np.diff(readings.time)
    assert gaps[gaps > 0.15].mean() == pytest.approx(3.0 + 0.1, rel=0.15)


def test_readings_do_not_depend_on_how_often_one_looks() -> None:
    rig = Rig(gps=Gps(drift_sigma_m=1.0, outage_share=0.3))
    whole = make_instruments(rig, 9)["gps"].read(at_rest(10.0))
    parts = make_instruments(rig, 9)["gps"]
    pieces = [
        parts.read(VehicleMotion(at_rest(10.0).path, np.zeros(2), np.zeros(2), 0.0, end))
        for end in np.arange(0.05, 10.1, 0.05)
    ]
    np.testing.assert_array_equal(np.concatenate([piece.value for piece in pieces]), whole.value)
