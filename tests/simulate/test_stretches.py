"""Motion between the knots of an actor's trajectory: exact at kinks, the same for any number of knots."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from resweep.pose import Array, Trajectory, from_xyz_rpy
from resweep.scenario import Actor
from resweep.scenes.scene_parts import box
from resweep.sensors import Sensor, fire
from resweep.simulate import Simulator
from resweep.worlds import Splats, World
from tests.reference.beam import rays, rebuilt_hits

FAR = World([box((1, 1, 1), at=(-90, 0, -20))])


@pytest.fixture(scope="module")
def sensor(make_sensor: Any) -> Sensor:
    return make_sensor((0.0,), 2.0)


def ring(depth: int) -> Splats:
    """Overlapping discs around the origin, each of another reflectance."""
    angle = np.linspace(0, 2 * np.pi, 240, endpoint=False)
    radial = np.stack([np.cos(angle), np.sin(angle), np.zeros_like(angle)], axis=1)
    distance = 10.0 + 0.02 * (np.arange(240) % 3)
    shade = 0.2 + 0.6 * (np.arange(240) % 7) / 7
    return Splats(radial * distance[:, None], radial, np.full(240, 0.6), label=3, reflectance=shade, depth=depth)


def zigzag(times: Array) -> Trajectory:
    """Another velocity and another turn from each time on."""
    rng = np.random.default_rng(6)
    places = np.cumsum(rng.uniform(-0.4, 0.4, (len(times), 3)), axis=0) * (1, 1, 0.2)
    yaw = np.cumsum(rng.uniform(-0.3, 0.3, len(times)))
    return Trajectory(times, np.stack([from_xyz_rpy(*place, yaw=a) for place, a in zip(places, yaw, strict=True)]))


@pytest.mark.parametrize("depth", [1, 5])
def test_rays_fired_at_the_very_knots_meet_the_actor_once(sensor: Sensor, depth: int) -> None:
    firing = fire(sensor)
    path = zigzag(np.append(firing.time[::20], 1.0))
    actor = Actor((ring(depth),), path, 1)
    sweep = Simulator(FAR, sensor, actors=[actor]).sweep(np.eye(4))
    origins, directions = rays(sensor, firing, Trajectory([0.0], np.eye(4)), 0.0, 0, 0)
    truth = rebuilt_hits(FAR, [actor], origins, directions[:, 0], firing.time, sensor.range_max_m)
    assert len(sweep) == sweep.n_beams == 180
    np.testing.assert_allclose(sweep.range, truth["range"], atol=2e-4)
    np.testing.assert_allclose(sweep.intensity, truth["reflected"], atol=2e-3)


def test_a_motion_with_more_knots_is_the_same(sensor: Sensor) -> None:
    path = zigzag(np.linspace(0.0, 1.0, 12))
    dense = np.union1d(np.linspace(0.0, 1.0, 3001), path.times)
    coarse, fine = (
        Simulator(FAR, sensor, actors=[Actor((ring(1),), motion, 1)]).sweep(np.eye(4), start=0.31)
        for motion in (path, Trajectory(dense, path.at(dense)))
    )
    np.testing.assert_array_equal(coarse.beam, fine.beam)
    assert np.quantile(np.abs(coarse.range - fine.range), 0.98) < 1e-3
    smooth = np.linspace(0.0, 1.0, 5001)
    poses = np.stack([from_xyz_rpy(3 * np.sin(4 * t), np.cos(3 * t), yaw=np.sin(6 * t)) for t in smooth])
    actor = Actor((ring(1),), Trajectory(smooth, poses), 1)
    sweep = Simulator(FAR, sensor, actors=[actor]).sweep(np.eye(4), start=0.31)
    firing = fire(sensor)
    origins, directions = rays(sensor, firing, Trajectory([0.0], np.eye(4)), 0.0, 0, 0)
    truth = rebuilt_hits(FAR, [actor], origins, directions[:, 0], 0.31 + firing.time, sensor.range_max_m)
    assert len(sweep) == 180
    assert np.quantile(np.abs(sweep.range - truth["range"]), 0.98) < 1e-3
