"""How fast judges of simulation are: training a detector, finding objects, segmenting; and what scatter costs a sweep.

The detector has its default size and training (``train_detector_s`` is all of ``learn_detector`` on 300 HDL-64E sweeps
of ten streets: reading, fitting boxes around instances, training, scoring); ``train_detector_cpu_s`` is its processor
time, which other work on the machine disturbs less. Sweeps are then read two at a time, each all the way from returns
to boxes or classes. The segmenter was trained for one step: weights change nothing of the
time. ``overhead_of_scatter`` is the time of a simulated sweep with the default scatter over that without noise, less
one, in a world built from a recording: the larger of those of the recorded beams and of a catalog sensor.

python -m benchmarks.perception [--fast] [--json]
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
from rich.table import Table

import resweep as rs
from benchmarks.places import hdl64
from benchmarks.report import Result, interleaved, machine, main, paired_ratio, table, timed
from resweep.learn.detector import DetectorConfig, learn_detector
from resweep.learn.segmenter import learn_segmenter
from resweep.learn.segmenter.config import SegmenterConfig
from resweep.log import Log
from resweep.perception.detection.detector import load_detector
from resweep.perception.segmentation.segmenter import load_segmenter
from resweep.pose import Trajectory, from_xyz_rpy
from resweep.scenes import StreetConfig
from resweep.simulate import Retracer, Simulator
from resweep.sweep import Sweep
from resweep.work import Threads

STREETS, STREET_SWEEPS = 10, 30
CATALOG = "velodyne-hdl-32e"
GOAL_TRAIN_S, GOAL_SWEEPS_PER_S, GOAL_OVERHEAD = 1200.0, 5.0, 0.05
_THREADS = 2
_BUILT, _HELD = 10, 2  # sweeps of the world whose scatter is drawn, and of those that are simulated again
_FAST = {
    "grid": {"reach_x_m": 25.6, "reach_y_m": 25.6, "cell_m": 0.4},
    "network": {"width": 8, "blocks": 1, "features": 8},
    "rounds": 1,
    "steps": 2,
    "batch": 1,
    "crop_cells": 64,
}


def make_drive(seed: int, sweeps: int) -> Log:
    """A drive of sweeps down a street with parked cars, whose labels have instances."""
    simulator = rs.Simulator(rs.scenes.street(seed, StreetConfig(length_m=80.0)), hdl64(1), seed=seed)
    ends = [from_xyz_rpy(x, -1.0, 1.73) for x in (-12.0, -12.0 + 0.8 * sweeps)]
    log = simulator.run(Trajectory(np.array([0.0, 0.1 * sweeps]), np.stack(ends)))
    return Log.from_sweeps(
        list(log[:sweeps]), f"street {seed}", labels=log.labels, intensity_scale=1.0, sensor=log.sensor
    )


def run(fast: bool = False, threads: int = 0) -> Result:
    """All figures."""
    result: Result = {"benchmark": "perception", "fast": fast, **machine("onnxruntime", "torch")}
    drives = [make_drive(seed, 3 if fast else STREET_SWEEPS) for seed in range(2 if fast else STREETS)]
    with tempfile.TemporaryDirectory() as folder:
        result |= train_judges(drives, Path(folder), fast)
        judges = {
            "detect": load_detector(Path(folder) / "detector").for_log(drives[0]).detect,
            "segment": load_segmenter(Path(folder) / "segmenter").for_log(drives[0]).segment,
        }
        sweeps = list(drives[-1])[: 2 if fast else 20]
        result |= {f"{name}_sweeps_per_s": read_sweeps(judge, sweeps, threads) for name, judge in judges.items()}
    return result | measure_scatter(drives[0], 3 if fast else 15, threads)


def train_judges(drives: Sequence[Log], folder: Path, fast: bool) -> Result:
    """Seconds of training the detector, and how well it does; the segmenter is trained for a step."""
    config = DetectorConfig.model_validate(_FAST if fast else {})
    began, worked = time.perf_counter(), time.process_time()
    card = learn_detector(drives, folder / "detector", config, progress=False)
    taken, cpu = time.perf_counter() - began, time.process_time() - worked
    small: dict[str, Any] = {"epochs": 1, "steps": 1, "validation_sweeps": 1, "sweeps": 2}
    settings = SegmenterConfig.model_validate(small | ({"columns": 512, "crop_columns": 128} if fast else {}))
    learn_segmenter([drives[0][:2], drives[1][:1]], folder / "segmenter", settings, progress=False)
    assert card.validated is not None
    return {
        "train_detector_s": taken,
        "train_detector_cpu_s": cpu,
        "trained_sweeps": sum(len(drive) for drive in drives),
        "steps": config.rounds * config.steps,
        "parameters": card.parameters,
        "ap_50": card.validated.find("car").ap,
    }


def read_sweeps(judge: Callable[[Sweep], object], sweeps: Sequence[Sweep], threads: int) -> float:
    """Sweeps a second of a judge, two at a time."""
    judge(sweeps[0])
    began = time.perf_counter()
    for _ in Threads(threads or _THREADS).map(judge, sweeps, "judging", show=False):
        pass
    return len(sweeps) / (time.perf_counter() - began)


def measure_scatter(drive: Log, rounds: int, threads: int) -> Result:
    """What the default scatter adds to the time of a sweep, as a share."""
    built = min(_BUILT, len(drive) - 1)
    world = rs.build(drive[:built], progress=False)
    held = list(drive[built : built + _HELD])
    poses = [sweep.pose for sweep in held]
    sensor = rs.load_sensor(CATALOG)
    recorded = {noise: Retracer.for_log(world, drive, noise=noise, threads=threads) for noise in (True, False)}
    fired = {noise: Simulator(world, sensor, noise=noise, seed=1, threads=threads) for noise in (True, False)}
    # Where a sweep is registered to the world is the same with noise and without.
    placed = [recorded[False].place(sweep) for sweep in held]
    found: Result = {}
    for name in ("recorded", "catalog"):
        contenders = {}
        for noise, called in ((True, "noisy"), (False, "mean")):
            again = partial(_retrace, recorded[noise], held, placed, count())
            contenders[called] = timed(again if name == "recorded" else partial(_fire, fired[noise], poses, count()))
        seconds = interleaved(contenders, rounds, steady=True)
        found[f"overhead_{name}"] = paired_ratio(seconds["noisy"], seconds["mean"]) - 1
        found[f"sweep_ms_{name}"] = 1e3 * statistics.median(seconds["mean"])
    overhead = max(found["overhead_recorded"], found["overhead_catalog"])
    return {**found, "overhead_of_scatter": overhead, "scatters": world.calibration is not None}


def _retrace(retracer: Retracer, held: Sequence[Sweep], placed: Sequence[Sweep], number: count[int]) -> object:
    at = next(number)
    return retracer.sweep(held[at % len(held)], at, placed[at % len(held)])


def _fire(simulator: Simulator, poses: Sequence[np.ndarray], number: count[int]) -> object:
    at = next(number)
    return simulator.sweep(poses[at % len(poses)], index=at)


def tables(result: Result) -> list[Table]:
    """The figures beside their goals."""
    rows = [
        ["train a detector, s", result["train_detector_s"], f"at most {GOAL_TRAIN_S:g} for 300 sweeps"],
        ["detect, sweeps a second", result["detect_sweeps_per_s"], f"at least {GOAL_SWEEPS_PER_S:g}"],
        ["segment, sweeps a second", result["segment_sweeps_per_s"], f"at least {GOAL_SWEEPS_PER_S:g}"],
        ["scatter of recorded beams, share", result["overhead_recorded"], f"at most {GOAL_OVERHEAD:g}"],
        ["scatter of a catalog sensor, share", result["overhead_catalog"], f"at most {GOAL_OVERHEAD:g}"],
    ]
    title = f"Judges: {result['trained_sweeps']} sweeps, {result['steps']} steps, {result['parameters']:,} weights"
    return [table(title, ["what", "figure", "goal"], rows)]


if __name__ == "__main__":
    sys.exit(main(run, tables, __doc__))
