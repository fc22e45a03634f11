"""Features say what they are called, in any unit of intensity."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from resweep.segmentation.features import FEATURES, find_height_above_ground, rank, thin_sweep
from resweep.sweep import Sweep

RNG = np.random.default_rng(2)


def column(sweep: Sweep, name: str) -> np.ndarray:
    return thin_sweep(sweep, 0.2).features[:, FEATURES.index(name)]


def grid(axes: tuple[int, int], offset: float) -> np.ndarray:
    across = np.stack(np.meshgrid(np.arange(-4, 4, 0.1), np.arange(-4, 4, 0.1)), axis=-1).reshape(-1, 2)
    points = np.full((len(across), 3), offset)
    points[:, axes] = across
    return points


@pytest.mark.parametrize(("axes", "upright"), [((0, 1), 0.0), ((0, 2), 1.0)])
def test_planes_are_planar_and_walls_upright(axes: tuple[int, int], upright: float) -> None:
    sweep = Sweep.from_points(grid(axes, 5.0))
    for suffix in ("", "_wide"):
        assert np.median(column(sweep, f"planar{suffix}")) > 0.7  # borders, and a lattice of few points
        assert np.median(column(sweep, f"spherical{suffix}")) < 0.01
        np.testing.assert_allclose(np.median(column(sweep, f"upright{suffix}")), upright, atol=1e-3)


def test_a_wire_is_linear() -> None:
    wire = np.column_stack([np.arange(-4, 4, 0.05), np.full(160, 3.0), np.full(160, 6.0)])
    assert column(Sweep.from_points(wire), "linear").min() > 0.99


def test_heights_are_above_the_ground_of_a_slope() -> None:
    xy = RNG.uniform(-20, 20, (40_000, 2))
    slope = np.column_stack([xy, 0.1 * xy[:, 0] - 1.7])
    box = np.column_stack([RNG.uniform(4, 6, (500, 2)), RNG.uniform(1.0, 1.2, 500)])
    heights = find_height_above_ground(np.concatenate([slope, box]))
    assert np.abs(heights[:40_000]).max() < 0.6  # a quantile over 5 m of a slope of 10 %
    expected = box[:, 2] - (0.1 * box[:, 0] - 1.7)
    assert np.abs(heights[40_000:] - expected).max() < 0.6


def test_intensities_count_by_rank_in_any_unit() -> None:
    points, intensity = RNG.uniform(-5, 5, (500, 3)), RNG.integers(0, 30, 500) / 100
    sweep = Sweep.from_points(points, intensity=intensity)
    counts = replace(sweep, intensity=sweep.intensity * 255)
    np.testing.assert_array_equal(column(sweep, "intensity"), column(counts, "intensity"))
    found = rank(np.array([3.0, 1.0, 3.0, 2.0]))
    np.testing.assert_allclose(found, [0.25, -0.375, 0.25, -0.125])
    assert not rank(np.full(7, 0.3)).any()
    assert len(rank(np.zeros(0))) == 0
