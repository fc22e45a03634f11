"""C's tables: what is measured is what it is called, and the verdict follows from the rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import resweep as rs
from experiments import c_tables
from experiments.c_measures import THIN, _held_out, prepare
from experiments.c_models import MODELS, PAPER, PAPER_THIN
from experiments.c_places import NOISE_M, Truth, known_street


@pytest.fixture(scope="module")
def place():
    return known_street(length_m=36.0, sweeps=3, columns=600)


@pytest.fixture(scope="module")
def result() -> dict:
    return c_tables.run(fast=True)


def test_distance_from_the_truth_is_that_from_its_triangles() -> None:
    square = rs.Mesh(np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0.0]]), np.array([[0, 1, 2], [0, 2, 3]]))
    moved = np.eye(4)[None, :3].copy()
    moved[0, :, 3] = 10.0, 0.0, 1.0
    truth = Truth(rs.World([square, rs.Instances(square, moved)], (100.0, 0.0, 0.0)))
    points = np.array([[100.5, 0.5, 0.3], [101.3, 0.5, 0.4], [100.2, 0.7, -0.1], [110.5, 0.5, 1.25]])
    np.testing.assert_allclose(truth.distance(points), [0.3, 0.5, 0.1, 0.25], atol=1e-6)


def test_the_street_is_scanned_with_noise_around_its_truth(place) -> None:
    away = Truth(place.truth).distance(place.log[1].world_points())
    assert np.median(away) > 0.2 * NOISE_M
    assert np.median(away) < 1.5 * NOISE_M
    assert (place.log[1].pose != place.log[1].pose.round(9)).any()


def test_a_world_recovers_its_own_thin_beams_and_one_without_them_does_not(place) -> None:
    prepared = prepare(place, 1, c_tables._QUICK)
    own = _held_out(prepared, place.truth)
    bare = rs.World([layer for layer in place.truth.layers if layer.name not in ("fences", "poles", "signs", "trees")])
    assert own["thin_recovered"] > 0.75  # poses are off by a centimetre, slats are two wide
    assert own["thin_f1"] > 0.75
    assert _held_out(prepared, bare)["thin_recovered"] < 0.2
    assert _held_out(prepared, bare)["thin_f1"] == 0.0


@pytest.mark.slow
def test_every_model_has_its_row(result) -> None:
    rows = result["places"][0]["rows"]
    assert [row["model"] for row in rows] == ["mesh, IMLS", "basic, as C", "labels, as C", "labels, ours"]
    for row in rows:
        assert row["primitives"] > 1000
        assert 0 < row["c2c_m"] < 0.3
        assert row["truth_m"] < row["c2c_m"] + 0.01  # a recorded point is never much nearer than the surface it is on
        assert 0 < row["thin_recovered"] <= 1
        known = [value for value in row["thin_c2c_by_class_m"].values() if value is not None]
        assert row["thin_c2c_m"] == pytest.approx(np.mean(known))


def test_adaptive_splats_as_c_are_nearer_but_let_more_beams_through(result) -> None:
    rows = {row["model"]: row for row in result["places"][0]["rows"]}
    assert rows["labels, as C"]["thin_c2c_m"] < rows["basic, as C"]["thin_c2c_m"]
    assert rows["labels, as C"]["thin_recovered"] < rows["labels, ours"]["thin_recovered"]
    assert rows["labels, ours"]["thin_f1"] > rows["basic, as C"]["thin_f1"]


def test_the_verdict_follows_from_the_rows() -> None:
    models = [model for model in MODELS if model.tags]

    def figures(c2c: float, f1: float, primitives: int, pole: float | None) -> dict:
        classes = {"fence": c2c, "pole": pole}
        return {"thin_c2c_m": c2c, "thin_c2c_by_class_m": classes, "thin_f1": f1, "primitives": primitives}

    rows = [{"model": model.name, **figures(0.05, 0.5, 100, 0.001)} for model in models]
    better = figures(0.02, 0.4, 90, None)  # has no poles, so those of the others do not count
    rows = [{**row, **better} if "adaptive C" in m.tags else row for row, m in zip(rows, models, strict=True)]
    found = c_tables.findings(rows, models)
    assert found["adaptive C"]["claim_holds_by_c2c"]
    assert not found["adaptive C"]["claim_holds_by_all"]
    assert not found["adaptive ours"]["claim_holds_by_c2c"]
    assert found["adaptive ours"]["beats_carved_basic"] == {"thin_c2c_m": False, "thin_f1": False}
    assert set(found["adaptive C"]["thin_c2c_m"]["beats"]) == {"mesh, Poisson", "mesh, IMLS", "basic, as C"}


def test_the_papers_rows_are_named_as_the_models_say() -> None:
    named = {model.paper for model in MODELS} - {None}
    assert set().union(*PAPER.values()) <= named
    assert set(PAPER_THIN) == named
    assert set(THIN.values()) == {"fence", "trunk", "pole", "traffic sign"}


def test_the_command_draws_its_figure_and_ends_with_one_json_object(result: dict, check_command: Any) -> None:
    check_command("c_tables", result)
