"""Volumes on real recordings: a stationary sensor (A's own protocol), a terrestrial scan, a drive.

The recordings are not part of the project: name their folder in RESWEEP_TEST_DATA. What is absent is skipped, with a
message.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

import resweep as rs
from experiments.c_shared import select_mappable
from experiments.presenting import BLUE, GREEN, GREY, INK, ORANGE, console, figure, main, progress, table
from resweep import BeamStatus, HybridConfig, Log, SplatConfig, SurfelConfig, Sweep, VolumeConfig, World
from resweep.build import MapConfig
from resweep.evaluation import Shots, histogram_distance, noise_floor, shots_of
from resweep.labels import Group
from resweep.map.descriptors import describe
from resweep.neighbours import Neighbours
from resweep.sensors.infer.beam_grid import estimate_grid
from resweep.sensors.infer.complete_beams import complete_beams
from resweep.simulate import Retracer

Array = NDArray[Any]

DATA = Path(os.environ.get("RESWEEP_TEST_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))
STANDING_BINS = {"angle_deg": 0.2, "range_m": 0.1}  # 14 sweeps hold too few shots for A's bins
REGIONS = ("ground", "facade", "vegetation")


def configs(map_config: MapConfig, voxel_m: float, calibrated: bool) -> dict[str, Any]:
    """The world kinds, for one map."""
    common: dict[str, Any] = {"map": map_config}
    if not calibrated:
        common["calibrate"] = None
    return {
        "splats": SplatConfig(**common),
        "surfels": SurfelConfig(**common),
        "volumes": VolumeConfig(voxel_m=voxel_m, **common),
        "volumes, matched": VolumeConfig(voxel_m=voxel_m, rounds=5, **common),
        "hybrid": HybridConfig(**common),
    }


def standing(fast: bool) -> dict[str, Any] | str:
    """Norlab: 14 sweeps from one place. Learn from half of them, compare histograms of the others by region."""
    path = DATA / "norlab_outdoor14" / "scans.npz"
    if not path.is_file():
        return f"{path.parent.name} is not there"
    held = np.load(path)
    raw = [_norlab(held, i) for i in range(14)]
    grid = estimate_grid(raw)
    sweeps = [complete_beams(sweep, grid) for sweep in raw]
    if fast:
        sweeps = [sweep.select_beams(np.abs(_azimuth(sweep)) < 30) for sweep in sweeps]
    train, test = sweeps[::2], sweeps[1::2]
    region = _regions(train)
    config = MapConfig(ego_radius_m=2.0, range_max_m=40.0, moving="none")
    rows = []
    for name, chosen in configs(config, 0.3, False).items():
        world = rs.build(Log.from_sweeps(train), chosen)
        tracer = Retracer(world, seed=1)
        rows.append({"world": name, **_by_region(test, [tracer.sweep(s, i) for i, s in enumerate(test)], region)})
    real = _split(test, region)
    floor = {name: noise_floor(_pooled(real[name])) for name in REGIONS}
    return {"rows": [*rows, {"world": "halves of the real sweeps", **floor}], "sweeps": [len(train), len(test)]}


def _norlab(held: Any, index: int) -> Sweep:
    time = held[f"t_{index:02d}"] * 1e-9
    stamp = float(held["stamps_ns"][index] * 1e-9)
    points, intensity = held[f"xyz_{index:02d}"], held[f"intensity_{index:02d}"] / 255.0
    return Sweep.from_points(points, intensity=intensity, time=stamp + time, timestamp=stamp)


def _azimuth(sweep: Sweep) -> Array:
    return np.asarray(np.degrees(np.arctan2(sweep.beam_direction[:, 1], sweep.beam_direction[:, 0])))


def _regions(sweeps: list[Sweep]) -> Callable[[Sweep], Array]:
    """A rule that tells each beam's region (b,) by what the training returns around its direction look like.

    Planar neighbourhoods are ground where they lie flat and facade where they stand, others vegetation; a beam
    without a training return within half a degree, nearer than 40 m, belongs to none (-1).
    """
    points = np.concatenate([sweep.points for sweep in sweeps]).astype(np.float32)
    points = points[(np.linalg.norm(points, axis=1) > 2) & (np.linalg.norm(points, axis=1) < 40)]
    shape = Neighbours(points).pca(40, 0.6)
    planar = (describe(shape.eigenvalues) == Group.SURFACE) & (shape.count >= 10)
    kind = np.where(~planar, 2, np.where(np.abs(shape.normal[:, 2]) > 0.7, 0, 1))
    near = Neighbours((points / np.linalg.norm(points, axis=1, keepdims=True)).astype(np.float32))

    def is_group(sweep: Sweep) -> Array:
        found = near.knn(sweep.beam_direction.astype(np.float32), 7, float(np.radians(0.5))).index
        votes = np.stack([((found >= 0) & (kind[np.maximum(found, 0)] == i)).sum(axis=1) for i in range(3)], axis=1)
        return np.where(votes.sum(axis=1) > 0, votes.argmax(axis=1), -1)

    return is_group


def _split(sweeps: list[Sweep], region: Callable[[Sweep], Array]) -> dict[str, list[Sweep]]:
    return {name: [s.select_beams(region(s) == i) for s in sweeps] for i, name in enumerate(REGIONS)}


def _by_region(real: list[Sweep], sim: list[Sweep], region: Callable[[Sweep], Array]) -> dict[str, float]:
    theirs, ours = _split(real, region), _split(sim, region)
    return {name: histogram_distance(_pooled(ours[name]), _pooled(theirs[name])) for name in REGIONS}


def _pooled(sweeps: list[Sweep]) -> Shots:
    return shots_of(sweeps, **STANDING_BINS).pooled()


def terrestrial(fast: bool) -> dict[str, Any] | str:
    """rTLS: a RIEGL scan whose empty pulses are known from its grid. Learn from four of five pulses, ask the fifth."""
    path = DATA / "vegetation" / "rtls" / "TLS_scan.npz"
    if not path.is_file():
        return f"{path.parent.name} is not there"
    sweep = riegl_sweep(np.load(path), fast)
    asked = np.random.default_rng(4).random(sweep.n_beams) < 0.2
    train, test = sweep.select_beams(~asked), sweep.select_beams(asked)
    config = MapConfig(ego_radius_m=0.5, moving="none")
    rows = []
    for name, chosen in configs(config, 0.1, False).items():
        world = rs.build(Log.from_sweeps([train]), chosen)
        rows.append({"world": name, **scores(world, test)})
    return {"rows": rows, "pulses": test.n_beams}


def riegl_sweep(held: Any, fast: bool) -> Sweep:
    """The scan as a sweep of all pulses of its grid of 0.048° × 0.622° (lines of zenith 30° to 130°)."""
    points = held["xyz"].astype(np.float64)[held["target_index"] == 1]
    distance = np.linalg.norm(points, axis=1)
    zenith = np.degrees(np.arccos(points[:, 2] / distance))
    azimuth = np.degrees(np.arctan2(points[:, 1], points[:, 0])) % 360.0
    row, column = np.rint((zenith - 30.0) / 0.048).astype(int), np.rint(azimuth / 0.622).astype(int)
    rows, columns = 2083, 579
    if fast:
        few = (column < 40) & (row > 700) & (row < 1500)
        row, column, distance, points = row[few], column[few], distance[few], points[few]
    taken = np.zeros((columns + 1, rows + 1), bool)
    taken[column, np.clip(row, 0, rows)] = True
    window = np.zeros_like(taken)
    window[column.min() : column.max() + 1, max(row.min(), 0) : row.max() + 1] = True
    empty_column, empty_row = np.nonzero(window & ~taken)
    turn, tilt = np.radians(0.622 * empty_column), np.radians(30.0 + 0.048 * empty_row)
    empty = np.stack([np.sin(tilt) * np.cos(turn), np.sin(tilt) * np.sin(turn), np.cos(tilt)], axis=1)
    count, more = len(points), len(empty)
    none = np.zeros(count + more)
    return Sweep(
        pose=np.eye(4),
        beam_origin=np.zeros((count + more, 3)),
        beam_direction=np.concatenate([points / distance[:, None], empty]),
        beam_time=none,
        beam_ring=np.concatenate([np.clip(row, 0, rows), empty_row]),
        beam_column=np.concatenate([column, empty_column]),
        beam_status=np.repeat([BeamStatus.RETURN, BeamStatus.NO_RETURN], [count, more]),
        beam=np.arange(count),
        range=distance,
        intensity=none[:count],
        return_index=none[:count],
        label=none[:count],
        instance=none[:count],
    )


def scores(world: World, real: Sweep, placed: Sweep | None = None) -> dict[str, float]:
    """Precision, recall and F1 of returns, median range error, share within 10 cm, log-likelihood of a sweep."""
    tracer = Retracer(world)
    sim = tracer.predict(real, placed)
    ranges = np.full((2, real.n_beams), np.inf)
    for at, sweep in enumerate((sim, real)):
        np.minimum.at(ranges[at], sweep.beam, sweep.range)
    guessed, true = np.isfinite(ranges)
    both = guessed & true
    error = np.abs(ranges[0, both] - ranges[1, both])
    precision, recall = both.sum() / max(guessed.sum(), 1), both.sum() / max(true.sum(), 1)
    return {
        "precision": float(precision),
        "recall": float(recall),
        "f1": float(2 * precision * recall / max(precision + recall, 1e-9)),
        "range_median_m": float(np.median(error)),
        "within_10cm": float((error < 0.1).sum() / max(true.sum(), 1)),
        "too_early": float((ranges[0, guessed] < ranges[1, guessed] - 0.1).mean()),
        "log_likelihood": float(tracer.log_likelihood(real, placed).mean()),
    }


def drive(fast: bool) -> dict[str, Any] | str:
    """SemanticKITTI 03: sweep 5 held out of ten, scores of all beams and of each larger class."""
    path = DATA / "semantickitti_mini" / "sequences" / "03"
    if not path.is_dir():
        return "semantickitti_mini is not there"
    log = rs.open_log(path)
    labels = log.labels
    config = MapConfig(range_max_m=40.0) if fast else MapConfig()
    rest = log[[3, 4, 6, 7] if fast else [0, 1, 2, 3, 4, 6, 7, 8, 9]]
    held = select_mappable(log[5], config, labels)
    rows = []
    for name, chosen in configs(config, 0.3, not fast).items():
        if fast and name not in ("volumes", "hybrid"):
            continue
        world = rs.build(rest, chosen)
        placed = Retracer(world).register(held, motion=True)
        rows.append({"world": name, **scores(world, held, placed), "classes": _classes(world, held, placed)})
    return {"rows": rows}


def _classes(world: World, held: Sweep, placed: Sweep) -> dict[str, float]:
    """Share within 10 cm of the beams that returned from ground, buildings, trunks and poles, and vegetation."""
    chosen = {"ground": (40, 44, 48, 49, 72), "building": (50, 51, 52), "thin": (71, 80, 81), "vegetation": (70,)}
    found = {}
    for name, ids in chosen.items():
        mine = np.zeros(held.n_beams, bool)
        mine[held.beam[np.isin(held.label, ids)]] = True
        if mine.sum() > 50:
            found[name] = scores(world, held.select_beams(mine), placed.select_beams(mine))["within_10cm"]
    return found


PARTS = {"standing": standing, "terrestrial": terrestrial, "drive": drive}


def run(fast: bool = False) -> dict[str, Any]:
    """Each recording that is there; the reason for each that is not."""
    parts: dict[str, Any] = {}
    skipped: dict[str, str] = {}
    for name, part in progress(list(PARTS.items()), "recordings"):
        found = part(fast)
        if isinstance(found, str):
            skipped[name] = found
        else:
            parts[name] = found
    return {**parts, "skipped": skipped}


def show(result: dict[str, Any]) -> None:
    """Print a table for each recording."""
    for name, reason in result["skipped"].items():
        console.print(f"{name}: skipped, {reason}; set RESWEEP_TEST_DATA to the folder of recordings.")
    titles = {
        "standing": "A stationary 32-laser sensor: Bhattacharyya distance, bins of 0.2° and 10 cm, sweeps held out",
        "terrestrial": "RIEGL VZ-400i in vegetation: a fifth of the pulses held out",
        "drive": "SemanticKITTI 03: sweep 5 held out",
    }
    for name, title in titles.items():
        if name not in result:
            continue
        rows = [{**each, **each.get("classes", {})} for each in result[name]["rows"]]
        columns = [key for key in rows[0] if key not in ("world", "classes")]
        made = table(title, "world", *columns)
        for each in rows:
            made.add_row(each["world"], *(f"{each[key]:.3f}" if key in each else "-" for key in columns))
        console.print(made)


def draw(result: dict[str, Any]) -> Figure:
    """Bars: distance by region, F1 and shares within 10 cm."""
    made, axes = figure(13.0, 4.2, 1, 3)
    colours = (GREY, ORANGE, BLUE, "#63a4d8", GREEN, INK)
    wanted = {
        "standing": REGIONS,
        "terrestrial": ("precision", "recall", "f1", "within_10cm"),
        "drive": ("f1", "within_10cm", "too_early", "vegetation"),
    }
    for axis, (name, keys) in zip(axes[0], wanted.items(), strict=True):
        axis.set_title(name if name in result else f"{name}: not there", fontsize=9.5, color=INK)
        if name not in result:
            continue
        rows = [{**each, **each.get("classes", {})} for each in result[name]["rows"]]
        for i, (each, colour) in enumerate(zip(rows, colours, strict=False)):
            at = np.arange(len(keys)) + 0.14 * (i - len(rows) / 2)
            axis.bar(at, [each.get(key, 0.0) for key in keys], 0.13, color=colour, label=each["world"])
        axis.set_xticks(range(len(keys)), keys, fontsize=8)
        axis.legend(fontsize=7, frameon=False)
    return made


if __name__ == "__main__":
    main("a_reality", "Volumes, splats and the hybrid on real recordings.", run, show, draw)
