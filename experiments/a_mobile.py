"""A, VI-B and Figure 7: two drives along a wooded trail; worlds learned on one simulate the other.

A can only look at the point clouds, as no beam of the second drive was fired on the first. Here the beams of the
second drive are traced again in every world, so that there are figures as well.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure

import resweep as rs
from experiments.a_reality import scores
from experiments.presenting import INK, console, figure, main, progress, table
from experiments.rimls import rimls_world
from experiments.static_targets import together
from resweep import (
    HybridConfig,
    Instances,
    Log,
    Simulator,
    SplatConfig,
    SurfelConfig,
    Sweep,
    VolumeConfig,
    World,
    load_sensor,
)
from resweep.build import MapConfig
from resweep.pose import from_xyz_rpy
from resweep.scenes import SCENE_LABELS, TreeConfig, fractal_terrain, placements, shrub, spaced_positions, tree
from resweep.simulate import Retracer
from resweep.worlds import Layer

VOXEL_M, KERNEL_M = 0.3, 0.4  # A, VI-B
LENGTH_M = 24.0
SHOWN = ("real", "surface", "top-down", "voxels")


def trail(seed: int = 2) -> World:
    """A trail along x between trees and bushes, on gentle relief."""
    rng = np.random.default_rng(seed)
    ground = fractal_terrain(50.0, 0.5, 0.6, seed)
    beside = spaced_positions(rng, (-22, -14, 22, 14), 40, 2.2, keep=lambda at: np.abs(at[:, 1]) > 3.0)
    habit = TreeConfig(height_m=6.0, crown_radius_m=1.8, trunk_diameter_m=0.2, branches=(24, 7, 5), leaves=5_000)
    layers: list[Layer] = [
        ground.mesh(),
        Instances(tree(seed, habit), placements(rng, beside[:22], scale=(0.7, 1.2), height_at=ground.height_at)),
        Instances(shrub(seed), placements(rng, beside[22:], scale=(0.8, 1.6), height_at=ground.height_at)),
    ]
    return World(layers, labels=SCENE_LABELS)


def drive(world: World, sweeps: int, aside_m: float, seed: int, fast: bool) -> Log:
    """A drive of the HDL-64E along the trail, ``aside_m`` off its middle, without labels."""
    sensor = load_sensor("velodyne-hdl-64e").with_(**{"receiver.range_noise_sigma_m": 0.01, "rotation_rate_hz": 15})
    if fast:
        sensor = load_sensor("velodyne-vlp-16")
    simulator = Simulator(world, sensor, seed=seed)
    places = np.linspace(-LENGTH_M / 2, LENGTH_M / 2, sweeps)
    poses = [from_xyz_rpy(float(x), aside_m + 0.2 * np.sin(x / 3), 2.2, yaw=0.03 * np.cos(x / 3)) for x in places]
    made = [together([simulator.sweep(pose, start=float(i), index=i)]) for i, pose in enumerate(poses)]
    return Log.from_sweeps(made, sensor=sensor)


def configs() -> dict[str, Any]:
    """Every world kind that is learned."""
    common: dict[str, Any] = {"map": MapConfig(ego_radius_m=2.0, moving="none"), "calibrate": None}
    return {
        "voxels": VolumeConfig(voxel_m=VOXEL_M, **common),
        "voxels, matched": VolumeConfig(voxel_m=VOXEL_M, rounds=5, **common),
        "top-down": VolumeConfig(method="top-down", voxel_m=VOXEL_M, **common),
        "bottom-up": VolumeConfig(method="bottom-up", voxel_m=VOXEL_M, **common),
        "surfels": SurfelConfig(**common),
        "splats": SplatConfig(**common),
        "hybrid": HybridConfig(**common),
    }


def run(fast: bool = False) -> dict[str, Any]:
    """Learn on the first drive, simulate the second, score each world on all beams of the second."""
    truth = trail()
    sweeps = 4 if fast else 16
    first, second = drive(truth, sweeps, 0.0, 1, fast), drive(truth, 2 if fast else 5, 0.8, 2, fast)
    worlds: dict[str, World | None] = {
        name: rs.build(first, config)
        for name, config in progress(list(configs().items()), "worlds")
        if not fast or name in ("voxels", "top-down", "hybrid")
    }
    if not fast:
        worlds["surface"] = _surface(first)
    rows = []
    clouds = {"real": np.concatenate([sweep.world_points() for sweep in second])}
    for name, world in worlds.items():
        if world is None:
            continue
        each = [scores(world, sweep) for sweep in second]
        rows.append({"world": name, **{key: float(np.mean([part[key] for part in each])) for key in each[0]}})
        tracer = Retracer(world, seed=4)
        clouds[name] = np.concatenate([tracer.sweep(sweep, i).world_points() for i, sweep in enumerate(second)])
    return {"rows": rows, "sweeps": [len(first), len(second)], "voxel_m": VOXEL_M, "_clouds": clouds}


def _surface(log: Log) -> World | None:
    """A's surface of the whole drive; the returns are seen from the middle of the trail."""
    points = np.concatenate([sweep.world_points() for sweep in log])
    middle = log.poses[len(log) // 2]
    near = np.abs(points[:, :2] - middle[:2, 3]).max(axis=1) < 20.0
    local = (points[near] - middle[:3, 3]) @ middle[:3, :3]
    return rimls_world(Sweep.from_points(local, pose=middle), VOXEL_M, KERNEL_M)


def show(result: dict[str, Any]) -> None:
    """Print the scores on the second drive."""
    columns = [key for key in result["rows"][0] if key != "world"]
    made = table(
        f"A second drive of {result['sweeps'][1]} sweeps in worlds learned from {result['sweeps'][0]} of the first",
        "world", *columns,
    )  # fmt: skip
    for each in result["rows"]:
        made.add_row(each["world"], *(f"{each[key]:.3f}" for key in columns))
    console.print(made)


def draw(result: dict[str, Any]) -> Figure:
    """Figure 7: the point clouds of the second drive from the side, coloured by height."""
    made, axes = figure(13.0, 5.0, 2, 2)
    for axis, name in zip(axes.flat, SHOWN, strict=True):
        axis.set_title(name if name in result["_clouds"] else f"{name}: not built", fontsize=9.5, color=INK)
        if name not in result["_clouds"]:
            continue
        points = result["_clouds"][name]
        points = points[(np.abs(points[:, 0]) < 12) & (points[:, 1] > 0) & (points[:, 1] < 12) & (points[:, 2] < 9)]
        order = np.argsort(-points[:, 1])  # the near ones last, on top
        axis.scatter(points[order, 0], points[order, 2], s=0.6, c=points[order, 1], cmap="viridis_r", linewidths=0)
        axis.set_aspect("equal")
        axis.set_xlim(-12, 12)
        axis.set_ylim(-0.2, 3.4)
        axis.grid(False)
    return made


if __name__ == "__main__":
    main("a_mobile", "Two drives along a wooded trail (A, VI-B and Figure 7).", run, show, draw)
