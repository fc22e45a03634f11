"""Worlds larger than memory: sweeps through streamed tiles beside the whole world in memory, and peak memory of drives.

A street of splats and bushes is put together from tiles on disk. The ratio is measured over the same drive in the same
world, once from a scene in memory and once with tiles that are read on the way, both after their first sweep;
``ratio_with_loading`` counts for both all from opening the world on. Peak memory is that of drives of 1 and 10 km, each
in a process of its own.
"""

from __future__ import annotations

import hashlib
import sys
import tempfile
import time
from functools import cache
from pathlib import Path

import numpy as np
from rich.table import Table

from benchmarks.places import hdl64
from benchmarks.report import Result, machine, main, measured_apart, paired_ratio, peak_rss_gb, table
from resweep.labels import load_labels
from resweep.pose import Trajectory, from_xyz_rpy
from resweep.simulate import Simulator
from resweep.worlds import Splats, StreamedWorld, Volumes, World, load_world
from resweep.worlds.store.assemble import assemble_world
from resweep.worlds.store.save import save_world

TILE_M = 50.0
SPEED_M_S = 10.0
HALF_WIDTH_M = 15.0
TARGET_RATIO = 0.9
EVERY_M = 25.0  # a sweep of the drives whose memory is measured
MEMORY_BYTES = 1_500_000_000
LABELS = load_labels("semantickitti")


def run(fast: bool = False, threads: int = 0) -> Result:
    """Speed and memory of streamed drives."""
    result: Result = {"benchmark": "streaming", "fast": fast, "target_ratio": TARGET_RATIO, **machine()}
    short, long = (0.2, 0.4) if fast else (1.0, 10.0)
    with tempfile.TemporaryDirectory(prefix="resweep-streaming-") as folder:
        discs = 5_000 if fast else 40_000
        place = make_street(Path(folder) / "short.world", 400.0 if fast else 1000.0, discs)
        result.update(compare_speed(place, 4 if fast else 100, 1 if fast else 3, threads))
        if not fast:  # whose long drive is as long as the short street
            place = make_street(Path(folder) / "long.world", 1000 * long, discs)
        for length_km in (short, long):
            call = f"measure({str(place)!r}, {length_km}, {2 * EVERY_M if fast else EVERY_M}, {threads})"
            figures = measured_apart("streaming", call, f"memory of a drive of {length_km:g} km")
            name = "short" if length_km == short else "long"
            result.update({f"{name}_km": length_km, **{f"{name}_{key}": value for key, value in figures.items()}})
    result["memory_growth"] = result["long_gb"] / result["short_gb"]
    return result


def make_street(path: Path, length_m: float, n_discs: int) -> Path:
    """A straight street of this length with so many discs a tile, written tile by tile."""
    with tempfile.TemporaryDirectory(prefix="resweep-parts-") as folder:
        parts = []
        for number in range(round(length_m / TILE_M)):
            layers = street_tile(number, n_discs)
            parts.append(save_world(World(layers, labels=LABELS), Path(folder) / f"{number}.world", tile_size_m=TILE_M))
        return assemble_world(
            parts,
            path,
            origin=np.zeros(3),
            tile_size_m=TILE_M,
            meta={"source": "benchmarks.streaming"},
            labels=LABELS,
            calibration=None,
        )


def street_tile(number: int, n: int) -> list[Splats | Volumes]:
    """One stretch of the street: ground, two fronts of houses, and a row of bushes."""
    rng = np.random.default_rng(number)
    x = rng.uniform(number * TILE_M, (number + 1) * TILE_M, n)
    wall = rng.random(n) < 0.4
    side = rng.choice([-1.0, 1.0], n)
    centre = np.c_[
        x,
        np.where(wall, side * HALF_WIDTH_M, rng.uniform(-HALF_WIDTH_M, HALF_WIDTH_M, n)),
        np.where(wall, rng.uniform(0, 10, n), 0.0),
    ]
    normal = np.where(wall[:, None], np.c_[np.zeros(n), -side, np.zeros(n)], [0.0, 0.0, 1.0])
    normal = normal + rng.normal(0, 0.05, (n, 3))
    normal /= np.linalg.norm(normal, axis=1, keepdims=True)
    radius = rng.uniform(0.8, 1.2, n) * np.sqrt(2 * TILE_M * HALF_WIDTH_M / n)
    splats = Splats(centre, normal, radius, label=np.where(wall, 50, 40), reflectance=rng.uniform(0.1, 0.9, n), depth=3)
    m = n // 8
    mean = np.c_[rng.uniform(number * TILE_M, (number + 1) * TILE_M, m), 11 * side[:m], rng.uniform(0, 2, m)]
    covariance = np.array([0.01, 0.0, 0.0, 0.01, 0.0, 0.01]) * rng.uniform(0.5, 2, (m, 1))
    volumes = Volumes(mean, covariance, rng.uniform(0.3, 0.95, m), rng.uniform(0.1, 0.3, m), label=70)
    return [splats, volumes]


def compare_speed(place: Path, sweeps: int, rounds: int, threads: int) -> Result:
    """Sweeps a second in memory and streamed along the middle of the street, round by round."""
    sensor = hdl64(1)
    seconds: dict[str, list[tuple[float, float]]] = {"in_memory": [], "streamed": []}
    digests: set[str] = set()
    for _ in range(rounds):
        for name, opened in (("in_memory", load_world), ("streamed", StreamedWorld)):
            begin = time.perf_counter()
            simulator = Simulator(opened(place), sensor, seed=1, threads=threads)
            until_first, driving, digest = _sweep(simulator, sweeps, begin)
            seconds[name].append((until_first, driving))
            digests.add(digest)
    if len(digests) != 1:
        raise AssertionError("the sweeps of the streamed world are others than those of the whole one")
    drives = {name: [pair[1] for pair in pairs] for name, pairs in seconds.items()}
    total = {name: [sum(pair) for pair in pairs] for name, pairs in seconds.items()}
    return {
        "ratio": paired_ratio(drives["in_memory"], drives["streamed"]),
        "ratio_with_loading": paired_ratio(total["in_memory"], total["streamed"]),
        **{f"{name}_sweeps_per_s": (sweeps - 1) / min(values) for name, values in drives.items()},
        **{f"{name}_first_sweep_s": min(pair[0] for pair in pairs) for name, pairs in seconds.items()},
        "sweeps": sweeps,
    }


def _sweep(simulator: Simulator, sweeps: int, begin: float) -> tuple[float, float, str]:
    """Seconds from ``begin`` to the end of the first sweep of a drive, and of the others, and a hash of all ranges."""
    log = simulator.run(_drive(100.0, 100.0 + SPEED_M_S * (sweeps + 2) / 10), sweeps=sweeps)
    digest = hashlib.sha256()
    middle = 0.0
    for number, sweep in enumerate(log):
        digest.update(sweep.range.tobytes())
        if number == 0:
            middle = time.perf_counter()
    return middle - begin, time.perf_counter() - middle, digest.hexdigest()


@cache
def _drive(first_m: float, last_m: float) -> Trajectory:
    poses = np.array([from_xyz_rpy(x, 0.0, 1.8) for x in (first_m, last_m)])
    return Trajectory(np.array([0.0, (last_m - first_m) / SPEED_M_S]), poses)


def measure(place: str, length_km: float, every_m: float, threads: int) -> Result:
    """Drive a part of a street in this process, with a sweep every so many metres, and tell what that took."""
    simulator = Simulator(StreamedWorld(place, memory=MEMORY_BYTES), hdl64(1), seed=1, threads=threads)
    poses = np.array([from_xyz_rpy(x, 0.0, 1.8) for x in np.arange(0.0, 1000 * length_km, every_m)])
    begin = time.perf_counter()
    returns = sum(len(sweep) for sweep in simulator.run(poses))
    return {"gb": peak_rss_gb(), "sweeps": len(poses), "s": time.perf_counter() - begin, "returns": returns}


def tables(result: Result) -> list[Table]:
    """Speed, and a row a drive."""
    figures = ("in_memory_sweeps_per_s", "streamed_sweeps_per_s", "ratio", "target_ratio", "ratio_with_loading")
    columns = ["in memory, sweeps/s", "streamed, sweeps/s", "ratio", "target", "ratio with loading"]
    speed = table("HDL-64E along a street, one ray a pulse", columns, [[result[key] for key in figures]])
    rows = [[result[f"{name}_{key}"] for key in ("km", "gb", "sweeps", "s")] for name in ("short", "long")]
    drives = table(f"Streamed drives within {MEMORY_BYTES / 1e9:g} GB", ["km", "peak GB", "sweeps", "s"], rows)
    return [speed, drives]


if __name__ == "__main__":
    sys.exit(main(run, tables, __doc__))
