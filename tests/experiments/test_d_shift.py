"""Beside the path and how sure returns are, on a small street of known truth."""

from __future__ import annotations

import numpy as np
import pytest

import resweep as rs
from experiments import d_confidence, d_shift
from experiments.c_places import Place, hdl64, known_street

COLUMNS = 450


@pytest.fixture(scope="module")
def place() -> Place:
    return known_street(length_m=36.0, sweeps=3, columns=COLUMNS, seed=21)  # no street that the weights were fitted to


@pytest.fixture(scope="module")
def world(place: Place) -> rs.World:
    return rs.build(place.log, rs.HybridConfig(complete=True), progress=False)


@pytest.mark.slow
def test_confidence_is_calibrated_on_and_beside_the_path(place: Place, world: rs.World) -> None:
    parts = [d_confidence.compare(place, world, hdl64(COLUMNS), shift_m) for shift_m in (0.0, 3.0)]
    confidence, right = (np.concatenate([part[name] for part in parts]) for name in ("confidence", "right"))
    measured = d_confidence.measure_calibration(confidence, right)
    assert measured["error"] < 0.06  # recorded more sparsely than what the weights were fitted to
    shuffled = d_confidence.measure_calibration(1 - confidence, right)
    assert shuffled["error"] > 0.3
    sure, unsure = right[confidence > 0.9], right[confidence < 0.7]
    assert min(len(sure), len(unsure)) > 500
    assert sure.mean() > unsure.mean() + 0.2
    expected = d_confidence.predict([list(row) for row in d_confidence.WEIGHTS], parts[1])
    assert parts[1]["confidence"] == pytest.approx(expected, abs=5e-3)  # the features are those of the native model


def test_rows_tell_how_a_world_does_beside_the_path(place: Place, world: rs.World) -> None:
    on, beside = d_shift.sweep_beside(place, world, hdl64(COLUMNS), (0.0, 3.0))
    keys = {"world", "sensor", "shift_m", "recovered_0.10m", "unknown_share", "chamfer_m"}
    assert keys <= set(on)
    assert (on["shift_m"], beside["shift_m"]) == (0.0, 3.0)
    assert on["unknown_share"] < beside["unknown_share"] < 0.3
    assert 0.7 < beside["recovered_0.10m"] <= on["recovered_0.10m"] + 0.02


def test_made_up_ground_is_mostly_right(place: Place, world: rs.World) -> None:
    assert place.truth is not None
    pose = d_shift.shifted_poses(place, 3.0)[1]
    sweep, truth = (rs.Simulator(where, hdl64(COLUMNS), seed=1).sweep(pose) for where in (world, place.truth))
    true_range = np.full(sweep.n_beams, np.inf)
    true_range[truth.beam] = truth.range
    road = (sweep.extra["completed"] > 0) & (sweep.label == 40)
    assert road.sum() > 100
    assert (np.abs(true_range[sweep.beam] - sweep.range)[road] < 0.1).mean() > 0.9


def test_the_fit_finds_the_weights_that_made_the_data() -> None:
    rng = np.random.default_rng(0)
    x = np.c_[np.ones(20_000), rng.standard_normal((20_000, 2))]
    right = rng.random(20_000) < 1 / (1 + np.exp(-x @ [0.5, -1.0, 2.0]))
    assert d_confidence.fit_logistic(x, right.astype(float)) == pytest.approx([0.5, -1.0, 2.0], abs=0.1)
