"""Two workers on two cores against one worker on one core: simulating a drive and making a dataset.

Workers are started and have opened the world before the clock runs; writing is part of it.

python -m benchmarks.cluster [--fast] [--json]
"""

from __future__ import annotations

import os
import shutil
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from rich.table import Table

from benchmarks.report import Result, interleaved, machine, main, table, timed
from resweep.cluster import open_workers
from resweep.dataset import DatasetPlan, generate
from resweep.io import write_log
from resweep.pose import Trajectory, from_xyz_rpy
from resweep.scenes import street
from resweep.sensors import load_sensor
from resweep.simulate.simulated_drive import SimulatedDrive
from resweep.work import Workers

WORLD, SENSOR = "scene:street", "velodyne-hdl-64e"
SWEEPS, FAST = 200, 8


def run(fast: bool = False, threads: int = 0) -> Result:
    """Seconds of a drive and of a dataset on one worker and on two, each with a core of its own."""
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) < 2:
        raise SystemExit("benchmarks.cluster: needs two cores")
    sweeps = FAST if fast else SWEEPS
    seconds: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory(prefix="resweep-cluster-") as place:
        for count in (1, 2):
            with _bound(cores[:count]), open_workers(f"local:{count}") as workers:
                works = {
                    f"simulate {count}": timed(_make_drive(workers, sweeps, Path(place))),
                    f"dataset {count}": timed(_make_dataset(workers, sweeps, Path(place))),
                }
                seconds |= interleaved(works, 1 if fast else 3, warm_up=True)
    spent = {name: statistics.median(each) for name, each in seconds.items()}
    ratios = {name: spent[f"{name} 1"] / spent[f"{name} 2"] for name in ("simulate", "dataset")}
    return {
        "benchmark": "cluster",
        "fast": fast,
        **machine("dask", "distributed"),
        "sweeps": sweeps,
        "efficiency_2_workers": min(ratios.values()),
        **{f"{name}_ratio_2_workers": ratio for name, ratio in ratios.items()},
        **{f"{name.replace(' ', '_')}_sweeps_per_s": sweeps / each for name, each in spent.items()},
    }


@contextmanager
def _bound(cores: list[int]) -> Iterator[None]:
    """This process, and those that it starts, on some cores only."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cores)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def _make_drive(workers: Workers, sweeps: int, place: Path) -> Callable[[], None]:
    sensor = load_sensor(SENSOR)
    times = np.linspace(0.0, (sweeps + 1) * sensor.sweep_period_s, 50)
    poses = np.stack([from_xyz_rpy(-30.0 + 60.0 * time / times[-1], -1.3, 1.8) for time in times])
    drive = SimulatedDrive(WORLD, sensor, motion=Trajectory(times, poses), sweeps=sweeps).run(street(0))

    def simulate() -> None:
        shutil.rmtree(place / "drive", ignore_errors=True)
        write_log(drive, place / "drive", progress=False, workers=workers)

    return simulate


def _make_dataset(workers: Workers, sweeps: int, place: Path) -> Callable[[], None]:
    per_run = 4 if sweeps < SWEEPS else 40
    plan = DatasetPlan(
        worlds=(WORLD,),
        sensors=(SENSOR,),
        scenarios=("hidden-car",),
        variants=sweeps // per_run,
        sweeps=per_run,
    )

    def make() -> None:
        shutil.rmtree(place / "data", ignore_errors=True)
        generate(plan, place / "data", workers=workers, progress=False)

    return make


def tables(result: Result) -> list[Table]:
    """Speeds of one worker and of two, and their ratio."""
    rows = [
        [
            name,
            *(result[f"{name}_{count}_sweeps_per_s"] for count in (1, 2)),
            result[f"{name}_ratio_2_workers"],
        ]
        for name in ("simulate", "dataset")
    ]
    head = ["", "1 worker, sweeps/s", "2 workers, sweeps/s", "ratio"]
    return [table(f"{result['sweeps']} sweeps of the HDL-64E, street (target: 1.6)", head, rows)]


if __name__ == "__main__":
    sys.exit(main(run, tables, __doc__))
