"""Worlds from clouds of forests: closed ground, crowns of volumes, and what another scan reads in them."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import resweep as rs
from resweep.build.hybrid.flatness import find_flat
from resweep.build.splats.lowest_ground import find_lowest_ground
from resweep.labels import Group
from resweep.neighbours import Neighbours
from resweep.pose import Array, from_xyz_rpy
from resweep.simulate.scene import make_native_scene
from resweep.worlds import Layer
from tests.survey_files import write_las

SIDE_M = 10.0
STEMS = np.array([[2.0, 2.5], [7.5, 2.0], [5.0, 5.5], [2.5, 8.0], [8.0, 7.5]])
STEM_M, STEM_TOP_M = 0.15, 6.0  # radius and height
CROWN_M, CROWN_Z_M = 1.6, 7.5  # radius of the balls of leaves, and their middle
PLACE = np.array([4.2, 3.2, 1.5])


def find_height(place: Array) -> Array:
    """Of the ground: slopes and waves."""
    return np.asarray(0.1 * place[:, 0] + 0.15 * np.sin(place[:, 1]))


def grow_forest() -> Array:
    """Points of ground with a shadow beside each stem, of grass, stems and crowns."""
    rng = np.random.default_rng(3)
    place = rng.uniform(0, SIDE_M, (10_000, 2))
    shadowed = (np.abs(place[:, None] - STEMS - [0.45, 0.0]) < [0.25, 0.2]).all(axis=2).any(axis=1)
    place = place[~shadowed]
    ground = np.column_stack([place, find_height(place) + rng.normal(0, 0.02, len(place))])
    grass = np.column_stack([place[:6000], find_height(place[:6000]) + rng.uniform(0.02, 0.4, 6000)])
    parts = [ground, grass]
    for stem in STEMS:
        turn, height = rng.uniform(0, 2 * np.pi, 4000), rng.uniform(0, STEM_TOP_M, 4000)
        around = stem + STEM_M * np.column_stack([np.cos(turn), np.sin(turn)])
        parts.append(np.column_stack([around, find_height(stem[None])[0] + height]))
        ball = rng.uniform(-1, 1, (5000, 3))
        ball = ball[(ball**2).sum(axis=1) < 1]
        parts.append(ball * CROWN_M + [*stem, CROWN_Z_M])
    return np.concatenate(parts)


@pytest.fixture(scope="module")
def forest(tmp_path_factory: pytest.TempPathFactory) -> rs.World:
    path = write_las(tmp_path_factory.mktemp("forest") / "plot.las", grow_forest())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return rs.build(rs.open_log(path), progress=False)


def get_layer(world: rs.World, kind: str) -> Layer:
    return next(layer for layer in world.layers if layer.kind == kind)


def test_rays_down_hit_closed_ground(forest: rs.World) -> None:
    axis = np.arange(0.2, SIDE_M - 0.2, 0.06)
    place = np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1).reshape(-1, 2)
    place = place[(((place[:, None] - STEMS) ** 2).sum(axis=2) > (2 * STEM_M) ** 2).all(axis=1)]
    start = np.column_stack([place, find_height(place) + 0.5]) - forest.origin
    scene = make_native_scene(rs.World([get_layer(forest, "splats")]))
    down = np.tile(np.array([0.0, 0.0, -1.0], np.float32), (len(start), 1))
    range_m = scene.intersect(start.astype(np.float32), down, 1.0, threads=1)["range"]
    assert (~np.isfinite(range_m)).mean() < 0.005
    assert (np.abs(range_m - 0.5) < 0.1).mean() > 0.9  # of all, some of which meet the grass


def test_crowns_are_volumes_and_stems_are_splats(forest: rs.World) -> None:
    splats, volumes = get_layer(forest, "splats"), get_layer(forest, "volumes")
    assert isinstance(splats, rs.Splats)
    assert isinstance(volumes, rs.Volumes)
    height = splats.centre[:, 2] + forest.origin[2]
    in_crowns = height > CROWN_Z_M
    assert in_crowns.sum() < 0.02 * (volumes.mean[:, 2] + forest.origin[2] > CROWN_Z_M).sum()
    away = np.linalg.norm((splats.centre + forest.origin)[:, None, :2] - STEMS, axis=2).min(axis=1)
    on_stem = (height > 2.5) & (height < 5.0)
    assert on_stem.sum() > 500
    assert np.median(np.abs(away[on_stem] - STEM_M)) < 0.02
    assert splats.radius[on_stem].max() < 2 * STEM_M


def test_a_scan_from_another_place_ends_where_points_are(forest: rs.World) -> None:
    exact = {"receiver.range_noise_sigma_m": 0.0, "receiver.range_quantisation_m": 0.0, "beam.rays": "single"}
    sensor = rs.load_sensor("ouster-os0-32").with_(**exact)
    sweep = rs.Simulator(forest, sensor, seed=1).sweep(from_xyz_rpy(*PLACE))
    found = sweep.world_points()
    near = Neighbours((grow_forest() - PLACE).astype(np.float32))
    off = np.sqrt(near.knn((found - PLACE).astype(np.float32), 1).distance2[:, 0])
    assert len(found) > 5_000
    assert np.median(off) < 0.1  # points of the ground lie 0.1 m apart
    assert (off < 0.2).mean() > 0.97
    measured = np.full(sweep.n_beams, np.inf)
    measured[sweep.beam] = sweep.range
    steps = np.arange(0.0, 6.0, 0.02)
    path = PLACE + sweep.beam_direction.astype(np.float64)[:, None] * steps[:, None]
    below = path[..., 2] < find_height(path.reshape(-1, 3)).reshape(path.shape[:2])
    met = np.argmax(below, axis=1)
    end = path[np.arange(len(path)), met]
    on_ground = below.any(axis=1) & ((end[:, :2] > 0.3) & (end[:, :2] < SIDE_M - 0.3)).all(axis=1)
    reached = PLACE + sweep.beam_direction[on_ground] * np.minimum(measured[on_ground], 20.0)[:, None]
    below_m = find_height(reached) - reached[:, 2]
    assert on_ground.sum() > 3_000
    assert (below_m > 0.15).mean() < 0.002  # through the ground


def test_ground_is_what_lies_lowest_and_not_the_underside_of_crowns() -> None:
    points = grow_forest().astype(np.float32)
    above = points[:, 2] - find_height(points)
    ground = find_lowest_ground(points, 0.25)
    assert ground[np.abs(above) < 0.05].mean() > 0.98
    assert ground[above > 0.4].mean() < 0.01
    leaves = points[above > CROWN_Z_M - CROWN_M][::4]
    assert find_lowest_ground(leaves, 0.25).mean() < 0.05  # without any ground below


def test_leaves_are_not_flat_but_sparse_sheets_are() -> None:
    rng = np.random.default_rng(1)
    leaves = rng.uniform(0, 2, (3000, 3)).astype(np.float32)
    sheet = np.column_stack([rng.uniform(5, 15, (300, 2)), np.zeros(300)]).astype(np.float32)
    points = np.concatenate([leaves, sheet])
    planar = np.full(len(points), Group.SURFACE, np.int8)  # as descriptors of too few points say
    group = find_flat(Neighbours(points), np.ones(len(points), np.int32), planar, 2.0)
    assert (group[: len(leaves)] == Group.SURFACE).mean() < 0.1
    assert (group[len(leaves) :] == Group.SURFACE).mean() > 0.95
