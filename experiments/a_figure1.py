"""A, Figure 1: the ranges that two beams read on a small tree, real and simulated by volumes.

One beam hits a single spot and reads one peak; the other hits several and reads many. A draws 1,500 real and 150,000
simulated ranges, from volumes that all of the real shots built.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure

import resweep as rs
from experiments.a_table1 import axial, configs
from experiments.presenting import GREEN, INK, ORANGE, console, figure, main, progress, table
from experiments.static_targets import POSE, bench_sensor, scan, small_tree, together
from resweep import Log, Simulator
from resweep.evaluation import NO_RETURN, Shots, bhattacharyya, shots_of

BIN_M = 0.01  # of the figure


def run(fast: bool = False) -> dict[str, Any]:
    """The two directions, their histograms and how far the simulated ones are from the real ones."""
    lasers, width, shots, simulated = (2, 1.5, 200, 2_000) if fast else (3, 3.0, 1_500, 150_000)
    sensor = bench_sensor(1.0, lasers, width)
    real_sweep = scan(small_tree(6_000), sensor, shots, seed=1)
    real = shots_of(real_sweep)
    log = Log.from_sweeps([real_sweep])
    worlds = {name: rs.build(log, configs()[name]) for name in ("voxels", "dense")}
    rows = []
    pictures = []
    for name, direction in _two_directions(real).items():
        mine = real[real.direction == direction]
        each: dict[str, Any] = {"beam": name, "real_shots": len(mine)}
        drawn = {}
        for kind, world in worlds.items():
            sweep = _repeated(world, axial(bench_sensor(1.0, lasers, width, rays=1, noise=0.0)), mine, simulated)
            drawn[kind] = sweep
            each[kind] = _distance(sweep, mine)
        each["simulated_shots"] = len(drawn["voxels"])
        each["spread_m"] = float(np.std(mine.bin[mine.bin >= 0]) * mine.range_m)
        rows.append(each)
        pictures.append((name, mine, drawn))
    return {"rows": rows, "_pictures": pictures}


def _two_directions(real: Shots) -> dict[str, int]:
    """The direction whose ranges spread least, and the one with most separate peaks, among those that return."""
    found = {}
    for direction in np.unique(real.direction):
        bins = real.bin[real.direction == direction]
        ranges = bins[bins != NO_RETURN] * real.range_m
        if len(ranges) < 0.9 * len(bins):
            continue
        counts = np.histogram(ranges, np.arange(ranges.min() - 0.06, ranges.max() + 0.06, 0.03))[0] / len(ranges)
        inner = counts[1:-1]
        peaks = int(((inner > counts[:-2]) & (inner >= counts[2:]) & (inner > 0.08)).sum())
        found[int(direction)] = (peaks, float(np.std(ranges)))
    one = min(found, key=lambda key: found[key][1])
    many = max(found, key=lambda key: found[key])
    return {"one peak": one, "several peaks": many}


def _repeated(world: rs.World, sensor: rs.Sensor, like: Shots, count: int) -> Shots:
    """``count`` shots of one beam of the sensor: its laser and angle are those of ``like``."""
    elevation = sorted(sensor.elevations_deg)[int(like.laser[0])]
    azimuth = float(like.angle[0] * like.angle_deg)
    batch = 1_000
    pattern = {**sensor.pattern.model_dump(exclude_none=True)}
    pattern |= {"azimuth_min_deg": azimuth, "azimuth_max_deg": azimuth + (batch - 1) * 1e-7}
    pattern |= {"azimuth_resolution_deg": 1e-7, "channels": {"elevation_deg": [elevation]}}
    one = rs.Sensor(**{**sensor.model_dump(exclude_none=True), "pattern": pattern})
    simulator = Simulator(world, one, seed=9)
    steps = progress(range(count // batch), "shots")
    return shots_of(together([simulator.sweep(POSE, index=i) for i in steps]))


def _distance(sim: Shots, real: Shots) -> float:
    bins = np.union1d(sim.bin, real.bin)
    return bhattacharyya(*(np.bincount(np.searchsorted(bins, shots.bin), minlength=len(bins)) for shots in (sim, real)))


def show(result: dict[str, Any]) -> None:
    """Print the distances."""
    made = table("Ranges of two beams on a small tree", "beam", "spread", "real", "simulated", "voxels", "2 cm volumes")
    for each in result["rows"]:
        made.add_row(
            each["beam"],
            f"{1000 * each['spread_m']:.0f} mm",
            f"{each['real_shots']:,}",
            f"{each['simulated_shots']:,}",
            f"{each['voxels']:.3f}",
            f"{each['dense']:.3f}",
        )
    console.print(made)


def draw(result: dict[str, Any]) -> Figure:
    """Figure 1: the normalised histograms, real in one colour and simulated in another."""
    made, axes = figure(8.0, 6.5, 2, 1)
    for axis, (name, real, drawn) in zip(axes[:, 0], result["_pictures"], strict=True):
        hit = real.bin[real.bin != NO_RETURN] * real.range_m
        edges = np.arange(hit.min() - 0.1, hit.max() + 0.1, BIN_M)
        shown = {"real": (real, ORANGE), "voxels of 5 cm": (drawn["voxels"], GREEN), "2 cm": (drawn["dense"], INK)}
        for label, (shots, colour) in shown.items():
            counts = np.histogram(shots.bin[shots.bin != NO_RETURN] * shots.range_m, edges)[0] / len(shots)
            axis.step(edges[:-1], counts, where="post", color=colour, linewidth=1.2, label=f"{label} ({len(shots):,})")
        axis.set_title(name, fontsize=9.5, color=INK)
        axis.set_ylabel(f"share of shots in {1000 * BIN_M:.0f} mm", fontsize=8.5)
        axis.legend(fontsize=8, frameon=False)
    axes[-1, 0].set_xlabel("range (m)", fontsize=8.5)
    return made


if __name__ == "__main__":
    main("a_figure1", "Ranges of two beams on a small tree (A, Figure 1).", run, show, draw)
