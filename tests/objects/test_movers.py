"""Moving vehicles of a labelled drive are followed by their instance ids, and are there where no sweep saw them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from resweep.errors import ResweepError
from resweep.io import open_log
from resweep.labels import UNKNOWN_LABELS
from resweep.log import Log
from resweep.objects.movers import follow_movers
from resweep.pose import Trajectory, from_xyz_rpy
from resweep.scenario import Actor
from resweep.scenes import car, ground_plane
from resweep.sensors import load_sensor
from resweep.simulate import Retracer, Simulator
from resweep.worlds import World
from tests.places import LABELS, MOVING_CAR

HELD = 4
SPEED_MPS = 10.0


@pytest.fixture(scope="module")
def drive() -> Log:
    """Nine sweeps of a car that passes at 10 m/s."""
    times = np.array([0.0, 2.0])
    poses = np.stack([from_xyz_rpy(8.0, SPEED_MPS * (at - 1.0), yaw=np.pi / 2) for at in times])
    mover = Actor((car(),), Trajectory(times, poses), 9, label=MOVING_CAR)
    sensor = load_sensor("velodyne-vlp-32c").with_(**{"beam.rays": "single"})
    sim = Simulator(World([ground_plane()]), sensor, actors=[mover], seed=2)
    sweeps = [sim.sweep(from_xyz_rpy(z=1.8), start=0.5 + 0.1 * at, index=at) for at in range(9)]
    return Log.from_sweeps([replace(sweep, boxes=None, extra={}) for sweep in sweeps], "passing", labels=LABELS)


@pytest.fixture(scope="module")
def others(drive: Log) -> Log:
    """All sweeps but one."""
    return drive[[at for at in range(len(drive)) if at != HELD]]


def test_a_car_moves_as_it_did(others: Log) -> None:
    (actor,) = follow_movers(others)
    assert actor.label == MOVING_CAR
    inside = (actor.trajectory.times > others.times[0]) & (actor.trajectory.times < others.times[-1])
    at, poses = actor.trajectory.times[inside], actor.trajectory.poses[inside]
    velocity = np.polyfit(at, poses[:, :3, 3], 1)[0]
    np.testing.assert_allclose(velocity, [0.0, SPEED_MPS, 0.0], atol=0.3)
    np.testing.assert_allclose(actor.trajectory.poses[0][:2, 0], [0.0, 1.0], atol=0.1)  # it heads along its way


def test_it_is_where_a_sweep_saw_it_that_was_held_out(drive: Log, others: Log) -> None:
    real = drive[HELD]
    actors = follow_movers(others)
    ours = Retracer(World([ground_plane()], labels=LABELS), actors=actors).sweep(real, HELD)
    moving = np.zeros((2, real.n_beams), bool)
    ranges = np.full((2, real.n_beams), np.nan)
    for row, sweep in enumerate((real, ours)):
        moving[row, sweep.beam[sweep.label == MOVING_CAR]] = True
        ranges[row, sweep.beam] = sweep.range
    both = moving.all(axis=0)
    assert both.sum() > 0.8 * moving[0].sum() > 40
    assert moving[1].sum() < 1.25 * moving[0].sum()
    assert np.median(np.abs(ranges[0] - ranges[1])[both]) < 0.08


def test_an_object_that_one_sweep_saw_is_left_out(drive: Log) -> None:
    assert follow_movers(drive[HELD : HELD + 1]) == []


def test_without_instances_nothing_is_followed(drive: Log) -> None:
    bare = [replace(sweep, instance=np.zeros_like(sweep.instance)) for sweep in drive]
    assert follow_movers(Log.from_sweeps(bare, "passing", labels=LABELS)) == []


def test_labels_of_unknown_meaning_are_refused(drive: Log) -> None:
    with pytest.raises(ResweepError, match="labels are unknown"):
        follow_movers(replace(drive, labels=UNKNOWN_LABELS))


def test_moving_cars_of_a_recorded_sequence(sample_data: Path) -> None:
    log = open_log(sample_data / "semantickitti_mini" / "sequences" / "04")
    actors = follow_movers(log[:5])
    assert len(actors) >= 2
    assert all(actor.label == log.labels.id_of("moving car") for actor in actors)
