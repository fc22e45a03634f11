"""Neighbourhoods against their NumPy reference, and what holds of them whatever the points."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np
import pytest
from scipy.spatial import cKDTree

from resweep import _core
from resweep.errors import ResweepError
from resweep.neighbours import Neighbours
from resweep.pose import Array
from tests.reference import map_kernels as reference

K = 40
UTM = np.array([448_262.1, 5_411_932.7, 113.0])


def street_like(n: int, seed: int = 0) -> Array:
    """Ground in scan lines whose density falls with the square of the range, a wall, a bush, a pole, far strays."""
    rng = np.random.default_rng(seed)
    reach, angle = rng.choice(np.geomspace(2, 60, 40), n // 2), rng.uniform(0, 2 * np.pi, n // 2)
    ground = np.stack([reach * np.cos(angle), reach * np.sin(angle), rng.normal(0, 0.01, n // 2)], 1)
    wall = np.stack([rng.uniform(-20, 20, n // 4), rng.normal(8, 0.01, n // 4), rng.uniform(0, 6, n // 4)], 1)
    bush = rng.normal((5, -5, 1), 0.6, (n // 8, 3))
    pole = np.stack([rng.normal(3, 0.03, n // 16), rng.normal(3, 0.03, n // 16), rng.uniform(0, 5, n // 16)], 1)
    strays = rng.uniform(-300, 300, (n - n // 2 - n // 4 - n // 8 - n // 16, 3))
    return rng.permutation(np.concatenate([ground, wall, bush, pole, strays]))


@pytest.fixture(scope="module")
def points() -> Array:
    return street_like(3000)


@pytest.fixture(scope="module")
def extent(points: Array) -> tuple[Array, Array]:
    """A K and a radius of its own for every point, as the groups of C 3.2 have."""
    rng = np.random.default_rng(1)
    return rng.choice([10, 13, 40, 120], len(points)).astype(np.int32), rng.choice([0.3, 1.2, 3.6], len(points))


@pytest.mark.parametrize("k", [1, 3, 40, 130])
@pytest.mark.parametrize("radius", [0.5, np.inf])
@pytest.mark.parametrize("origin", [np.zeros(3), UTM])
def test_nearest_points_are_those_of_scipy(points: Array, k: int, radius: float, origin: Array) -> None:
    found = Neighbours(points + origin).knn(None, k, radius)
    distance, index = cKDTree(points).query(points, k, distance_upper_bound=radius)
    distance, index = distance.reshape(-1, k), index.reshape(-1, k)
    assert np.array_equal(found.index == -1, np.isinf(distance))
    assert np.array_equal(found.index[:, 0], np.arange(len(points)))
    assert np.allclose(np.sqrt(found.distance2), distance, rtol=1e-5, atol=1e-6)
    assert (np.diff(np.where(np.isinf(found.distance2), 1e9, found.distance2), axis=1) >= 0).all()
    assert (found.index == np.where(np.isinf(distance), -1, index)).mean() > 0.999  # the rest are ties


def test_queries_may_be_anywhere(points: Array) -> None:
    rng = np.random.default_rng(2)
    queries = np.concatenate([rng.uniform(-70, 70, (300, 3)), rng.uniform(-1e6, 1e6, (20, 3))])
    found = Neighbours(points + UTM).knn(queries + UTM, 5)
    distance, _ = cKDTree(points).query(queries, 5)
    assert np.allclose(np.sqrt(found.distance2), distance, rtol=1e-5)
    itself = np.linalg.norm(points[found.index] - queries[:, None], axis=2)
    assert np.allclose(itself, distance, rtol=1e-5)


@pytest.mark.parametrize("radius", [np.inf, 0.3])
def test_the_one_nearest_is_the_first_of_several(radius: float) -> None:
    points = street_like(20_000)
    rng = np.random.default_rng(5)
    queries = rng.permutation(np.concatenate([points + rng.normal(0, 0.1, points.shape), points[::7] + 100]))
    near = Neighbours(points)
    one, two = near.knn(queries, 1, radius), near.knn(queries, 2, radius)
    assert np.array_equal(one.index[:, 0], two.index[:, 0])
    assert np.array_equal(one.distance2[:, 0], two.distance2[:, 0])
    assert (one.index >= 0).any()
    assert np.isinf(radius) or (one.index < 0).any()


def test_a_query_at_a_point_finds_what_the_point_finds(points: Array) -> None:
    near = Neighbours(points)
    own, asked = near.knn(None, 7), near.knn(points, 7)
    assert (own.index == asked.index).mean() > 0.999
    assert np.allclose(own.distance2, asked.distance2, rtol=1e-4, atol=1e-9)


def test_fewer_points_than_neighbours() -> None:
    found = Neighbours([[0.0, 0, 0], [1, 0, 0], [0, 3, 0]]).knn(None, 5)
    assert found.index.tolist() == [[0, 1, 2, -1, -1], [1, 0, 2, -1, -1], [2, 0, 1, -1, -1]]
    assert np.array_equal(found.distance2[0], np.float32([0, 1, 9, np.inf, np.inf]))


def test_points_on_one_spot_are_all_found() -> None:
    spots = np.repeat(np.random.default_rng(3).uniform(-1, 1, (20, 3)), 50, axis=0)
    near = Neighbours(spots)
    found = near.knn(None, 50)
    assert np.array_equal(found.distance2, np.zeros((1000, 50)))
    assert np.array_equal(np.sort(found.index, axis=1), np.arange(1000).reshape(20, 50)[np.arange(1000) // 50])
    assert near.pca(50).count.tolist() == [50] * 1000


def test_no_points_and_one_point() -> None:
    empty, one = Neighbours(np.zeros((0, 3))), Neighbours([[1.0, 2, 3]])
    assert empty.knn(None, 3).index.shape == (0, 3)
    assert empty.knn([[0.0, 0, 0]], 3).index.tolist() == [[-1, -1, -1]]
    assert empty.mean_radius(3) == 0
    assert len(empty.pca(3).count) == len(empty.radius_count(1.0)) == 0
    assert one.pca(3).count.tolist() == one.radius_count(1.0).tolist() == [1]
    assert one.pca(3).normal.tolist() == [[0, 0, 0]]
    assert len(one.grow([[0.0, 0, 1]], 5, 1.0, 1.0).seed) == 0


@pytest.mark.parametrize("radius", [0.05, 1.0, 30.0])
def test_counts_within_a_radius(radius: float) -> None:
    points = street_like(20_000)
    counted = cKDTree(points).query_ball_point(points, radius, return_length=True)
    assert (Neighbours(points).radius_count(radius) == counted).mean() > 0.9999


def test_mean_radius_is_the_mean_distance_of_the_last_neighbour() -> None:
    points = street_like(60_000)
    expected = cKDTree(points).query(points, [K])[0]
    near = Neighbours(points)
    assert near.mean_radius(K, sample=None) == pytest.approx(expected.mean(), rel=1e-5)
    # A sample of whole leaves: allow five standard errors as if every leaf of 32 points were one draw.
    error = expected.std() / np.sqrt(20_000 / 32)
    assert abs(near.mean_radius(K, sample=20_000) - expected.mean()) < 5 * error


def test_mean_plane_distance_is_the_mean_over_all_neighbours() -> None:
    near = Neighbours(street_like(60_000))
    shape = near.pca(K, 1.0)
    weight = np.where(shape.count >= 3, shape.count, 0)
    distance = shape.mean_abs_plane_distance
    expected = np.average(distance, weights=weight)
    assert near.mean_plane_distance(K, 1.0, sample=None) == pytest.approx(expected, rel=1e-5)
    # Five standard errors, as for the mean radius.
    error = distance.std() / np.sqrt(20_000 / 32)
    assert abs(near.mean_plane_distance(K, 1.0, sample=20_000) - expected) < 5 * error


def test_pca_gives_what_is_asked_for_the_points_it_is_asked_for(points: Array) -> None:
    near = Neighbours(points)
    some = np.arange(len(points)) % 3 == 0
    whole, part = near.pca(K, 1.0), near.pca(np.where(some, K, 0), 1.0, only=("normal", "count"))
    assert np.array_equal(part.normal[some], whole.normal[some])
    assert np.array_equal(part.count, np.where(some, whole.count, 0))
    assert len(part.radius) == len(part.eigenvalues) == 0


def test_splats_grow_the_same_within_the_radius_of_their_neighbours(points: Array) -> None:
    near = Neighbours(points)
    shape = near.pca(K, 1.0)
    loose = near.grow(shape.normal, K, 1.0, 0.05)
    tight = near.grow(shape.normal, K, shape.radius * np.float32(1 + 1e-6), 0.05)
    assert all(np.array_equal(getattr(loose, name), getattr(tight, name)) for name in ("seed", "radius", "shift"))


def test_points_are_joined_with_their_farthest_neighbours_that_fit() -> None:
    points = street_like(3000)
    rng = np.random.default_rng(8)
    normal = rng.normal(size=points.shape).astype(np.float32)
    normal /= np.linalg.norm(normal, axis=1)[:, None]
    kind, missing = (rng.integers(0, 3, len(points)).astype(np.int32) for _ in range(2))
    first, second = Neighbours(points).join(normal, kind, missing, 12, 2.0, 0.1)
    around = reference.neighbourhoods(points, np.full(len(points), 12), np.full(len(points), 2.0))
    expected: set[tuple[int, int]] = set()
    for row in np.flatnonzero(missing):
        fit = [at for at in around[row][::-1] if at != row and kind[at] == kind[row] and normal[at] @ normal[row] > 0.1]
        expected |= {(int(row), int(at)) for at in fit[: missing[row]]}
    found = set(zip(first.tolist(), second.tolist(), strict=True))
    assert len(found) == len(first)
    assert len(found ^ expected) <= 0.001 * len(expected)  # a distance may round to the other side of another


@pytest.mark.parametrize("size", [0.05, 0.5, 40.0])
def test_one_point_is_kept_in_each_free_cell(size: float) -> None:
    rng = np.random.default_rng(9)
    taken, points = (rng.uniform(-5, 5, (count, 3)).astype(np.float32) for count in (2000, 30_000))
    expected = reference.in_free_cells(taken, points, size)
    for threads in (1, 2):
        assert np.array_equal(_core.in_free_cells(taken, points, size, threads), expected)


def test_pca_is_that_of_the_reference(points: Array, extent: tuple[Array, Array]) -> None:
    k, radius = extent
    ours = Neighbours(points + UTM).pca(k, radius)
    plain = reference.pca(points, reference.neighbourhoods(points, k, radius))
    same = ours.count == plain.count
    assert same.mean() > 0.999  # a distance may round to the other side of the radius
    enough = same & (ours.count >= 5)
    assert np.allclose(ours.eigenvalues[enough], plain.eigenvalues[enough], rtol=1e-4, atol=1e-9)
    assert np.allclose(ours.mean_offset[enough], plain.mean_offset[enough], atol=1e-5)
    clear = enough & (plain.eigenvalues[:, 2] < 0.9 * plain.eigenvalues[:, 1])
    assert (np.abs(np.einsum("ni,ni->n", ours.normal, plain.normal))[clear] > 1 - 1e-5).all()
    for name in ("mean_abs_plane_distance", "std_abs_plane_distance", "radius"):
        assert np.allclose(getattr(ours, name)[clear], getattr(plain, name)[clear], rtol=1e-3, atol=2e-5)
    assert (np.linalg.norm(ours.normal[ours.count < 3], axis=1) == 0).all()
    assert np.allclose(np.linalg.norm(ours.normal[ours.count >= 3], axis=1), 1, atol=1e-6)
    assert (ours.normal[:, 2] >= 0).all()


def test_a_thin_surface_far_from_the_origin_keeps_its_thickness() -> None:
    rng = np.random.default_rng(4)
    flat = np.stack([rng.uniform(-5, 5, 20_000), rng.uniform(-5, 5, 20_000), rng.normal(0, 1e-3, 20_000)], 1)
    tilt = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    shape = Neighbours(flat @ tilt.T + UTM).pca(K)
    across = np.abs(shape.normal @ tilt[:, 2])
    assert np.quantile(across, 0.01) > 0.9999
    # Least squares over K points leaves (K − 3) / K of the variance across the plane.
    assert shape.eigenvalues[:, 2].mean() == pytest.approx(1e-6 * (K - 3) / K, rel=0.05)


def test_growth_is_that_of_the_reference(points: Array, extent: tuple[Array, Array]) -> None:
    k, radius = extent
    rng = np.random.default_rng(5)
    near = Neighbours(points)
    normal = near.pca(k, radius).normal
    bound, label = rng.choice([0.02, 0.1], len(points)), (points[:, 0] > 0).astype(np.int32)
    values = rng.uniform(size=(len(points), 2)).astype(np.float32)
    grown = near.grow(normal, k, radius, bound, label, 0.3, 0.6, values)
    around = reference.neighbourhoods(points, k, radius)
    plain = reference.grow(points, normal, around, bound, label, 0.3, 0.6, values, near.seed_order())
    assert 0.2 * len(points) < len(plain.seed) < 0.8 * len(points)
    ours, theirs = dict(zip(grown.seed, range(len(grown.seed)), strict=True)), set(plain.seed.tolist())
    # One comparison that rounds the other way may let one seed more or less live.
    assert len(theirs ^ set(ours)) <= 0.002 * len(points)
    both = [row for row, seed in enumerate(plain.seed) if seed in ours]
    rows = [ours[plain.seed[row]] for row in both]
    agree = grown.count[rows] == plain.count[both]
    assert agree.mean() > 0.998
    for name in ("shift", "radius", "values"):
        assert np.allclose(getattr(grown, name)[rows][agree], getattr(plain, name)[both][agree], rtol=1e-3, atol=1e-5)


def test_every_point_is_a_seed_once_and_no_clearing_keeps_all(points: Array) -> None:
    near = Neighbours(points)
    order = near.seed_order()
    assert np.array_equal(np.sort(order), np.arange(len(points)))
    normal = np.tile(np.float32([0, 0, 1]), (len(points), 1))
    everywhere = near.grow(normal, K, np.inf, np.inf, alpha=0.0)
    assert np.array_equal(everywhere.seed, order)
    assert (everywhere.count == K).all()
    sparser = [len(near.grow(normal, K, np.inf, np.inf, alpha=alpha).seed) for alpha in (0.1, 0.2, 0.5, 1.0)]
    assert np.all(np.diff([len(points), *sparser]) < 0)


def test_splats_stay_on_their_side_of_an_edge_and_of_a_label() -> None:
    rng = np.random.default_rng(6)
    floor = np.stack([rng.uniform(0, 2, 4000), rng.uniform(0, 2, 4000), np.zeros(4000)], 1)
    wall = np.stack([np.zeros(4000), rng.uniform(0, 2, 4000), rng.uniform(0, 2, 4000)], 1)
    points = np.concatenate([floor, wall])
    normal = np.repeat(np.float32([[0, 0, 1], [1, 0, 0]]), 4000, axis=0)
    label = (points[:, 1] > 1).astype(np.int32)
    grown = Neighbours(points).grow(normal, K, 1.0, np.inf, label, values=points - points.mean(axis=0))
    centre = points[grown.seed] + grown.shift[:, None] * normal[grown.seed]
    flat = np.where(grown.seed < 4000, centre[:, 2], centre[:, 0])
    assert np.allclose(flat, 0, atol=1e-6)
    mean_y = grown.values[:, 1] + points[:, 1].mean()
    assert np.array_equal(mean_y > 1, label[grown.seed] == 1)


@pytest.mark.parametrize("n", [31, 5000, 150_000])
def test_threads_change_no_byte(n: int) -> None:
    points = street_like(n)
    results: list[list[Array]] = []
    for threads in (1, 3):
        near = Neighbours(points, threads)
        shape = near.pca(K, 2.0)
        grown = near.grow(shape.normal, 20, 2.0, 0.05)
        made: list[Any] = [getattr(part, field.name) for part in (shape, grown) for field in fields(part)]
        results.append([*made, near.radius_count(0.2), np.float64(near.mean_radius(K))])
    assert all(one.tobytes() == other.tobytes() for one, other in zip(*results, strict=True))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda near: Neighbours([[0.0, 0, np.nan]]), "points: row 0 holds NaN"),
        (lambda near: Neighbours(np.zeros((4, 2))), r"points: shape \(4, 2\)"),
        (lambda near: near.knn(None, 0), "k: 0"),
        (lambda near: near.knn(None, 3, np.nan), "max_radius: nan"),
        (lambda near: near.pca(np.full(3, 8)), r"k: shape \(3,\)"),
        (lambda near: near.pca(8, -1.0), "max_radius: expected metres"),
        (lambda near: near.grow(np.zeros((2, 3)), 8, 1.0, 1.0), "normal, values: expected a row"),
    ],
)
def test_mistakes_are_reported(points: Array, call: Any, message: str) -> None:
    near = Neighbours(points)
    with pytest.raises(ResweepError, match=message):
        call(near)
