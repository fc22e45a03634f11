"""Closing: the surface between two rings of a sparse sensor is there, a gap that beams passed is not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import resweep as rs
from resweep.build import SplatConfig
from resweep.build.splats.close import _are_covered, find_reach, list_cells
from resweep.build.splats.scan_lines import find_planes, find_scan_lines
from resweep.build.splats.splats import GrowthResult, Scales
from resweep.build.tiles.squares import find_margin
from resweep.labels import NO_LABELS
from resweep.neighbours import Neighbours
from resweep.pose import Array, from_xyz_rpy
from resweep.scenes.scene_parts import ground_plane, merged, wall
from resweep.worlds import Mesh, World
from tests.places import cloud_of

HEIGHT_M = 1.8
OPEN = SplatConfig.model_validate({"close": {"levels": 0}})


def record(*meshes: Mesh) -> rs.Log:
    """One sweep of 32 lasers 1.33° apart, without labels."""
    sensor = rs.load_sensor("velodyne-hdl-32e").with_(**{"beam.rays": "single"})
    drive = rs.Simulator(World([merged(meshes, "place")]), sensor, seed=1).run(from_xyz_rpy(0.0, 0.0, HEIGHT_M)[None])
    bare = [replace(sweep, label=np.zeros_like(sweep.label)) for sweep in drive]
    return rs.Log.from_sweeps(bare, "plane", labels=NO_LABELS)


def look(world: World, elevation_deg: Array, azimuth_deg: Array) -> Array:
    """Ranges (n,) of single beams from where the sensor stood; infinite where nothing returns."""
    rise, turn = np.radians(elevation_deg), np.radians(azimuth_deg)
    direction = np.stack([np.cos(rise) * np.cos(turn), np.cos(rise) * np.sin(turn), np.sin(rise)], axis=1)
    beams = rs.Sweep.from_points(direction * 50.0, pose=from_xyz_rpy(0.0, 0.0, HEIGHT_M))
    found = rs.simulate.Retracer(world).predict(beams)
    hit = np.full(len(direction), np.inf)
    hit[found.beam] = found.range
    return hit


def aims(low: float, high: float, left: float, right: float) -> tuple[Array, Array]:
    elevation, azimuth = np.meshgrid(np.linspace(low, high, 40), np.linspace(left, right, 40))
    return elevation.ravel(), azimuth.ravel()


def test_ground_between_the_rings_is_closed():
    log = record(ground_plane((80.0, 80.0)))
    elevation, azimuth = aims(-25.0, -6.0, -180.0, 180.0)
    true = HEIGHT_M / np.sin(np.radians(-elevation))
    closed, left_open = (
        np.mean(np.abs(look(rs.build(log, config, progress=False), elevation, azimuth) - true) < 0.02 * true)
        for config in (SplatConfig(), OPEN)
    )
    assert closed > 0.98
    assert left_open < 0.9


def test_an_opening_that_beams_passed_stays_open():
    """A wall at 8 m with an opening, through which beams pass on to the wall behind."""
    sides = [wall((8.0, -6.0), (8.0, -1.0), 5.0), wall((8.0, 1.0), (8.0, 6.0), 5.0)]
    log = record(ground_plane((80.0, 80.0)), *sides, wall((16.0, -20.0), (16.0, 20.0), 5.0))
    world = rs.build(log, SplatConfig(), progress=False)
    elevation, azimuth = aims(-2.0, 8.0, -5.0, 5.0)  # the opening is 7° wide to either side
    hit = look(world, elevation, azimuth)
    assert np.mean(hit > 15.0) > 0.99
    elevation, azimuth = aims(-2.0, 8.0, 12.0, 30.0)
    true = 7.9 / (np.cos(np.radians(elevation)) * np.cos(np.radians(azimuth)))
    assert np.mean(np.abs(look(world, elevation, azimuth) - true) < 0.1) > 0.98


@pytest.mark.parametrize("radius_m", [0.05, 0.3, 2.0])
def test_the_margin_of_a_tile_holds_what_a_wide_splat_depends_on(radius_m: float):
    for config in (SplatConfig(), rs.HybridConfig()):
        close = SplatConfig().close
        assert find_reach(close, radius_m) <= find_margin(config, Scales(radius_m, 0.01))
    assert len(list_cells(close, 0.05)) == 0 < len(list_cells(close, 0.3)) < len(list_cells(close, 2.0)) == close.levels


def test_the_same_splats_every_time():
    log = record(ground_plane((80.0, 80.0)))
    one, two = (rs.build(log, SplatConfig(), progress=False).layers[0] for _ in range(2))
    assert np.array_equal(one.centre, two.centre)
    assert np.array_equal(one.radius, two.radius)


def test_a_ring_on_the_ground_is_a_plane_and_a_pole_is_a_line():
    """Three rings around the sensor, 1 m apart, and a pole of close points at 8 m."""
    turn = np.linspace(-0.4, 0.4, 400)
    rings = [np.column_stack([r * np.cos(turn), r * np.sin(turn), np.zeros(400)]) for r in (9.0, 10.0, 11.0)]
    pole = np.column_stack([np.full(200, 5.0), np.full(200, -1.0), np.linspace(0.5, 3.5, 200)])
    cloud = cloud_of(np.concatenate([*rings, pole]), sensor=np.array([0.0, 0.0, 1.8]))
    near = Neighbours(cloud.points)
    eigenvalues = near.pca(40, 0.5, only=("eigenvalues",)).eigenvalues
    assert find_scan_lines(cloud, near, eigenvalues)[:1200].mean() > 0.9
    assert not find_scan_lines(cloud, near, eigenvalues)[1200:].any()
    rows, normal = find_planes(cloud, near, eigenvalues, SplatConfig().close, 0.5)
    assert np.mean(np.isin(np.arange(1200), rows)) > 0.9
    assert rows.max() < 1200
    assert np.abs(normal[:, 2]).min() > 0.99


def test_a_place_is_covered_if_one_of_the_nearest_splats_reaches_it():
    rng = np.random.default_rng(4)
    centre, places = (rng.uniform(0, 2, (n, 3)).astype(np.float32) * [1, 1, 0.1] for n in (400, 300))
    normal = np.tile(np.array([0, 0, 1], np.float32), (400, 1))
    radius = rng.uniform(0.01, 0.15, 400).astype(np.float32)
    rows = np.zeros(400, np.int32)
    grown = GrowthResult(centre.astype(np.float32), normal, radius, rows, rows, rows, 0.1)
    near = Neighbours(grown.centre)
    away = places[:, None] - grown.centre
    off = np.abs(away[..., 2])
    covers = (off < 0.15) & ((away**2).sum(axis=2) - off**2 < radius**2)
    nearest = near.knn(places, 24).index
    expected = np.take_along_axis(covers, nearest, axis=1).any(axis=1)
    assert np.array_equal(_are_covered(places, near, grown), expected)
    assert 0 < expected.sum() < len(expected)
    assert not np.array_equal(expected, np.take_along_axis(covers, nearest[:, :4], axis=1).any(axis=1))
