"""Squares of the ground: every point in one, every beam in those that it crosses."""

from __future__ import annotations

import numpy as np
import pytest

from resweep import _core
from resweep.build.tiles.squares import plan_squares
from resweep.map.store.grid import Square, find_squares
from resweep.pose import Array


def test_every_point_lies_in_one_square_of_a_grid_and_in_one_of_its_quarters():
    points = np.random.default_rng(0).uniform(-30, 30, (5000, 3)).astype(np.float32)
    points[:10, :2] = [[0, 0], [10, 0], [-10, 10], [5, 5], [-5, 0], [0, 10], [10, 10], [-10, -10], [20, 0], [0, -20]]
    squares = [Square(x, y, 10.0) for x in range(-3, 3) for y in range(-3, 3)]
    assert (sum(square.contains(points).astype(int) for square in squares) == 1).all()
    for square in squares[:6]:
        inside = sum(quarter.contains(points).astype(int) for quarter in square.quarters())
        assert np.array_equal(inside == 1, square.contains(points))


def test_the_margin_of_a_square_reaches_beyond_it():
    square = Square(0, -1, 10.0)
    points = np.array([[5.0, -5.0], [-0.9, -5.0], [-1.1, -5.0], [10.9, 0.9], [5.0, 1.1]])
    assert square.reaches(points, 1.0).tolist() == [True, True, False, True, False]
    assert set(square.cells(5.0)) == {(0, -2), (0, -1), (1, -2), (1, -1)}
    assert len(set(square.cells(5.0, 1.0))) == 16


def beams(count: int) -> tuple[Array, Array, Array]:
    rng = np.random.default_rng(1)
    direction = rng.normal(size=(count, 3)).astype(np.float32)
    direction /= np.linalg.norm(direction, axis=1)[:, None]
    direction[:4] = [[1, 0, 0], [0, -1, 0], [0, 0, 1], [-1, 0, 0]]
    return rng.uniform(-20, 20, (count, 3)).astype(np.float32), direction, rng.uniform(0, 60, count).astype(np.float32)


@pytest.mark.parametrize("margin", [0.0, 1.5])
def test_beams_are_found_in_the_squares_that_they_cross(margin):
    origin, direction, length = beams(300)
    row, x, y = _core.tiles_of_beams(origin, direction, length, 10.0, margin)
    found = set(zip(row.tolist(), x.tolist(), y.tolist(), strict=True))
    assert len(found) == len(row)
    steps = np.linspace(0, 1, 2001)
    for at in range(300):
        path = origin[at, :2] + direction[at, :2] * (length[at] * steps)[:, None]
        if margin == 0:  # every square that the path was seen in is found
            hit = {(at, *square) for square in map(tuple, find_squares(path, 10.0).tolist())}
            assert hit <= found
        for _, i, j in [one for one in found if one[0] == at]:  # and the path comes near to each that is found
            square = Square(i, j, 10.0)
            away = np.maximum(np.maximum(square.low - path, path - square.high), 0).max(axis=1)
            assert away.min() <= margin + 0.05
    for i, j in {(i, j) for _, i, j in found}:
        rows = Square(i, j, 10.0).find_beams(origin, direction, length, margin)
        assert set(rows.tolist()) == {at for at, a, b in found if (a, b) == (i, j)}


def test_the_squares_of_beams_are_the_same_on_any_number_of_threads():
    origin, direction, length = beams(50_000)
    one, two = (_core.tiles_of_beams(origin, direction, length, 7.0, 1.0, threads) for threads in (1, 2))
    assert all(np.array_equal(a, b) for a, b in zip(one, two, strict=True))


def test_a_beam_without_a_true_length_crosses_nothing():
    origin, direction = np.zeros((3, 3), np.float32), np.float32([[1, 0, 0]] * 3)
    row, _, _ = _core.tiles_of_beams(origin, direction, np.float32([np.inf, np.nan, 5.0]), 10.0)
    assert set(row.tolist()) == {2}


def test_a_tile_is_divided_where_it_is_dense_and_no_further_than_needed():
    counts = {(x, y): 100 for x in range(-10, 20) for y in range(-10, 20)} | {(1, 1): 40_000}
    tile, cell_m = Square(0, 0, 48.0), 6.0
    assert plan_squares(tile, counts, 1.0, 1e9, cell_m) == (tile,)
    squares = plan_squares(tile, counts, 1.0, 18_000, cell_m)
    assert sum(square.size_m**2 for square in squares) == 48.0**2
    centre = [square for square in squares if square.contains(np.array([[9.0, 9.0]]))[0]]
    assert centre[0].size_m == 3.0  # half of a cell: with the margin 16 of its 36 m²
    assert max(square.size_m for square in squares) == 24.0


def test_nothing_is_divided_without_end():
    squares = plan_squares(Square(0, 0, 48.0), {(0, 0): 10**9}, 1.0, 1000, 6.0)
    assert min(square.size_m for square in squares) == 1.5
