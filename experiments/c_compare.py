"""The default world against splats alone, surfels and meshes on every recording with poses: where is it worse?

Each world is built by `rs.build` from all sweeps but those held out, whose beams are traced again, each with its most
likely return. Labelled recordings are judged twice: as they are, and built without their labels. Beams that met what
moves are left out by the labels either way. A world without labels says of no return that it is thin; there the nearest
recorded point says it, for all worlds alike. Settings were chosen on SemanticKITTI 00 and 03 only.

``thin_c2c_m`` is to thin points of all sweeps, ``thin_c2c_sweep_m`` to those of the held-out sweep alone. The latter is
a mean in which one return on what only other sweeps saw as thin may weigh more than all others.

Each result takes a minute or more. With a cache file they are kept one by one, and a second run goes on after them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

import resweep as rs
from experiments.c_places import Place, known_street, recordings
from experiments.kept_results import Figures, KeptResults
from experiments.presenting import BLUE, GREY, ORANGE, console, figure, main, progress, table
from resweep.evaluation import METRICS
from resweep.evaluation.nearest import Nearest
from resweep.labels import NO_LABELS
from resweep.reconstruction import METHODS, BuildConfig, CalibrateConfig, method_config
from resweep.reconstruction.map.accumulate import select_mappable
from resweep.simulate import Retracer

MINE = "hybrid"
MODELS: dict[str, BuildConfig] = {
    **{name: METHODS[name] for name in (MINE, "splats", "surfels", "mesh-imls", "mesh-rimls")},
    "mesh-poisson": method_config("mesh-poisson", {"cell_m": 0.07}),  # as in C's tables
}
FIGURES = (
    "recovered_0.10m", "within_0.10m", "range_rmse_m", "return_f1", "log_likelihood", "c2c_m", "thin_c2c_m",
    "thin_c2c_sweep_m", "too_early_0.5m",
)  # fmt: skip
TITLES = (
    "recov-\nered %", "within\n10 cm %", "RMSE\n(m)", "return\nF1 %", "likeli-\nhood", "C2C\n(cm)", "thin\nC2C (cm)",
    "thin, one\nsweep (cm)", "false\nnear %",
)  # fmt: skip
CHOSEN_ON = ("SemanticKITTI 00", "SemanticKITTI 03")
_QUICK = CalibrateConfig(points_per_sweep=5000, samples=3000, iterations=2)
_FAST: dict[str, BuildConfig] = {name: type(METHODS[name])(calibrate=_QUICK) for name in (MINE, "surfels")}


@dataclass(frozen=True)
class Job:
    """One world to judge: a place, whether its labels are used, and how the world is built."""

    place: Place
    labels: str  # "known", "stripped", or "none" where the recording has none
    model: str
    config: BuildConfig

    @property
    def key(self) -> str:
        """What a result is kept under: all that it depends on but the program itself."""
        held = ",".join(map(str, (self.place.held, *self.place.also_held)))
        return " | ".join((self.place.name, held, self.labels, self.model, self.config.model_dump_json()))


def run(fast: bool = False, only: str = "", cache: Path | None = None) -> dict[str, Any]:
    """Every model on every recording; with ``fast`` two models on a small street."""
    if fast:
        return compare([known_street(length_m=36.0, sweeps=3, columns=600)], _FAST, cache)
    return compare(recordings(only), MODELS, cache)


def compare(found: list[Place], models: dict[str, BuildConfig], cache: Path | None = None) -> dict[str, Any]:
    """Every model on every place; results that the file ``cache`` has are not computed again."""
    jobs = [job for place in found for job in _jobs(place, models)]
    kept = KeptResults(cache, FIGURES)
    rows = []
    for job in progress(jobs, "worlds", len(jobs)):
        figures = kept.find(job.key, partial(judge, job))
        facts = {"place": job.place.name, "labels": job.labels, "chosen_on": job.place.name in CHOSEN_ON}
        rows.append({**facts, "model": job.model, **figures})
    worse = find_worse(rows)
    summary = summarise_worse(rows, worse)
    return {"rows": rows, "worse": worse, "summary": summary, "figures": list(FIGURES), "mine": MINE}


def _jobs(place: Place, models: dict[str, BuildConfig]) -> Iterator[Job]:
    labelled = place.log.labels.known and bool(place.log[place.held].label.any())
    for labels in ("known", "stripped") if labelled and place.truth is None else ("known" if labelled else "none",):
        for model, config in models.items():
            yield Job(place, labels, model, config)


def judge(job: Job) -> Figures:
    """The figures of the held-out sweeps, traced again in a world of the others."""
    log = job.place.log
    held = (job.place.held, *job.place.also_held)
    given = strip_labels(log) if job.labels == "stripped" else log
    world = rs.build(given[[at for at in range(len(log)) if at not in held]], job.config, progress=False)
    tracer = Retracer(world, aligned=True, beam_slope=None if log.sensor is None else log.sensor.beam_slope)
    vocabulary = job.config.map.choose_labels(log)
    real, simulated, likelihoods = [], [], []
    for at in held:
        sweep = select_mappable(log[at], job.config.map, vocabulary)
        pose = tracer.find_pose(sweep)
        real.append(sweep)
        simulated.append(tracer.predict(sweep, pose))
        likelihoods.append(tracer.log_likelihood(sweep, pose))
    if job.labels == "stripped":
        simulated = _label_by_nearest(simulated, log)
    labels = log.labels if job.labels == "stripped" else world.labels
    report = rs.evaluate(
        log[list(held)].with_sweeps(simulated, labels=labels),
        log[list(held)].with_sweeps(real),
        recorded=log,
    )
    values = {**report.metrics, "log_likelihood": float(np.concatenate(likelihoods).mean())}
    return {name: values.get(name) for name in FIGURES}


def strip_labels(log: rs.Log) -> rs.Log:
    """The log without labels."""

    def take_off(sweep: rs.Sweep) -> rs.Sweep:
        return replace(sweep, label=np.zeros_like(sweep.label), instance=np.zeros_like(sweep.instance))

    return log.map(take_off, "take labels off", labels=NO_LABELS)


def _label_by_nearest(simulated: list[rs.Sweep], log: rs.Log) -> list[rs.Sweep]:
    """Simulated sweeps whose returns have the label of the nearest point of the whole recording."""
    sweeps = list(log)
    origin = np.round(log.poses[0][:3, 3])
    recorded = Nearest(np.concatenate([sweep.world_points() - origin for sweep in sweeps]).astype(np.float32))
    label = np.concatenate([sweep.label for sweep in sweeps])
    return [
        replace(sweep, label=label[recorded.find((sweep.world_points() - origin).astype(np.float32))[1]])
        for sweep in simulated
    ]


def find_worse(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Where the default world is worse than another, and ``by`` how much in the figure's own unit."""
    worse = []
    for mine in (row for row in rows if row["model"] == MINE):
        for other in rows:
            if other["model"] == MINE or (other["place"], other["labels"]) != (mine["place"], mine["labels"]):
                continue
            for name in FIGURES:
                if mine[name] is None or other[name] is None:
                    continue
                lost = mine[name] - other[name]
                by = lost if METRICS[name].better == "lower" else -lost
                if by > 0:
                    place = {"place": mine["place"], "labels": mine["labels"], "chosen_on": mine["chosen_on"]}
                    figures = {"figure": name, "mine": mine[name], "other": other[name], "by": by}
                    worse.append({**place, "than": other["model"], **figures})
    return worse


def summarise_worse(rows: list[dict[str, Any]], worse: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """For each figure, how many worlds the default one was ``compared`` with, and how many were better.

    ``most`` is by how much at most, in the figure's own unit, ``on`` which place and ``than`` which world; None where
    none was better.
    """
    mine = {(row["place"], row["labels"]): row for row in rows if row["model"] == MINE}
    pairs = [(mine.get((row["place"], row["labels"])), row) for row in rows if row["model"] != MINE]
    found = []
    for name in FIGURES:
        compared = sum(own is not None and own[name] is not None and row[name] is not None for own, row in pairs)
        lost = [one for one in worse if one["figure"] == name]
        most = max(lost, key=lambda one: one["by"], default=None)
        known = {"most": None, "on": None, "than": None}
        if most is not None:
            known = {"most": most["by"], "on": f"{most['place']}, labels {most['labels']}", "than": most["than"]}
        found.append({"figure": name, "compared": compared, "better": len(lost), **known})
    return found


def show(result: dict[str, Any]) -> None:
    """Print a table for each place, and below it where the default world is worse; at last how often, by figure."""
    for place, labels in dict.fromkeys((row["place"], row["labels"]) for row in result["rows"]):
        own = [row for row in result["rows"] if (row["place"], row["labels"]) == (place, labels)]
        use = "settings were chosen on it" if own[0]["chosen_on"] else "not used for choosing settings"
        made = table(f"{place}, labels {labels}; {use}", "world", *TITLES)
        for row in own:
            made.add_row(row["model"], *(_text(name, row[name]) for name in FIGURES))
        console.print(made)
        lost = [one for one in result["worse"] if (one["place"], one["labels"]) == (place, labels)]
        for one in lost:
            shown = [_text(one["figure"], one[side]) for side in ("mine", "other")]
            console.print(f"  {MINE} is worse than {one['than']} by {one['figure']}: {shown[0]} against {shown[1]}")
        if not lost:
            console.print(f"  {MINE} is worse than none of them by any figure")
        console.print()
    made = table(f"Where {MINE} is worse", "figure", "compared with", "worse than", "at most by", "on", "than")
    for one in summarise_worse(result["rows"], result["worse"]):
        by = "" if one["most"] is None else _text(one["figure"], one["most"])
        made.add_row(one["figure"], str(one["compared"]), str(one["better"]), by, one["on"] or "", one["than"] or "")
    console.print(made)


def _text(name: str, value: float | None) -> str:
    if value is None:
        return "–"
    if "c2c" in name:
        return f"{100 * value:.2f}"
    return f"{value:.2f}" if name in ("range_rmse_m", "log_likelihood") else f"{100 * value:.2f}"


def draw(result: dict[str, Any]) -> Figure:
    """A panel for each figure: the default world and the best of the others on each place."""
    places = list(dict.fromkeys((row["place"], row["labels"]) for row in result["rows"]))
    made, axes = figure(11.0, 1.8 + 0.75 * len(places), 3, 3, sharey=True)
    for axis, name in zip(axes.reshape(-1), FIGURES, strict=True):
        for at, (place, labels) in enumerate(places):
            own = [row for row in result["rows"] if (row["place"], row["labels"]) == (place, labels)]
            for row in (row for row in own if row[name] is not None):
                colour = ORANGE if row["model"] == MINE else BLUE if row["model"] == "splats" else GREY
                axis.scatter(row[name], at, s=26 if colour == ORANGE else 14, color=colour, zorder=3)
        axis.set_title(f"{name} ({METRICS[name].better} is better)", fontsize=8.5)
        axis.set_yticks(range(len(places)), [f"{place}, {labels}" for place, labels in places], fontsize=7)
    return made


if __name__ == "__main__":
    main("c_compare", "The default world against splats, surfels and meshes.", run, show, draw)
