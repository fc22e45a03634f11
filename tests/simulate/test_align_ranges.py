"""A sweep is aligned with what its beams meet in a world, not only with the planes of its primitives."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

import resweep as rs
from resweep.pose import from_xyz_rpy
from resweep.simulate import Retracer
from resweep.simulate.align import Surfaces
from resweep.simulate.retrace import one_ray_sensor
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


def test_the_pose_is_that_at_which_predicted_ranges_are_the_recorded_ones() -> None:
    sensor = one_ray_sensor(0.0, 60.0).with_(
        **{"pattern.azimuth_resolution_deg": 2.0, "pattern.channels.elevation_deg": np.linspace(-25, 15, 24).tolist()}
    )
    world, pose = room(), from_xyz_rpy(0.3, -0.2, 1.7)
    recorded = rs.Simulator(world, sensor).sweep(pose)
    moved = replace(recorded, pose=from_xyz_rpy(0.32, -0.21, 1.72, yaw=0.002))
    found = Retracer(world, aligned=True).find_pose(moved)
    np.testing.assert_allclose(found[:3, 3], pose[:3, 3], atol=0.002)
    by_planes = Surfaces(world).align(moved)
    assert np.abs(by_planes - pose)[:3, 3].max() > 0.005  # which planes alone do not give
