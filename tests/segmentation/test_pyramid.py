"""Grids and neighbours are those of a plain search, whatever the threads."""

from __future__ import annotations

import numpy as np

from resweep.segmentation.pyramid import RADIUS_CELLS, join_pyramids, make_pyramid, thin

RNG = np.random.default_rng(1)
POINTS = thin(RNG.uniform(-3, 3, (800, 3)), 0.5)[0]


def brute(support: np.ndarray, queries: np.ndarray, k: int, radius: float) -> list[set[int]]:
    away = np.linalg.norm(queries[:, None].astype(np.float64) - support[None], axis=2)
    order = np.argsort(away, axis=1, kind="stable")[:, :k]
    return [{int(at) for at in row if away[query, at] <= radius} for query, row in enumerate(order)]


def test_a_cell_has_the_mean_of_its_points() -> None:
    points = np.array([[0.1, 0.1, 0.1], [0.3, 0.1, 0.1], [0.6, 0.1, 0.1], [-0.1, 0.1, 0.1]])
    means, cell = thin(points, 0.5)
    np.testing.assert_allclose(means[cell], [[0.2, 0.1, 0.1], [0.2, 0.1, 0.1], [0.6, 0.1, 0.1], [-0.1, 0.1, 0.1]])
    assert len(means) == 3


def test_neighbours_are_those_of_a_plain_search() -> None:
    pyramid = make_pyramid(POINTS, 0.5, 3, 12)
    for level in range(3):
        points, radius = pyramid.points[level], RADIUS_CELLS * 0.5 * 2**level
        rows = [{int(at) for at in row if at < len(points)} for row in pyramid.same[level]]
        assert rows == brute(points, points, 12, radius)
        if level < 2:
            coarse = pyramid.points[level + 1]
            rows = [{int(at) for at in row if at < len(points)} for row in pyramid.down[level]]
            assert rows == brute(points, coarse, 12, radius)
            nearest = np.linalg.norm(points[:, None] - coarse[None], axis=2).argmin(axis=1)
            assert (pyramid.up[level] == nearest).mean() > 0.99  # equal distances may go to either
            assert len(coarse) < len(points)


def test_threads_change_nothing() -> None:
    one, two = (make_pyramid(POINTS, 0.5, 3, 12, threads=threads).inputs() for threads in (1, 2))
    for name, array in one.items():
        assert array.tobytes() == two[name].tobytes(), name


def test_joined_clouds_do_not_know_each_other() -> None:
    parts = [make_pyramid(cloud, 0.5, 3, 12) for cloud in (POINTS, POINTS[:40] + 0.1)]
    joined = join_pyramids(parts)
    for level in range(3):
        first, second = (len(part.points[level]) for part in parts)
        assert len(joined.points[level]) == first + second
        rows = joined.same[level]
        assert rows.max() <= first + second
        np.testing.assert_array_equal(
            np.where(rows[:first] == first + second, first, rows[:first]), parts[0].same[level]
        )
        later = np.where(rows[first:] == first + second, second, rows[first:] - first)
        np.testing.assert_array_equal(later, parts[1].same[level])
        if level < 2:
            ups = joined.up[level][first:] - len(parts[0].points[level + 1])
            np.testing.assert_array_equal(ups, parts[1].up[level])
