"""Scores whose values are known."""

from __future__ import annotations

import numpy as np
import pytest

from resweep.learn.scores import (
    find_cut,
    find_temperature,
    js_divergence,
    measure_reliability,
    score_drops,
    score_intensity,
)


def test_scores_of_drops_by_hand() -> None:
    p, y = np.array([0.9, 0.6, 0.4, 0.1]), np.array([True, False, True, False])
    found = score_drops(p, y, 0.5)
    assert found["drop_precision"] == found["drop_recall"] == found["drop_f1"] == 0.5
    assert found["brier"] == pytest.approx((0.01 + 0.36 + 0.36 + 0.01) / 4)
    assert found["log_loss"] == pytest.approx(-np.log([0.9, 0.4, 0.4, 0.9]).mean())
    assert found["drop_f1_sampled"] == pytest.approx(2 * 1.3 / (2.0 + 2.0))
    assert (found["drop_rate"], found["brier_base"]) == (0.5, 0.25)


def test_truth_scores_best_and_a_constant_scores_the_base_rate() -> None:
    y = np.random.default_rng(0).random(5000) < 0.1
    truth, mean = score_drops(y.astype(float), y, 0.5), score_drops(np.full(len(y), y.mean()), y, 0.5)
    assert truth["drop_f1"] == 1.0
    assert truth["brier"] == truth["ece"] == 0.0
    assert mean["brier"] == pytest.approx(mean["brier_base"])
    assert mean["log_loss"] == pytest.approx(mean["log_loss_base"])
    assert mean["drop_f1_sampled"] == pytest.approx(y.mean())


def test_calibration_error_is_the_distance_from_the_diagonal() -> None:
    rng = np.random.default_rng(1)
    p = rng.random(200_000)
    y = rng.random(len(p)) < p
    assert measure_reliability(p, y)["error"] < 0.01
    assert measure_reliability(np.clip(p + 0.2, 0, 1), y)["error"] == pytest.approx(0.18, abs=0.01)


def test_temperature_undoes_overconfidence() -> None:
    rng = np.random.default_rng(2)
    logit = rng.normal(-2, 1.5, 100_000)
    y = rng.random(len(logit)) < 1 / (1 + np.exp(-logit))
    assert find_temperature(1 / (1 + np.exp(-2 * logit)), y) == pytest.approx(2.0, abs=0.1)
    assert find_temperature(1 / (1 + np.exp(-logit)), y) == pytest.approx(1.0, abs=0.05)


def test_the_cut_gives_the_largest_f1() -> None:
    rng = np.random.default_rng(3)
    p = rng.random(2000) ** 3
    y = rng.random(len(p)) < p
    best = score_drops(p, y, find_cut(p, y))["drop_f1"]
    assert best >= max(score_drops(p, y, cut)["drop_f1"] for cut in np.linspace(0.05, 0.95, 19)) - 0.01


def test_divergence_of_histograms() -> None:
    assert js_divergence(np.array([1.0, 2.0]), np.array([2.0, 4.0])) == pytest.approx(0.0)
    assert js_divergence(np.array([1.0, 0.0]), np.array([0.0, 3.0])) == pytest.approx(1.0)


def test_scores_of_intensities() -> None:
    true = np.random.default_rng(4).random(10_000)
    found = score_intensity(true + 0.1, true)
    assert found["intensity_rmse"] == pytest.approx(0.1)
    assert found["intensity_mae"] == pytest.approx(0.1)
    assert found["intensity_corr"] == pytest.approx(1.0)
    assert found["intensity_js"] > score_intensity(true, true)["intensity_js"] == 0.0
