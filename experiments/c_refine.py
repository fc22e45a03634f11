"""What refinement by likelihood brings on held-out sweeps: none, fast and full, from the same first estimate.

Settings were chosen on SemanticKITTI 00 and 03. Other places were not looked at while choosing: their rows say so.
"""

from __future__ import annotations

import time
from functools import partial
from typing import Any

import numpy as np
from matplotlib.figure import Figure

import resweep as rs
from experiments.c_places import DATA, Place, places
from experiments.presenting import BLUE, GREEN, ORANGE, console, figure, main, progress, table
from resweep.evaluation.holdout import holdout
from resweep.reconstruction import HybridConfig, Map, fit
from resweep.reconstruction.map.accumulate import find_mappable
from resweep.reconstruction.refine.blind import see_blind_spots
from resweep.reconstruction.refine.config import Refine
from resweep.reconstruction.refine.refine import refine

HOW: tuple[Refine, ...] = ("none", "fast", "full")
CHOSEN_ON = ("SemanticKITTI 00", "SemanticKITTI 03")
UNSEEN = ("02", "04", "05", "06")  # sequences of SemanticKITTI
FIGURES = (
    "range_median_m",
    "within_0.10m",
    "recovered_0.10m",
    "range_rmse_m",
    "return_f1",
    "log_likelihood",
    "c2c_m",
    "too_early_0.5m",
)


def measure(place: Place, held: int) -> list[dict[str, Any]]:
    """A row for each way to refine: the figures of one held-out sweep and the seconds that refining took."""
    log, config = place.log, HybridConfig()
    labels = config.map.choose_labels(log)
    rest = log[[at for at in range(len(log)) if at != held]]
    map = Map.from_log(rest, config.map, config.calibrate)
    layers = fit(map, config)
    rows = []
    for how in HOW:
        begun = time.perf_counter()
        seen, refined = map, layers
        if how != "none":
            refined = refine(map, layers, how, lambda sweeps: fit(map.select_sweeps(sweeps.tolist()), config), config)
            seen = see_blind_spots(map, refined)
        seconds = time.perf_counter() - begun
        world = seen.world(refined)
        report = holdout(log, [held], partial(_give, world), lambda sweep: find_mappable(sweep, config.map, labels))
        rows.append({"place": place.name, "held": held, "refine": how, "refine_s": seconds, **report.metrics})
    return rows


def _open_unseen(name: str) -> Place | None:
    """A sequence that was not used for choosing; None if it is not at hand."""
    path = DATA / "semantickitti_mini" / "sequences" / name
    return Place(f"SemanticKITTI {name}", rs.open_log(path), 5, (1.0, 1.0, -0.5)) if path.exists() else None


def _give(world: rs.World, rest: rs.Log) -> rs.World:
    """The world that was built from the rest already."""
    return world


def run(fast: bool = False, only: str = "") -> dict[str, Any]:
    """All ways to refine on every place that is at hand, and on the further sequences of SemanticKITTI."""
    found = [] if not fast and only in UNSEEN else places(fast, only)
    found += [] if fast else [place for name in UNSEEN if only in ("", name) and (place := _open_unseen(name))]
    jobs = [(place, held) for place in found for held in ((place.held,) if fast else (2, 5))]
    jobs = [(place, held) for place, held in jobs if held < len(place.log)]
    rows = [row for place, held in progress(jobs, "held-out sweeps", len(jobs)) for row in measure(place, held)]
    return {"rows": rows, "chosen_on": list(CHOSEN_ON)}


def means(result: dict[str, Any]) -> list[dict[str, Any]]:
    """A row for each place and way to refine: the means over its held-out sweeps."""
    made = []
    for place, how in dict.fromkeys((row["place"], row["refine"]) for row in result["rows"]):
        own = [row for row in result["rows"] if (row["place"], row["refine"]) == (place, how)]
        names = [name for name in ("refine_s", *FIGURES) if all(row.get(name) is not None for row in own)]
        made.append(
            {"place": place, "refine": how, **{name: float(np.mean([row[name] for row in own])) for name in names}}
        )
    return made


def show(result: dict[str, Any]) -> None:
    """Print a line for each place and way to refine."""
    rows = means(result)
    names = [name for name in ("refine_s", *FIGURES) if any(name in row for row in rows)]
    shown = table("Held-out sweeps by refinement; * chosen on this place", "place, refine", *names)
    for row in rows:
        mark = "*" if row["place"] in CHOSEN_ON else ""
        shown.add_row(
            f"{row['place']}{mark}, {row['refine']}", *(f"{row[name]:.4g}" if name in row else "" for name in names)
        )
    console.print(shown)


def draw(result: dict[str, Any]) -> Figure:
    """Recovered share and log-likelihood, a group of bars for each place."""
    rows = means(result)
    names = list(dict.fromkeys(row["place"] for row in rows))
    made, axes = figure(7.0, 3.2, 1, 2)
    for axis, name in zip(axes.reshape(-1), ("recovered_0.10m", "log_likelihood"), strict=True):
        for at, (how, colour) in enumerate(zip(HOW, (BLUE, ORANGE, GREEN), strict=True)):
            own = {row["place"]: row.get(name, np.nan) for row in rows if row["refine"] == how}
            axis.bar(
                np.arange(len(names)) + 0.27 * (at - 1), [own[place] for place in names], 0.25, color=colour, label=how
            )
        axis.set_xticks(range(len(names)), names, fontsize=7, rotation=30)
        axis.set_title(name, fontsize=9)
    axes.reshape(-1)[0].legend(fontsize=8, frameon=False)
    return made


if __name__ == "__main__":
    main("c_refine", "What refinement by likelihood brings on held-out sweeps.", run, show, draw)
