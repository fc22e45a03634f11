"""Worlds from sparse sensors: how well held-out sweeps come back where rings lie far apart.

The default world is built from the other sweeps, and the held-out beams are traced again in it. Settings were chosen on
rows marked as such: the synthetic street scanned by three sparse sensors, and sweep 8 of the nuScenes scene with
all, some, two and one of the other sweeps. The car of that scene moves 0.2 m a sweep: every third sweep stands for a
drive at 12 m/s, one or two sweeps for what is seen once. Sweep 12 and Argoverse 2 were not used for choosing.

Argoverse 2 has two sweeps here: one is held out, and one is left to build from. Beside each figure stands what the
other sweeps show at all (`experiments.reachable`): the share of returns near a recorded point, that of returns near a
point or in a plane of points, chosen by hindsight, that of a replay of the nearest sweep laser by laser, the F1 of a
sensor that repeats itself, and the best F1 by the share of returns in the same direction.

With a cache file rows are kept one by one, and a second run goes on after them; ``--kept`` shows what it has.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

import resweep as rs
from experiments.c_places import DATA, jitter
from experiments.kept_results import Figures, KeptResults
from experiments.presenting import BLUE, GREY, ORANGE, console, figure, main, progress, table
from experiments.reachable import find_bounds
from resweep.labels import NO_LABELS
from resweep.pose import from_xyz_rpy
from resweep.scenes.street import StreetConfig, street

SENSORS = {"HDL-32E": "velodyne-hdl-32e", "VLP-32C": "velodyne-vlp-32c", "VLP-16": "velodyne-vlp-16"}
WORLDS: dict[str, Any] = {
    "default": rs.HybridConfig(),
    "gaps left open": rs.HybridConfig.model_validate({"splats": {"close": {"levels": 0}}}),
}
FIGURES = {
    "recovered": "recovered_0.10m",
    "return_f1": "return_f1",
    "log_likelihood": "log_likelihood",
    "range_median_m": "range_median_m",
    "primitives": "primitives",
    "build_s": "build_s",
}
BOUNDS = ("near", "bound", "again", "again_f1", "share_f1")  # of the default world's rows
_NUSCENES, _ARGOVERSE = "nuscenes_scene_kitti", "argoverse2/7fab2350"


@dataclass(frozen=True)
class Recording:
    """A log, the sweep held out of it, and whether settings were chosen on it."""

    name: str
    sweep: int
    chosen_on: bool
    open: Callable[[], tuple[rs.Log, int]]


def scan_street(sensor: str, sweeps: int = 6, step_m: float = 1.0, length_m: float = 90.0) -> rs.Log:
    """The synthetic street as a sparse ``sensor`` of the catalog records it, without labels; poses are off a little."""
    truth = street(4, StreetConfig(length_m=length_m))
    single = rs.load_sensor(sensor).with_(**{"beam.rays": "single"})
    x = step_m * (np.arange(sweeps) - (sweeps - 1) / 2)
    drive = rs.Simulator(truth, single, seed=4).run(np.stack([from_xyz_rpy(at, -1.0, 1.85) for at in x]))
    rng = np.random.default_rng(4)
    bare = [
        replace(
            sweep,
            pose=jitter(sweep.pose, rng),
            label=np.zeros_like(sweep.label),
            instance=np.zeros_like(sweep.instance),
        )
        for sweep in drive
    ]
    return rs.Log.from_sweeps(bare, "street", labels=NO_LABELS)


def recordings(fast: bool, only: str) -> list[Recording]:
    """The recordings that are at hand and have ``only`` in their name; with ``fast`` one small street."""
    if fast:
        return [Recording("street, VLP-16", 1, True, lambda: (scan_street(SENSORS["VLP-16"], 3, 1.0, 36.0), 1))]
    found = [
        Recording(f"street, {name}", 3, True, lambda sensor=sensor: (scan_street(sensor), 3))  # type: ignore[misc]
        for name, sensor in SENSORS.items()
    ]
    if (DATA / _NUSCENES).exists():
        for held, chosen_on in ((8, True), (12, False)):
            every_third = [at for at in range((held + 1) % 3, 20, 3) if at != held]
            found += [
                _of_scene("all others", held, [at for at in range(20) if at != held], chosen_on),
                _of_scene("every third", held, every_third, chosen_on),
                _of_scene("two", held, [held - 4, held + 4], chosen_on),
                _of_scene("one", held, [held - 1], chosen_on),
            ]
    if (DATA / _ARGOVERSE).exists():
        found.append(Recording("Argoverse 2", 1, False, lambda: (rs.open_log(DATA / _ARGOVERSE), 1)))
    found = [each for each in found if only.lower() in each.name.lower()]
    if not found:
        raise SystemExit(f"--only {only}: no such recording is at hand; known are street, nuScenes, Argoverse 2")
    return found


def _of_scene(what: str, held: int, others: list[int], chosen_on: bool) -> Recording:
    """The nuScenes scene with some of its sweeps beside the one held out."""
    kept = sorted([*others, held])

    def open_some() -> tuple[rs.Log, int]:
        return rs.open_log(DATA / _NUSCENES)[kept], kept.index(held)

    return Recording(f"nuScenes, {what}", held, chosen_on, open_some)


def measure(recording: Recording, world: str) -> Figures:
    """The figures of one world on one recording, and what could be reached."""
    config = WORLDS[world]
    log, held = recording.open()
    built: list[rs.World] = []

    def build(rest: rs.Log) -> rs.World:
        built.append(rs.build(rest, config, progress=False))
        return built[0]

    report = rs.holdout(log, [held], build=build, progress=False)
    bounds: Figures = dict.fromkeys(BOUNDS)
    if world == "default":
        bounds |= find_bounds(log, held, built[0], config)
    return {**{name: report.metrics[key] for name, key in FIGURES.items()}, **bounds}


def run(fast: bool = False, only: str = "", cache: Path | None = None, kept: bool = False) -> dict[str, Any]:
    """The default world and one whose gaps between rings stay open, on every recording.

    With ``kept`` only what the file ``cache`` has; the rest is listed as ``missing``.
    """
    jobs = [(recording, world) for recording in recordings(fast, only) for world in WORLDS]
    known = KeptResults(cache, (*FIGURES, *BOUNDS))
    rows, missing = [], []
    for recording, world in progress(jobs, "held-out sweeps", len(jobs)):
        key = " | ".join((recording.name, str(recording.sweep), world, WORLDS[world].model_dump_json()))
        if kept and key not in known:
            missing.append(f"{recording.name}, {recording.sweep}: {world}")
            continue
        facts = {"recording": recording.name, "sweep": recording.sweep, "used_for_choosing": recording.chosen_on}
        rows.append({**facts, "world": world, **known.find(key, partial(measure, recording, world))})
    one = {f"{row['recording']}, {row['sweep']}": row for row in rows if row["world"] == "default" and _is_one(row)}
    return {"rows": rows, "from_one_sweep": one, "missing": missing}


def _is_one(row: dict[str, Any]) -> bool:
    """Whether the world of a row was built from a single sweep."""
    return row["recording"].endswith((", one", "Argoverse 2"))


def show(result: dict[str, Any]) -> None:
    """Print a row for each recording and world."""
    shown = table("Held-out sweeps of sparse sensors", "recording, sweep", "chosen on", "world", "recovered %",
                  "near\npoints %", "bound %", "replay %", "F1", "F1 of the\nsensor again", "F1 by\nshare",
                  "likelihood", "median cm")  # fmt: skip
    for row in result["rows"]:
        shown.add_row(
            f"{row['recording']}, {row['sweep']}",
            "yes" if row["used_for_choosing"] else "no",
            row["world"],
            f"{100 * row['recovered']:.1f}",
            "" if row["near"] is None else f"{100 * row['near']:.1f}",
            "" if row["bound"] is None else f"{100 * row['bound']:.1f}",
            "" if row["again"] is None else f"{100 * row['again']:.1f}",
            f"{row['return_f1']:.3f}",
            "" if row["again_f1"] is None else f"{row['again_f1']:.3f}",
            "" if row["share_f1"] is None else f"{row['share_f1']:.3f}",
            f"{row['log_likelihood']:.2f}",
            f"{100 * row['range_median_m']:.1f}",
        )
    console.print(shown)


def draw(result: dict[str, Any]) -> Figure:
    """The recovered share of each recording, with gaps closed and left open, and its bound."""
    names = list(dict.fromkeys(f"{row['recording']}, {row['sweep']}" for row in result["rows"]))
    made, axes = figure(7.0, 1.2 + 0.4 * len(names))
    axis = axes[0, 0]
    for shift, (world, colour) in zip((-0.2, 0.2), zip(WORLDS, (BLUE, ORANGE), strict=True), strict=True):
        shares = [100 * row["recovered"] for row in result["rows"] if row["world"] == world]
        axis.barh(np.arange(len(names)) + shift, shares, 0.38, color=colour, label=world)
    bounds = [100 * row["bound"] for row in result["rows"] if row["bound"] is not None]
    axis.scatter(bounds, range(len(bounds)), s=60, marker="|", color=GREY, label="bound", zorder=3)
    axis.set_yticks(range(len(names)), names, fontsize=7)
    axis.set_xlabel("true returns recovered to 10 cm (%)", fontsize=8)
    axis.legend(fontsize=8, frameon=False)
    return made


if __name__ == "__main__":
    main("c_sparse", "Worlds from sparse sensors.", run, show, draw)
