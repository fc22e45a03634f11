"""Trees and shrubs: their parts, their size, and that they hang together."""

from __future__ import annotations

import time
from itertools import pairwise

import numpy as np
import pytest
import trimesh
from scipy.spatial import cKDTree

from resweep.errors import ResweepError
from resweep.scenes import Label, ShrubConfig, TreeConfig, detailed_tree, shrub, tree
from resweep.scenes.trees import count_wood_triangles, grow

SMALL = TreeConfig(height_m=6.0, crown_radius_m=1.8, trunk_diameter_m=0.2, branches=(12, 5), leaves=3000)


def centroids(mesh, label):
    return mesh.vertices[mesh.faces[mesh.label == int(label)]].mean(axis=1)


def test_a_tree_has_a_trunk_and_leaves_of_the_size_asked_for(areas):
    model = tree(0, SMALL)
    assert (model.label == int(Label.VEGETATION)).sum() == 3000 * 2 * SMALL.leaf_segments
    assert (model.label == int(Label.TRUNK)).sum() == count_wood_triangles(SMALL)
    low, high = model.bounds
    assert low[2] == pytest.approx(0, abs=1e-3)
    assert high[2] == pytest.approx(6.0, abs=0.3)
    assert np.abs(model.bounds[:, :2]).max() < 2 * SMALL.crown_radius_m
    assert areas(model).min() > 1e-10
    foot = model.vertices[model.vertices[:, 2] < 1e-3]
    assert np.hypot(foot[:, 0], foot[:, 1]).max() == pytest.approx(0.1, rel=0.01)


def test_leaves_are_in_the_crown_and_below_it_is_only_the_trunk():
    model = tree(1, SMALL)
    leaf = centroids(model, Label.VEGETATION)
    assert np.median(leaf[:, 2]) > 0.4 * SMALL.height_m
    low = model.vertices[model.vertices[:, 2] < 0.1 * SMALL.height_m]
    assert np.hypot(low[:, 0], low[:, 1]).max() < 0.3


def test_every_branch_starts_on_its_parent_and_is_thinner():
    orders = grow(np.random.default_rng(4), SMALL)
    assert [len(order.spine) for order in orders] == [1, 12, 60]
    for parent, child in pairwise(orders):
        line = np.linspace(0, 1, 200)[:, None, None, None]
        dense = (parent.spine[:, :-1] * (1 - line) + parent.spine[:, 1:] * line).reshape(-1, 3)
        distance, _ = cKDTree(dense).query(child.spine[:, 0])
        assert distance.max() < 0.01
        assert child.radius.max() < parent.radius.max()
        assert (np.diff(child.radius, axis=1) < 0).all()


def test_every_leaf_hangs_on_wood():
    model = tree(2, SMALL)
    wood = model.vertices[np.unique(model.faces[model.label == int(Label.TRUNK)])]
    distance, _ = cKDTree(wood).query(centroids(model, Label.VEGETATION))
    assert distance.max() < 0.5


def test_a_detailed_tree_has_the_triangles_asked_for_and_is_quick():
    start = time.process_time()
    model = detailed_tree(1_000_000)
    assert time.process_time() - start < 3.0
    assert 0 <= model.n_triangles - 1_000_000 < 16
    with pytest.raises(ResweepError, match="wood alone"):
        detailed_tree(100)


def test_a_shrub_is_a_bare_trunk_below_a_shell_of_leaves(areas):
    config = ShrubConfig()
    model = shrub(0)
    assert model.bounds[1, 2] == pytest.approx(config.height_m, abs=0.05)
    assert areas(model).min() > 0
    leaf, wood = centroids(model, Label.VEGETATION), centroids(model, Label.TRUNK)
    assert leaf[:, 2].min() > 0.3
    bare = wood[wood[:, 2] < 0.15]
    assert len(bare) > 0
    assert np.hypot(bare[:, 0], bare[:, 1]).max() < 0.05
    # Leaves form a shell: hardly any are in the inner half of the crown.
    half = np.array([config.crown_radius_m, config.crown_radius_m, (config.height_m - config.crown_base_m) / 2])
    depth = np.abs((leaf - [0, 0, config.crown_base_m + half[2]]) / half)
    depth = np.maximum(np.hypot(depth[:, 0], depth[:, 1]), depth[:, 2])
    assert (depth < 0.5).mean() < 0.01
    assert np.median(depth) > 0.75


def test_first_hits_on_a_shrub_come_in_two_groups():
    # B, 3.4.3: the ranges are broad, with one mode at the foliage and another at the trunk.
    model = shrub(0)
    scene = trimesh.Trimesh(model.vertices, model.faces, process=False)
    y, z = np.meshgrid(np.linspace(-0.6, 0.6, 150), np.linspace(0.02, 1.2, 150))
    depth, wood = [], []
    for angle in np.radians([0, 30, 60, 90]):
        turn = np.array([[np.cos(angle), -np.sin(angle), 0], [np.sin(angle), np.cos(angle), 0], [0, 0, 1]])
        start = np.column_stack([np.full(y.size, -8.0), y.ravel(), z.ravel()])
        hit, _, face = scene.ray.intersects_location(start @ turn.T, [turn[:, 0]] * y.size, multiple_hits=False)
        depth.append(hit @ turn[:, 0])
        wood.append(model.label[face] == int(Label.TRUNK))
    counts, edges = np.histogram(np.concatenate(depth), bins=np.arange(-0.5, 0.5, 0.05))
    trunk = np.histogram(np.concatenate(depth)[np.concatenate(wood)], bins=edges)[0]
    front, middle = counts[: len(counts) // 2 - 2].argmax(), trunk.argmax()
    assert edges[front] < -0.3
    assert -0.1 < edges[middle] < 0.05
    dip = counts[front:middle].min()
    # Both modes stand above the dip between them by more than five standard errors.
    for mode in (counts[front], counts[middle]):
        assert mode - dip > 5 * np.sqrt(mode + dip)


@pytest.mark.parametrize("make", [lambda seed: tree(seed, SMALL), shrub])
def test_plants_depend_on_the_seed_alone(make):
    first, again, other = make(3), make(3), make(4)
    assert first.vertices.tobytes() == again.vertices.tobytes()
    assert first.vertices.tobytes() != other.vertices.tobytes()


def test_a_misspelt_setting_is_refused():
    with pytest.raises(ValueError, match="hight_m"):
        TreeConfig(hight_m=3.0)
