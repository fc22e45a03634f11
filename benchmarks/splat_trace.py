"""How fast an HDL-64E, one ray a pulse, sweeps two million splats.

With depth 1 a ray reads the nearest disc, with depth 5 the weighted mean of overlapping ones (C, 6.3.4). The
floor is the raw Embree loop over the same rays, disc filter included, at its best packet width, in the order of
firing; ``tracing_share`` is the same in the order in which Resweep traces.
"""

from __future__ import annotations

import sys

import numpy as np
from rich.table import Table

from benchmarks.floor import measure
from benchmarks.places import hdl64, terrain_with_boxes
from benchmarks.report import Result, machine, main, table
from resweep.simulate import Simulator
from resweep.worlds import Mesh, Splats, World
from resweep.worlds.native import build_scene

DEPTHS = (1, 5)


def splats_on(mesh: Mesh, n_splats: int, depth: int) -> Splats:
    """Discs spread evenly over a mesh, of a radius at which neighbours overlap."""
    rng = np.random.default_rng(0)
    corners = mesh.vertices[mesh.faces].astype(np.float64)
    edges = corners[:, 1:] - corners[:, :1]
    across = np.cross(edges[:, 0], edges[:, 1])
    area = np.linalg.norm(across, axis=1)
    face = rng.choice(len(area), n_splats, p=area / area.sum())
    share = rng.random((n_splats, 2))
    share = np.where(share.sum(axis=1, keepdims=True) > 1, 1 - share, share)
    centre = corners[face, 0] + (share[:, :, None] * edges[face]).sum(axis=1)
    radius = 0.9 * np.sqrt(0.5 * area.sum() / n_splats)
    normal = across[face] / area[face, None]
    return Splats(centre, normal, np.full(n_splats, radius), label=40, reflectance=0.3, depth=depth)


def closed_splats_on(mesh: Mesh, n_splats: int, depth: int) -> Splats:
    """About as many discs as given, on a grid over what lies open to the sky, so that the ground has no holes.

    Steep faces get theirs at random.
    """
    corners = mesh.vertices[mesh.faces].astype(np.float64)
    across = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    area = np.linalg.norm(across, axis=1)
    steep = np.abs(across[:, 2]) < 0.5 * area
    n_level = round(n_splats * float(area[~steep].sum() / area.sum()))
    low, high = mesh.vertices.min(axis=0), mesh.vertices.max(axis=0)
    spacing = float(np.sqrt(np.prod(high[:2] - low[:2]) / n_level))
    x, y = (np.arange(low[axis] + spacing / 2, high[axis], spacing) for axis in (0, 1))
    above = np.stack(np.meshgrid(x, y, [high[2] + 1.0]), axis=-1).reshape(-1, 3).astype(np.float32)
    # The number of its face stands for the instance of a triangle, so that rays tell which they hit.
    numbered = Mesh(mesh.vertices, mesh.faces, instance=np.arange(len(mesh.faces)) + 1)
    down = np.tile(np.array([0.0, 0.0, -1.0], np.float32), (len(above), 1))
    found = build_scene([numbered.lower()]).intersect(above, down, float(high[2] - low[2]) + 2.0)
    hit = np.isfinite(found["range"])
    face = found["instance"][hit] - 1
    walls = splats_on(Mesh(mesh.vertices, mesh.faces[steep]), max(1, n_splats - n_level), depth)
    centre = np.concatenate([above[hit] + found["range"][hit, None] * down[hit], walls.centre])
    normal = np.concatenate([across[face] / area[face, None], walls.normal])
    radius = np.concatenate([np.full(len(face), 0.9 * spacing), walls.radius])
    return Splats(centre, normal, radius, label=40, reflectance=0.3, depth=depth)


def run(fast: bool = False, threads: int = 0) -> Result:
    """Real-time factors and ratios to the floor, by depth."""
    n_splats = 50_000 if fast else 2_000_000
    mesh, poses = terrain_with_boxes(fast)
    result: Result = {"benchmark": "splat_trace", "fast": fast, **machine(), "splats": n_splats}
    for depth in DEPTHS:
        sim = Simulator(World([splats_on(mesh, n_splats, depth)]), hdl64(1), seed=1, threads=threads)
        floor = measure(sim, poses[:1], 2 if fast else 9)
        figures = {
            "realtime_factor": sim.sensor.sweep_period_s * floor["sweeps_per_s"],
            "floor_ratio": floor["ratio"],
            "tracing_share": floor["tracing_share"],
        }
        result.update({key if depth == 1 else f"{key}_depth{depth}": value for key, value in figures.items()})
    return result


def tables(result: Result) -> list[Table]:
    """One row a depth."""
    names = ("realtime_factor", "floor_ratio", "tracing_share")
    rows = [[f"depth {d}", *(result[n if d == 1 else f"{n}_depth{d}"] for n in names)] for d in DEPTHS]
    title = f"{result['splats']:,} splats (targets: 4 × real time at depth 1, 2 × at depth 5, floor ratio 0.75)"
    return [table(title, ["", "× real time", "floor ratio", "tracing share"], rows)]


if __name__ == "__main__":
    sys.exit(main(run, tables, __doc__))
