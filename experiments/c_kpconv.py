"""C, Tables 1, 3 and 5: adaptive splats by labels of KPConv, beside those by descriptors and by true labels.

These are rows of `experiments.c_tables`, alone, on the places that the model of `experiments.c_semantics` was neither
trained nor chosen on. Splats that grew by predicted labels are judged by true ones, as the others are. ``drop`` is how
well a map without what can move agrees with the truth: of the returns on things that can move the share left out
(recall), and of those left out the share that was one (precision).
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

import resweep as rs
from experiments.c_measures import measure, prepare
from experiments.c_models import MODELS, PAPER, PAPER_THIN
from experiments.c_places import Place, hdl64, known_street, recordings
from experiments.c_tables import _QUICK, _SWEEPS, compare_kpconv, find_labeller
from experiments.presenting import BLUE, GREEN, ORANGE, console, figure, main, progress, table
from resweep.files import atomic_file
from resweep.segmentation import Labeller

CLAIM = "splats by labels of KPConv are better than those by descriptors, and close to those by true labels"
KINDS = ("descriptors", "KPConv labels", "labels")
WHOSE = ("as C", "ours")
FIGURES = ("primitives", "c2c_m", "thin_c2c_m", "thin_recovered", "thin_f1", "heldout_right", "generation_s")


def run(fast: bool = False, only: str = "", cache: Path | None = None) -> dict[str, Any]:
    """The three kinds of splats, as C has them and ours, on every place that is new to the model."""
    with tempfile.TemporaryDirectory() as folder:
        found = [_small_place(Path(folder))] if fast else _new_places(only)
        kept: dict[str, Any] = json.loads(cache.read_text()) if cache is not None and cache.exists() else {}
        for place, labeller in found:
            if place.name not in kept:
                kept[place.name] = _judge(place, labeller, fast)
                if cache is not None:
                    with atomic_file(cache) as file:
                        file.write_text(json.dumps(kept))
    return {"paper": CLAIM, "places": [{"place": place.name, **kept[place.name]} for place, _ in found]}


def _new_places(only: str) -> list[tuple[Place, Labeller]]:
    found = [(place, find_labeller(place)) for place in recordings(only) if place.log.labels.known]
    new = [(place, labeller) for place, labeller in found if labeller is not None and place.log[0].label.any()]
    if not new:
        raise SystemExit(
            "no labelled place is new to a model; run python -m experiments.c_semantics --only kpconv first"
        )
    return new


def _small_place(folder: Path) -> tuple[Place, Labeller]:
    from experiments.c_semantics import _small_task, by_kpconv
    from resweep.segmentation import load_labeller

    task = _small_task(folder)
    by_kpconv(task)
    return known_street(length_m=36.0, sweeps=3, columns=600), load_labeller(task.model)


def _judge(place: Place, labeller: Labeller, fast: bool) -> dict[str, Any]:
    calibration, sweeps = (_QUICK, 1) if fast else (None, _SWEEPS)
    prepared = prepare(place, sweeps, calibration, labeller)
    wanted = [f"{kind}, {whose}" for whose in WHOSE[: 1 if fast else 2] for kind in KINDS]
    models = [model for model in MODELS if model.name in wanted]
    rows = [measure(prepared, model, hdl64(600) if fast else hdl64()) for model in progress(models, place.name)]
    return {"rows": rows, "kpconv": compare_kpconv(rows), "drop": _drop(place.log, labeller)}


def _drop(log: rs.Log, labeller: Labeller) -> dict[str, float]:
    """How well what can move is found by predicted labels."""
    true_ids, said_ids = (*log.labels.movable, *log.labels.moving), labeller.card.labels.movable
    hit = true = said = 0
    for sweep in log:
        is_true, is_said = np.isin(sweep.label, true_ids), np.isin(labeller.classify(sweep), said_ids)
        hit, true, said = hit + int((is_true & is_said).sum()), true + int(is_true.sum()), said + int(is_said.sum())
    return {"recall": hit / max(true, 1), "precision": hit / max(said, 1), "share": true / sum(map(len, log))}


def show(result: dict[str, Any]) -> None:
    """Print a table for each place, and the paper's."""
    for place in result["places"]:
        made = table(
            place["place"], "model", "prim. (M)", "C2C (cm)", "thin C2C (cm)", "thin recov.", "thin F1", "right, all"
        )
        for row in place["rows"]:
            lengths = (f"{100 * row[name]:.2f}" if row[name] is not None else "–" for name in ("c2c_m", "thin_c2c_m"))
            shares = (
                f"{row[name]:.1%}" if row[name] is not None else "–"
                for name in ("thin_recovered", "thin_f1", "heldout_right")
            )
            made.add_row(row["model"], f"{row['primitives'] / 1e6:.2f}", *lengths, *shares)
        console.print(made)
        drop = place["drop"]
        console.print(
            f"  what can move, {drop['share']:.1%} of all returns: {drop['recall']:.1%} of it is left out by predicted "
            f"labels, and {drop['precision']:.1%} of what is left out can move"
        )
    names = ("AdaSplats-Descr", "AdaSplats-KPConv", "AdaSplats-GT")
    town = PAPER["SemanticKITTI 00, 150 sweeps (Table 5)"]
    cited = [
        f"{name} {town[name][1]:.2f} M, C2C {town[name][3]:g} cm, thin {PAPER_THIN[name][3]:g} cm" for name in names
    ]
    console.print(f"Paper: {CLAIM}: {'; '.join(cited)} (SemanticKITTI 00; thin ones of PC3D-Paris).")


def draw(result: dict[str, Any]) -> Figure:
    """Thin C2C and thin F1 of the three kinds, for each place."""
    count = len(result["places"])
    made, axes = figure(8.0, 2.8 * count, count, 2)
    for pair, place in zip(axes, result["places"], strict=True):
        rows = {row["model"]: row for row in place["rows"]}
        for axis, (key, title) in zip(pair, (("thin_c2c_m", "thin C2C (m)"), ("thin_f1", "thin F1")), strict=True):
            for at, whose in enumerate(WHOSE):
                for step, (kind, colour) in enumerate(zip(KINDS, (ORANGE, BLUE, GREEN), strict=True)):
                    row = rows.get(f"{kind}, {whose}")
                    if row is not None and row[key] is not None:
                        axis.bar(at + 0.27 * (step - 1), row[key], 0.25, color=colour, label=kind if at == 0 else None)
            axis.set_xticks(range(len(WHOSE)), WHOSE, fontsize=8)
            axis.set_title(f"{place['place']}: {title}", fontsize=9)
        pair[1].legend(fontsize=7, frameon=False)
    return made


if __name__ == "__main__":
    main("c_kpconv", "Splats by descriptors, by labels of KPConv and by true labels (C).", run, show, draw)
