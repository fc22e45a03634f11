"""Scenes with unknown objects: on the ground, clear of each other, seen by the sensor, and unknown in the truth."""

from __future__ import annotations

import numpy as np
import pytest

import resweep as rs
from resweep.labels import load_labels
from resweep.perception.models import UNKNOWN
from resweep.perception.open_set.scenes import KINDS, make_scene
from resweep.perception.open_set.true_segments import RecordedInstances, find_true_segments
from resweep.perception.open_set.unknown_objects import ANIMALS, CONSTRUCTION, make_bank
from resweep.perception.segmentation import wrap_function
from resweep.pose import from_xyz_rpy
from resweep.scenario import Bank
from resweep.scenario.ground import Ground, find_ground
from resweep.scenario.overlap import find_actor_overlaps
from resweep.sweep import Sweep
from resweep.worlds import Mesh

FIRST = 1000
POSE = from_xyz_rpy(2.0, 1.0, 1.7, yaw=0.4)
LABELS = load_labels("semantickitti")
MODEL = wrap_function(lambda points: np.zeros(len(points)), ["vehicle", "road"])


@pytest.fixture(scope="module")
def bank() -> Bank:
    return make_bank()


@pytest.fixture(scope="module")
def world() -> rs.World:
    corners = np.array([[-60, -60, 0], [60, -60, 0], [60, 60, 0], [-60, 60, 0]], np.float32)
    plane = Mesh(corners, np.array([[0, 1, 2], [0, 2, 3]]), label=LABELS.id_of("road"))
    return rs.World((plane,), labels=LABELS)


@pytest.fixture(scope="module")
def ground(world: rs.World) -> Ground:
    return find_ground(world)


def test_objects_have_closed_outward_shapes_of_their_sizes(bank: Bank) -> None:
    assert set(bank) == {*ANIMALS, *CONSTRUCTION}
    for name in bank:
        asset = bank[name]
        low, high = asset.layers[0].bounds
        assert low[2] == 0.0
        assert 0.3 < max(asset.size_m) < 4.5
        assert tuple(high - low) == pytest.approx(asset.size_m, abs=1e-5)
        corner = asset.layers[0].vertices[asset.layers[0].faces].astype(np.float64)
        volume = np.einsum("ij,ij->i", corner[:, 0], np.cross(corner[:, 1], corner[:, 2])).sum() / 6
        assert 0 < volume < np.prod(asset.size_m), name  # faces point outwards


@pytest.mark.parametrize("kind", KINDS)
def test_scenes_stand_on_the_ground_apart(kind: str, ground: Ground, bank: Bank) -> None:
    actors = make_scene(kind, ground, POSE, 3.0, bank, FIRST, [1])
    assert [actor.instance for actor in actors] == list(range(FIRST, FIRST + len(actors)))
    assert len(actors) >= 3
    assert find_actor_overlaps(actors, 2.8, 3.2) == []
    for actor in actors:
        place = actor.pose_at(3.0)[:3, 3]
        assert place[2] == pytest.approx(0.0, abs=1e-4)
        assert 4.0 <= np.hypot(*(place[:2] - POSE[:2, 3])) < 32.0
        assert (np.linalg.norm(actor.velocity(place, 3.0)) > 0.4) == (kind == "animals crossing")


def test_the_same_seed_gives_the_same_scene(ground: Ground, bank: Bank) -> None:
    one, same, other = (make_scene("objects scattered", ground, POSE, 0.0, bank, FIRST, [at]) for at in (1, 1, 2))
    places = [[actor.pose_at(0.0).tolist() for actor in scene] for scene in (one, same, other)]
    assert places[0] == places[1] != places[2]


def test_a_sensor_sees_the_objects_and_their_truth_is_unknown(world: rs.World, ground: Ground, bank: Bank) -> None:
    actors = make_scene("construction blocking", ground, POSE, 0.0, bank, FIRST, [1])
    sensor = rs.load_sensor("velodyne-vlp-16")
    sweep = rs.Simulator(world, sensor, actors=actors).sweep(POSE)
    inserted = [actor.instance for actor in actors]
    true = find_true_segments(sweep, LABELS, MODEL, RecordedInstances(rs.Log.from_sweeps([sweep]), MODEL), inserted)
    assert set(np.unique(true.kind)) == {1, 2}
    assert set(np.unique(true.instance[true.kind == 2])) <= set(inserted)
    assert (true.kind == 2).sum() == np.isin(sweep.instance, inserted).sum() > 50


def test_recorded_instances_are_found_by_place() -> None:
    """Two cars of a recording, seen again without instances from elsewhere; a third is void."""
    car = LABELS.id_of("car")
    rng = np.random.default_rng(0)
    blobs = [rng.normal(0, 0.3, (50, 3)) + np.array([x, 0, 0]) for x in (5, 10)]
    recorded = Sweep.from_points(np.concatenate(blobs), label=np.full(100, car), instance=np.repeat([7, 9], 50))
    log = rs.Log.from_sweeps([recorded], labels=LABELS)
    moved = [blob - [3.0, 0, 0] for blob in (*blobs, blobs[0] + [20.0, 0, 0])]
    seen = Sweep.from_points(np.concatenate(moved), label=np.full(150, car), pose=from_xyz_rpy(3.0, 0, 0))
    true = find_true_segments(seen, LABELS, MODEL, RecordedInstances(log, MODEL), [])
    assert true.instance[:100].tolist() == [7] * 50 + [9] * 50
    assert (true.kind[:100] == 0).all()
    assert (true.kind[100:] == UNKNOWN).all()
