"""The same mesh and the same rays through Resweep, Open3D's RaycastingScene and trimesh with embreex.

End to end: from a pose to points and primitive ids in NumPy. The peers have their scene built and warm, use the
threads that they use by default, and do less than ours: of a pulse's rays they keep the nearest hit, with no
echoes, intensity, noise, labels or status. They make their rays in NumPy from the stencil at every
sweep; `open3d_prepared` keeps the rays in the sensor's frame from sweep to sweep and only moves them.

Mitsuba 3 (LLVM) gets our rays ready made, in the order of firing and in the order in which we trace, and is timed for
tracing alone. ``ratio_mitsuba_fired`` is our speed end to end over its speed on the rays as they are fired, and
``ratio_mitsuba`` over the faster of its two: the stricter one, since it is given the order that we look for.

Each is timed on the second of two runs in its turn: a drive is many sweeps of one program, while the scenes of six
programs in turn do not stay in the caches.
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Callable, Sequence
from itertools import count
from typing import Any, NamedTuple

import numpy as np
from rich.table import Table

from benchmarks.floor import fired_rays
from benchmarks.mitsuba_rays import MitsubaScene, prepare_all
from benchmarks.places import hdl64, terrain_with_boxes, vegetation_mesh
from benchmarks.report import Contender, Result, interleaved, machine, main, optional, paired_ratio, table, timed
from resweep.pose import Array
from resweep.sensors import Sensor, fire, stencil
from resweep.simulate import Simulator
from resweep.worlds import Mesh, World

TARGET = 2.0
MITSUBA_TARGETS = {"terrain_1ray": 0.7, "terrain_9rays": 0.9, "vegetation_1ray": 0.95, "vegetation_9rays": 1.2}
PEERS = ("open3d", "open3d_prepared", "trimesh")
PLACES = {"terrain": terrain_with_boxes, "vegetation": vegetation_mesh}
SAME_RANGE_M = 0.15  # over seven sigma of the sensor's range noise, which only ours has


class Answer(NamedTuple):
    """A peer's sweep: range (b,) of each pulse (infinity: a miss), points (n, 3) and primitive (n,) of the hits."""

    range: Array
    points: Array
    primitive: Array


Cast = Callable[[Array], Answer]


def run(fast: bool = False, threads: int = 0) -> Result:
    """Speed-ups of ours over each peer; the headline figures are the lower of the two meshes."""
    optional("open3d")
    result: Result = {"benchmark": "peers", "fast": fast, "target_speedup": TARGET}
    result.update(machine("open3d-cpu", "trimesh", "mitsuba"))
    rounds, n_poses = (1, 1) if fast else (5, 2)
    for place, make in PLACES.items():
        mesh, poses = make(fast)
        result[f"{place}_triangles"] = mesh.n_triangles
        base = Simulator(World([mesh]), hdl64(1), seed=1, threads=threads)
        open3d, embreex, mitsuba = _open3d_scene(mesh, threads), _trimesh_scene(mesh), MitsubaScene(mesh)
        for rays, name in ((1, "1ray"), (9, "9rays")):
            sim = base.with_sensor(hdl64(rays))
            casts = _casts(open3d, embreex, sim.sensor)
            figures = _measure(sim, casts, mitsuba, poses[:n_poses], rounds)
            result.update({f"{place}_{name}_{key}": value for key, value in figures.items()})
    for peer in PEERS:
        for name in ("1ray", "9rays"):
            speedups = [result[f"{place}_{name}_speedup_{peer}"] for place in PLACES]
            result[f"speedup_{peer}_{name}"] = min(speedups)
    return result


def _measure(
    sim: Simulator, casts: dict[str, Cast], mitsuba: MitsubaScene, poses: Sequence[Array], rounds: int
) -> Result:
    index = count()

    def ours() -> None:
        for pose in poses:
            sim.sweep(pose, index=next(index)).points  # noqa: B018

    def theirs(cast: Cast) -> Contender:
        return timed(lambda: [cast(pose) for pose in poses])

    contenders = {"ours": timed(ours), **{peer: theirs(cast) for peer, cast in casts.items()}}
    for order, make in (("fired", fired_rays), ("ordered", Simulator.rays)):
        rays = [make(sim, pose) for pose in poses]
        contenders[f"mitsuba {order}"] = timed(prepare_all(mitsuba, rays, sim.sensor.range_max_m))
    seconds = interleaved(contenders, rounds, steady=True)
    by_order = [seconds.pop(f"mitsuba {order}") for order in ("fired", "ordered")]
    seconds["mitsuba"] = min(by_order, key=statistics.median)
    figures: Result = {f"{who}_sweeps_per_s": len(poses) / statistics.median(s) for who, s in seconds.items()}
    figures["ratio_mitsuba"] = paired_ratio(seconds["mitsuba"], seconds["ours"])
    figures["ratio_mitsuba_fired"] = paired_ratio(by_order[0], seconds["ours"])
    if sim.sensor.beam.rays_per_pulse == 1:
        figures["agreement_mitsuba"] = _agreement(sim, lambda pose: _cast_mitsuba(mitsuba, sim, pose), poses[0])
    for peer, cast in casts.items():
        figures[f"speedup_{peer}"] = paired_ratio(seconds[peer], seconds["ours"])
        if sim.sensor.beam.rays_per_pulse == 1:
            figures[f"agreement_{peer}"] = _agreement(sim, cast, poses[0])
    return figures


def _agreement(sim: Simulator, cast: Cast, pose: Array) -> float:
    """Share of the pulses for which a peer finds what we find: it was given the same mesh and rays."""
    sweep = sim.sweep(pose)
    ours = np.full(sweep.n_beams, np.inf)
    ours[sweep.beam] = sweep.range
    theirs = cast(pose).range
    both = np.isfinite(ours) & np.isfinite(theirs)
    same = np.isinf(ours) & np.isinf(theirs)
    same[both] = np.abs(ours[both] - theirs[both]) < SAME_RANGE_M
    return float(same.mean())


def _open3d_scene(mesh: Mesh, threads: int) -> Any:
    open3d = optional("open3d")
    scene = open3d.t.geometry.RaycastingScene(nthreads=threads)
    scene.add_triangles(open3d.core.Tensor(mesh.vertices), open3d.core.Tensor(mesh.faces))
    return scene


def _trimesh_scene(mesh: Mesh) -> Any:
    trimesh = optional("trimesh")
    embree = optional("trimesh.ray.ray_pyembree")
    return embree.RayMeshIntersector(trimesh.Trimesh(mesh.vertices, mesh.faces, process=False))


def _casts(open3d: Any, embreex: Any, sensor: Sensor) -> dict[str, Cast]:
    """What a user of each peer would write, by name."""
    axes = fire(sensor).direction
    offsets = stencil(sensor.beam)[0]
    prepared = _spread(axes, offsets)
    casts: dict[str, Cast] = {
        "open3d": lambda pose: _cast_open3d(open3d, sensor, axes, _spread(axes, offsets), pose),
        "open3d_prepared": lambda pose: _cast_open3d(open3d, sensor, axes, prepared, pose),
        "trimesh": lambda pose: _cast_trimesh(embreex, sensor, axes, _spread(axes, offsets), pose),
    }
    return casts


def _spread(axes: Array, offsets: Array) -> Array:
    """Unit rays (b · k, 3) float32 of the pulses ``axes`` (b, 3) at stencil ``offsets`` (k, 2), all in float32."""
    if len(offsets) == 1:
        return axes
    left = np.stack([-axes[:, 1], axes[:, 0], np.zeros_like(axes[:, 0])], axis=1)
    left /= np.hypot(axes[:, 0], axes[:, 1])[:, None]
    up = np.cross(axes, left)
    # The offsets are at 1 m across the axis, so every pulse's k-th ray has the same length.
    scale = 1 / np.sqrt(1 + (offsets**2).sum(axis=1))
    rays = np.empty((len(axes), len(offsets), 3), np.float32)
    for k, (across, above) in enumerate(offsets):
        rays[:, k] = (axes + across * left + above * up) * scale[k]
    return rays.reshape(-1, 3)


def _cast_open3d(scene: Any, sensor: Sensor, axes: Array, rays: Array, pose: Array) -> Answer:
    tensor = optional("open3d").core.Tensor
    packed = np.empty((len(rays), 6), np.float32)
    packed[:, :3] = pose[:3, 3]
    packed[:, 3:] = rays @ pose[:3, :3].T.astype(np.float32)
    answer = scene.cast_rays(tensor.from_numpy(packed))
    return _nearest(answer["t_hit"].numpy(), answer["primitive_ids"].numpy(), sensor, axes)


def _cast_trimesh(scene: Any, sensor: Sensor, axes: Array, rays: Array, pose: Array) -> Answer:
    directions = rays @ pose[:3, :3].T.astype(np.float32)
    origins = np.broadcast_to(pose[:3, 3], directions.shape)
    points, ray, triangle = scene.intersects_location(origins, directions, multiple_hits=False)
    distance = np.full(len(rays), np.inf, np.float32)
    distance[ray] = np.einsum("ij,ij->i", points - pose[:3, 3], directions[ray])
    primitive = np.full(len(rays), -1)
    primitive[ray] = triangle
    return _nearest(distance, primitive, sensor, axes)


def _cast_mitsuba(scene: MitsubaScene, sim: Simulator, pose: Array) -> Answer:
    distance = np.asarray(scene.prepare(*fired_rays(sim, pose), sim.sensor.range_max_m)().numpy())
    return _nearest(distance, np.zeros(len(distance), int), sim.sensor, fire(sim.sensor).direction)


def _nearest(distance: Array, primitive: Array, sensor: Sensor, axes: Array) -> Answer:
    """The nearest hit of each pulse, as a point on its axis in the sensor's frame."""
    if len(distance) > len(axes):
        distance, primitive = distance.reshape(len(axes), -1), primitive.reshape(len(axes), -1)
        nearest = np.arange(len(axes)), distance.argmin(axis=1)
        distance, primitive = distance[nearest], primitive[nearest]
    distance = np.where(distance <= sensor.range_max_m, distance, np.float32(np.inf))
    hit = np.isfinite(distance)
    return Answer(distance, axes[hit] * distance[hit, None], primitive[hit])


def tables(result: Result) -> list[Table]:
    """A row a mesh and number of rays: sweeps a second, and how much faster ours is."""
    rows = []
    for place in PLACES:
        for name in ("1ray", "9rays"):
            key = f"{place}_{name}"
            speeds = (result[f"{key}_{who}_sweeps_per_s"] for who in ("ours", *PEERS))
            rows.append([f"{place}, {name}", *speeds, *(result[f"{key}_speedup_{peer}"] for peer in PEERS)])
    columns = ["", "ours", *PEERS, *(f"× {peer}" for peer in PEERS)]
    traced = [
        [key.replace("_", ", "), *(result[f"{key}_{name}"] for name in ("ours_sweeps_per_s", "mitsuba_sweeps_per_s")),
         result[f"{key}_ratio_mitsuba_fired"], result[f"{key}_ratio_mitsuba"], target]
        for key, target in MITSUBA_TARGETS.items()
    ]  # fmt: skip
    return [
        table(f"Sweeps a second end to end, and our speed-up (target at 9 rays: ≥ {TARGET:g})", columns, rows),
        table(
            "Ours end to end, and Mitsuba 3 (LLVM) tracing alone, in the better order",
            ["", "ours", "mitsuba", "ratio, rays as fired", "ratio", "target"],
            traced,
        ),
    ]


if __name__ == "__main__":
    sys.exit(main(run, tables, __doc__))
