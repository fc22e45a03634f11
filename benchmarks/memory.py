"""Peak memory of the two large scenes of B, each built and swept once in a process of its own."""

from __future__ import annotations

import sys
import time

from rich.table import Table

from benchmarks.places import courtyard_place, hdl64
from benchmarks.report import Result, machine, main, measured_apart, peak_rss_gb, table
from resweep.pose import from_xyz_rpy
from resweep.scenes import RootConfig, root
from resweep.simulate import Simulator

TARGETS_GB = {"courtyard": 2.0, "root": 4.0}


def run(fast: bool = False, threads: int = 0) -> Result:
    """Peak resident memory in 10⁹ bytes, triangles and build seconds of the courtyard and the root."""
    result: Result = {"benchmark": "memory", "fast": fast, **machine()}
    for place, target in TARGETS_GB.items():
        result[f"{place}_target_gb"] = target
        figures = measured_apart("memory", f"measure({place!r}, {fast}, {threads})", f"memory of the {place}")
        result.update({f"{place}_{key}": value for key, value in figures.items()})
    return result


def measure(place: str, fast: bool, threads: int) -> Result:
    """Build one scene in this process, sweep it once, and tell what that took."""
    begin = time.perf_counter()
    if place == "courtyard":
        world, (pose, *_) = courtyard_place(fast)
    else:
        world = root(0, RootConfig(detail=0.02) if fast else RootConfig())
        pose = from_xyz_rpy(-4.0, 0.0, 2.0)  # on the trail, before the step
    sim = Simulator(world, hdl64(9), seed=1, threads=threads)
    sim.scene  # noqa: B018  (built on first use)
    build_s = time.perf_counter() - begin
    begin = time.perf_counter()
    returns = len(sim.sweep(pose).points)
    sweep_s = time.perf_counter() - begin
    return {
        "gb": peak_rss_gb(),
        "triangles": world.n_triangles,
        "build_s": build_s,
        "first_sweep_s": sweep_s,
        "returns": returns,
    }


def tables(result: Result) -> list[Table]:
    """A row a scene."""
    figures = ("gb", "target_gb", "triangles", "build_s", "first_sweep_s")
    rows = [[place, *(result[f"{place}_{figure}"] for figure in figures)] for place in TARGETS_GB]
    columns = ["", "peak GB", "target below", "triangles", "build s", "first sweep s"]
    return [table("Memory after building and one HDL-64E sweep of nine rays a pulse", columns, rows)]


if __name__ == "__main__":
    sys.exit(main(run, tables, __doc__))
