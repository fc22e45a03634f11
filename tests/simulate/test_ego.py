"""Beams that the vehicle itself blocks are dropped, and only those."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from resweep.errors import ResweepError
from resweep.pose import Trajectory, from_xyz_rpy
from resweep.scenes import box, ground_plane
from resweep.sensors import Sensor, load_sensor
from resweep.simulate import Simulator
from resweep.simulate.ego import Ego
from resweep.sweep import BeamStatus
from resweep.worlds import World

ROOF = (-3.0, -0.9, -1.8, 1.0, 0.9, -0.5)
POSE = from_xyz_rpy(z=1.9)


@pytest.fixture(scope="module")
def sensor(make_sensor: Any) -> Sensor:
    return make_sensor(tuple(np.linspace(-30.0, 10.0, 21)), 1.0)


def roof_mesh() -> Any:
    low, high = np.array(ROOF[:3]), np.array(ROOF[3:])
    return box(high - low, at=((low + high)[0] / 2, (low + high)[1] / 2, low[2]))


@pytest.mark.parametrize("shape", [ROOF, roof_mesh()])
def test_blocked_beams_are_dropped_and_the_others_unchanged(sensor: Sensor, shape: Any) -> None:
    world = World([ground_plane()])
    plain, masked = (Simulator(world, sensor, ego=ego, seed=3).sweep(POSE) for ego in (None, shape))
    dropped = masked.beam_status == BeamStatus.DROPPED
    # A beam meets the roof if it does so in a world that holds nothing else.
    alone = Simulator(World([roof_mesh()]), sensor).sweep(np.eye(4))
    np.testing.assert_array_equal(np.flatnonzero(dropped), np.sort(alone.beam))
    assert 300 < dropped.sum() < 0.5 * len(dropped)
    np.testing.assert_array_equal(masked.beam_status[~dropped], plain.beam_status[~dropped])
    kept = ~dropped[plain.beam]
    for name in ("beam", "range", "intensity", "label"):
        np.testing.assert_array_equal(getattr(masked, name), getattr(plain, name)[kept])
    np.testing.assert_array_equal(masked.points, plain.points[kept])
    assert masked.n_beams == plain.n_beams


def test_it_moves_with_the_sensor_and_stays_with_its_copies(sensor: Sensor) -> None:
    sim = Simulator(World([ground_plane()]), sensor, ego=ROOF)
    path = Trajectory([0.0, 1.0], np.stack([POSE, from_xyz_rpy(10.0, z=1.9, yaw=1.0)]))
    first = sim.sweep(POSE).beam_status == BeamStatus.DROPPED
    for sweep in (*sim.run(path)[:3], sim.with_actors([]).sweep(POSE), sim.with_sensor(sensor).sweep(POSE)):
        np.testing.assert_array_equal(sweep.beam_status == BeamStatus.DROPPED, first)


def test_stencils_and_patterns_that_never_repeat(sensor: Sensor) -> None:
    wide = sensor.with_(**{"beam.rays": "nine"})
    sweep = Simulator(World([ground_plane()]), wide, ego=ROOF).sweep(POSE)
    assert (sweep.beam_status == BeamStatus.DROPPED).sum() > 300
    rosette = load_sensor("livox-avia")
    hood = (0.5, -5.0, -2.0, 3.0, 5.0, -0.2)
    sim = Simulator(World([ground_plane()]), rosette, ego=hood)
    counts = [int((sim.sweep(POSE, index=i).beam_status == BeamStatus.DROPPED).sum()) for i in range(2)]
    assert min(counts) > 100
    assert counts[0] != counts[1]


def test_rays_parallel_to_a_side() -> None:
    side = Ego((1.0, -1.0, -1.0, 2.0, 1.0, 1.0))
    rays = np.array([[1, 0, 0], [-1, 0, 0], [0, 1, 0], [0, 0, 1], [0.8, 0.6, 0], [0.6, 0.8, 0]])
    assert side.blocks(rays).tolist() == [True, False, False, False, True, False]


@pytest.mark.parametrize(
    ("ego", "message"),
    [
        ((1.0, 2.0), r"ego: expected a box"),
        ("roof", r"ego: expected a box"),
        ((1.0, 0.0, 0.0, -1.0, 1.0, 1.0), r"lowest to its highest corner"),
        ((-1.0, -1.0, -1.0, 1.0, 1.0, 1.0), r"the sensor lies within the box"),
    ],
)
def test_mistakes_are_reported(sensor: Sensor, ego: Any, message: str) -> None:
    with pytest.raises(ResweepError, match=message):
        Simulator(World([ground_plane()]), sensor, ego=ego)


def test_a_vehicle_around_the_sensor_is_refused(sensor: Sensor) -> None:
    with pytest.raises(ResweepError, match="blocks every beam"):
        Simulator(World([ground_plane()]), sensor, ego=box((2, 2, 2), at=(0, 0, -1))).sweep(POSE)
