"""Recorded beams traced again: with the width of their own sensor, and as calibrated lasers fire."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import resweep as rs
from resweep.calibration import Calibration
from resweep.evaluation.holdout import holdout
from resweep.log import Log
from resweep.pose import Array, from_xyz_rpy
from resweep.sensors import Sensor
from resweep.simulate import Retracer, Simulator
from resweep.simulate.recorded_sensor import make_one_ray_sensor
from resweep.sweep import BeamStatus, Sweep
from resweep.worlds import Volumes, World

WIDE_RAD = 0.006


@pytest.fixture(scope="module")
def bush() -> World:
    """A ring of leaves around the sensor, 10 m away."""
    azimuth = np.linspace(-np.pi, np.pi, 72, endpoint=False)
    mean = np.stack([10 * np.cos(azimuth), 10 * np.sin(azimuth), np.zeros(72)], axis=1)
    covariance = np.tile([0.1, 0, 0, 0.1, 0, 0.1], (72, 1))
    return World([Volumes(mean, covariance, 0.8, exposure_m=np.full(72, 0.3), element_m=0.05)])


@pytest.fixture(scope="module")
def wide(make_sensor: Any) -> Sensor:
    """A sensor that is not in the catalog, with a wide beam sampled by one ray."""
    beam = {"beam.divergence_h_rad": WIDE_RAD, "beam.divergence_v_rad": WIDE_RAD}
    return make_sensor((0.0, 0.5), 0.25, **beam)


@pytest.fixture(scope="module")
def drive(bush: World, wide: Sensor) -> Log:
    return Simulator(bush, wide, seed=2).run(np.repeat(np.eye(4)[None], 4, axis=0))


def predicted_share(world: World, sweep: Sweep, **options: Any) -> float:
    """The share of beams without return that a world predicts for a sweep."""
    names = ("beam", "range", "intensity", "return_index", "label", "instance")
    columns = dict.fromkeys(names, np.zeros(0, np.int32))
    empty = replace(sweep, extra={}, beam_status=np.full(sweep.n_beams, BeamStatus.NO_RETURN), **columns)
    return float(np.exp(Retracer(world, **options).log_likelihood(empty)).mean())


def test_a_beam_is_predicted_with_the_width_of_its_own_sensor(bush: World, wide: Sensor, drive: Log) -> None:
    sweeps = list(drive)
    passed = np.mean([np.mean(sweep.beam_status != BeamStatus.RETURN) for sweep in sweeps])
    sigma = np.sqrt(passed * (1 - passed) / sum(sweep.n_beams for sweep in sweeps))
    own = predicted_share(bush, sweeps[0], beam_slope=wide.beam_slope)
    assert abs(own - passed) < 4 * sigma + 0.02  # half of the clutter returns from anywhere
    assert predicted_share(bush, sweeps[0], sensor=wide) == own
    assert predicted_share(bush, sweeps[0]) > own + 0.1  # a name that the catalog lacks says nothing of the width
    assert predicted_share(bush, sweeps[0], sensor=wide, beam_slope=0.0) == predicted_share(bush, sweeps[0])


def test_evaluation_and_holdout_use_the_width_of_the_log(bush: World, wide: Sensor, drive: Log) -> None:
    def mean(**options: Any) -> float:
        retracer = Retracer(bush, wide, **options)
        return float(np.concatenate([retracer.log_likelihood(sweep) for sweep in drive]).mean())

    own, bare = mean(beam_slope=wide.beam_slope), mean(beam_slope=0.0)
    assert own > bare + 0.01
    assert rs.evaluate(drive, drive, world=bush)["log_likelihood"] == pytest.approx(own)
    report = holdout(drive, [1, 3], build=lambda rest: bush, progress=False)
    retracer = Retracer(bush, wide)
    held = np.concatenate([retracer.log_likelihood(drive[at], retracer.register(drive[at])) for at in (1, 3)])
    assert report["log_likelihood"] == pytest.approx(held.mean())


def test_a_catalog_name_gives_the_width_where_nothing_else_does(bush: World, drive: Log) -> None:
    sweep, known = drive[0], rs.load_sensor("velodyne-hdl-64e")
    named = replace(sweep, sensor=known.name)
    likelihood = Retracer(bush).log_likelihood(named)
    np.testing.assert_array_equal(likelihood, Retracer(bush, beam_slope=known.beam_slope).log_likelihood(sweep))
    assert (likelihood != Retracer(bush).log_likelihood(sweep)).any()


def test_one_ray_stands_for_a_beam_of_any_width() -> None:
    assert make_one_ray_sensor(0.003, 50.0).beam_slope == pytest.approx(0.003)


def wall_ranges(world: World, recorded: Sweep) -> Array:
    return Retracer(world).sweep(recorded).range


def test_lasers_fire_and_read_as_the_world_says_they_are_calibrated(make_sensor: Any, make_wall: Any) -> None:
    sensor: Sensor = make_sensor((0.0, 5.0), 1.0, **{"pattern.azimuth_min_deg": -5, "pattern.azimuth_max_deg": 5})
    wall = World([make_wall(10.0)])
    recorded = Simulator(wall, sensor).sweep(from_xyz_rpy())
    lasers = Calibration(np.radians([0.0, 3.0]), [0.0, 0.04])
    azimuth = np.arctan2(recorded.beam_direction[:, 1], recorded.beam_direction[:, 0])
    elevation = np.radians(np.where(recorded.beam_ring == 1, 8.0, 0.0))
    fired = 10.0 / (np.cos(azimuth) * np.cos(elevation)) - np.where(recorded.beam_ring == 1, 0.04, 0.0)
    found = Retracer(World(wall.layers, calibration=lasers)).sweep(recorded)
    np.testing.assert_allclose(found.range, fired[found.beam], atol=1e-4)
    np.testing.assert_allclose(found.points, found.beam_direction[found.beam] * found.range[:, None], atol=1e-5)
    predicted = Retracer(World(wall.layers, calibration=lasers)).predict(recorded)
    np.testing.assert_allclose(predicted.range, fired[predicted.beam], atol=1e-4)
    # What a world's meta says is for people.
    noted = World(wall.layers, meta={"calibration": lasers.to_dict()})
    np.testing.assert_array_equal(wall_ranges(noted, recorded), wall_ranges(wall, recorded))
