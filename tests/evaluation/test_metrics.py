"""The formulas against direct, slow ones."""

from __future__ import annotations

import math

import numpy as np
import pytest

from resweep import ResweepError
from resweep.evaluation import METRICS, cloud_to_cloud, psnr, ssim
from resweep.evaluation.metrics.metrics import PSNR_MAX_DB
from resweep.evaluation.metrics.nearest import Nearest, find_nearest_distances
from resweep.pose import Array


def slow_ssim(x: Array, y: Array, data_range: float) -> Array:
    """Wang 2004 pixel by pixel, with the two-dimensional window written out."""
    offsets = np.arange(-5, 6)
    window = np.exp(-(offsets[:, None] ** 2 + offsets[None, :] ** 2) / (2 * 1.5**2))
    window /= window.sum()
    padded_x, padded_y = np.pad(x, 5, mode="symmetric"), np.pad(y, 5, mode="symmetric")
    c1, c2 = (0.01 * data_range) ** 2, (0.03 * data_range) ** 2
    result = np.empty(x.shape)
    for row, column in np.ndindex(*x.shape):
        a, b = (image[row : row + 11, column : column + 11] for image in (padded_x, padded_y))
        mean_a, mean_b = (window * a).sum(), (window * b).sum()
        variance_a, variance_b = (window * (a - mean_a) ** 2).sum(), (window * (b - mean_b) ** 2).sum()
        covariance = (window * (a - mean_a) * (b - mean_b)).sum()
        result[row, column] = ((2 * mean_a * mean_b + c1) * (2 * covariance + c2)) / (
            (mean_a**2 + mean_b**2 + c1) * (variance_a + variance_b + c2)
        )
    return result


def test_ssim_is_that_of_the_direct_formula(rng: np.random.Generator) -> None:
    x = rng.uniform(0, 80, (16, 40))
    y = np.where(rng.random(x.shape) < 0.2, 0.0, x + rng.normal(0, 5, x.shape))
    np.testing.assert_allclose(ssim(x, y, 120.0), slow_ssim(x, y, 120.0), atol=1e-9)
    np.testing.assert_allclose(ssim(x, x, 120.0), 1.0, atol=1e-12)
    assert ssim(x, y, 120.0).mean() < 0.95


def test_psnr_of_known_errors() -> None:
    assert psnr(1.0, 100.0) == pytest.approx(40.0)  # an error of a hundredth of the range
    assert psnr(4.0, 100.0) == pytest.approx(40.0 - 20 * math.log10(2))
    assert psnr(0.0, 100.0) == PSNR_MAX_DB


def test_nearest_distances_are_those_of_all_pairs(rng: np.random.Generator) -> None:
    first, second = rng.normal(0, 5, (200, 3)), rng.normal(0, 5, (300, 3))
    every = np.linalg.norm(first[:, None] - second[None], axis=2)
    np.testing.assert_allclose(find_nearest_distances(first, second), every.min(axis=1), rtol=1e-12)
    assert cloud_to_cloud(first, second) == pytest.approx(every.min(axis=1).mean())


def test_nearest_distances_are_exact_at_utm_coordinates(rng: np.random.Generator) -> None:
    utm = np.array([512_345.678, 5_412_345.678, 120.0])
    first, second = rng.normal(0, 5, (200, 3)) + utm, rng.normal(0, 5, (300, 3)) + utm
    every = np.linalg.norm(first[:, None] - second[None], axis=2)
    np.testing.assert_allclose(find_nearest_distances(first, second), every.min(axis=1), rtol=1e-9)
    assert (find_nearest_distances(first, first) == 0).all()


def test_nearest_gives_the_row_and_says_where_there_is_none(rng: np.random.Generator) -> None:
    points = rng.normal(0, 5, (50, 3))
    distance, row = Nearest(points).find(points + 1e-6)
    assert row.tolist() == list(range(50))
    second, _ = Nearest(points).find(points, k=2)
    every = np.linalg.norm(points[:, None] - points[None], axis=2)
    np.testing.assert_allclose(second, np.sort(every, axis=1)[:, 1])
    assert distance.max() < 1e-5
    for nothing in (Nearest(np.zeros((0, 3))).find(points), Nearest(points[:2]).find(points, k=3)):
        assert np.isinf(nothing[0]).all()
        assert (nothing[1] == -1).all()


def test_c2c_goes_from_simulated_to_real_only() -> None:
    sim, real = np.array([[0.0, 0, 0]]), np.array([[0.0, 0, 0], [10.0, 0, 0]])
    assert cloud_to_cloud(sim, real) == 0.0
    assert cloud_to_cloud(real, sim) == 5.0


def test_c2c_of_an_empty_cloud_says_which() -> None:
    with pytest.raises(ResweepError, match="real cloud has no points"):
        cloud_to_cloud(np.zeros((1, 3)), np.zeros((0, 3)))


def test_every_metric_is_defined_in_one_line() -> None:
    for name, metric in METRICS.items():
        assert metric.definition, name
        assert "\n" not in metric.definition, name
        assert len(metric.definition) < 90, name
        assert name.endswith("_m") <= (metric.unit == "m"), name
