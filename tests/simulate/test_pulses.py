"""Pulses: every beam once, in chunks of neighbours, and results that depend on their order by rounding only."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from resweep.pose import Trajectory, from_xyz_rpy
from resweep.scenes import box, ground_plane
from resweep.sensors import Sensor, fire, load_sensor
from resweep.simulate import Simulator
from resweep.simulate.ego import Ego
from resweep.simulate.pulses import Pulses
from resweep.sweep import Sweep
from resweep.worlds import World

ROOF = (-3.0, -0.9, -1.8, 1.0, 0.9, -0.5)


@pytest.fixture(scope="module")
def simulator() -> Simulator:
    return Simulator(World([ground_plane(), box((2, 2, 2), at=(8, 0, 0))]), "velodyne-vlp-16", seed=3)


def check_chunks(pulses: Pulses) -> None:
    assert pulses.chunk[0] == 0
    assert pulses.chunk[-1] == len(pulses.order)
    assert (np.diff(pulses.chunk) > 0).all()


@pytest.mark.parametrize("name", ["velodyne-vlp-16", "velodyne-hdl-64e", "livox-avia"])
def test_a_firing_gives_every_beam_once_in_chunks_of_one_ring(name: str) -> None:
    firing = fire(load_sensor(name))
    pulses = Pulses.from_firing(firing)
    np.testing.assert_array_equal(np.sort(pulses.order), np.arange(len(firing)))
    check_chunks(pulses)
    if firing.azimuth_step_deg:
        for first, last in zip(pulses.chunk[:-1], pulses.chunk[1:], strict=True):
            assert len(np.unique(firing.ring[pulses.order[first:last]])) == 1
    assert Pulses.from_firing(firing) is pulses  # prepared once


def test_the_beams_that_the_vehicle_blocks_are_left_out(simulator: Simulator) -> None:
    firing, ego = fire(simulator.sensor), Ego(ROOF)
    pulses = Pulses.from_firing(firing, ego)
    np.testing.assert_array_equal(np.sort(pulses.order), np.flatnonzero(~ego.blocks(firing.direction)))
    check_chunks(pulses)


@pytest.mark.parametrize("rings", [True, False])
def test_a_recorded_sweep_gives_every_beam_once(simulator: Simulator, rings: bool) -> None:
    recorded = simulator.sweep(from_xyz_rpy(z=1.8))
    if not rings:
        recorded = Sweep.from_points(recorded.points)
    pulses = Pulses.from_sweep(recorded)
    np.testing.assert_array_equal(np.sort(pulses.order), np.arange(recorded.n_beams))
    check_chunks(pulses)
    assert pulses.span == (recorded.beam_time.min(), recorded.beam_time.max())


def test_an_empty_sweep_has_no_pulses() -> None:
    pulses = Pulses.from_sweep(Sweep.from_points(np.zeros((0, 3)), timestamp=4.0))
    assert len(pulses.order) == 0
    assert pulses.span == (4.0, 4.0)


def test_the_order_of_tracing_changes_nothing_but_rounding(simulator: Simulator, make_sensor: Any) -> None:
    sensor: Sensor = make_sensor((-4.0, -2.0, 0.0), **{"beam.rays": "nine", "receiver.range_noise_sigma_m": 0.03})
    tracer = simulator.tracer.with_sensor(sensor)
    firing, motion = fire(sensor), Trajectory(np.zeros(1), from_xyz_rpy(z=1.8)[None])
    whole = tracer.trace(Pulses.from_firing(firing), motion, index=2)
    shuffled = np.random.default_rng(0).permutation(len(firing))
    other = tracer.trace(Pulses.from_beams(firing, shuffled), motion, index=2)
    some = tracer.trace(Pulses.from_beams(firing, shuffled[:100]), motion, index=2)
    np.testing.assert_array_equal(other.columns["beam"], whole.columns["beam"])
    np.testing.assert_allclose(other.columns["range"], whole.columns["range"], atol=1e-3)  # packets round differently
    kept = np.isin(whole.columns["beam"], shuffled[:100])
    np.testing.assert_allclose(some.columns["range"], whole.columns["range"][kept], atol=1e-3)
    assert len(some) == kept.sum() > 0
