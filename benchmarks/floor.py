"""End-to-end sweeps against the raw Embree loop on the very same rays.

Ours is `Simulator.sweep` up to the points in NumPy: firing, stencil, tracing, echoes, noise, columns. The floor
is Embree alone over packets made beforehand, at its best packet width. Ratios are floor over ours: 1 would
mean that all but the tracing is free.
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Sequence
from itertools import count

from rich.table import Table

from benchmarks.places import courtyard_place, hdl64, terrain_with_boxes
from benchmarks.report import Contender, Result, interleaved, machine, main, paired_ratio, table, timed
from resweep.pose import Array
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
            figures = _measure(base.with_sensor(hdl64(rays)), poses[:n_poses], rounds)
            result.update({f"{place}_{name}_{key}": value for key, value in figures.items()})
    return result


def _place(name: str, fast: bool) -> tuple[World, list[Array]]:
    if name == "courtyard":
        return courtyard_place(fast)
    mesh, poses = terrain_with_boxes(fast)
    return World([mesh]), poses


def _measure(sim: Simulator, poses: Sequence[Array], rounds: int) -> Result:
    # The sensor points exactly, so all its sweeps from a pose have the same rays.
    rays = [sim.rays(pose) for pose in poses]
    index = count()

    def sweeps() -> None:
        for pose in poses:
            sim.sweep(pose, index=next(index)).points  # noqa: B018

    def floor(packet: int) -> Contender:
        def once() -> float:
            limit = sim.sensor.range_max_m
            return float(sum(sim.scene.raw_floor(*pair, limit, packet, sim.threads, 1)[0] for pair in rays))

        return once

    contenders = {"ours": timed(sweeps), **{str(packet): floor(packet) for packet in PACKETS}}
    seconds = interleaved(contenders, rounds)
    ours = seconds.pop("ours")
    best = min(seconds, key=lambda packet: statistics.median(seconds[packet]))
    return {
        "ratio": paired_ratio(seconds[best], ours),
        "ratio_of_minima": min(map(min, seconds.values())) / min(ours),
        "sweeps_per_s": len(poses) / statistics.median(ours),
        "floor_sweeps_per_s": len(poses) / statistics.median(seconds[best]),
        "floor_packet": int(best),
        "floor_sweeps_per_s_by_packet": {k: len(poses) / statistics.median(v) for k, v in seconds.items()},
        "rays_per_sweep": len(rays[0][0]),
    }


def tables(result: Result) -> list[Table]:
    """One row a place and number of rays."""
    rows = []
    for place in ("terrain", "courtyard"):
        for name in ("1ray", "9rays"):
            key = f"{place}_{name}"
            widths = result[f"{key}_floor_sweeps_per_s_by_packet"]
            figures = (result[f"{key}_{figure}"] for figure in ("sweeps_per_s", "floor_sweeps_per_s", "ratio"))
            rows.append([f"{place}, {name}", *figures, *(widths[str(packet)] for packet in PACKETS)])
    columns = ["", "ours /s", "floor /s", "ratio", *(f"packets of {packet}" for packet in PACKETS)]
    return [table(f"Sweeps a second, end to end and raw Embree (target: ratio ≥ {TARGET})", columns, rows)]


if __name__ == "__main__":
    sys.exit(main(run, tables, __doc__))
