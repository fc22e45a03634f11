"""What is fired, where and when: contracts of every sensor, and the figures of B's HDL-64E."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from resweep.pose import Array
from resweep.sensors import Firing, Sensor, fire, load_sensor, sensor_names
from resweep.sensors.pattern_plot import angles_deg
from resweep.sensors.patterns import Rosette, Spinning

# A raster of a few thousand pulses tests what one of millions would.
SMALL = {"riegl-vz-400": {"pattern.azimuth_resolution_deg": 2.0, "pattern.elevation_resolution_deg": 1.0}}
NAMES = sensor_names()
TURNING = [name for name in NAMES if not isinstance(load_sensor(name).pattern, Rosette) and "lms" not in name]


@cache
def small(name: str) -> Sensor:
    return load_sensor(name).with_(**SMALL.get(name, {}))


def wrapped_deg(angle: Array) -> Array:
    return (angle + 180.0) % 360.0 - 180.0


def gaps_deg(azimuth: Array) -> Array:
    """Steps between neighbours around the full circle, the seam included."""
    ordered = np.sort(azimuth % 360.0)
    return np.diff(np.append(ordered, ordered[0] + 360.0))


@pytest.mark.parametrize("name", NAMES)
def test_pulses_keep_the_contract(name: str) -> None:
    sensor = small(name)
    firing = fire(sensor)
    assert firing.direction.shape == (len(firing), 3)
    kinds = {"direction": np.float32, "time": np.float64, "ring": np.uint16, "column": np.int32}
    for field, dtype in kinds.items():
        array = getattr(firing, field)
        assert array.dtype == dtype
        assert len(array) == len(firing)
        assert not array.flags.writeable
    np.testing.assert_allclose(np.linalg.norm(firing.direction, axis=1), 1.0, atol=3e-7)
    assert firing.time[0] == 0.0
    assert (np.diff(firing.time) >= 0).all()
    assert firing.time[-1] < sensor.sweep_period_s
    assert (firing.ring.min(), firing.ring.max() + 1) == (0, firing.n_rings)
    assert (firing.column.min(), firing.column.max() + 1) == (0, firing.n_columns)
    assert firing.n_rings == sensor.n_channels


@pytest.mark.parametrize("name", [name for name in NAMES if "livox" not in name])
def test_each_ring_has_its_elevation_lowest_first(name: str) -> None:
    sensor = small(name)
    firing = fire(sensor)
    _, elevation = angles_deg(firing.direction)
    expected = np.array(sensor.elevations_deg)
    assert (np.diff(expected) >= 0).all()
    np.testing.assert_allclose(elevation, expected[firing.ring], atol=2e-5)


@pytest.mark.parametrize("name", TURNING)
def test_a_turn_has_no_seam_fired_twice(name: str) -> None:
    firing = fire(small(name))
    azimuth, _ = angles_deg(firing.direction)
    step = firing.azimuth_step_deg
    for ring in (0, firing.n_rings - 1):
        gaps = gaps_deg(azimuth[firing.ring == ring])
        assert gaps.min() > 0.9 * step
        # The lower block of the HDL-64E fires at every fourth step only, and the upper rests then.
        assert gaps.max() < (5.0 if "64e" in name else 2.0) * step
    assert len(np.unique(firing.direction, axis=0)) == len(firing)


@pytest.mark.parametrize("name", [name for name in NAMES if isinstance(load_sensor(name).pattern, Spinning)])
def test_the_head_turns_evenly_with_time(name: str) -> None:
    sensor = small(name)
    firing = fire(sensor)
    azimuth, _ = angles_deg(firing.direction)
    block = sensor.pattern.channels
    offset = np.array(block.azimuth_offset_deg or [0.0] * block.n_channels)
    by_ring = offset[np.argsort(block.elevations_deg, kind="stable")]
    sign, start = (-1, sensor.pattern.azimuth_max_deg) if sensor.pattern.direction == "clockwise" else (1, -50)
    head = start + sign * 360.0 * sensor.rotation_rate_hz * firing.time
    np.testing.assert_allclose(wrapped_deg(azimuth - by_ring[firing.ring] - head), 0.0, atol=1e-4)


def test_velodynes_turn_clockwise_and_start_behind() -> None:
    azimuth, _ = angles_deg(fire(load_sensor("velodyne-vlp-16")).direction)
    assert abs(azimuth[0]) == pytest.approx(180.0, abs=1e-4)
    assert azimuth[16] < azimuth[0]


def test_vlp_16_fires_in_the_order_of_its_manual() -> None:
    firing = fire(load_sensor("velodyne-vlp-16"))
    np.testing.assert_array_equal(firing.ring[:16], [0, 8, 1, 9, 2, 10, 3, 11, 4, 12, 5, 13, 6, 14, 7, 15])
    np.testing.assert_allclose(np.diff(firing.time[:16]), 2.304e-6, rtol=1e-9)
    assert firing.time[16] == pytest.approx(55.296e-6)
    assert len(firing) == 16 * 1808


def test_step_and_count_follow_the_rotation_rate() -> None:
    sensor = load_sensor("velodyne-vlp-16")
    slow, fast = fire(sensor.with_(rotation_rate_hz=5)), fire(sensor.with_(rotation_rate_hz=20))
    assert fast.azimuth_step_deg == pytest.approx(4 * slow.azimuth_step_deg)
    assert slow.n_columns == pytest.approx(4 * fast.n_columns, abs=4)
    ouster = load_sensor("ouster-os1-32")
    assert fire(ouster.with_(rotation_rate_hz=20)).n_columns == fire(ouster).n_columns == 1024


def test_a_sector_has_both_its_ends() -> None:
    firing = fire(load_sensor("sick-lms-291-s05"))
    azimuth, elevation = angles_deg(firing.direction)
    np.testing.assert_allclose(azimuth, np.linspace(-50, 50, 201), atol=1e-4)
    np.testing.assert_allclose(elevation, 0.0, atol=1e-6)


def test_channels_that_overlap_in_time_are_sorted() -> None:
    delays = [3e-4, 0.0, 0.0, *[0.0] * 13]  # longer than the firing period
    firing = fire(load_sensor("velodyne-vlp-16").with_(**{"pattern.channels.firing_time_s": delays}))
    assert (np.diff(firing.time) >= 0).all()
    assert not (np.diff(firing.column) >= 0).all()


@pytest.mark.parametrize("name", ["velodyne-hdl-64e", "ouster-os1-32"])
def test_repeated_sweeps_are_computed_once(name: str) -> None:
    assert fire(load_sensor(name), 0) is fire(load_sensor(name), 7)


@pytest.mark.parametrize(
    ("rate_hz", "lower_deg", "upper_deg"),
    [(5, 0.2305476, 0.0576092), (10, 0.4613906, 0.1152369), (15, 0.6925297, 0.1728830)],
)
def test_hdl_64e_resolution_is_that_of_equations_6_and_7(rate_hz: int, lower_deg: float, upper_deg: float) -> None:
    sensor = load_sensor("velodyne-hdl-64e").with_(rotation_rate_hz=rate_hz)
    assert sensor.pattern.lower_step_deg(rate_hz) == pytest.approx(360 / (250_000 / (32 * rate_hz) - 1), rel=1e-12)
    assert sensor.pattern.upper_step_deg(rate_hz) == pytest.approx(360 / (250_000 / (8 * rate_hz) - 1), rel=1e-12)
    firing = fire(sensor)
    azimuth, _ = angles_deg(firing.direction)
    lower, upper = azimuth[firing.ring == 0], azimuth[firing.ring == 63]
    np.testing.assert_allclose(wrapped_deg(lower[:-1] - lower[1:]), lower_deg, atol=1e-4)
    np.testing.assert_allclose(wrapped_deg(upper[0:-2:3] - upper[1:-1:3]), upper_deg, atol=1e-4)


@pytest.mark.parametrize("rate_hz", [5, 10, 15])
def test_hdl_64e_fires_three_packets_above_then_one_below(rate_hz: int) -> None:
    firing = fire(load_sensor("velodyne-hdl-64e").with_(rotation_rate_hz=rate_hz))
    assert len(firing) == pytest.approx(1e6 / rate_hz, rel=0.002)
    packets = firing.ring.reshape(-1, 32)
    is_lower = (packets < 32).all(axis=1)
    assert ((packets >= 32).all(axis=1) | is_lower).all()
    np.testing.assert_array_equal(is_lower, np.arange(len(packets)) % 4 == 3)
    assert (np.sort(packets, axis=1) == np.where(is_lower[:, None], 0, 32) + np.arange(32)).all()


def test_hdl_64e_sends_about_a_hundred_thousand_pulses_at_10_hz() -> None:
    assert len(fire(load_sensor("velodyne-hdl-64e"))) == 99_968


def test_ouster_beams_point_as_the_maker_computes_them() -> None:
    """Against Ouster's formula: x = cos(θ_encoder + θ_azimuth) cos φ, the encoder turning backwards."""
    sensor = load_sensor("ouster-os1-128")
    firing = fire(sensor)
    block = sensor.pattern.channels
    lowest = int(np.argmin(block.elevations_deg))
    column = np.arange(1024)
    encoder = 2 * np.pi * (1 - column / 1024) + np.pi  # the seam is behind
    theta = encoder + np.radians(block.azimuth_offset_deg[lowest])
    phi = np.radians(block.elevations_deg[lowest])
    expected = np.stack([np.cos(theta) * np.cos(phi), np.sin(theta) * np.cos(phi), np.full(1024, np.sin(phi))], axis=1)
    np.testing.assert_allclose(firing.direction[firing.ring == 0], expected, atol=1e-6)


def test_a_raster_runs_down_its_lines_while_the_head_turns() -> None:
    sensor = small("riegl-vz-400")
    firing: Firing = fire(sensor)
    assert (firing.n_columns, firing.n_rings) == (180, 101)
    first = firing.ring[firing.column == 0]
    np.testing.assert_array_equal(first, np.arange(101)[::-1])
    azimuth, _ = angles_deg(firing.direction)
    line = azimuth[firing.column == 5]
    assert 0 < line[0] - line[-1] < 2.0
    # 101 pulses at 122 kHz take less than the mirror's shortest line of 1/120 s.
    assert sensor.sweep_period_s == pytest.approx(180 / 120)
    fine = sensor.with_(**{"pattern.elevation_resolution_deg": 0.01})
    assert fine.sweep_period_s == pytest.approx(180 * 10_001 / 122_000)
