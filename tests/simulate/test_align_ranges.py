"""A sweep is aligned with what its beams hit in a world, not only with the planes of its primitives."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

import resweep as rs
from resweep.pose import Array, from_xyz_rpy, inverse
from resweep.registration import correct_motion, motion_vector
from resweep.simulate import Retracer
from resweep.simulate.recorded_sensor import make_one_ray_sensor
from resweep.simulate.surface_alignment import Surfaces
from resweep.worlds import Splats


def room() -> rs.World:
    """Floor and four walls 6 m away, each of two layers of splats 6 cm apart: a ray reads a mean between them."""
    axis = np.arange(-6.0, 6.1, 0.4)
    u, v = (values.reshape(-1) for values in np.meshgrid(axis, axis))
    centre, normal = [], []
    for inward in (0.0, 0.06):
        at = np.full_like(u, 6.0 - inward)
        sides = [((u, v, np.full_like(u, inward)), (0.0, 0.0, 1.0))]
        sides += [((u, sign * at, v + 6), (0.0, -sign, 0.0)) for sign in (-1.0, 1.0)]
        sides += [((sign * at, u, v + 6), (-sign, 0.0, 0.0)) for sign in (-1.0, 1.0)]
        centre += [np.column_stack(place) for place, _ in sides]
        normal += [np.tile(to, (len(u), 1)) for _, to in sides]
    places = np.concatenate(centre)
    return rs.World([Splats(places, np.concatenate(normal), np.full(len(places), 0.4), depth=8, gap_m=0.2)])


def scan(world: rs.World, pose: Array) -> rs.Sweep:
    """A sweep of 0.1 s from a sensor that stands."""
    sensor = make_one_ray_sensor(0.0, 60.0).with_(
        **{"pattern.azimuth_resolution_deg": 2.0, "pattern.channels.elevation_deg": np.linspace(-25, 15, 24).tolist()}
    )
    return rs.Simulator(world, sensor).sweep(pose)


def test_the_pose_is_that_at_which_predicted_ranges_are_the_recorded_ones() -> None:
    world, pose = room(), from_xyz_rpy(0.3, -0.2, 1.7)
    recorded = scan(world, pose)
    moved = replace(recorded, pose=from_xyz_rpy(0.32, -0.21, 1.72, yaw=0.002))
    found = Retracer(world, aligned=True).find_pose(moved)
    np.testing.assert_allclose(found[:3, 3], pose[:3, 3], atol=0.002)
    by_planes = Surfaces(world).align(moved)
    assert np.abs(by_planes - pose)[:3, 3].max() > 0.005  # which planes alone do not give


# A turn (radians) and a shift (metres) a second, and a second squared: up to 1 mrad and 1 cm after half a sweep.
SHAKEN = np.array([[0.006, -0.004, 0.008, 0.1, -0.06, 0.04], [-0.1, 0.2, 0.05, -2.0, 3.0, 1.0]])


def test_the_motion_within_a_sweep_is_found_where_it_was_recorded_as_standing() -> None:
    world, pose = room(), from_xyz_rpy(0.3, -0.2, 1.7)
    still = scan(world, pose)
    true = correct_motion(still, SHAKEN)
    recorded = Retracer(world).sweep(still, placed=replace(still, trajectory=true))
    found = Retracer(world).register(recorded, motion=True)
    assert found.trajectory is not None
    times = np.linspace(true.start, true.end, 9)
    pairs = zip(true.at(times), found.trajectory.at(times), strict=True)
    off = np.array([motion_vector(inverse(place) @ near) for place, near in pairs])
    assert np.sqrt((off**2).mean()) < 0.001  # at any one time, a sweep looks along one line only
    again = Retracer(world).predict(recorded, found)
    rigid = Retracer(world).predict(recorded, replace(recorded, pose=found.pose))
    assert np.abs(again.range - recorded.range).mean() < 0.001
    assert np.abs(rigid.range - recorded.range).mean() > 0.005


def test_a_sweep_without_times_keeps_its_motion() -> None:
    world, pose = room(), from_xyz_rpy(0.3, -0.2, 1.7)
    recorded = scan(world, pose)
    at_once = replace(recorded, beam_time=np.full_like(recorded.beam_time, recorded.timestamp), trajectory=None)
    found = Retracer(world).register(replace(at_once, pose=from_xyz_rpy(0.31, -0.2, 1.71)), motion=True)
    assert found.trajectory is None
    np.testing.assert_allclose(found.pose, pose, atol=0.002)


def test_a_sweep_may_be_placed_by_its_pose_alone() -> None:
    world, pose = room(), from_xyz_rpy(0.3, -0.2, 1.7)
    still = scan(world, pose)
    shaken = Retracer(world).sweep(still, placed=replace(still, trajectory=correct_motion(still, SHAKEN)))
    rigid = Retracer(world).register(replace(shaken, trajectory=None))
    assert rigid.trajectory is None
    assert np.abs(rigid.pose - pose).max() > 1e-4
