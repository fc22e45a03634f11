"""Moving objects found by what later beams see through, against known truth."""

from __future__ import annotations

import pytest
import trimesh

import resweep as rs
from resweep.build import MapConfig, accumulate
from resweep.log import Log
from resweep.scenes import SCENES
from tests.places import LABELS, MOVING_CAR, at

MOVER = MOVING_CAR


@pytest.fixture(scope="module")
def street() -> Log:
    """Six sweeps along a street in which a box of a car's size drives ahead, at 20 m/s."""
    place = SCENES["street"](seed=1)
    sensor = rs.load_sensor("velodyne-hdl-32e").with_(**{"beam.rays": "single"})
    sweeps = []
    for step in range(6):
        car = trimesh.creation.box((4.0, 1.8, 1.6))
        car.apply_translation((8.0 + 2.0 * step, 0.0, 0.9))
        world = place + rs.World.from_mesh(car, label=MOVER, labels=LABELS)
        sweeps.append(rs.Simulator(world, sensor, seed=3).sweep(at(0.8 * step)))
    return Log.from_sweeps(sweeps, "street", labels=LABELS)


def test_visibility_finds_what_moves_and_little_else(street):
    truth = accumulate(street, MapConfig(moving="none"))
    kept = accumulate(street, MapConfig(moving="visibility"))
    moving, left = (truth.label == MOVER).sum(), (kept.label == MOVER).sum()
    removed = len(truth) - len(kept)
    recall, precision = (moving - left) / moving, (moving - left) / removed
    assert moving > 500
    assert recall > 0.8, recall
    assert precision > 0.8, precision


def test_a_still_street_stays_whole(street):
    still = Log.from_sweeps([sweep.select(sweep.label != MOVER) for sweep in street], "street")
    whole = accumulate(still, MapConfig(moving="none"))
    kept = accumulate(still, MapConfig(moving="visibility"))
    assert len(kept) > 0.99 * len(whole)


def test_moving_labels_are_used_where_there_are_any(street):
    assert not (accumulate(street).label == MOVER).any()
