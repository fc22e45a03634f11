"""The default world against splats alone, surfels and meshes on every recording with poses: where is it worse?

Each world is built by `rs.build` from all sweeps but those held out, whose beams are traced again, each with its most
likely return. Labelled recordings are scored twice: as they are, and built without their labels. Beams that hit what
moves are left out by the labels either way. A world without labels has no thin returns; there the nearest
recorded point decides, for all worlds alike. Settings were chosen on SemanticKITTI 00 and 03 only.

``thin_c2c_m`` is to thin points of all sweeps, ``thin_c2c_sweep_m`` to those of the held-out sweep alone. The latter is
a mean in which one return on what only other sweeps saw as thin may weigh more than all others.

A world that many beams fall through is judged on the easy beams that it returns. So the figures of returned beams are
compared once more on the beams that the default world and the other both return (`experiments.c_shared`).

Each result takes a minute or more. With a cache file they are kept one by one, and a second run goes on after them.
What worlds predicted is kept in a folder beside it. ``--models`` chooses some of the worlds; with ``--kept`` those that
the file does not have are left out, and listed as ``missing``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

import resweep as rs
from experiments.c_places import Place, known_street, recordings
from experiments.c_shared import SHARED_FIGURES, KeptPredictions, Predicted, compare_shared, select_mappable
from experiments.kept_results import Figures, KeptResults
from experiments.presenting import BLUE, GREY, ORANGE, console, figure, main, progress, table
from resweep.build import METHODS, BuildConfig, CalibrateConfig, method_config
from resweep.evaluation import METRICS
from resweep.evaluation.metrics.nearest import Nearest
from resweep.labels import NO_LABELS
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
    def held(self) -> tuple[int, ...]:
        """The numbers of the held-out sweeps."""
        return (self.place.held, *self.place.also_held)

    @property
    def facts(self) -> dict[str, Any]:
        """What is said of the place beside its figures."""
        return {"place": self.place.name, "labels": self.labels, "chosen_on": self.place.name in CHOSEN_ON}

    @property
    def key(self) -> str:
        """What a result is kept under: all that it depends on but the program itself."""
        held = ",".join(map(str, self.held))
        return " | ".join((self.place.name, held, self.labels, self.model, self.config.model_dump_json()))


def run(
    fast: bool = False,
    only: str = "",
    cache: Path | None = None,
    models: Sequence[str] | None = None,
    kept: bool = False,
) -> dict[str, Any]:
    """Every model, or those named, on every recording; with ``fast`` two models on a small street."""
    if fast:
        return compare([known_street(length_m=36.0, sweeps=3, columns=600)], _FAST, cache)
    if unknown := set(models or ()) - set(MODELS):
        raise SystemExit(f"--models: {', '.join(sorted(unknown))} is not known; known are {', '.join(MODELS)}")
    chosen = {name: MODELS[name] for name in MODELS if not models or name in models}
    return compare(recordings(only), chosen, cache, kept)


def compare(
    found: list[Place], models: dict[str, BuildConfig], cache: Path | None = None, only_kept: bool = False
) -> dict[str, Any]:
    """Every model on every place; results that the file ``cache`` has are not computed again.

    With ``only_kept`` those that it does not have are left out.
    """
    kept = KeptResults(cache, FIGURES)
    jobs = [job for place in found for job in _jobs(place, models)]
    missing = [f"{job.place.name}, labels {job.labels}: {job.model}" for job in jobs if job.key not in kept]
    if only_kept:
        jobs = [job for job in jobs if job.key in kept]
    predictions = KeptPredictions(None if cache is None else cache.with_name(f"{cache.name}.predicted"))
    rows = []
    for job in progress(jobs, "worlds", len(jobs)):
        figures = kept.find(job.key, partial(judge, job, predictions))
        rows.append({**job.facts, "model": job.model, **figures})
    shared = _compare_pairs(jobs, predictions, None if cache is None else cache.with_name(f"{cache.name}.shared"))
    worse, shared_worse = find_worse(rows), find_worse(shared, SHARED_FIGURES)
    return {
        "rows": rows,
        "worse": worse,
        "summary": summarise_worse(rows, worse),
        "shared": shared,
        "shared_worse": shared_worse,
        "shared_summary": summarise_worse(shared, shared_worse, SHARED_FIGURES),
        "figures": list(FIGURES),
        "mine": MINE,
        "missing": missing if only_kept else [],
    }


def _jobs(place: Place, models: dict[str, BuildConfig]) -> Iterator[Job]:
    labelled = place.log.labels.known and bool(place.log[place.held].label.any())
    for labels in ("known", "stripped") if labelled and place.truth is None else ("known" if labelled else "none",):
        for model, config in models.items():
            yield Job(place, labels, model, config)


def judge(job: Job, predictions: KeptPredictions) -> Figures:
    """The figures of the held-out sweeps, traced again in a world of the others; what was predicted is kept."""
    log, held = job.place.log, job.held
    given = strip_labels(log) if job.labels == "stripped" else log
    world = rs.build(given[[at for at in range(len(log)) if at not in held]], job.config, progress=False)
    tracer = Retracer(world, beam_slope=None if log.sensor is None else log.sensor.beam_slope)
    real = find_real(job)
    simulated, likelihoods = [], []
    for sweep in real:
        placed = tracer.register(sweep, motion=True)
        simulated.append(tracer.predict(sweep, placed))
        likelihoods.append(tracer.log_likelihood(sweep, placed))
    if job.labels == "stripped":
        simulated = _label_by_nearest(simulated, log)
    labels = log.labels if job.labels == "stripped" else world.labels
    report = rs.evaluate(
        log[list(held)].with_sweeps(simulated, labels=labels),
        log[list(held)].with_sweeps(real),
        recorded=log,
    )
    predictions.put(job.key, [Predicted.of(sweep) for sweep in simulated])
    values = {**report.metrics, "log_likelihood": float(np.concatenate(likelihoods).mean())}
    return {name: values.get(name) for name in FIGURES}


def find_real(job: Job) -> list[rs.Sweep]:
    """The held-out sweeps without the beams that hit what moves."""
    vocabulary = job.config.map.choose_labels(job.place.log)
    return [select_mappable(job.place.log[at], job.config.map, vocabulary) for at in job.held]


def _compare_pairs(jobs: list[Job], predictions: KeptPredictions, cache: Path | None) -> list[dict[str, Any]]:
    """Two rows for each world beside the default one: both on the beams that both return."""
    known = {(job.place.name, job.labels): job for job in jobs if job.model == MINE and job.key in predictions}
    pairs = [(known.get((job.place.name, job.labels)), job) for job in jobs if job.model != MINE]
    kept = KeptResults(cache, ("mine", "other"))
    rows = []
    for mine, other in progress(pairs, "shared beams", len(pairs)):
        if mine is None or other.key not in predictions:
            continue
        found = kept.find(f"{mine.key} | {other.key}", partial(_compare_pair, mine, other, predictions))
        for job, figures in ((mine, found["mine"]), (other, found["other"])):
            rows.append({**mine.facts, "against": other.model, "model": job.model, **figures})
    return rows


def _compare_pair(mine: Job, other: Job, predictions: KeptPredictions) -> Figures:
    log = mine.place.log
    both = [predictions.get(job.key) for job in (mine, other)]
    found = compare_shared(log, mine.held, find_real(mine), both, mine.config.map.choose_labels(log))
    return dict(zip(("mine", "other"), found, strict=True))


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


def _pair_rows(rows: list[dict[str, Any]]) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """The row of the default world, and that of another, for all worlds that are compared with it."""
    mine = {_where(row): row for row in rows if row["model"] == MINE}
    others = [row for row in rows if row["model"] != MINE]
    return [(mine[_where(row)], row) for row in others if _where(row) in mine]


def _where(row: dict[str, Any]) -> tuple[str, str, str]:
    return row["place"], row["labels"], row.get("against", "")


def find_worse(rows: list[dict[str, Any]], figures: Sequence[str] = FIGURES) -> list[dict[str, Any]]:
    """Where the default world is worse than another, and ``by`` how much in the figure's own unit."""
    worse = []
    for mine, other in _pair_rows(rows):
        for name in figures:
            if mine[name] is None or other[name] is None:
                continue
            lost = mine[name] - other[name]
            by = lost if METRICS[name].better == "lower" else -lost
            if by > 0:
                place = {"place": mine["place"], "labels": mine["labels"], "chosen_on": mine["chosen_on"]}
                values = {"figure": name, "mine": mine[name], "other": other[name], "by": by}
                worse.append({**place, "than": other["model"], **values})
    return worse


def summarise_worse(
    rows: list[dict[str, Any]], worse: list[dict[str, Any]], figures: Sequence[str] = FIGURES
) -> list[dict[str, Any]]:
    """For each figure, how many worlds the default one was ``compared`` with, and how many were better.

    ``most`` is by how much at most, in the figure's own unit, ``on`` which place and ``than`` which world; None where
    none was better.
    """
    pairs = _pair_rows(rows)
    found = []
    for name in figures:
        compared = sum(mine[name] is not None and other[name] is not None for mine, other in pairs)
        lost = [one for one in worse if one["figure"] == name]
        most = max(lost, key=lambda one: one["by"], default=None)
        known: dict[str, Any] = dict.fromkeys(("most", "on", "than"))
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
        if not lost and _pair_rows(own):
            console.print(f"  {MINE} is worse than none of them by any figure")
        console.print()
    _show_summary("on the beams that each returns", summarise_worse(result["rows"], result["worse"]))
    if result.get("shared"):
        _show_summary("on the beams that both return", result["shared_summary"])


def _show_summary(which: str, summary: list[dict[str, Any]]) -> None:
    made = table(f"Where {MINE} is worse, {which}", "figure", "compared with", "worse than", "at most by", "on", "than")
    for one in summary:
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
