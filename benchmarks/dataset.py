"""A dataset of many sweeps on disk, against the bare simulator: labels, boxes, occlusion and files included.

python -m benchmarks.dataset [--fast] [--json]
"""

from __future__ import annotations

import shutil
import statistics
import sys
import tempfile
from pathlib import Path

from rich.table import Table

from benchmarks.report import Result, interleaved, machine, main, table, timed
from resweep.dataset import DatasetPlan, generate
from resweep.scenario import load_scenario
from resweep.scenes import street
from resweep.simulate import Simulator

SWEEPS, FAST = 1000, 12


def run(fast: bool = False, threads: int = 0) -> Result:
    """Seconds of a whole dataset and of the same sweeps without boxes and files."""
    per_run = 4 if fast else 40
    runs = (FAST if fast else SWEEPS) // per_run
    plan = DatasetPlan(
        worlds=("scene:street",),
        sensors=("velodyne-hdl-64e",),
        scenarios=("hidden-car",),
        variants=runs,
        sweeps=per_run,
    )
    world, scenario = street(0), load_scenario("hidden-car")
    trajectory, actors = scenario.place(world)
    simulator = Simulator(world, "velodyne-hdl-64e", actors=actors, threads=threads)
    place = Path(tempfile.mkdtemp(prefix="resweep-dataset-"))

    def bare() -> None:
        for _ in range(runs):
            for sweep in simulator.run(trajectory, sweeps=per_run):
                _ = sweep.points

    def whole() -> None:
        shutil.rmtree(place / "data", ignore_errors=True)
        generate(plan, place / "data", workers=threads)

    try:
        seconds = interleaved({"bare": timed(bare), "whole": timed(whole)}, 1 if fast else 3, warm_up=fast)
        size = sum(path.stat().st_size for path in (place / "data").rglob("*") if path.is_file())
    finally:
        shutil.rmtree(place, ignore_errors=True)
    count, bare_s, whole_s = runs * per_run, *(statistics.median(seconds[name]) for name in ("bare", "whole"))
    return {
        "benchmark": "dataset",
        "fast": fast,
        **machine(),
        "sweeps": count,
        "ratio_to_simulator": bare_s / whole_s,
        "dataset_sweeps_per_s": count / whole_s,
        "simulator_sweeps_per_s": count / bare_s,
        "mb_per_sweep": size / count / 1e6,
    }


def tables(result: Result) -> list[Table]:
    """Speeds of both."""
    row = [
        result[name]
        for name in ("ratio_to_simulator", "dataset_sweeps_per_s", "simulator_sweeps_per_s", "mb_per_sweep")
    ]
    head = ["", "ratio", "dataset sweeps/s", "simulator sweeps/s", "MB a sweep"]
    return [table(f"{result['sweeps']} sweeps (target: 0.9)", head, [["HDL-64E, street", *row]])]


if __name__ == "__main__":
    sys.exit(main(run, tables, __doc__))
