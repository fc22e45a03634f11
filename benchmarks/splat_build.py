"""Building adaptive splats, with resampling, against Open3D's normals of 40 neighbours on the same points.

The points are the first n of a drive with an HDL-64E down a street as long as they need: a map of more
points is longer, not denser. All are measured from points in memory; ours also end with labels, reflectance
and the rest of a splat. Memory is what a process of its own holds at most beyond the points.
"""

from __future__ import annotations

import statistics
import sys
import time
from itertools import count
from typing import Any

import numpy as np
from rich.table import Table

from benchmarks.places import SENSOR_HEIGHT_M, hdl64
from benchmarks.report import (
    Result,
    interleaved,
    machine,
    main,
    measured_apart,
    optional,
    paired_ratio,
    peak_rss_gb,
    table,
    timed,
)
from resweep.build import Cloud, SplatConfig, label_map
from resweep.build.neighbours import Neighbours
from resweep.build.splats import build_splats
from resweep.pose import Array, from_xyz_rpy, transform
from resweep.scenes import StreetConfig, street
from resweep.simulate import Simulator

TARGET = 3.0
K = 40  # C, 3.1
POINTS, HEADLINE = (1_000_000, 3_000_000, 6_000_000, 12_000_000, 20_000_000), 12_000_000
FAST_POINTS, FAST_HEADLINE = (20_000, 40_000, 80_000), 80_000
EGO_M = 3.0  # a map leaves out what is nearer to the sensor
STRIDE_M = 2.0  # driven between sweeps


def run(fast: bool = False, threads: int = 0) -> Result:
    """Ratios to Open3D at the headline size, and time and memory of the build by number of points."""
    optional("open3d")
    sizes, headline, rounds = (FAST_POINTS, FAST_HEADLINE, 1) if fast else (POINTS, HEADLINE, 2)
    result: Result = {"benchmark": "splat_build", "fast": fast, "target_ratio": TARGET, **machine("open3d-cpu")}
    result.update(_against_open3d(drive(headline), rounds, threads))
    apart = [measured_apart("splat_build", f"measure({size})", f"splats from {size} points") for size in sizes]
    result["points"] = list(sizes)
    result["points_build_s"] = [figures["build_s"] for figures in apart]
    result["points_mb_per_million"] = [figures["mb"] / size * 1e6 for figures, size in zip(apart, sizes, strict=True)]
    result["mb_per_million_points"] = result["points_mb_per_million"][-1]
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
        *(np.empty((n, 3), np.float32) for _ in range(2)),
        *(np.empty(n, np.int32) for _ in range(2)),
        np.empty(n, np.float32),
        np.empty(n, np.int32),
        np.ones(n, bool),
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
    contenders = {
        "normals": timed(lambda: Neighbours(cloud.points, threads).pca(K)),
        "build": timed(lambda: build(cloud)),
        "open3d_normals": timed(lambda: open3d_normals(cloud.points)),
    }
    seconds = interleaved(contenders, rounds)
    figures: Result = {f"{who}_s": statistics.median(taken) for who, taken in seconds.items()}
    figures["headline_points"] = len(cloud)
    figures["ratio_to_open3d_normals"] = paired_ratio(seconds["build"], seconds["open3d_normals"])
    figures["normals_ratio_to_open3d_normals"] = paired_ratio(seconds["normals"], seconds["open3d_normals"])
    return figures


def build(cloud: Cloud) -> Any:
    """Adaptive splats by labels, with denoising and resampling: the default of `resweep.build`."""
    return build_splats(cloud, SplatConfig(), label_map("semantickitti"))


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
    splats = build(cloud)
    return {"build_s": time.perf_counter() - begin, "mb": 1e3 * (peak_rss_gb() - before), "splats": len(splats.radius)}


def tables(result: Result) -> list[Table]:
    """One table against Open3D, one by the number of points."""
    names = {"normals": "our normals", "build": "our adaptive splats", "open3d_normals": "Open3D's normals"}
    peer = result["open3d_normals_s"]
    against = [[name, result[f"{who}_s"], result[f"{who}_s"] / peer] for who, name in names.items()]
    columns = (result["points"], result["points_build_s"], result["points_mb_per_million"])
    return [
        table(
            f"{result['headline_points']:,} points (target of the splats: ≤ {TARGET:g})", ["", "s", "ratio"], against
        ),
        table(
            f"Time of the splats grows as points^{result['points_exponent']:.2f}",
            ["points", "s", "MB a million points"],
            [list(row) for row in zip(*columns, strict=True)],
        ),
    ]


if __name__ == "__main__":
    sys.exit(main(run, tables, __doc__))
