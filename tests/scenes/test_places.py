"""Whole places: the counts of B, labels and instances, and what must not overlap."""

from __future__ import annotations

import inspect
import time

import numpy as np
import pytest

from resweep.errors import ResweepError
from resweep.scenes import (
    SCENES,
    CourtyardConfig,
    Label,
    RootConfig,
    StreetConfig,
    TreeConfig,
    courtyard,
    meadow,
    root,
    street,
)

SMALL_TREE = TreeConfig(branches=(6, 3), trunk_sides=6, leaf_segments=2)
SMALL_YARD = CourtyardConfig(size_m=60, trees=5, triangles=1_000_000, blade_segments=3, tile_m=5, tree=SMALL_TREE)
SMALL = {
    "courtyard": lambda seed: courtyard(seed, SMALL_YARD),
    "meadow": lambda seed: meadow(seed, trees=2, shrubs=3),
    "root": lambda seed: root(seed, RootConfig(detail=0.01)),
    "street": lambda seed: street(seed, StreetConfig(length_m=40.0)),
}


def layer(world, name):
    return next(item for item in world.layers if item.name == name)


def prototype(item):
    return item.mesh if item.kind == "instances" else item


@pytest.fixture(scope="module")
def yard():
    return courtyard(0)


def test_the_courtyard_is_the_papers(yard):
    np.testing.assert_allclose(yard.bounds[:, :2], [[-150.3, -150.3], [150.3, 150.3]], atol=0.01)
    assert layer(yard, "walls").bounds[1, 2] == 10.0
    assert yard.n_triangles >= 191_245_324
    assert yard.n_triangles - 191_245_324 < 50 * 16
    trees, grass = layer(yard, "trees"), layer(yard, "grass")
    assert len(trees.transforms) == 50
    blades = grass.n_triangles // (2 * CourtyardConfig().blade_segments)
    assert blades == yard.meta["blades"] == CourtyardConfig().blades
    assert 1_900_000 < blades < 2_000_000
    assert blades / 300**2 == pytest.approx(22, rel=0.01)
    assert yard.meta["triangles"] == yard.n_triangles


def test_the_courtyard_holds_few_triangles_in_memory(yard):
    stored = sum(prototype(item).n_triangles for item in yard.layers)
    assert stored < 4_000_000


def test_grass_tiles_of_the_courtyard_cover_it_without_overlap(yard):
    grass = layer(yard, "grass")
    centre = grass.transforms[:, :2, 3]
    tile = CourtyardConfig().tile_m
    cells = np.round((centre + 150) / tile - 0.5).astype(int)
    np.testing.assert_allclose(centre, (cells + 0.5) * tile - 150, atol=1e-4)
    assert len(np.unique(cells, axis=0)) == (300 / tile) ** 2 == len(cells)
    low, high = grass.mesh.bounds
    assert np.abs([low[:2], high[:2]]).max() <= tile / 2 + 1e-6
    linear = np.abs(grass.transforms[:, :, :3])
    np.testing.assert_array_equal(np.sort(linear.reshape(-1, 9), axis=1), [[0] * 6 + [1] * 3] * len(cells))


def test_trees_of_the_courtyard_stand_apart_within_the_walls(yard):
    trees = layer(yard, "trees")
    at = trees.transforms[:, :2, 3]
    gaps = np.linalg.norm(at[:, None] - at, axis=2)[~np.eye(50, dtype=bool)]
    assert gaps.min() >= 9.0
    assert np.linalg.norm(at, axis=1).min() >= 8.0
    assert np.abs(at).max() < 147
    scale = np.linalg.norm(trees.transforms[:, :, 0], axis=1)
    assert 0.7 <= scale.min() < 0.85
    assert 1.15 < scale.max() <= 1.3
    assert len(set(trees.instance)) == 50


def test_a_courtyard_that_cannot_be_is_refused():
    with pytest.raises(ResweepError, match="does not divide"):
        courtyard(0, CourtyardConfig(tile_m=7.0))
    with pytest.raises(ResweepError, match="grass alone"):
        courtyard(0, CourtyardConfig(triangles=1000))


@pytest.mark.slow
def test_the_root_scene_is_the_papers():
    world = root(0)
    step = layer(world, "root")
    assert step.n_triangles > 22_000_000
    np.testing.assert_allclose(np.ptp(step.bounds, axis=0), [2.0, 3.0, 0.4], atol=0.03)
    assert sum(len(item.transforms) for item in world.layers if item.kind == "instances") == 24_564
    assert world.n_triangles >= 604_488_350
    assert world.n_triangles - 604_488_350 < 264 * 16


def test_the_root_scene_scales_with_its_detail(areas):
    world = root(0, RootConfig(detail=0.01))
    assert world.n_triangles >= 6_044_883
    assert world.n_triangles < 6_100_000
    assert sum(len(item.transforms) for item in world.layers if item.kind == "instances") == 24_564
    step = layer(world, "root")
    np.testing.assert_allclose(np.ptp(step.bounds, axis=0), [2.0, 3.0, 0.4], atol=0.03)
    assert areas(step).min() > 0
    assert {int(Label.TRUNK), int(Label.TERRAIN)} == set(step.label)
    # Its rim meets the ground around it: nothing can be seen through a gap.
    edge = step.vertices[(np.abs(step.vertices[:, 0]) == 1) | (np.abs(step.vertices[:, 1]) == 1.5)]
    ramp = np.clip(edge[:, 0] / 2 + 0.5, 0, 1) * layer(world, "ground").bounds[1, 2]
    np.testing.assert_allclose(edge[:, 2], ramp, atol=1e-6)


def test_grass_keeps_off_the_root_and_the_trail():
    centre = layer(root(0, RootConfig(detail=0.01)), "grass").transforms[:, :, 3]
    assert (np.abs(centre[:, 1]) >= 2.0 - 1e-6).all()
    assert (np.abs(centre[:, 0]) >= 1.5 - 1e-6).all()
    assert len(np.unique(np.round(centre[:, :2], 3), axis=0)) == len(centre)


def test_the_street_has_every_part_with_its_label_and_instance():
    world = street(0)
    labels = np.concatenate([prototype(item).label for item in world.layers])
    names = ("ROAD", "SIDEWALK", "BUILDING", "FENCE", "POLE", "TRAFFIC_SIGN", "CAR", "VEGETATION", "TRUNK", "TERRAIN")
    assert set(labels) == {int(Label[name]) for name in names}
    taken: set[int] = set()
    for item in world.layers:
        ids = set(item.instance.tolist()) - {0}
        assert not ids & taken
        taken |= ids
    cars = layer(world, "cars")
    assert len(set(cars.instance)) >= 10
    for number in set(cars.instance):
        size = np.ptp(cars.vertices[cars.faces[cars.instance == number]].reshape(-1, 3), axis=0)
        assert 3.5 < size[0] < 5.2
        assert size[1] < 2.1
    assert {m.name for m in layer(world, "signs").materials if m.retro > 0} == {"sign sheeting"}


def test_the_road_is_free_along_its_middle():
    world = street(0)
    for item in world.layers[1:]:
        mesh = prototype(item)
        if item.kind == "instances":
            continue
        corner = mesh.vertices
        over_road = (np.abs(corner[:, 1]) < 2.0) & (corner[:, 2] < 4.0)
        assert not over_road.any(), item.name


def test_kerbs_face_the_road_and_are_as_high_as_the_sidewalk():
    ground = layer(street(0), "ground")
    a, b, c = np.moveaxis(ground.vertices[ground.faces].astype(np.float64), 1, 0)
    normal = np.cross(b - a, c - a)
    upright = np.abs(normal[:, 2]) < 1e-6
    assert upright.sum() == 4
    assert (normal[upright, 1] * a[upright, 1] < 0).all()
    assert (normal[~upright, 2] > 0).all()
    assert a[upright][:, 2].min() == 0
    assert ground.bounds[1, 2] == pytest.approx(0.12)


def test_the_meadow_is_quick_and_a_sensor_stands_free_in_it():
    start = time.process_time()
    world = meadow(0)
    assert time.process_time() - start < 3.0
    terrain = layer(world, "terrain")
    near = terrain.vertices[np.hypot(terrain.vertices[:, 0], terrain.vertices[:, 1]) < 2]
    assert near[:, 2].max() < 1.6
    plants = np.concatenate([layer(world, name).transforms[:, :2, 3] for name in ("trees", "shrubs")])
    assert np.hypot(*plants.T).min() > 5
    ids = np.concatenate([layer(world, name).instance for name in ("trees", "shrubs")])
    assert len(set(ids)) == len(ids)


def test_grass_of_the_meadow_follows_the_ground():
    world = meadow(0)
    grass, terrain = layer(world, "grass"), layer(world, "terrain")
    roots = grass.mesh.vertices.reshape(-1, 12, 3)[::20, :2].mean(axis=1)
    placed = np.einsum("kij,nj->kni", grass.transforms[:, :, :3], roots) + grass.transforms[:, None, :, 3]
    placed = placed.reshape(-1, 3)
    side = round(np.sqrt(len(terrain.vertices)))
    heights = terrain.vertices[:, 2].reshape(side, side)
    index = np.clip(np.round((placed[:, :2] + 30) / 0.5).astype(int), 0, side - 1)
    assert np.quantile(np.abs(placed[:, 2] - heights[index[:, 0], index[:, 1]]), 0.95) < 0.12


@pytest.mark.parametrize("name", sorted(SCENES))
def test_places_depend_on_the_seed_alone(name):
    def content(world):
        parts = [prototype(item).vertices.tobytes() for item in world.layers]
        return parts + [item.transforms.tobytes() for item in world.layers if item.kind == "instances"]

    first, again, other = (content(SMALL[name](seed)) for seed in (1, 1, 2))
    assert first == again
    assert first != other


@pytest.mark.parametrize("name", sorted(SCENES))
def test_no_place_has_a_degenerate_triangle_or_an_unnamed_layer(name, areas):
    world = SMALL[name](0)
    for item in world.layers:
        assert item.name
        assert areas(prototype(item)).min() > 0, item.name
        assert (prototype(item).label > 0).all(), item.name


@pytest.mark.parametrize("name", sorted(SCENES))
def test_every_label_of_a_place_has_a_class(name):
    world = SMALL[name](0)
    assert world.labels.name == "semantickitti"
    assert set(world.label_counts) <= set(world.labels.classes)


def test_every_scene_takes_a_seed():
    for name, make in SCENES.items():
        assert "seed" in inspect.signature(make).parameters, name
