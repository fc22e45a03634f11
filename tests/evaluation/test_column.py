"""Columns of numbers: in memory and in a file they give the bytes that NumPy gives for one array."""

from __future__ import annotations

import numpy as np
import pytest

from resweep.evaluation.metrics import column
from resweep.evaluation.metrics.column import Column


def filled(numbers: np.ndarray, most: int) -> Column:
    made = Column(numbers.dtype.type, most)
    for part in np.array_split(numbers, 7):
        made.append(part)
    return made


@pytest.mark.parametrize("count", [0, 1, 2, 7, 1000, 1001, 12_345])
@pytest.mark.parametrize("most", [10**6, 400, 0], ids=["in memory", "some in a file", "all in a file"])
def test_figures_are_those_of_one_array(
    monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator, count: int, most: int
) -> None:
    monkeypatch.setattr(column, "CHUNK", 256)
    numbers = rng.standard_t(1.5, count).astype(np.float32)
    made, wide = filled(numbers, most), numbers.astype(np.float64)
    assert len(made) == count
    np.testing.assert_array_equal(np.concatenate([np.empty(0, np.float32), *made.chunks()]), numbers)
    assert made.sum() == wide.sum()
    assert made.sum(np.abs) == np.abs(wide).sum()
    assert made.sum(np.square) == np.square(wide).sum()
    assert made.count(lambda error: np.abs(error) <= 0.1) == (np.abs(wide) <= 0.1).sum()
    if count:
        assert made.mean() == float(numbers.mean())
        assert made.median_size() == np.median(np.abs(wide))


def test_equal_numbers_and_zeros_have_their_median() -> None:
    assert filled(np.zeros(9, np.float32), 0).median_size() == 0.0
    assert filled(np.array([-2, 1, 1, 2, -0.0, 5], np.float32), 3).median_size() == 1.5
