"""How fast permeable volumes are learned from beams, and swept by an HDL-64E with one ray a pulse.

Learning is `rs.build` with voxels of 0.3 m, from sweeps in memory: accumulating their returns, fitting the
Gaussians and counting every beam. Tracing is of a million volumes, and of two million splats and a million volumes in
one world. The floor is the raw Embree loop over the same rays with the same callback (`benchmarks.floor`).
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence

import numpy as np
from rich.table import Table

import resweep as rs
from benchmarks.floor import measure
from benchmarks.places import hdl64, terrain_with_boxes
from benchmarks.report import Result, machine, main, table
from benchmarks.splat_trace import splats_on
from resweep.build import MapConfig, VolumeConfig
from resweep.build.pipeline import build
from resweep.simulate import Simulator
from resweep.worlds import Mesh, Volumes, World
from resweep.worlds.layers.volumes import pack_symmetric

_HEIGHT_M = 3.0  # of the vegetation that the volumes are


def volumes_over(mesh: Mesh, n_volumes: int) -> Volumes:
    """Volumes as voxels of 0.3 m would give them, in vegetation over a mesh; the same each time."""
    rng = np.random.default_rng(1)
    corners = mesh.vertices[mesh.faces[rng.integers(0, len(mesh.faces), n_volumes)]].astype(np.float64)
    mean = corners.mean(axis=1)
    mean[:, 2] += _HEIGHT_M * rng.random(n_volumes) ** 2
    root = rng.normal(0.0, 0.05, (n_volumes, 3, 3))
    covariance = root @ root.transpose(0, 2, 1) + 0.02**2 * np.eye(3)
    return Volumes(mean, pack_symmetric(covariance), rng.uniform(0.3, 0.98, n_volumes), label=70, reflectance=0.3)


def learned(sweeps: list[rs.Sweep], n_beams: int) -> dict[str, float]:
    """Seconds of learning from about ``n_beams`` beams: the sweeps, over and over."""
    count = max(1, round(n_beams / sweeps[0].n_beams))
    times = 0.1 * np.arange(count)
    poses = np.stack([sweeps[at % len(sweeps)].pose for at in range(count)])
    log = rs.Log(lambda at: sweeps[at % len(sweeps)], times, poses, name="repeated", sensor=hdl64(1))
    config = VolumeConfig(voxel_m=0.3, calibrate=None, map=MapConfig(moving="none"))
    begin = time.perf_counter()
    world = build(log, config, progress=False)
    seconds = time.perf_counter() - begin
    beams = count * sweeps[0].n_beams
    return {"beams": beams, "seconds": seconds, "volumes": world.n_primitives, "beams_per_s": beams / seconds}


def run(fast: bool = False, threads: int = 0) -> Result:
    """Learning by number of beams, and real-time factors."""
    mesh, poses = terrain_with_boxes(fast)
    n_volumes, n_splats = (20_000, 50_000) if fast else (1_000_000, 2_000_000)
    result: Result = {"benchmark": "volumes", "fast": fast, **machine(), "volumes": n_volumes, "splats": n_splats}
    volumes, rounds = volumes_over(mesh, n_volumes), 2 if fast else 9
    for prefix, world in (
        ("", World([volumes])),
        ("hybrid_", World([splats_on(mesh, n_splats, 5), volumes])),
    ):
        simulator = Simulator(world, hdl64(1), seed=1, threads=threads)
        floor = measure(simulator, poses[:1], rounds)
        result[f"{prefix}realtime_factor"] = simulator.sensor.sweep_period_s * floor["sweeps_per_s"]
        result[f"{prefix}floor_ratio"] = floor["ratio"]
        result[f"{prefix}tracing_share"] = floor["tracing_share"]
    place = Simulator(World([mesh, volumes]), hdl64(1), seed=2, threads=threads)
    sweeps = [place.sweep(pose, index=at) for at, pose in enumerate(_poses(poses, 2 if fast else 20))]
    result["learning"] = [
        learned(sweeps, n) for n in ((100_000, 200_000) if fast else (12_500_000, 50_000_000, 100_000_000))
    ]
    result["beams_per_s"] = result["learning"][-1]["beams_per_s"]
    beams, seconds = (np.log([row[key] for row in result["learning"]]) for key in ("beams", "seconds"))
    result["growth_exponent"] = float(np.polyfit(beams, seconds, 1)[0])
    return result


def _poses(poses: Sequence[np.ndarray], count: int) -> list[np.ndarray]:
    """Poses a metre apart, from the first on."""
    moved = [np.array(poses[0]) for _ in range(count)]
    for step, pose in enumerate(moved):
        pose[0, 3] += step
    return moved


def tables(result: Result) -> list[Table]:
    """Tracing, then learning."""
    names = ("realtime_factor", "floor_ratio", "tracing_share")
    rows = [
        [what, *(result[prefix + name] for name in names)]
        for what, prefix in ((f"{result['volumes']:,} volumes", ""), (f"and {result['splats']:,} splats", "hybrid_"))
    ]
    title = "HDL-64E, 1 ray (targets: real time in both, floor ratio 0.75)"
    learning = [
        [f"{row['beams']:,}", f"{row['volumes']:,}", row["seconds"], f"{row['beams_per_s']:,.0f}"]
        for row in result["learning"]
    ]
    grows = f"Learning voxels of 0.3 m: time grows as beams^{result['growth_exponent']:.2f}"
    return [
        table(title, ["", "× real time", "floor ratio", "tracing share"], rows),
        table(grows, ["beams", "volumes", "seconds", "beams a second"], learning),
    ]


if __name__ == "__main__":
    sys.exit(main(run, tables, __doc__))
