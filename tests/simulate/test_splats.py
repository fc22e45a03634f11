"""Discs against brute force, alone and gathered, and with other geometry between them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import trimesh

from resweep.pose import Array
from resweep.simulate import Retracer, Simulator
from resweep.simulate.scene import make_native_scene
from resweep.sweep import Sweep
from resweep.worlds import Mesh, Splats, World, load_world


def cloud(count: int = 2000, depth: int = 5, gap_m: float = 0.5) -> Splats:
    rng = np.random.default_rng(0)
    normal = rng.normal(size=(count, 3))
    return Splats(
        rng.uniform(-20, 20, (count, 3)),
        normal / np.linalg.norm(normal, axis=1, keepdims=True),
        rng.uniform(0.2, 1.0, count),
        label=rng.integers(1, 4, count),
        reflectance=rng.uniform(0.1, 0.9, count),
        depth=depth,
        gap_m=gap_m,
    )


def directions(count: int = 3000) -> Array:
    ray = np.random.default_rng(1).normal(size=(count, 3))
    return (ray / np.linalg.norm(ray, axis=1, keepdims=True)).astype(np.float32)


def disc_ranges(splats: Splats, rays: Array) -> Array:
    """Range at which each ray from the origin meets each disc (n, m); infinity where it does not."""
    centre, normal = splats.centre.astype(np.float64), splats.normal.astype(np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        t = (centre * normal).sum(axis=1) / (rays.astype(np.float64) @ normal.T)
        off = rays[:, None] * t[..., None] - centre
        inside = (off**2).sum(axis=-1) <= splats.radius.astype(np.float64) ** 2
    return np.where(inside & (t > 0) & (t < 100), t, np.inf)


def gathered(splats: Splats, ranges: Array, limit: Array) -> tuple[Array, Array]:
    """C, 6.3.4 by hand: weighted mean range and label of the discs along each ray, before ``limit``."""
    mean, label = np.full(len(ranges), np.inf), np.zeros(len(ranges), int)
    for i, row in enumerate(ranges):
        order = [j for j in np.argsort(row)[: splats.depth] if row[j] < limit[i]]
        if not order:
            continue
        chain = order[:1]
        for j in order[1:]:
            if splats.label[j] != splats.label[chain[0]] or row[j] - row[chain[-1]] > splats.gap_m:
                break
            chain.append(j)
        half = len(chain) / 2
        weight = np.exp(-np.abs(np.arange(1, len(chain) + 1) - half) / half)
        mean[i], label[i] = np.average(row[chain], weights=weight), splats.label[chain[0]]
    return mean, label


@pytest.mark.parametrize("depth", [1, 2, 5, 8])
def test_discs_equal_brute_force(depth: int) -> None:
    splats, rays = cloud(depth=depth), directions()
    got = make_native_scene(World([splats])).intersect(np.zeros_like(rays), rays, 100.0)
    mean, label = gathered(splats, disc_ranges(splats, rays), np.full(len(rays), np.inf))
    hit = np.isfinite(mean)
    assert 1000 < hit.sum() < len(rays)
    np.testing.assert_array_equal(np.isfinite(got["range"]), hit)
    np.testing.assert_allclose(got["range"][hit], mean[hit], atol=1e-4)
    np.testing.assert_array_equal(got["label"][hit], label[hit])


def test_a_mesh_between_discs_ends_the_gathering() -> None:
    splats, rays = cloud(), directions()
    ball = trimesh.creation.icosphere(subdivisions=4, radius=9.0)
    world = World([splats, Mesh(ball.vertices, ball.faces, label=9)])
    got = make_native_scene(world).intersect(np.zeros_like(rays), rays, 100.0)
    wall = make_native_scene(World([world.layers[1]])).intersect(np.zeros_like(rays), rays, 100.0)["range"]
    mean, label = gathered(splats, disc_ranges(splats, rays), wall)
    hit = np.isfinite(mean)
    assert 300 < hit.sum() < 2700
    np.testing.assert_allclose(got["range"], np.where(hit, mean, wall), atol=1e-4)
    np.testing.assert_array_equal(got["label"], np.where(hit, label, 9))


def test_a_moved_world_of_splats_measures_the_same(tmp_path: Path) -> None:
    world = World([cloud()], origin=(500_000.0, 5_000_000.0, 100.0))
    pose = np.eye(4)
    pose[:3, 3] = world.origin
    turn = trimesh.transformations.rotation_matrix(0.7, (1, 2, 3))
    turn[:3, 3] = 3.0, 4.0, 5.0
    first = Simulator(world, "velodyne-vlp-16", seed=3).sweep(pose)
    moved = Simulator(world.moved(turn), "velodyne-vlp-16", seed=3).sweep(turn @ pose)
    both = np.intersect1d(first.beam, moved.beam)
    assert len(both) > 0.995 * len(first)
    change = first.range[np.isin(first.beam, both)] - moved.range[np.isin(moved.beam, both)]
    assert np.quantile(np.abs(change), 0.99) < 2e-3
    world.save(tmp_path / "s.world")
    again = Simulator(load_world(tmp_path / "s.world"), "velodyne-vlp-16", seed=3).sweep(pose)
    np.testing.assert_array_equal(first.points, again.points)


def test_retraced_beams_read_the_world_they_came_from() -> None:
    world = World([cloud(6000)])
    real = Simulator(world, "velodyne-vlp-16", seed=3).sweep(np.eye(4))
    again = Retracer(world).sweep(real)
    assert again.n_beams == real.n_beams
    np.testing.assert_array_equal(again.beam_direction, real.beam_direction)
    both, at_real, at_again = np.intersect1d(real.beam, again.beam, return_indices=True)
    assert len(both) > 0.9 * len(real)
    assert abs(np.median(real.range[at_real] - again.range[at_again])) < 0.01
    bare = Retracer(world).sweep(Sweep.from_points(real.points))
    np.testing.assert_allclose(np.sort(bare.range), np.sort(again.range[np.isin(again.beam, real.beam)]), atol=1e-3)
