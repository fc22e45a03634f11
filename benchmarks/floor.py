"""End-to-end sweeps against the raw Embree loop on the very same rays.

Ours is `Simulator.sweep` up to the points in NumPy: firing, stencil, tracing, echoes, noise, columns. The floor
is what one writes with Embree alone, at its best packet width: fill packets with the rays as the sensor fires
them, trace, store range and ids. ``ratio`` is floor over ours. Resweep also puts the rays into a better order;
``tracing_share`` is the same loop over the rays in that order, over ours: the stricter floor, and what all but
tracing leaves.
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Sequence
from itertools import count

import numpy as np
from rich.table import Table

from benchmarks.places import courtyard_place, hdl64, terrain_with_boxes
from benchmarks.report import Contender, Result, interleaved, machine, main, paired_ratio, table, timed
from resweep.pose import Array
from resweep.sensors import fire, stencil
from resweep.sensors.stencil import ray_directions
from resweep.simulate import Simulator
from resweep.worlds import World

PACKETS = (1, 8, 16)
TARGET = 0.75


def run(fast: bool = False, threads: int = 0) -> Result:
    """Ratios and sweeps a second on terrain and in the courtyard, at 1 and 9 rays a pulse."""
    result: Result = {"benchmark": "floor", "fast": fast, "target_ratio": TARGET, **machine()}
    rounds, n_poses = (2, 1) if fast else (9, 3)
    for place in ("terrain", "courtyard"):
        world, poses = _place(place, fast)
        result[f"{place}_triangles"] = world.n_triangles
        base = Simulator(world, hdl64(1), seed=1, threads=threads)
        for rays, name in ((1, "1ray"), (9, "9rays")):
            figures = measure(base.with_sensor(hdl64(rays)), poses[:n_poses], rounds)
            result.update({f"{place}_{name}_{key}": value for key, value in figures.items()})
    return result


def _place(name: str, fast: bool) -> tuple[World, list[Array]]:
    if name == "courtyard":
        return courtyard_place(fast)
    mesh, poses = terrain_with_boxes(fast)
    return World([mesh]), poses


def fired_rays(sim: Simulator, pose: Array) -> tuple[Array, Array]:
    """Origins and directions (n, 3) of a sweep's rays in the order of firing, pulse by pulse."""
    offsets, _ = stencil(sim.sensor.beam)
    directions = ray_directions(fire(sim.sensor).direction, offsets).reshape(-1, 3) @ pose[:3, :3].T
    origins = np.broadcast_to(pose[:3, 3] - sim.world.origin, directions.shape)
    return np.ascontiguousarray(origins, np.float32), np.ascontiguousarray(directions, np.float32)


def measure(sim: Simulator, poses: Sequence[Array], rounds: int) -> Result:
    # The sensor points exactly, so all its sweeps from a pose have the same rays.
    rays = {"fired": [fired_rays(sim, pose) for pose in poses], "ordered": [sim.rays(pose) for pose in poses]}
    index = count()

    def sweeps() -> None:
        for pose in poses:
            sim.sweep(pose, index=next(index)).points  # noqa: B018

    def floor(order: str, packet: int) -> Contender:
        def once() -> float:
            limit = sim.sensor.range_max_m
            return float(sum(sim.scene.raw_floor(*pair, limit, packet, sim.threads, 1)[0] for pair in rays[order]))

        return once

    contenders = {"ours": timed(sweeps)}
    contenders |= {f"{order} {packet}": floor(order, packet) for order in rays for packet in PACKETS}
    seconds = interleaved(contenders, rounds)
    ours = seconds["ours"]
    medians = {name: statistics.median(times) for name, times in seconds.items()}
    best = {order: min((n for n in medians if n.startswith(order)), key=medians.__getitem__) for order in rays}
    return {
        "ratio": paired_ratio(seconds[best["fired"]], ours),
        "tracing_share": paired_ratio(seconds[best["ordered"]], ours),
        "sweeps_per_s": len(poses) / medians["ours"],
        "floor_sweeps_per_s": len(poses) / medians[best["fired"]],
        "ordered_sweeps_per_s": len(poses) / medians[best["ordered"]],
        "floor_packet": int(best["fired"].split()[1]),
        "floor_sweeps_per_s_by_packet": {str(p): len(poses) / medians[f"fired {p}"] for p in PACKETS},
        "rays_per_sweep": len(rays["fired"][0][0]),
    }


def tables(result: Result) -> list[Table]:
    """One row a place and number of rays."""
    rows = []
    for place in ("terrain", "courtyard"):
        for name in ("1ray", "9rays"):
            key = f"{place}_{name}"
            widths = result[f"{key}_floor_sweeps_per_s_by_packet"]
            names = ("sweeps_per_s", "floor_sweeps_per_s", "ratio", "ordered_sweeps_per_s", "tracing_share")
            figures = (result[f"{key}_{figure}"] for figure in names)
            rows.append([f"{place}, {name}", *figures, *(widths[str(packet)] for packet in PACKETS)])
    widths_of_floor = (f"floor, packets of {packet}" for packet in PACKETS)
    columns = ["", "ours /s", "floor /s", "ratio", "ordered /s", "tracing share", *widths_of_floor]
    return [table(f"Sweeps a second, end to end and raw Embree (target: ratio ≥ {TARGET})", columns, rows)]


if __name__ == "__main__":
    sys.exit(main(run, tables, __doc__))
