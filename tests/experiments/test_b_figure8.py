"""The shrub's ranges are broad and have more than one mode, and the test for it knows one from two."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

from experiments import b_figure8
from experiments.bimodality import bimodality_coefficient, modes, silverman


@pytest.fixture(scope="module")
def result() -> dict:
    return b_figure8.run(fast=True)


@pytest.mark.parametrize("law", ["normal", "uniform", "gamma"])
def test_one_mode_is_not_rejected_where_there_is_one(law: str) -> None:
    """At level 0.01 in ten samples; the chance of two rejections is below 0.005."""
    rejected = 0
    for seed in range(10):
        rng = np.random.default_rng([seed, 1])
        draw = {"normal": rng.normal, "uniform": rng.uniform, "gamma": partial(rng.gamma, 3.0)}[law]
        rejected += silverman(draw(size=500), 1, draws=120, seed=seed)[1] < 0.01
    assert rejected <= 1


def test_two_modes_are_found_and_three_not_invented() -> None:
    rng = np.random.default_rng(2)
    sample = np.concatenate([rng.normal(0, 1, 500), rng.normal(4, 1, 500)])
    assert silverman(sample, 1, draws=200)[1] < 0.01
    assert silverman(sample, 2, draws=200)[1] > 0.05
    np.testing.assert_allclose(modes(sample, 0.6), [0, 4], atol=0.3)


def test_bimodality_coefficient_of_known_laws() -> None:
    rng = np.random.default_rng(3)
    assert bimodality_coefficient(rng.normal(size=200_000)) == pytest.approx(1 / 3, abs=0.01)
    assert bimodality_coefficient(rng.uniform(size=200_000)) == pytest.approx(5 / 9, abs=0.01)
    assert bimodality_coefficient(np.array([-1.0, 1.0])) == pytest.approx(1.0)


def test_the_shrub_is_broad_and_not_of_one_mode(result: dict) -> None:
    assert result["returns"] > 2000
    assert result["spread_m"] > 5 * b_figure8.NOISE_M
    assert result["p_one_mode"] < 0.01
    assert len(result["peaks_m"]) >= 2


def test_wood_lies_behind_the_near_foliage(result: dict) -> None:
    assert result["median_foliage_m"] < result["median_wood_m"]
    assert abs(result["median_wood_m"] - np.hypot(8.0, 0.5)) < 0.08
    assert result["wood_share_at_peaks"][0] < 0.01 < result["wood_share_at_peaks"][1]


def test_only_returns_of_the_shrub_are_counted(result: dict) -> None:
    ranges = result["_ranges"]
    assert ranges.min() > 8.0 - 0.5
    assert ranges.max() < np.hypot(8.0 + 0.4, 1.0) + 5 * b_figure8.NOISE_M


def test_the_command_draws_its_figure_and_ends_with_one_json_object(result: dict, check_command: Any) -> None:
    check_command("b_figure8", result)
