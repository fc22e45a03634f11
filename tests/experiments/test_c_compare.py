"""The comparison of the default world with others: results are kept, and every loss is listed."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import resweep as rs
from experiments import c_compare
from experiments.c_places import Place
from experiments.c_shared import SHARED_FIGURES, KeptPredictions, Predicted, compare_shared
from resweep.labels import load_labels


def _row(model: str, value: float, **changes: Any) -> dict[str, Any]:
    figures = dict.fromkeys(c_compare.FIGURES, value)
    return {"place": "here", "labels": "known", "chosen_on": False, "model": model, **figures, **changes}


def test_worse_is_less_of_what_should_be_high_and_more_of_what_should_be_low() -> None:
    mine = _row("hybrid", 0.5)
    assert c_compare.find_worse([mine, _row("splats", 0.5)]) == []
    found = c_compare.find_worse([mine, _row("splats", 0.5, return_f1=0.7, c2c_m=0.6, range_rmse_m=0.2)])
    assert {(one["figure"], round(one["by"], 9)) for one in found} == {("return_f1", 0.2), ("range_rmse_m", 0.3)}
    assert {(one["place"], one["labels"], one["than"]) for one in found} == {("here", "known", "splats")}


def test_places_are_not_mixed_and_unknown_figures_do_not_count() -> None:
    elsewhere = _row("splats", 0.9, place="there")
    stripped = _row("splats", 0.9, labels="stripped")
    unknown = _row("surfels", 0.5, thin_c2c_m=None)
    assert c_compare.find_worse([_row("hybrid", 0.5), elsewhere, stripped, unknown]) == []


def test_the_summary_says_of_each_figure_how_often_and_where_most() -> None:
    rows = [_row("hybrid", 0.5), _row("splats", 0.5, c2c_m=0.4), _row("surfels", 0.5, c2c_m=0.2, return_f1=None)]
    rows += [_row("hybrid", 0.5, place="there"), _row("splats", 0.5, place="there")]
    found = {one["figure"]: one for one in c_compare.summarise_worse(rows, c_compare.find_worse(rows))}
    most = {"most": pytest.approx(0.3), "on": "here, labels known", "than": "surfels"}
    assert found["c2c_m"] == {"figure": "c2c_m", "compared": 3, "better": 2, **most}
    assert (found["return_f1"]["compared"], found["return_f1"]["better"], found["return_f1"]["most"]) == (2, 0, None)


def _place() -> Place:
    """Two sweeps of a wall with a pole before it, labelled; the second is held out."""
    names = load_labels("semantickitti")
    y, z = (part.ravel() for part in np.meshgrid(np.linspace(-3, 3, 60), np.linspace(-1, 2, 20)))
    wall = np.stack([np.full(y.shape, 8.0), y, z], axis=1)
    pole = np.stack([np.full(40, 6.0), np.full(40, 0.5), np.linspace(-1, 2, 40)], axis=1)
    label = np.repeat([names.id_of("building"), names.id_of("pole")], [len(wall), len(pole)])
    sweeps = [
        rs.Sweep.from_points(np.concatenate([wall, pole]), pose=np.eye(4), timestamp=0.1 * at, label=label)
        for at in range(2)
    ]
    return Place("wall", rs.Log.from_sweeps(sweeps, "wall", labels=names), 1, (0.0, 0.0, 0.0))


def test_results_are_kept_one_by_one_and_not_computed_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def judge(job: c_compare.Job, predictions: KeptPredictions) -> dict[str, float | None]:
        asked.append(f"{job.labels} {job.model}")
        if len(asked) == 3:
            raise KeyboardInterrupt
        return dict.fromkeys(c_compare.FIGURES, 0.5)

    monkeypatch.setattr(c_compare, "judge", judge)
    models = {name: c_compare.MODELS[name] for name in ("hybrid", "splats")}
    cache = tmp_path / "kept" / "compare.json"
    with pytest.raises(KeyboardInterrupt):
        c_compare.compare([_place()], models, cache)
    assert len(json.loads(cache.read_text(encoding="utf-8"))) == 2
    rows = c_compare.compare([_place()], models, cache)["rows"]
    assert asked == ["known hybrid", "known splats", "stripped hybrid", "stripped hybrid", "stripped splats"]
    assert [(row["labels"], row["model"]) for row in rows] == [
        ("known", "hybrid"), ("known", "splats"), ("stripped", "hybrid"), ("stripped", "splats")
    ]  # fmt: skip


@pytest.mark.parametrize("text", ["not JSON", "[1]", '{"a": {"b": 1}}'])
def test_a_cache_that_holds_something_else_is_refused_and_left(tmp_path: Path, text: str) -> None:
    cache = tmp_path / "compare.json"
    cache.write_text(text, encoding="utf-8")
    with pytest.raises(SystemExit, match=r"compare\.json"):
        c_compare.compare([], {}, cache)
    assert cache.read_text(encoding="utf-8") == text


def test_without_labels_the_nearest_recorded_point_says_what_is_thin() -> None:
    place = _place()
    bare = c_compare.strip_labels(place.log)
    assert not bare[0].label.any()
    assert not bare.labels.known
    near = [place.log[0], bare[1]]
    assert (c_compare._label_by_nearest([bare[1]], place.log)[0].label == near[0].label).all()


def test_predictions_are_kept_beside_the_results(tmp_path: Path) -> None:
    sweep = _place().log[1]
    for folder in (tmp_path / "kept", None):
        kept = KeptPredictions(folder)
        assert "a" not in kept
        kept.put("a", [Predicted.of(sweep), Predicted.of(sweep.select(sweep.label == sweep.label[0]))])
        again = kept if folder is None else KeptPredictions(folder)
        first, second = again.get("a")
        assert (first.range == sweep.range).all()
        assert 0 < len(second.beam) < len(first.beam)


def test_on_shared_beams_a_world_gains_nothing_by_beams_that_fall_through_it() -> None:
    log = _place().log
    real = log[1]
    far = np.arange(len(real)) < 100
    everything = replace(real, range=real.range + np.where(far, np.float32(0.5), np.float32(0.0)))
    easy = everything.select(~far)  # falls through where the other is wrong
    pair = [[Predicted.of(everything)], [Predicted.of(easy)]]
    mine, other = compare_shared(log, [1], [real], pair, log.labels)
    assert mine["range_rmse_m"] == other["range_rmse_m"] == 0.0
    assert (mine["shared"], other["shared"]) == (pytest.approx(1 - 100 / len(real)), 1.0)
    rows = [
        {**_row(name, 0.5), "against": "splats", **figures} for name, figures in (("hybrid", mine), ("splats", other))
    ]
    assert c_compare.find_worse(rows, SHARED_FIGURES) == []


def test_rows_of_shared_beams_are_paired_by_the_world_they_are_against() -> None:
    def pair(against: str, mine: float, other: float) -> list[dict[str, Any]]:
        return [_row("hybrid", mine, against=against), _row(against, other, against=against)]

    rows = [*pair("splats", 0.5, 0.6), *pair("surfels", 0.7, 0.65)]
    found = c_compare.find_worse(rows, ("c2c_m",))
    assert [(one["than"], round(one["by"], 9)) for one in found] == [("surfels", 0.05)]
    assert c_compare.summarise_worse(rows, found, ("c2c_m",))[0]["compared"] == 2


def test_models_that_are_not_known_are_refused() -> None:
    with pytest.raises(SystemExit, match="splat is not known"):
        c_compare.run(models=["splat"])
