"""The map: where points are, who saw them, and what is left out."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import resweep as rs
from resweep.boxes import Boxes
from resweep.build import HybridConfig, MapConfig, SplatConfig, SurfelConfig, accumulate
from resweep.errors import ResweepError
from resweep.labels import UNKNOWN_LABELS, LabelClass, LabelSet
from resweep.log import Log
from resweep.pose import Trajectory
from resweep.register.join import join
from resweep.sweep import Sweep
from tests.places import CAR, MOVING_CAR, ROAD, at, log_of, plane

NO_EGO = MapConfig(ego_radius_m=0.0, moving="none")


def test_points_meet_in_the_world_whatever_the_pose():
    points = plane(4.0, 0.5)
    poses = [rs.pose.from_xyz_rpy(x, 0, 2, yaw=x, pitch=0.1) for x in (0.0, 1.0, 2.0)]
    cloud = accumulate(log_of([points] * 3, poses), NO_EGO)
    for at_sweep in range(3):
        assert np.allclose(cloud.points[cloud.sweep == at_sweep] + cloud.origin, points, atol=1e-4)
        assert np.allclose(cloud.sensor[cloud.sweep == at_sweep] + cloud.origin, poses[at_sweep][:3, 3], atol=1e-5)


def test_motion_during_a_sweep_is_undone():
    points = plane(4.0, 0.5) + np.array([10.0, 0.0, 0.0])
    time = np.linspace(0.0, 0.1, len(points))
    knots = Trajectory(np.array([0.0, 0.1]), np.stack([at(0.0), at(1.4)]))
    local = points - knots.at(time)[:, :3, 3]
    cloud = accumulate(Log.from_sweeps([Sweep.from_points(local, pose=at(0.0), time=time, trajectory=knots)]), NO_EGO)
    assert np.allclose(cloud.points + cloud.origin, points, atol=1e-4)
    assert np.allclose(cloud.sensor[-1] + cloud.origin, [1.4, 0, 2], atol=1e-4)


def test_utm_coordinates_lose_nothing():
    points = plane(2.0, 0.2)
    far = np.array([448_262.0, 5_411_932.0, 115.0])
    worlds = [
        rs.build(
            log_of([points + shift], [at(*(shift + np.array([0, 0, 2])))]), SplatConfig(map=NO_EGO), progress=False
        )
        for shift in (np.zeros(3), far)
    ]
    here, there = (world.layers[0] for world in worlds)
    assert len(here) == len(there)
    assert np.abs(here.centre + worlds[0].origin - (there.centre + (worlds[1].origin - far))).max() < 2e-3


def test_the_recording_vehicle_is_left_out():
    points = plane(4.0, 0.5)
    log = log_of([points], [at(0.0)])
    distance = np.linalg.norm(points - [0, 0, 2], axis=1)
    assert len(accumulate(log, MapConfig(moving="none"))) == (distance >= 3).sum()
    boxed = MapConfig(ego_radius_m=0, ego_box_m=(-1, -1, -3, 1, 1, 3), moving="none")
    assert len(accumulate(log, boxed)) == (np.abs(points[:, :2]) > 1).any(axis=1).sum()


def test_labels_say_what_is_left_out():
    points = plane(8.0, 0.5) + np.array([10.0, 0.0, 0.0])
    label = np.resize([ROAD, CAR, MOVING_CAR, 1, 0], len(points))
    log = log_of([points], [at(0.0)], label=[label])

    def left(**options):
        return set(np.unique(accumulate(log, MapConfig(ego_radius_m=0, **options)).label))

    assert left() == {ROAD, CAR, 0}
    assert left(moving="none", drop_outliers=False) == {ROAD, CAR, MOVING_CAR, 1, 0}
    assert left(drop_movable=True, drop_unlabelled=True) == {ROAD}
    assert left(drop_labels=(ROAD,)) == {CAR, 0}


def test_ids_of_an_unknown_vocabulary_are_not_semantickittis():
    """252 is a moving car and 1 an outlier there; of other ids nothing is known until the user says it."""
    points = plane(8.0, 0.5) + np.array([10.0, 0.0, 0.0])
    label = np.resize([ROAD, CAR, MOVING_CAR, 1, 70], len(points))
    log = log_of([points] * 2, [at(0.0), at(0.5)], UNKNOWN_LABELS, label=[label] * 2)
    everything = MapConfig(ego_radius_m=0, drop_movable=True, drop_unlabelled=True)
    assert set(np.unique(accumulate(log, everything).label)) == {ROAD, CAR, MOVING_CAR, 1, 70}
    named = everything.model_copy(update={"labels": "semantickitti"})
    assert set(np.unique(accumulate(log, named).label)) == {ROAD, 70}
    world = rs.build(log, SurfelConfig(map=everything, voxel_m=0.5, normal_radius_m=2.0), progress=False)
    assert not world.labels.known
    for config, says in ((MapConfig(moving="labels"), "its labels are unknown; set labels to the vocabulary"),):
        with pytest.raises(ResweepError, match=says):
            accumulate(log, config)


def test_a_vocabulary_without_moving_classes_finds_nothing_moving_by_label():
    points = plane(4.0, 0.5)
    vocabulary = LabelSet(name="still", classes={40: LabelClass(name="road")})
    log = log_of([points], [at(0.0)], vocabulary, label=[np.full(len(points), 40)])
    with pytest.raises(ResweepError, match="vocabulary 'still' has no moving classes"):
        accumulate(log, MapConfig(moving="labels"))
    assert rs.build(log, SurfelConfig(map=NO_EGO, voxel_m=0.5, normal_radius_m=2.0)).labels == vocabulary


@pytest.mark.parametrize("speed", [0.0, 2.0])
def test_boxes_of_tracks_that_moved_are_emptied(speed):
    road = plane(6.0, 0.5) - np.array([0.0, 0.0, 0.5])
    rng = np.random.default_rng(1)
    sweeps = []
    for step in range(3):
        car = rng.uniform(-0.9, 0.9, (200, 3)) + np.array([4.0 + speed * step, 0.0, 1.0])
        boxes = Boxes([[4.0 + speed * step, 0.0, -1.0]], [[2.0, 2.0, 2.0]], [0.0], ["car"], [7])
        local = np.concatenate([road, car]) - [0, 0, 2]
        sweeps.append(Sweep.from_points(local, pose=at(0.0), timestamp=0.1 * step, boxes=boxes))
    cloud = accumulate(Log.from_sweeps(sweeps), MapConfig(ego_radius_m=0.0))
    cars = (cloud.points[:, 2] + cloud.origin[2] > 0).sum()
    assert cars == (600 if speed == 0 else 0)
    assert (cloud.points[:, 2] + cloud.origin[2] < 0).sum() == 3 * len(road)


def test_a_car_that_moved_is_left_out_where_its_boxes_end():
    road = plane(8.0, 0.5) - np.array([0.0, 0.0, 0.5])
    rng = np.random.default_rng(1)
    sweeps = []
    for step in range(7):  # annotated from the third sweep to the fifth, as a camera sees it
        car = rng.uniform(-0.9, 0.9, (200, 3)) + np.array([0.5 * step, 0.3 * step, 1.0])
        boxes = Boxes([[0.5 * step, 0.3 * step, -1.0]], [[2.0, 2.0, 2.0]], [0.0], ["car"], [7])
        pole = np.array([[-5.0, 0.0, 1.0]] * 10)
        sweep = Sweep.from_points(np.concatenate([road, car, pole]) - [0, 0, 2], pose=at(0.0), timestamp=0.1 * step)
        sweeps.append(replace(sweep, boxes=boxes if 2 <= step <= 4 else None))
    cloud = accumulate(Log.from_sweeps(sweeps), MapConfig(ego_radius_m=0.0))
    high = cloud.points[cloud.points[:, 2] + cloud.origin[2] > 0]
    assert len(high) == 7 * 10  # the poles


def test_asking_for_what_a_log_has_not_is_an_error():
    log = log_of([plane(4.0, 0.5)] * 2, [at(0.0), at(1.0)])
    for moving in ("boxes", "labels"):
        with pytest.raises(ResweepError, match="visibility"):
            accumulate(log, MapConfig(moving=moving))
    with pytest.raises(ResweepError, match="ego_radius_m"):
        accumulate(log, MapConfig(ego_radius_m=100.0))
    lost = replace(log, name="lost", poses_known=False)
    with pytest.raises(ResweepError, match="poses"):
        accumulate(lost)


def test_logs_of_one_place_make_one_map():
    points = plane(4.0, 0.5)
    first, second = log_of([points], [at(0.0)]), log_of([points[::2]] * 2, [at(0.0), at(1.0)])
    both = accumulate(join([first, second]), NO_EGO)
    assert len(both) == len(points) + 2 * len(points[::2])
    assert np.array_equal(np.unique(both.sweep), [0, 1, 2])


def test_build_is_a_call_of_the_package_and_says_what_it_did():
    log = log_of([plane(4.0, 0.2)], [at(0.0)])
    for config in (None, SurfelConfig(voxel_m=0.1, normal_radius_m=0.5, map=NO_EGO)):
        world = rs.build(log, config, progress=False)
        assert world.meta["build"]["kind"] == type(config or HybridConfig()).__name__
        assert world.meta["sweeps"] == 1
    with pytest.raises(ResweepError, match="open_log"):
        rs.build([1, 2, 3])
    with pytest.raises(ResweepError, match="SplatConfig"):
        rs.build(log, {"k": 3})
    with pytest.raises(ResweepError, match="alpha"):
        SplatConfig(alhpa=0.3)
