"""Failures found by search: random, on a grid, or adaptively by CMA-ES (Hansen and Ostermeier 2001).

What is searched for is a low score: the least distance that a run kept, metres, and below zero the speed at which it
struck something. Each method gets the same number of runs; the fewer it needs until the first failure, the better.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
from matplotlib.figure import Figure

from resweep.drive.safety.campaign import Campaign, map_cases, run_case
from resweep.drive.safety.cases import SPEEDS_MPS, TRIGGERS_S, Case, make_hidden_car
from resweep.errors import ResweepError
from resweep.files import write_file
from resweep.files.strict_json import format_json
from resweep.optional import require
from resweep.pose import Array

Method = Literal["random", "grid", "cmaes"]
METHODS: tuple[Method, ...] = ("random", "grid", "cmaes")
_FAR_M, _FAR_S = 20.0, 5.0  # distances and times to collision beyond these are all the same


@dataclass(frozen=True)
class Space:
    """What is varied: a range of each parameter, and what makes a case of a number and its parameters."""

    ranges: dict[str, tuple[float, float]]
    make: Callable[[int, dict[str, float]], Case]

    def __post_init__(self) -> None:
        for name, (low, high) in self.ranges.items():
            if not low < high:
                raise ResweepError(f"search: range of '{name}' is {low:g} to {high:g}; give the smaller first")

    def case(self, number: int, share: Array) -> Case:
        """The case at a place (k,) of the unit cube."""
        values = {
            name: low + float(part) * (high - low)
            for (name, (low, high)), part in zip(self.ranges.items(), share, strict=True)
        }
        return self.make(number, values)


def _make_case(number: int, values: dict[str, float]) -> Case:
    return make_hidden_car(number, values["speed_mps"], values["trigger_s"])


HIDDEN_CAR = Space({"speed_mps": SPEEDS_MPS, "trigger_s": TRIGGERS_S}, _make_case)


def score(row: dict[str, Any]) -> float:
    """How far a run was from failure, metres; below zero if it failed."""
    if row["success"]:
        gap = row.get("min_distance_m")
        ttc = row.get("min_ttc_s")
        return min(_FAR_M, _FAR_M if gap is None else float(gap)) + min(_FAR_S, _FAR_S if ttc is None else float(ttc))
    return -1.0 - float(row.get("impact_mps") or 0.0)


def search_failures(
    space: Space, method: Method, budget: int, campaign: Campaign, seed: int = 0, workers: int = 1
) -> dict[str, Any]:
    """Look for failures with so many runs: rows of all runs, failures, and how many runs the first one took."""
    if method not in METHODS:
        raise ResweepError(f"search: method '{method}'; give one of {', '.join(METHODS)}")
    if budget < 1:
        raise ResweepError(f"search: expected one run or more, got {budget}")
    task = partial(run_case, campaign, "")

    def drive(places: Sequence[Array], first: int) -> list[dict[str, Any]]:
        cases = [space.case(first + at, place) for at, place in enumerate(places)]
        return list(map_cases(task, cases, workers))

    rows = (
        _run_cmaes(space, budget, seed, drive)
        if method == "cmaes"
        else drive(_sample_cases(space, method, budget, seed), 0)
    )
    failed = [at for at, row in enumerate(rows) if not row["success"]]
    return {
        "method": method,
        "runs": len(rows),
        "failures": len(failed),
        "runs_to_first_failure": failed[0] + 1 if failed else None,
        "least_score": min(score(row) for row in rows),
        "rows": rows,
    }


def _sample_cases(space: Space, method: Method, budget: int, seed: int) -> list[Array]:
    """Places of the unit cube: drawn, or on a grid in a drawn order."""
    rng = np.random.default_rng([seed, 0x73656172])
    size = len(space.ranges)
    if method == "random":
        return list(rng.random((budget, size)))
    each = math.ceil(float(budget) ** (1.0 / size) - 1e-9)
    ticks = (np.arange(each) + 0.5) / each
    whole = np.stack(np.meshgrid(*[ticks] * size, indexing="ij"), axis=-1).reshape(-1, size)
    return list(whole[rng.permutation(len(whole))[:budget]])


def _run_cmaes(
    space: Space, budget: int, seed: int, drive: Callable[[Sequence[Array], int], list[dict[str, Any]]]
) -> list[dict[str, Any]]:
    cmaes = require("cmaes", "search by CMA-ES")
    size = len(space.ranges)
    bounds = np.tile([0.0, 1.0], (size, 1))
    optimizer = cmaes.CMA(mean=np.full(size, 0.5), sigma=0.3, bounds=bounds, seed=seed)
    rows: list[dict[str, Any]] = []
    while len(rows) < budget:
        places = [optimizer.ask() for _ in range(optimizer.population_size)]
        driven = drive(places[: budget - len(rows)], len(rows))
        rows += driven
        if len(driven) == len(places):
            optimizer.tell([(place, score(row)) for place, row in zip(places, driven, strict=True)])
        if optimizer.should_stop():
            optimizer = cmaes.CMA(mean=np.full(size, 0.5), sigma=0.3, bounds=bounds, seed=seed + len(rows))
    return rows


def draw_coverage(results: Sequence[dict[str, Any]], space: Space) -> Figure:
    """Which places of the parameter space each method looked at: failures red, others green."""
    x, y = list(space.ranges)[:2]
    figure = Figure(figsize=(4.0 * len(results), 4.2), layout="constrained")
    axes = figure.subplots(1, len(results), squeeze=False, sharex=True, sharey=True)[0]
    for axis, result in zip(axes, results, strict=True):
        rows = result["rows"]
        colours = ["#2f855a" if row["success"] else "#c53030" for row in rows]
        axis.scatter([row[x] for row in rows], [row[y] for row in rows], c=colours, s=22)
        first = result["runs_to_first_failure"]
        axis.set_title(
            f"{result['method']}: {result['failures']} failures in {result['runs']} runs"
            + (f", the first in run {first}" if first else ""),
            fontsize=9,
        )
        axis.set_xlim(*space.ranges[x])
        axis.set_ylim(*space.ranges[y])
        axis.set_xlabel(x, fontsize=8)
        axis.grid(True, color="#d9dee5", linewidth=0.6)
    axes[0].set_ylabel(y, fontsize=8)
    return figure


def save_search(result: dict[str, Any], space: Space, folder: Path) -> None:
    """Write the result of a search into ``folder``: ``search.json``, and ``coverage.png`` of the places looked at."""
    write_file(folder / "search.json", (format_json(result, indent=1) + "\n").encode())
    draw_coverage([result], space).savefig(folder / "coverage.png", dpi=150, facecolor="white")
