"""Building adaptive splats, with resampling, against Open3D's normals of 40 neighbours on the same points.

The points are the first n of a drive with an HDL-64E down a street as long as they need: a map of more
points is longer, not denser. All are measured from points in memory; ours also end with labels, reflectance
and the rest of a splat. The headline is the default settings with resampling switched on: two generations of
splats, cut back by the beams. Beside it stand the default, which does not resample, and paper C's own settings,
which resample and do not cut back. Seconds are of the clock; ratios are also given of the processor time, which a
busy machine disturbs less. Memory is what a process of its own holds at most beyond the points.
"""

from __future__ import annotations

import cProfile
import pstats
import statistics
import sys
import time
from collections.abc import Callable
from functools import partial
from itertools import count

import numpy as np
from rich.table import Table

from benchmarks.places import SENSOR_HEIGHT_M, hdl64
from benchmarks.report import (
    Contender,
    Result,
    interleaved,
    machine,
    main,
    measured_apart,
    optional,
    paired_ratio,
    peak_rss_gb,
    table,
)
from resweep.build import Cloud, Map, SplatConfig, fit_map, paper_c
from resweep.labels import load_labels
from resweep.neighbours import Neighbours
from resweep.pose import Array, from_xyz_rpy, transform
from resweep.scenes import StreetConfig, street
from resweep.simulate import Simulator
from resweep.worlds.layers.splats import Splats

TARGET = 3.0
K = 40  # C, 3.1
POINTS, HEADLINE = (1_000_000, 3_000_000, 6_000_000, 12_000_000, 20_000_000), 12_000_000
FAST_POINTS, FAST_HEADLINE = (20_000, 40_000, 80_000), 80_000
ROUNDS = 1  # each contender takes about a minute
EGO_M = 3.0  # a map leaves out what is nearer to the sensor
STRIDE_M = 2.0  # driven between sweeps
CONFIGS = {"build": SplatConfig(resample=True), "default": SplatConfig(), "paper_c": paper_c()}
# Functions of the build that do not call each other; the rest is counted as such.
STEPS = {
    "index": ("resweep/neighbours.py", "__init__"),
    "shapes": ("resweep/neighbours.py", "pca"),
    "growing": ("resweep/neighbours.py", "grow"),
    "resampling": ("splats/resample.py", "resample"),
    "carving": ("splats/carve.py", "carve"),
    "observing": ("map/reflectance.py", "observe_discs"),
}


def run(fast: bool = False, threads: int = 0) -> Result:
    """Ratios to Open3D at the headline size, and time and memory of the build by number of points."""
    optional("open3d")
    sizes, headline = (FAST_POINTS, FAST_HEADLINE) if fast else (POINTS, HEADLINE)
    result: Result = {"benchmark": "splat_build", "fast": fast, "target_ratio": TARGET, **machine("open3d-cpu")}
    result.update(_against_open3d(drive(headline), ROUNDS, threads))
    apart = [measured_apart("splat_build", f"measure({size})", f"splats from {size} points") for size in sizes]
    result["points"] = list(sizes)
    result["points_build_s"] = [figures["build_s"] for figures in apart]
    result["points_mb_per_million"] = [figures["mb"] / size * 1e6 for figures, size in zip(apart, sizes, strict=True)]
    result["mb_per_million_points"] = result["points_mb_per_million"][-1]
    result["steps_points"], result["steps_s"] = sizes[-1], apart[-1]["steps_s"]
    result["points_exponent"] = float(np.polyfit(np.log(sizes), np.log(result["points_build_s"]), 1)[0])
    return result


def drive(n: int) -> Cloud:
    """The first ``n`` points of a drive down a street as long as they need."""
    sensor = hdl64(1)
    sweeps = n // 40_000 + 2
    length = max(60.0, 40.0 + STRIDE_M * sweeps)
    sim = Simulator(street(0, StreetConfig(length_m=length)), sensor, seed=1)
    cloud = Cloud(
        np.zeros(3),
        points=np.empty((n, 3), np.float32),
        sensor=np.empty((n, 3), np.float32),
        label=np.empty(n, np.int32),
        instance=np.empty(n, np.int32),
        intensity=np.empty(n, np.float32),
        sweep=np.empty(n, np.int32),
        seen=np.ones(n, bool),
    )
    begin = 0
    for index in count():
        pose = from_xyz_rpy(20.0 - length / 2 + STRIDE_M * (index % sweeps), 0.0, SENSOR_HEIGHT_M)
        sweep = sim.sweep(pose, index=index)
        far = np.flatnonzero(sweep.range > EGO_M)[: n - begin]
        rows = slice(begin, begin + len(far))
        cloud.points[rows] = transform(pose, sweep.points[far].astype(np.float64))
        cloud.sensor[rows], cloud.sweep[rows] = pose[:3, 3], index
        cloud.label[rows], cloud.instance[rows] = sweep.label[far], sweep.instance[far]
        cloud.intensity[rows] = sweep.intensity[far]
        begin = rows.stop
        if begin == n:
            return cloud
    raise AssertionError


def _against_open3d(cloud: Cloud, rounds: int, threads: int) -> Result:
    processor: dict[str, list[float]] = {}
    work: dict[str, Callable[[], object]] = {
        "normals": lambda: Neighbours(cloud.points, threads).pca(K),
        **{who: partial(build, cloud, config) for who, config in CONFIGS.items()},
        "open3d_normals": lambda: open3d_normals(cloud.points),
    }
    contenders = {who: _timed_twice(once, processor.setdefault(who, [])) for who, once in work.items()}
    seconds = interleaved(contenders, rounds, warm_up=False)
    figures: Result = {f"{who}_s": statistics.median(taken) for who, taken in seconds.items()}
    figures |= {f"{who}_processor_s": statistics.median(taken) for who, taken in processor.items()}
    figures["headline_points"] = len(cloud)
    for who in work:
        prefix = "" if who == "build" else f"{who}_"
        if who != "open3d_normals":
            figures[f"{prefix}ratio_to_open3d_normals"] = paired_ratio(seconds[who], seconds["open3d_normals"])
            figures[f"{prefix}processor_ratio_to_open3d_normals"] = paired_ratio(
                processor[who], processor["open3d_normals"]
            )
    return figures


def _timed_twice(work: Callable[[], object], processor: list[float]) -> Contender:
    """A contender timed by the clock, which also notes the ``processor`` time of all its threads."""

    def once() -> float:
        begin, used = time.perf_counter(), time.process_time()
        work()
        processor.append(time.process_time() - used)
        return time.perf_counter() - begin

    return once


def build(cloud: Cloud, config: SplatConfig) -> Splats:
    """Adaptive splats by labels."""
    (splats,) = fit_map(Map(cloud, load_labels("semantickitti")), config)
    assert isinstance(splats, Splats)
    return splats


def open3d_normals(points: Array) -> Array:
    """What a user of Open3D would write, from points in memory to normals in memory."""
    open3d = optional("open3d")
    cloud = open3d.geometry.PointCloud(open3d.utility.Vector3dVector(points.astype(np.float64)))
    cloud.estimate_normals(open3d.geometry.KDTreeSearchParamKNN(K))
    return np.asarray(cloud.normals)


def measure(n: int) -> Result:
    """Build from ``n`` points in this process: seconds, and megabytes beyond what the points had taken."""
    cloud = drive(n)
    before, begin = peak_rss_gb(), time.perf_counter()
    with cProfile.Profile() as profile:
        splats = build(cloud, CONFIGS["build"])
    seconds = time.perf_counter() - begin
    return {
        "build_s": seconds,
        "mb": 1e3 * (peak_rss_gb() - before),
        "splats": len(splats.radius),
        "steps_s": _time_steps(profile, seconds),
    }


def _time_steps(profile: cProfile.Profile, whole: float) -> dict[str, float]:
    """Seconds in each of the STEPS, called from the estimator itself, and in the rest."""
    spent = dict.fromkeys(STEPS, 0.0)
    for (path, _, function), (_, _, _, _, callers) in pstats.Stats(profile).stats.items():  # type: ignore[attr-defined]
        for step, (file, name) in STEPS.items():
            if function == name and path.endswith(file):
                of_fit = [times for caller, times in callers.items() if caller[0].endswith("splats/splats.py")]
                spent[step] += sum(cumulative for _, _, _, cumulative in of_fit)
    return spent | {"rest": whole - sum(spent.values())}


def tables(result: Result) -> list[Table]:
    """One table against Open3D, one by the number of points."""
    names = {
        "normals": "our normals",
        "build": "our adaptive splats, resampled",
        "default": "… by default, not resampled",
        "paper_c": "… with the settings of paper C",
        "open3d_normals": "Open3D's normals",
    }
    peer, busy = result["open3d_normals_s"], result["open3d_normals_processor_s"]
    against = [
        [name, result[f"{who}_s"], result[f"{who}_s"] / peer, result[f"{who}_processor_s"] / busy]
        for who, name in names.items()
    ]
    columns = (result["points"], result["points_build_s"], result["points_mb_per_million"])
    return [
        table(
            f"{result['headline_points']:,} points (target of the resampled splats: ≤ {TARGET:g})",
            ["", "s", "ratio", "of processor time"],
            against,
        ),
        table(
            f"Time of the resampled splats grows as points^{result['points_exponent']:.2f}",
            ["points", "s", "MB a million points"],
            [list(row) for row in zip(*columns, strict=True)],
        ),
        table(f"Its steps at {result['steps_points']:,} points", ["", "s"], list(result["steps_s"].items())),
    ]


if __name__ == "__main__":
    sys.exit(main(run, tables, __doc__))
