"""Voxels: which points share one, against counting by hand."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from resweep.errors import ResweepError
from resweep.voxels import (
    average_voxels,
    find_first_in_voxels,
    find_touching_cells,
    make_cell_keys,
    number_keys,
    number_voxels,
    pack_cells,
)

RNG = np.random.default_rng(0)
POINTS = RNG.uniform(-2, 2, (500, 3)).astype(np.float32)


def test_points_share_a_number_if_they_share_a_cell_and_a_kind() -> None:
    kind = RNG.integers(0, 3, 500) * 40
    number = number_voxels(POINTS, 0.7, kind)
    cell = np.floor(POINTS.astype(np.float64) / 0.7).astype(int)
    cells = {(*at, k): n for at, k, n in zip(cell.tolist(), kind.tolist(), number.tolist(), strict=True)}
    assert len(set(cells.values())) == len(cells) == number.max() + 1
    assert all(cells[(*at, k)] == n for at, k, n in zip(cell.tolist(), kind.tolist(), number.tolist(), strict=True))
    assert number_voxels(POINTS, 0.7).max() < number.max()


@pytest.mark.parametrize("high", [3, 90, 2**40])
@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.uint8])
def test_keys_are_numbered_in_their_order(high: int, dtype: type) -> None:
    low = 0 if dtype is np.uint8 else -7
    key = RNG.integers(low, min(high, np.iinfo(dtype).max), 300).astype(dtype)
    expected = np.unique(key, return_inverse=True)[1].reshape(-1)
    assert np.array_equal(number_keys(key), expected)
    assert number_keys(key[:0]).dtype == np.int64


def test_the_first_point_and_the_mean_of_each_voxel() -> None:
    low = POINTS.min(axis=0)
    cell = [tuple(at) for at in np.floor((POINTS - low).astype(np.float64) / 0.5).astype(int)]
    first = {at: row for row, at in reversed(list(enumerate(cell)))}
    assert find_first_in_voxels(POINTS, 0.5).tolist() == sorted(first.values())
    own = {at: [row for row, other in enumerate(cell) if other == at] for at in sorted(set(cell))}
    expected = [POINTS[rows].astype(np.float64).mean(axis=0) for rows in own.values()]
    np.testing.assert_allclose(average_voxels(POINTS, 0.5), expected, rtol=1e-12)


def test_touching_cells_are_all_pairs_one_step_apart() -> None:
    cell = np.unique(RNG.integers(-3, 4, (60, 3)), axis=0)
    kind = RNG.integers(0, 2, len(cell))
    expected = [
        (a, b)
        for a, b in itertools.combinations(range(len(cell)), 2)
        if kind[a] == kind[b] and np.abs(cell[a] - cell[b]).max() == 1
    ]
    assert sorted(map(tuple, find_touching_cells(cell, kind).tolist())) == expected


def test_no_points_are_no_voxels() -> None:
    none = np.zeros((0, 3))
    assert [len(f(none, 0.1)) for f in (number_voxels, find_first_in_voxels, average_voxels)] == [0, 0, 0]
    assert find_touching_cells(np.zeros((0, 3), int)).shape == (0, 2)


def test_a_grid_too_large_to_be_numbered_is_an_error() -> None:
    with pytest.raises(ResweepError, match="give larger voxels"):
        number_voxels(np.array([[0.0, 0, 0], [1e7, 1e7, 1e7]]), 1e-3)
    assert make_cell_keys(np.array([[0, 0, 0], [2**20, 2**20, 2**20]])).max() < 2**62


def test_packed_cells_unravel() -> None:
    cell = RNG.integers(0, 7, (50, 3))
    key = pack_cells(tuple(cell.T), (7, 8, 9))
    np.testing.assert_array_equal(np.stack(np.unravel_index(key, (7, 8, 9)), axis=1), cell)
