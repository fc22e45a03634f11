"""Frames a second of camera views, beside raw Embree on the same rays.

A pinhole camera of 2560 × 1440 pixels (paper C shows such pictures), one ray a pixel, looks over terrain of triangles,
and over the same terrain as splats. The floor is the raw Embree loop over the rays of the same pixels; a view also
finds normals, labels and light. Shading by NumPy is counted by itself.
"""

from __future__ import annotations

import statistics
import sys
import time

import numpy as np
from rich.table import Table

from benchmarks.places import terrain_with_boxes
from benchmarks.report import Result, interleaved, machine, main, paired_ratio, table, timed
from benchmarks.splat_trace import splats_on
from resweep.pose import Array
from resweep.viewer.camera import Camera, Renderer, look_at, shade
from resweep.worlds import World

_RANGE_M = 1000.0


def measure(world: World, camera: Camera, pose: Array, rounds: int, threads: int) -> dict[str, float]:
    """Frames a second, their share of those of raw Embree, and the share of pixels in which there is anything."""
    renderer = Renderer(world, range_max_m=_RANGE_M, threads=threads)
    view = renderer.view(camera, pose)
    origins, directions = camera.native(pose, world.origin).rays()
    scene = renderer.source.native

    def floor() -> float:
        return scene.raw_floor(origins, directions, _RANGE_M, 8, threads, 1)[0]

    contenders = {"view": timed(lambda: renderer.view(camera, pose)), "floor": floor}
    seconds = interleaved(contenders, rounds)
    begin = time.perf_counter()
    shade(view, "shaded")
    shading = time.perf_counter() - begin
    taken = statistics.median(seconds["view"])
    return {
        "frames_per_s": 1.0 / taken,
        "mrays_per_s": camera.width * camera.height / taken / 1e6,
        "floor_ratio": paired_ratio(seconds["floor"], seconds["view"]),
        "shading_s": shading,
        "hit_share": float(view.hit.mean()),
    }


def run(fast: bool = False, threads: int = 0) -> Result:
    """Views over terrain of triangles and of splats."""
    mesh, poses = terrain_with_boxes(fast)
    camera = Camera(width=320, height=180) if fast else Camera(width=2560, height=1440)
    n_splats, rounds = (50_000, 2) if fast else (2_000_000, 5)
    place = poses[0][:3, 3]
    pose = look_at(place + np.array([0.0, 0.0, 8.0]), place + np.array([30.0, 0.0, 0.0]))
    result: Result = {"benchmark": "render", "fast": fast, **machine(), "pixels": camera.width * camera.height}
    for what, world in (("triangles", World([mesh])), ("splats", World([splats_on(mesh, n_splats, 5)]))):
        figures = measure(world, camera, pose, rounds, threads)
        result |= {f"{what}_{name}": value for name, value in figures.items()}
    return result


def tables(result: Result) -> list[Table]:
    """Frames a second of both worlds."""
    names = ("frames_per_s", "mrays_per_s", "floor_ratio", "shading_s")
    rows = [[what, *(result[f"{what}_{name}"] for name in names)] for what in ("triangles", "splats")]
    title = f"A camera of {result['pixels']:,} pixels"
    return [table(title, ["", "frames a second", "Mrays/s", "floor ratio", "shading [s]"], rows)]


if __name__ == "__main__":
    sys.exit(main(run, tables, __doc__))
