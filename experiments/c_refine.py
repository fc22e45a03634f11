"""What refinement by likelihood brings on held-out sweeps: none, fast and full.

A row is one recording, with its labels or stripped of them, and one refinement. Settings were chosen on
SemanticKITTI 00 and 03. Other places were not looked at while choosing: their rows say so. ``first_cpu_s`` is the
processor time of the build without refinement, ``refine_cpu_s`` what the refined one took more.

With a cache file rows are kept one by one, and a second run goes on after them.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

import resweep as rs
from experiments.c_compare import strip_labels
from experiments.c_places import Place, known_street, recordings
from experiments.kept_results import Figures, KeptResults
from experiments.presenting import BLUE, GREEN, ORANGE, console, figure, main, progress, table
from resweep.build import HybridConfig
from resweep.build.settings.refine import REFINEMENTS, Refine

HOW: tuple[Refine, ...] = ("none", "fast", "full")
QUICK: tuple[Refine, ...] = ("none", "fast")  # `full` takes longer than all else: it comes after these of every place
CHOSEN_ON = ("SemanticKITTI 00", "SemanticKITTI 03")
UNSEEN = tuple(f"SemanticKITTI {number}" for number in ("02", "04", "05", "06"))  # of which a mean is shown
FIGURES = (
    "range_median_m", "within_0.10m", "recovered_0.10m", "range_rmse_m", "c2c_m", "thin_c2c_m", "chamfer_sq_sum_m2",
    "fscore_0.05m", "return_f1", "log_likelihood", "too_early_0.5m", "intensity_rmse", "primitives",
)  # fmt: skip
SHOWN = {  # title, by the name of the figure, its scale and its digits
    "median\ncm": ("range_median_m", 100, 2), "within\n%": ("within_0.10m", 100, 1),
    "recov.\n%": ("recovered_0.10m", 100, 1), "RMSE\nm": ("range_rmse_m", 1, 2), "C2C\ncm": ("c2c_m", 100, 2),
    "thin\ncm": ("thin_c2c_m", 100, 2), "squares\nm²": ("chamfer_sq_sum_m2", 1, 3),
    "F 5cm\n%": ("fscore_0.05m", 100, 1), "ret.\nF1 %": ("return_f1", 100, 2),
    "likeli-\nhood": ("log_likelihood", 1, 3),
    "early\n%": ("too_early_0.5m", 100, 2), "first\ncpu s": ("first_cpu_s", 1, 0),
    "refine\ncpu s": ("refine_cpu_s", 1, 1),
}  # fmt: skip
COSTS = ("first_cpu_s", "refine_cpu_s")


@dataclass(frozen=True)
class Recording:
    """A recording, and whether its labels are used."""

    place: Place
    labels: str  # "known", "stripped", or "none" where the recording has none

    @property
    def held(self) -> tuple[int, ...]:
        """The sweeps that are held out."""
        return (self.place.held, *self.place.also_held)

    @cached_property
    def first_cpu_s(self) -> float:
        """Processor seconds of the world that is not refined."""
        begun = time.process_time()
        self._build("none")
        return time.process_time() - begun

    def key(self, how: Refine) -> str:
        """What a result is kept under."""
        settings = "" if how == "none" else REFINEMENTS[how].model_dump_json()
        config = HybridConfig(refine=how).model_dump_json()
        return " | ".join((self.place.name, ",".join(map(str, self.held)), self.labels, how, settings, config))

    def measure(self, how: Refine) -> Figures:
        """The figures of the held-out sweeps in the world refined as ``how`` says."""
        begun = time.process_time()
        world = self._build(how)
        seconds = time.process_time() - begun
        report = rs.holdout(self.place.log, self.held, build=partial(_give, world), progress=False)
        figures = {name: report.metrics.get(name) for name in FIGURES}
        first_s = seconds if how == "none" else self.first_cpu_s
        return {**figures, "first_cpu_s": first_s, "refine_cpu_s": seconds - first_s}

    def _build(self, how: Refine) -> rs.World:
        log = strip_labels(self.place.log) if self.labels == "stripped" else self.place.log
        rest = log[[at for at in range(len(log)) if at not in self.held]]
        return rs.build(rest, HybridConfig(refine=how), progress=False)


def _give(world: rs.World, rest: rs.Log) -> rs.World:
    """The world that was built from the rest already."""
    return world


def run(fast: bool = False, only: str = "", cache: Path | None = None) -> dict[str, Any]:
    """All ways to refine on every recording that is at hand, `full` last; with ``fast`` a small street."""
    found = [known_street(length_m=30.0, sweeps=4, columns=400)] if fast else recordings(only)
    kept = KeptResults(cache, (*FIGURES, *COSTS))
    rows = []
    jobs = _list_jobs(found, fast)
    for start, how in progress(jobs, "held-out sweeps", len(jobs)):
        figures = kept.find(start.key(how), partial(start.measure, how))
        facts = {"place": start.place.name, "labels": start.labels, "chosen_on": start.place.name in CHOSEN_ON}
        rows.append({**facts, "held": list(start.held), "refine": how, **figures})
    return {"rows": rows, "means": find_means(rows), "chosen_on": list(CHOSEN_ON)}


def _list_jobs(found: list[Place], fast: bool) -> list[tuple[Recording, Refine]]:
    """Rows to compute: those of one first estimate follow each other, and recordings as they are come first."""
    starts = [Recording(place, "known" if _is_labelled(place) else "none") for place in found]
    if fast:
        return [(start, how) for start in starts for how in HOW]
    starts += [Recording(place, "stripped") for place in found if _is_labelled(place)]
    rest = tuple(how for how in HOW if how not in QUICK)
    return [(start, how) for ways in (QUICK, rest) for start in starts for how in ways]


def _is_labelled(place: Place) -> bool:
    return place.log.labels.known and bool(place.log[place.held].label.any())


def find_means(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """For each use of labels and way to refine, the means over the sequences of SemanticKITTI not used for choosing."""
    made = []
    unseen = [row for row in rows if row["place"] in UNSEEN]
    for labels, how in dict.fromkeys((row["labels"], row["refine"]) for row in unseen):
        own = [row for row in unseen if (row["labels"], row["refine"]) == (labels, how)]
        names = [name for name in (*FIGURES, *COSTS) if all(row[name] is not None for row in own)]
        figures = {name: float(np.mean([row[name] for row in own])) for name in names}
        places = ", ".join(row["place"].removeprefix("SemanticKITTI ") for row in own)
        made.append({"places": places, "labels": labels, "refine": how, **figures})
    return made


def show(result: dict[str, Any]) -> None:
    """Print a line for each recording and way to refine, and the means."""
    shown = table("Held-out sweeps by refinement; * settings chosen on it", "place, labels, refine", *SHOWN)
    for row in result["rows"]:
        mark = "*" if row["chosen_on"] else ""
        name = row["place"].replace("SemanticKITTI ", "SK ") + mark
        shown.add_row(f"{name}, {row['labels']}, {row['refine']}", *_cells(row))
    for row in result["means"]:
        shown.add_row(f"mean {row['places']}, {row['labels']}, {row['refine']}", *_cells(row))
    console.print(shown)


def _cells(row: dict[str, Any]) -> list[str]:
    return [
        "" if row.get(name) is None else f"{scale * row[name]:.{digits}f}" for name, scale, digits in SHOWN.values()
    ]


def draw(result: dict[str, Any]) -> Figure:
    """Recovered share and log-likelihood, a group of bars for each recording."""
    rows = result["rows"]
    names = list(dict.fromkeys((row["place"], row["labels"]) for row in rows))
    made, axes = figure(4.0 + 0.5 * len(names), 3.4, 1, 2)
    for axis, name in zip(axes.reshape(-1), ("recovered_0.10m", "log_likelihood"), strict=True):
        for at, (how, colour) in enumerate(zip(HOW, (BLUE, ORANGE, GREEN), strict=True)):
            own = {(row["place"], row["labels"]): row[name] for row in rows if row["refine"] == how}
            heights = [np.nan if own.get(key) is None else own[key] for key in names]
            axis.bar(np.arange(len(names)) + 0.27 * (at - 1), heights, 0.25, color=colour, label=how)
        axis.set_xticks(range(len(names)), [" ".join(key) for key in names], fontsize=6, rotation=60, ha="right")
        axis.set_title(name, fontsize=9)
    axes.reshape(-1)[0].legend(fontsize=8, frameon=False)
    return made


if __name__ == "__main__":
    main("c_refine", "What refinement by likelihood brings on held-out sweeps.", run, show, draw)
