"""Beams that do not leave from the sensor's origin: the makers' formulas, and what is measured with them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from resweep.errors import ResweepError
from resweep.pose import Array, Trajectory, from_xyz_rpy
from resweep.scenes import ground_plane
from resweep.sensors import Sensor, fire, load_sensor, sensor_names
from resweep.sensors.patterns import Block
from resweep.simulate import Simulator
from resweep.simulate.ego import Ego
from resweep.worlds import World

HDL_64E = ("velodyne-hdl-64e-s2", "velodyne-hdl-64e-s3", "kitti-hdl-64e")
OFFSET = (*HDL_64E, *(f"ouster-{model}-{n}" for model in ("os0", "os1", "os2") for n in (32, 64, 128)))
EXACT = {
    "beam.rays": "single",
    "receiver.range_noise_sigma_m": 0.0,
    "receiver.range_noise_per_m": 0.0,
    "receiver.range_quantisation_m": 0.0,
    "pointing.encoder_step_rad": 0.0,
    "pointing.sigma_h_rad": 0.0,
    "pointing.sigma_v_rad": 0.0,
}


def channel_of(sensor: Sensor, ring: Array) -> Array:
    """The channel of the spec that fires each ring."""
    return np.argsort(sensor.pattern.channels.elevations_deg, kind="stable")[ring]  # type: ignore[union-attr]


def head_angle(sensor: Sensor, column: Array) -> Array:
    """Azimuth of the head, counter-clockwise, at each column."""
    return np.pi - np.radians(sensor.pattern.azimuth_step_deg(sensor.rotation_rate_hz)) * column  # type: ignore[union-attr]


def test_only_these_have_origins_of_their_own() -> None:
    assert {name for name in sensor_names() if fire(load_sensor(name)).origin is not None} == set(OFFSET)


@pytest.mark.parametrize("name", HDL_64E)
def test_velodynes_formula(name: str) -> None:
    """Points at 7 m as velodyne_pointcloud's rawdata.cc computes them from a clockwise encoder."""
    sensor = load_sensor(name)
    firing, block = fire(sensor), sensor.pattern.channels  # type: ignore[union-attr]
    channel = channel_of(sensor, firing.ring)
    azimuth = -head_angle(sensor, firing.column) - np.radians(np.array(block.azimuth_offset_deg)[channel])
    vertical = np.radians(np.array(block.elevations_deg)[channel])
    v, h = np.array(block.vertical_offset_m)[channel], np.array(block.horizontal_offset_m)[channel]
    level = 7 * np.cos(vertical) - v * np.sin(vertical)
    x, y = level * np.sin(azimuth) - h * np.cos(azimuth), level * np.cos(azimuth) + h * np.sin(azimuth)
    z = 7 * np.sin(vertical) + v * np.cos(vertical)
    assert firing.origin is not None
    np.testing.assert_allclose(firing.origin + 7 * firing.direction, np.stack([y, -x, z], axis=1), atol=3e-6)


def test_ousters_formula() -> None:
    """Ouster's sensor manual, lidar range to XYZ: the range counts from the axis, 27.67 mm before the beam's origin."""
    sensor, n = load_sensor("ouster-os0-128"), 0.02767
    firing, block = fire(sensor), sensor.pattern.channels  # type: ignore[union-attr]
    channel = channel_of(sensor, firing.ring)
    encoder, phi = head_angle(sensor, firing.column), np.radians(np.array(block.elevations_deg)[channel])
    theta = encoder + np.radians(np.array(block.azimuth_offset_deg)[channel])
    r = 7 + n
    x = (r - n) * np.cos(theta) * np.cos(phi) + n * np.cos(encoder)
    y = (r - n) * np.sin(theta) * np.cos(phi) + n * np.sin(encoder)
    assert firing.origin is not None
    expected = np.stack([x, y, (r - n) * np.sin(phi)], axis=1)
    np.testing.assert_allclose(firing.origin + 7 * firing.direction, expected, atol=3e-6)


@pytest.mark.parametrize("name", ["velodyne-hdl-64e-s3", "ouster-os0-32"])
@pytest.mark.parametrize("moving", [False, True])
def test_ranges_to_the_ground_count_from_the_beams_own_origin(name: str, moving: bool) -> None:
    sensor = load_sensor(name).with_(**EXACT)
    height = 1.9
    pose: Any = from_xyz_rpy(1, 2, height, yaw=0.7)
    if moving:
        pose = Trajectory([0.0, 0.2], [pose, from_xyz_rpy(3, 2, height, yaw=0.9)])
    sweep = Simulator(World([ground_plane(400.0)]), sensor, threads=1).sweep(pose)
    assert len(sweep) > 5000
    origin, down = sweep.beam_origin[sweep.beam], -sweep.beam_direction[sweep.beam, 2]
    np.testing.assert_allclose(sweep.range, (height + origin[:, 2]) / down, rtol=2e-5)
    np.testing.assert_allclose(
        sweep.points, origin + sweep.range[:, None] * sweep.beam_direction[sweep.beam], atol=1e-4
    )
    np.testing.assert_allclose(sweep.world_points()[:, 2], 0.0, atol=2e-4)
    if "64e" in name:  # as if fired from the sensor's origin, ranges would be wrong by decimetres
        assert np.abs(sweep.range - height / down).max() > 0.3


def test_two_blocks_may_have_origins_too() -> None:
    offsets = {"pattern.upper.vertical_offset_m": [0.2] * 32}
    firing = fire(load_sensor("velodyne-hdl-64e").with_(**offsets))
    assert firing.origin is not None
    length = np.linalg.norm(firing.origin, axis=1)
    np.testing.assert_allclose(length, np.where(firing.ring >= 32, 0.2, 0.0), atol=1e-6)
    np.testing.assert_allclose((firing.origin * firing.direction).sum(axis=1), 0.0, atol=1e-6)
    np.testing.assert_array_equal(firing.direction, fire(load_sensor("velodyne-hdl-64e")).direction)


def test_the_vehicle_blocks_beams_from_where_they_leave() -> None:
    ahead = np.array([[1.0, 0, 0], [1.0, 0, 0]])
    roof = Ego((1.0, -1.0, 0.1, 2.0, 1.0, 0.3))
    np.testing.assert_array_equal(roof.blocks(ahead), [False, False])
    np.testing.assert_array_equal(roof.blocks(ahead, np.array([[0, 0, 0.2], [0, 0, 0.0]])), [True, False])


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"vertical_offset_m": [0.1, 0.2]}, "vertical_offset_m: has 2 values for 1 channels"),
        ({"horizontal_offset_m": [26.0]}, "horizontal_offset_m"),
        ({"radial_offset_m": 27.67}, "radial_offset_m"),
    ],
)
def test_mistakes(fields: dict[str, Any], message: str) -> None:
    with pytest.raises((ResweepError, ValueError), match=message):
        Block(elevation_deg=(0.0,), **fields)
