"""Drop models that carry over to another sensor, on streets whose law is known."""

from __future__ import annotations

import numpy as np
import pytest

from experiments import d_transfer

pytest.importorskip("torch", reason="needs resweep[learn]")
pytest.importorskip("onnxruntime", reason="needs resweep[realism]")


def test_transferable_models_beat_lasers_and_base_rates(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(d_transfer, "_MODEL", "logistic")
    pairs = d_transfer._street_pairs(fast=True)
    rows, diagrams = d_transfer.compare_streets(pairs["wide"], pairs["narrow"], "wide", "narrow", fast=True)
    brier = {row["variant"]: row["brier"] for row in rows}
    assert tuple(brier) == d_transfer.VARIANTS
    assert brier["transferable"] < min(brier["with-lasers"], brier["base-rate"], brier["target-rate"]) - 0.003
    assert brier["law"] < brier["target"] < brier["target-rate"]
    assert set(diagrams) == {"transferable", "with-lasers", "target", "law"}


def test_the_law_knows_shares_of_the_range_and_weak_lasers() -> None:
    ones = np.ones(2)
    near, far = d_transfer.drop_law(np.array([0.1, 0.9]), 10 * ones, 0.3 * ones, 0 * ones)
    assert near < far
    assert d_transfer.find_weak(np.arange(6), "narrow").tolist() == [False, True, False, False, True, False]
