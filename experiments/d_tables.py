"""D's Tables 1 to 7 with small networks: what training and testing on simulated sweeps is worth (D, 5.2 to 5.5).

A segmenter and a detector are trained on recorded sweeps, on their simulated pairs in every variant, and on mixtures,
each for as many steps, and tested on recorded sweeps of other places. This is done twice: on streets of a synthetic
city whose sensor has a character that no builder is told, and on the recordings of SemanticKITTI at hand. The order
that D claims was declared before anything was computed; a claim is judged by the interval of the paired difference
over places and seeds, and is undecided where that holds 0.

With ``--cache FOLDER`` all that is built, simulated, trained and tested is kept, so that the run can be stopped and
gone on with; ``--only`` takes a part of the name of a size, or ``segmentation`` or ``detection``.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from experiments.kept_results import KeptResults
from experiments.presenting import BLUE, GREY, ORANGE, console, figure, main, table
from experiments.tables import page, paper, scoring
from experiments.tables.scenes import Scenes
from experiments.tables.sizes import Size, sizes
from experiments.tables.work import WORKS
from resweep.files.partial import hash_text

_FAST = (paper.REAL, paper.SIM, paper.NO_DROP)
_SETS = {"segmentation": paper.SEGMENTED, "detection": paper.DETECTED}
Found = dict[str, dict[str, scoring.Runs]]  # by task and training set
Row = dict[str, Any]


def run(fast: bool = False, only: str = "", cache: Path | None = None, kept: bool = False) -> dict[str, Any]:
    """Every table at every size; with ``kept`` of the networks that the ``cache`` has."""
    rows: list[Row] = []
    claims: list[Row] = []
    missing: list[str] = []
    for size in sizes(fast):
        if only not in WORKS and only.lower() not in size.name.lower():
            continue
        scores, absent = compute(size, [only] if only in WORKS else list(WORKS), fast, cache, kept)
        missing += absent
        rows += list_rows(size, scores)
        claims += list_claims(size, scores)
    counts = {verdict: sum(row["verdict"] == verdict for row in claims) for verdict in scoring.VERDICTS}
    known = {"rows": rows, "claims": claims, **counts, "cells": page.arrange(rows, claims)}
    return {**known, "missing": missing, "missing_what": "networks that are not trained yet"}


def compute(size: Size, tasks: Sequence[str], fast: bool, cache: Path | None, kept: bool) -> tuple[Found, list[str]]:
    """The scores of every network of a size; with ``kept`` of those that are in the cache, and which are missing."""
    scenes = Scenes(size, cache)
    found: Found = {}
    missing: list[str] = []
    for task in tasks:
        path = None if cache is None else cache / f"{size.name.replace(' ', '-')}-{task}.json"
        known = KeptResults(path, WORKS[task].fields)
        scores: dict[str, dict[str, tuple[Sequence[str], scoring.Scores]]] = {}
        works = [WORKS[task](scenes, split) for split in size.splits]
        for seed, work, name in itertools.product(size.seeds, works, _FAST if fast else _SETS[task]):
            own = f"{work.split.name}, seed {seed}"
            key = f"{own}, {name}, {hash_text(work.split, size.effort)[:12]}"
            if kept and key not in known:
                missing.append(f"{size.name}, {task}: {own}, {name}")
                continue
            result = known.find(key, partial(work.score, name, seed))
            scores.setdefault(name, {})[own] = work.split.test, result
        found[task] = dict(scores)
    return found, missing


def list_rows(size: Size, scores: Found) -> list[Row]:
    """A row for each figure of D's tables that was computed, beside the paper's."""
    rows = []
    for item in paper.ROWS:
        for metric, printed in item.figures.items():
            runs = scores.get(paper.find_task(metric), {}).get(item.train)
            if not runs:
                continue
            found = scoring.estimate(metric, item.test, runs)
            facts = {"size": size.name, "table": item.table, "name": item.name, "train": item.train, "test": item.test}
            rows.append({**facts, "metric": metric, **vars(found), "paper": printed, "runs": len(runs)})
    return rows


def list_claims(size: Size, scores: Found) -> list[Row]:
    """Which of D's claims held."""
    rows = []
    for claim in paper.CLAIMS:
        of = scores.get(paper.find_task(claim.metric), {})
        worse, better = of.get(claim.worse, {}), of.get(claim.better, {})
        both = set(worse) & set(better)
        if not both:
            continue
        found = scoring.compare(claim.metric, worse, better)
        places = len({place for key in both for place in worse[key][0]})
        facts = {"size": size.name, "table": claim.table, "claim": claim.name}
        verdict = scoring.judge(found, places)
        rows.append({**facts, "metric": claim.metric, **vars(found), "places": places, "verdict": verdict})
    return rows


def show(result: dict[str, Any]) -> None:
    """Every table with both sizes beside the paper's figures, and what held."""
    names = list(dict.fromkeys(row["size"] for row in result["rows"]))
    for number in sorted({row["table"] for row in result["rows"]}):
        made = table(f"Table {number} of D", "train", "D's row", "test", "metric", "paper", *names)
        rows = [row for row in result["rows"] if row["table"] == number]
        for key, cells in _group(rows, ("train", "name", "test", "metric", "paper")).items():
            printed = "-" if key[4] is None else f"{100 * key[4]:.1f}"
            made.add_row(*key[:4], printed, *(_write(cells.get(name)) for name in names))
        console.print(made)
    made = table("D's order, by paired differences over places and seeds", "claim", "metric", *names)
    for key, cells in _group(result["claims"], ("table", "claim", "metric")).items():
        made.add_row(f"{key[0]}: {key[1]}", key[2], *(_write(cells.get(name)) for name in names))
    console.print(made)
    console.print(", ".join(f"{result[verdict]} {verdict}" for verdict in scoring.VERDICTS))


def _group(rows: Sequence[Row], by: Sequence[str]) -> dict[tuple[Any, ...], dict[str, Row]]:
    """The rows of each key, by size."""
    found: dict[tuple[Any, ...], dict[str, Row]] = {}
    for row in rows:
        found.setdefault(tuple(row[name] for name in by), {})[row["size"]] = row
    return found


def _write(row: Row | None) -> str:
    if row is None:
        return "-"
    text = f"{100 * row['value']:.1f} ({100 * row['low']:.1f} to {100 * row['high']:.1f})"
    return f"{row['verdict']} {text}" if "verdict" in row else text


def draw(result: dict[str, Any]) -> Figure:
    """Differences of the claims with their intervals, a panel for each size."""
    names = list(dict.fromkeys(row["size"] for row in result["claims"])) or [""]
    made, axes = figure(6.5 * len(names), 5.5, 1, len(names))
    colours = dict(zip(scoring.VERDICTS, (BLUE, GREY, ORANGE), strict=True))
    for axis, name in zip(axes[0], names, strict=True):
        rows = [row for row in result["claims"] if row["size"] == name]
        for at, row in enumerate(rows):
            colour = colours[row["verdict"]]
            axis.plot([100 * row["low"], 100 * row["high"]], [at, at], color=colour)
            axis.plot(100 * row["value"], at, "o", color=colour, markersize=4)
        axis.set_yticks(range(len(rows)), [f"{row['table']}: {row['claim']}" for row in rows], fontsize=6)
        axis.invert_yaxis()
        axis.axvline(0, color=GREY, linewidth=0.8)
        axis.set_xlabel("difference, points", fontsize=8)
        axis.set_title(name, fontsize=9, loc="left")
    return made


if __name__ == "__main__":
    main("d_tables", __doc__ or "", run, show, draw)
