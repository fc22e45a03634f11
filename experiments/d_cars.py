"""What cars lack in simulated sweeps: recorded beams on cars beside the same beams in the default world, part by part.

Sweep 5 of each sequence of SemanticKITTI is held out, the world of the nine others is that of `rs.build` with no
setting, and the held-out beams are fired again, as ``rs.resimulate`` does. Cars are those of the labels; parts are
bands of their height (`experiments.car_parts`). Standing and moving cars are told apart: no map holds the latter.
*Followed* ones are actors that the other sweeps tell of (`resweep.objects.movers`).

Of the recorded returns on each part the table says on how many beams ours returns, on the same class, and how far off;
of all beams within the outline of a part, how many came back empty, and the F1 of returning at all. *hit F1* is that of
beams that end on a car.

Settings are chosen on 00 and 03. The mean is over the other sequences, each part weighted by its recorded returns.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

import resweep as rs
from experiments.c_places import Place, known_street, recordings
from experiments.car_parts import (
    PARTS,
    BeamReturns,
    Car,
    Outline,
    find_edges,
    find_ground,
    find_outlines,
    find_returns,
    list_cars,
)
from experiments.kept_results import Figures, KeptResults
from experiments.presenting import BLUE, FILL, GREY, ORANGE, console, figure, main, progress, table
from resweep.objects.movers import follow_movers
from resweep.pose import Array
from resweep.sweep import Sweep

CHOSEN_ON = ("SemanticKITTI 00", "SemanticKITTI 03")
KINDS = ("standing", "standing, most likely", "moving", "moving, followed")
ROWS = ("all", *PARTS, "edge", "ground")
# Title, scale and digits.
SHOWN: dict[str, tuple[str, float, int]] = {
    "beams": ("recorded\nreturns", 1, 0),
    "returned": ("ours\nreturns %", 100, 1),
    "same_class": ("same\nclass %", 100, 1),
    "range_median_m": ("median\ncm", 100, 2),
    "range_p90_m": ("90 %\ncm", 100, 1),
    "within_0.10m": ("within\n10 cm %", 100, 1),
    "within_0.20m": ("within\n20 cm %", 100, 1),
    "share_real": ("share\nreal %", 100, 1),
    "share_ours": ("share\nours %", 100, 1),
    "empty_real": ("empty\nreal %", 100, 1),
    "empty_ours": ("empty\nours %", 100, 1),
    "return_f1": ("return\nF1 %", 100, 1),
    "hit_f1": ("hit\nF1 %", 100, 1),
}
_NEAR_M = 1.0  # before a car, from which on a return within its outline is no longer of something before it
_PICTURES = 3  # of the worst cars


def run(fast: bool = False, only: str = "SemanticKITTI", cache: Path | None = None) -> dict[str, Any]:
    """Every sequence that is at hand; with ``fast`` a small street. Worlds are kept beside the results."""
    found = [known_street(36.0, 3, 600)] if fast else recordings(only or "SemanticKITTI")
    kept = KeptResults(cache, (*KINDS, "cars", "pictures"))
    rows: list[dict[str, Any]] = []
    for place in progress(found, "cars", len(found)):
        key = " | ".join((place.name, str(place.held), rs.HybridConfig().model_dump_json()))
        row = kept.find(key, partial(measure, place, None if cache is None else cache.with_suffix(".worlds")))
        rows.append({"place": place.name, "chosen_on": place.name in CHOSEN_ON, **row})
    pictures = sorted((item for row in rows for item in row.pop("pictures")), key=lambda item: float(item["hit_f1"]))
    groups = {"chosen on": [row for row in rows if row["chosen_on"]]}
    groups["mean"] = [row for row in rows if not row["chosen_on"]]
    means = {name: {kind: find_mean([row[kind] for row in own]) for kind in KINDS} for name, own in groups.items()}
    return {"rows": rows, **{name.replace(" ", "_"): mean for name, mean in means.items()}, "_pictures": pictures}


def open_world(place: Place, folder: Path | None) -> Any:
    """The default world of all sweeps but the held-out one, from ``folder`` if it is there."""
    path = None if folder is None else folder / f"{place.name.split()[-1]}-{place.held}.world"
    if path is not None and path.exists():
        return rs.load_world(path)
    world = rs.build(place.log[[at for at in range(len(place.log)) if at != place.held]], progress=False)
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        world.save(path)
    return world


def measure(place: Place, folder: Path | None = None) -> Figures:
    """The figures of the held-out sweep by kind of car and part, those of each car, and pictures of the worst."""
    log, held = place.log, place.held
    sweeps = [log[at] for at in range(len(log))]
    cars = list_cars(sweeps, held, log.labels)
    retracer = rs.Retracer.for_log(open_world(place, folder), log)
    placed = retracer.register(sweeps[held])
    number, real = int(log.numbers[held]), find_returns(sweeps[held], cars, log.labels, placed)
    outline, edge = find_outlines(cars, placed), find_edges(real, sweeps[held])
    ground = find_ground(sweeps[held], placed, cars, log.labels)

    def compare(ours: Sweep) -> Pair:
        there = replace(ours, pose=placed.pose, trajectory=placed.trajectory)
        return Pair(cars, real, find_returns(ours, cars, log.labels, there), outline, edge, ground)

    drawn = compare(retracer.sweep(sweeps[held], number, placed))
    pair = drawn
    if any(car.moving for car in cars):
        actors = follow_movers(log[[at for at in range(len(log)) if at != held]])
        pair = compare(retracer.with_actors(actors).sweep(sweeps[held], number, placed))
    single = [{"instance": car.instance, **pair.figures(np.arange(len(cars)) == at)} for at, car in enumerate(cars)]
    worst = sorted(range(len(cars)), key=lambda at: float(single[at]["hit_f1"]))[:_PICTURES]
    return {
        "standing": drawn.rows(False),
        "standing, most likely": compare(retracer.predict(sweeps[held], placed)).rows(False),
        "moving": drawn.rows(True),
        "moving, followed": pair.rows(True),
        "cars": single,
        "pictures": [{"place": place.name, "hit_f1": single[at]["hit_f1"], **pair.picture(at, placed)} for at in worst],
    }


class Pair:
    """The beams of a recorded sweep and of the same in a world, with the cars that they hit."""

    def __init__(
        self, cars: list[Car], real: BeamReturns, ours: BeamReturns, outline: Outline, edge: Array, ground: Array
    ) -> None:
        self.cars, self.real, self.ours, self.outline, self.edge = cars, real, ours, outline, edge
        self.ground = ground
        # What stands before a car hides it.
        self.seen = (outline.car >= 0) & (real.range > outline.near_m - _NEAR_M)

    def rows(self, moving: bool) -> dict[str, Any]:
        """The figures of each of `ROWS`, of the cars that move or stand."""
        chosen = np.array([car.moving == moving for car in self.cars], bool)
        if not chosen.any():
            return {}
        found = {"all": self.figures(chosen)}
        for at, name in enumerate(PARTS):
            found[name] = self.figures(chosen, at)
        found["edge"] = self._compare(self._of(self.real.car, chosen) & self.edge)
        found["ground"] = self._compare(self._of(self.ground, chosen))
        return found

    def figures(self, chosen: Array, part: int | None = None) -> dict[str, Any]:
        """The figures of ``chosen`` (c,) cars, or of one part of them."""
        real, ours = self._of(self.real.car, chosen), self._of(self.ours.car, chosen)
        inside = self._of(self.outline.car, chosen) & self.seen
        shares = {}
        if part is not None:
            shares = {
                "share_real": _share(self.real.part[real] == part),
                "share_ours": _share(self.ours.part[ours] == part),
            }
            real, ours = real & (self.real.part == part), ours & (self.ours.part == part)
            inside &= self.outline.part == part
        back, also = (np.isfinite(item.range[inside]) for item in (self.real, self.ours))
        return {
            **self._compare(real),
            **shares,
            "empty_real": _share(~back),
            "empty_ours": _share(~also),
            "return_f1": _find_f1(back, also),
            "hit_f1": _find_f1(real, ours),
        }

    def _compare(self, beams: Array) -> dict[str, Any]:
        """How the returns of recorded ``beams`` (b,) bool are met by ours."""
        back = np.isfinite(self.ours.range[beams])
        off = np.full(len(back), np.inf)
        off[back] = np.abs(self.ours.range[beams][back] - self.real.range[beams][back])
        known = off[back]
        return {
            "beams": len(off),
            "returned": _share(back),
            "same_class": _share(self.ours.kind[beams] == self.real.kind[beams]),
            "range_median_m": float(np.median(known)) if len(known) else None,
            "range_p90_m": float(np.quantile(known, 0.9)) if len(known) else None,
            "within_0.10m": _share(off < 0.10),
            "within_0.20m": _share(off < 0.20),
        }

    @staticmethod
    def _of(car: Array, chosen: Array) -> Array:
        return np.asarray(np.append(chosen, False)[car])

    def picture(self, at: int, placed: Sweep) -> dict[str, Any]:
        """The beams around a car: direction in degrees, and what each hit in both: 0 nothing, 1 something, 2 a car."""
        _, direction = placed.deskewed_beams()
        azimuth = np.degrees(np.arctan2(direction[:, 1], direction[:, 0]))
        elevation = np.degrees(np.arcsin(np.clip(direction[:, 2], -1, 1)))
        own = self.outline.car == at
        azimuth = (azimuth - azimuth[own][0] + 180.0) % 360.0 - 180.0
        near = (azimuth > azimuth[own].min() - 1) & (azimuth < azimuth[own].max() + 1)
        near &= (elevation > elevation[own].min() - 1) & (elevation < elevation[own].max() + 1)
        columns = {"azimuth": np.round(azimuth[near], 2).tolist(), "elevation": np.round(elevation[near], 2).tolist()}
        for name, item in (("real", self.real), ("ours", self.ours)):
            columns[name] = np.where(np.isinf(item.range), 0, np.where(item.car >= 0, 2, 1))[near].tolist()
        return {"instance": self.cars[at].instance, "moving": self.cars[at].moving, **columns}


def _share(rows: Array) -> float | None:
    return float(np.mean(rows)) if len(rows) else None


def _find_f1(real: Array, ours: Array) -> float:
    both = np.count_nonzero(real) + np.count_nonzero(ours)
    return float(2 * np.count_nonzero(real & ours) / both) if both else 0.0


def find_mean(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """The means over places, weighted by recorded returns; of returns themselves the sum."""
    found: dict[str, Any] = {}
    for name in ROWS:
        parts = [row[name] for row in rows if row.get(name) and row[name]["beams"]]
        weight = np.array([part["beams"] for part in parts], float)
        if not len(weight):
            continue
        found[name] = {"beams": int(weight.sum())}
        for figure_name in parts[0]:
            pairs = [(p[figure_name], w) for p, w in zip(parts, weight, strict=True) if p[figure_name] is not None]
            if figure_name != "beams" and pairs:
                values, weights = zip(*pairs, strict=True)
                found[name][figure_name] = float(np.average(values, weights=weights))
    return found


def show(result: dict[str, Any]) -> None:
    """Tables for standing and for moving cars, of the sequences that no setting was chosen on and of the others."""
    for name, title in (("mean", "not chosen on"), ("chosen_on", "settings chosen on them")):
        for kind in KINDS:
            rows = result[name][kind]
            if not rows:
                continue
            shown = table(f"Cars {kind}, sequences {title}", "part", *(v[0] for v in SHOWN.values()))
            for part, figures in rows.items():
                shown.add_row(part, *_cells(figures))
            console.print(shown)
    places = table("Standing cars by place", "place", *(v[0] for v in SHOWN.values()))
    for row in result["rows"]:
        if row["standing"]:
            places.add_row(row["place"] + ("*" if row["chosen_on"] else ""), *_cells(row["standing"]["all"]))
    console.print(places)


def _cells(figures: dict[str, Any]) -> list[str]:
    return [
        "" if figures.get(name) is None else f"{scale * figures[name]:.{digits}f}"
        for name, (_, scale, digits) in SHOWN.items()
    ]


def draw(result: dict[str, Any]) -> Figure:
    """The worst cars: what each beam around them hit in the recording, left, and in our world, right."""
    pictures = result["_pictures"][: 2 * _PICTURES]
    made, axes = figure(9.0, 1.6 * max(len(pictures), 1), max(len(pictures), 1), 2)
    colours = np.array([FILL, GREY, ORANGE])
    for row, item in zip(axes, pictures, strict=False):
        for axis, name in zip(row, ("real", "ours"), strict=True):
            axis.scatter(item["azimuth"], item["elevation"], s=1.5, c=colours[np.array(item[name])])
            axis.invert_xaxis()
            axis.set_title(f"{item['place']}, car {item['instance']}: {name}", fontsize=8, color=BLUE)
    return made


if __name__ == "__main__":
    main("d_cars", "Cars of held-out sweeps beside the recording, part by part.", run, show, draw)
