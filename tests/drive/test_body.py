"""Wheels stand on the ground, and contacts are found when they happen."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from resweep import Instances, World
from resweep.drive import Loop, LoopConfig, Rig, Vehicle, load_vehicle
from resweep.drive.body import Footing, find_actor_contact, make_solid
from resweep.drive.body.solid import find_soft_labels
from resweep.errors import ResweepError
from resweep.pose import Trajectory, from_xyz_rpy
from resweep.scenario.ground import Ground
from resweep.scenes import SCENE_LABELS, Label, box, cylinder, grass_tile, ground_plane, heightfield, pole
from tests.drive.traffic import crossing

CAR, ROBOT = load_vehicle("passenger-car"), load_vehicle("skid-robot")
BLIND = Rig(gps=None, compass=None, odometry=None)


def straight(world: World, vehicle: Vehicle | str = "passenger-car", speed: float = 10.0, **options: Any) -> Loop:
    """A vehicle without sensors that keeps its speed from the origin along x."""
    command = (speed, 0.0) if vehicle == "skid-robot" else (0.0, 0.0)
    given = {"start": (0.0, 0.0, 0.0), "config": LoopConfig(duration_s=8.0), **options}
    return Loop(world, vehicle, BLIND, lambda observation: command, speed_mps=speed, **given)


def test_a_vehicle_tilts_as_the_slope_does() -> None:
    rise = np.add.outer(0.1 * np.arange(41) * 1.0, 0.05 * np.arange(41) * 1.0)
    footing = Footing(Ground(World([heightfield(rise, 1.0)], labels=SCENE_LABELS)), CAR)
    (pose,) = footing.poses(np.array([[20.0, 20.0]]), np.array([math.pi / 2]), 3.0)
    assert pose[2, 3] == pytest.approx(0.1 * 20 + 0.05 * 20, abs=1e-3)
    normal = np.array([-0.1, -0.05, 1.0])
    np.testing.assert_allclose(pose[:3, 2], normal / np.linalg.norm(normal), atol=1e-4)
    np.testing.assert_allclose(pose[:3, :3].T @ pose[:3, :3], np.eye(3), atol=1e-12)


def test_a_bridge_carries_those_on_it_and_not_those_below() -> None:
    bridge = box((20.0, 20.0, 0.2), (0.0, 0.0, 4.8), label=Label.ROAD)
    footing = Footing(Ground(World([ground_plane((100.0, 100.0), label=Label.ROAD), bridge], labels=SCENE_LABELS)), CAR)
    heights = footing.heights(np.zeros((2, 2)), np.array([0.1, 5.1]))
    np.testing.assert_allclose(heights, [0.0, 5.0], atol=1e-3)


def test_where_the_ground_ends_or_is_too_steep_there_is_no_footing() -> None:
    footing = Footing(Ground(World([ground_plane((20.0, 20.0), label=Label.ROAD)], labels=SCENE_LABELS)), CAR)
    poses = footing.poses(np.array([[0.0, 0.0], [30.0, 0.0]]), np.zeros(2), 0.0)
    assert np.isfinite(poses[0]).all()
    assert np.isnan(poses[1]).all()
    cliff = Footing(Ground(World([heightfield(np.add.outer(np.arange(9) * 1.2, np.zeros(9)), 1.0)])), CAR)
    assert np.isnan(cliff.poses(np.array([[3.0, 4.0]]), np.zeros(1), 4.0)).all()


def test_a_car_strikes_a_wall_when_its_front_is_there(yard: World) -> None:
    run = straight(yard).run()
    assert run.outcome == "collision"
    event = next(event for event in run.events if event["kind"] == "collision")
    front = CAR.length_m - CAR.rear_overhang_m
    assert event["time_s"] == pytest.approx((40.0 - front) / 10.0, abs=2e-4)
    assert event["with"] == "building"
    assert run.states[-1, 1] == pytest.approx(40.0 - front, abs=2e-3)
    assert run.states[-1, 5] == 0.0


def test_a_thin_pole_beside_the_middle_is_not_missed_at_speed() -> None:
    post = pole(2.0, 0.06, (30.0, 0.77, 0.0))
    run = straight(World([ground_plane((200.0, 200.0), label=Label.ROAD), post], labels=SCENE_LABELS), speed=25.0).run()
    event = next(event for event in run.events if event["kind"] == "collision")
    assert event["time_s"] == pytest.approx((29.97 - (CAR.length_m - CAR.rear_overhang_m)) / 25.0, abs=3e-3)


def test_kerbs_pass_below_and_beams_above_the_roof_do_too() -> None:
    kerb = box((0.3, 10.0, 0.15), (30.0, 0.0, 0.0), label=Label.OTHER_OBJECT)
    beam = box((0.3, 10.0, 0.5), (35.0, 0.0, 1.6), label=Label.OTHER_OBJECT)
    world = World([ground_plane((200.0, 200.0), label=Label.ROAD), kerb, beam], labels=SCENE_LABELS)
    assert straight(world, config=LoopConfig(duration_s=5.0)).run().collisions == 0


@pytest.mark.parametrize(("vehicle", "outcome"), [("skid-robot", "time"), ("passenger-car", "collision")])
def test_grass_yields_to_the_robot_and_not_to_a_car(vehicle: str, outcome: str) -> None:
    tile = Instances(grass_tile(4.0, 200.0, (0.4, 0.6), segments=2), from_xyz_rpy(9.0)[None, :3], name="grass")
    world = World([ground_plane((60.0, 60.0), label=Label.TERRAIN), tile], labels=SCENE_LABELS)
    assert straight(world, vehicle, 2.0).run().outcome == outcome


def test_a_trunk_in_the_grass_stops_the_robot() -> None:
    tile = Instances(grass_tile(4.0, 50.0, (0.4, 0.6), segments=2), from_xyz_rpy(9.0)[None, :3], name="grass")
    trunk = cylinder(0.15, 4.0, (9.0, 0.5, 0.0), label=Label.TRUNK)
    world = World([ground_plane((60.0, 60.0), label=Label.TERRAIN), tile, trunk], labels=SCENE_LABELS)
    run = straight(world, "skid-robot", 2.0).run()
    assert (run.outcome, run.events[0]["with"]) == ("collision", "trunk")
    assert run.states[-1, 1] == pytest.approx(9.0 - 0.15 - 1.5, abs=0.01)
    assert Label.VEGETATION in find_soft_labels(SCENE_LABELS)
    assert Label.TRUNK not in find_soft_labels(SCENE_LABELS)


def test_two_vehicles_meet_when_their_boxes_touch(yard: World) -> None:
    """The ego's front reaches the crossing box's side; both times follow from lengths and speeds."""
    actor = crossing(5.0, 20.0, -10.0)
    run = straight(yard, actors=[actor]).run()
    front = CAR.length_m - CAR.rear_overhang_m
    # The box's front passes y = -0.9 at 1.42 s, the ego's front reaches x = 19 at 1.555 s, before the box has passed.
    event = next(event for event in run.events if event["kind"] == "collision")
    assert event["with"] == "actor car"
    assert event["time_s"] == pytest.approx((19.0 - front) / 10.0, abs=2e-4)
    assert run.min_distance_m == 0.0


def test_the_least_distance_of_a_near_miss(yard: World) -> None:
    body = CAR.box
    path = Trajectory(np.array([0.0, 4.0]), np.stack([from_xyz_rpy(0.0), from_xyz_rpy(40.0)]))
    contact, least = find_actor_contact(body, path, crossing(0.01, 20.0, -5.0), 0.0, 4.0)
    assert contact is None
    moved = -5.0 + 0.01 * 2.0 + 2.0
    assert least == pytest.approx(-0.9 - moved, abs=0.03)


def test_boxes_that_pass_through_each_other_between_two_knots_do_meet() -> None:
    path = Trajectory(np.array([0.0, 1.0]), np.stack([from_xyz_rpy(-60.0), from_xyz_rpy(60.0)]))
    contact, _ = find_actor_contact(CAR.box, path, crossing(0.01, 0.0, 0.0), 0.0, 1.0)
    front = CAR.length_m - CAR.rear_overhang_m
    assert contact is not None
    assert contact.time_s == pytest.approx((60.0 - 1.0 - front) / 120.0, abs=2e-4)


def test_it_drives_on_after_a_collision_if_told_to(yard: World) -> None:
    config = LoopConfig(duration_s=5.0, stop_on_collision=False)
    run = straight(yard, config=config).run()
    assert (run.outcome, run.collisions) == ("time", 1)
    assert run.states[-1, 1] == pytest.approx(50.0)


def test_the_end_of_the_ground_ends_the_run() -> None:
    world = World([ground_plane((40.0, 40.0), label=Label.ROAD)], labels=SCENE_LABELS)
    run = straight(world).run()
    assert run.outcome == "left-ground"
    # Two wheels hang once the front axle is over the edge.
    assert run.states[-1, 1] == pytest.approx(20.0 - CAR.wheelbase_m, abs=0.2)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"start": (40.0, 0.0, 0.0)}, r"start \(40.0, 0.0\): the vehicle 'passenger-car' would stand in building"),
        ({"start": (500.0, 0.0, 0.0)}, r"start \(500.0, 0.0\): no ground there"),
        ({"config": LoopConfig(duration_s=1.0, goal=(400.0, 0.0))}, r"goal \(400.0, 0.0\): no ground there"),
        ({"actors": [crossing(1.0, 1.0, 0.0)]}, r"start \(0.0, 0.0\): the actor 'car' stands there"),
    ],
)
def test_impossible_starts_and_goals_are_refused(yard: World, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ResweepError, match=message):
        straight(yard, **options).run()


def test_a_world_without_anything_solid_is_refused() -> None:
    tile = Instances(grass_tile(4.0, 5.0, (0.4, 0.6), segments=2), from_xyz_rpy()[None, :3], name="grass")
    with pytest.raises(ResweepError, match="only vegetation that yields"):
        make_solid(World([tile], labels=SCENE_LABELS), ROBOT)
