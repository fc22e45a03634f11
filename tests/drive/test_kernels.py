"""The native kernels of a vehicle's body against their NumPy twins."""

from __future__ import annotations

import numpy as np
import pytest

from resweep import World, _core
from resweep.drive import load_vehicle
from resweep.drive.body import Footing
from resweep.drive.body import collisions as kernels
from resweep.drive.body.collisions import BoxProbe, find_actor_contact
from resweep.labels import UNKNOWN_LABELS, LabelSet
from resweep.pose import Array, Trajectory, from_xyz_rpy
from resweep.scenario import Actor
from resweep.scenario.ground import Ground
from resweep.scenes import SCENE_LABELS, Label, box, heightfield
from resweep.sensors import load_sensor
from resweep.simulate import Simulator
from resweep.sweep import BeamStatus
from tests.drive import body_reference as reference

CAR = load_vehicle("passenger-car")
PLACE = np.array([4.2e5, 5.4e6, 100.0])  # coordinates as large as those of a map


def hills(labels: LabelSet) -> World:
    """Rolling ground with a bridge, posts and a slanted roof."""
    side = np.arange(60) * 1.0
    rise = 1.5 * np.sin(side[:, None] / 7.0) + np.cos(side[None] / 5.0)
    layers = [heightfield(rise, 1.0)]
    rng = np.random.default_rng(3)
    for x, y in rng.uniform(5.0, 55.0, (150, 2)):
        layers.append(box((0.4, 0.4, 4.0), (x, y, -2.0), label=Label.POLE))
    layers.append(box((20.0, 6.0, 0.3), (30.0, 30.0, 3.0), label=Label.ROAD))
    layers.append(box((6.0, 6.0, 0.2), (12.0, 40.0, 2.2), label=Label.BUILDING))
    return World(layers, PLACE, labels=labels)


def random_poses(count: int) -> Array:
    rng = np.random.default_rng(5)
    rows = [
        from_xyz_rpy(x, y, z, 0.05, 0.03, yaw)
        for x, y, z, yaw in rng.uniform((5, 5, -1, -3), (55, 55, 4, 3), (count, 4))
    ]
    poses = np.stack(rows)
    poses[:, :3, 3] += PLACE
    return poses


@pytest.mark.parametrize("labels", [SCENE_LABELS, UNKNOWN_LABELS])
def test_rays_through_the_box_meet_what_the_reference_meets(labels: LabelSet) -> None:
    ground = Ground(hills(labels))
    probe, rays = BoxProbe(CAR, ground), kernels._make_rays(*CAR.box)
    struck = 0
    for pose in random_poses(150):
        found, expected = probe.strike(pose[None]), reference.strike(ground, rays, kernels._SIDE_ON, pose[None])
        assert (found is None) == (expected is None)
        if found is not None and expected is not None:
            struck += 1
            np.testing.assert_allclose(found.place, expected[1], rtol=0, atol=1e-6)
    assert 20 < struck < 140
    poses = random_poses(40)
    first, expected = probe.strike(poses), reference.strike(ground, rays, kernels._SIDE_ON, poses)
    assert first is not None
    assert expected is not None
    assert first.at == expected[0]


@pytest.mark.parametrize("labels", [SCENE_LABELS, UNKNOWN_LABELS])
def test_wheels_find_the_ground_that_the_reference_finds(labels: LabelSet) -> None:
    ground = Ground(hills(labels))
    footing = Footing(ground, CAR)
    rng = np.random.default_rng(7)
    places = rng.uniform(-2.0, 62.0, (1000, 2)) + PLACE[:2]
    near = rng.uniform(-2.0, 4.0, 1000) + PLACE[2]
    found, expected = footing.heights(places, near), reference.heights(ground, places, near, **footing._search)
    np.testing.assert_array_equal(found, expected)
    assert 100 < np.isnan(found).sum() < 900


def wander(seed: int) -> Trajectory:
    rng = np.random.default_rng(seed)
    yaw = np.cumsum(rng.normal(0.0, 0.2, 11)) + rng.uniform(-3.0, 3.0)
    step = rng.uniform(0.0, 0.6) * np.stack([np.cos(yaw), np.sin(yaw)], axis=1)
    places = np.cumsum(step, axis=0) + rng.uniform(-4.0, 4.0, 2)
    return Trajectory(
        np.arange(11) * 0.05, np.stack([from_xyz_rpy(x, y, 0.0, yaw=a) for (x, y), a in zip(places, yaw, strict=True)])
    )


def test_contacts_with_actors_are_those_of_a_dense_search() -> None:
    times = np.linspace(0.0, 0.5, 2001)
    contacts = 0
    for seed in range(60):
        path, own = wander(2 * seed), wander(2 * seed + 1)
        actor = Actor((box((4.0, 1.8, 1.5)),), own, 7, name="other")
        one, two = path.at(times), own.at(times)
        touch = reference.overlap(one, CAR.box, two, actor.bounds)
        gaps = np.where(touch, 0.0, reference.distance(one, CAR.box, two, actor.bounds))
        contact, least = find_actor_contact(CAR.box, path, actor, 0.0, 0.5)
        if touch.any():
            contacts += 1
            assert contact is not None
            assert contact.time_s == pytest.approx(times[np.flatnonzero(touch)[0]], abs=4e-4)
            assert least == 0.0
        else:
            assert contact is None
            assert gaps.min() - 1e-9 <= least <= gaps.min() + 0.05
    assert 10 < contacts < 50


def test_actors_are_watched_at_any_distance() -> None:
    """Far ones have no distance; one that comes straight on has the time until the boxes meet."""
    path = Trajectory(np.array([0.0, 0.1]), np.stack([from_xyz_rpy(0.0), from_xyz_rpy(1.0)]))
    front = CAR.length_m - CAR.rear_overhang_m

    def stands(x: float, y: float = 0.0) -> _core.Motion:
        return Trajectory(np.zeros(1), from_xyz_rpy(x, y)[None]).native

    later = Trajectory(np.array([5.0, 6.0]), np.stack([from_xyz_rpy(3.0), from_xyz_rpy(4.0)])).native
    cube = np.array([[-1.0, -1.0, 0.0], [1.0, 1.0, 1.5]])
    motions = [stands(31.0), stands(15.0), stands(3.0, 9.0), later]
    found = _core.watch_actors(
        path.native, CAR.box, motions, np.stack([cube] * 4), np.full(4, 2.0), reach=5.0, near=10.0, horizon=5.0
    )
    far, ahead, beside, absent = found
    assert absent is None
    assert far is not None and ahead is not None and beside is not None  # noqa: PT018
    assert far[1] == np.inf
    assert far[2] == pytest.approx((30.0 - 1.0 - front) / 10.0, abs=0.1)
    assert ahead[1] == pytest.approx(14.0 - 1.0 - front)
    assert beside[1] == pytest.approx(8.0 - CAR.width_m / 2)
    assert beside[2] == np.inf


@pytest.mark.filterwarnings("ignore:sweep 0. none of")
def test_a_bare_sweep_does_not_look_beyond_the_range_of_the_sensor() -> None:
    world = World([box((1.0, 400.0, 400.0), (200.0, 0.0, -200.0))])
    simulator = Simulator(world, load_sensor("velodyne-vlp-16").with_(range_max_m=150.0))
    whole, bare = simulator.sweep(np.eye(4)), simulator.sweep(np.eye(4), bare=True)
    assert (whole.beam_status == BeamStatus.OUT_OF_RANGE).sum() > 100
    assert set(bare.beam_status.tolist()) == {BeamStatus.NOTHING_HIT}
    assert len(whole) == len(bare) == 0
