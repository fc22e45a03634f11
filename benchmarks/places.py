"""The places, poses and sensor that several benchmarks measure."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from resweep.map.observed_voxels import SpaceObserver
from resweep.pose import Array, from_xyz_rpy
from resweep.scenes import (
    CourtyardConfig,
    TreeConfig,
    box,
    courtyard,
    detailed_tree,
    fractal_terrain,
    grass_tile,
    merged,
    placements,
    spaced_positions,
)
from resweep.scenes.scatter_plants import tilings
from resweep.sensors import Sensor, load_sensor
from resweep.simulate import Simulator
from resweep.worlds import Instances, Mesh, Splats, World
from resweep.worlds.layers.seen import COLUMN as SEEN_COLUMN
from resweep.worlds.layers.seen import pack_seen
from resweep.worlds.observed import VOXEL_M

SENSOR_HEIGHT_M = 2.0
_LIGHT_TREE = TreeConfig(branches=(12, 5), trunk_sides=8, leaf_segments=2)
_CLEAR_OF_TRUNKS_M = 4.0


def hdl64(rays_per_pulse: int) -> Sensor:
    """The HDL-64E at 10 Hz with one ray a pulse, or nine."""
    rays = {1: "single", 9: "nine"}[rays_per_pulse]
    return load_sensor("velodyne-hdl-64e").with_(**{"beam.rays": rays, "rotation_rate_hz": 10})


def terrain_with_boxes(fast: bool) -> tuple[Mesh, list[Array]]:
    """Rolling ground of 300 m × 300 m in 0.8 million triangles with 200 boxes, and poses above it."""
    size = 100.0 if fast else 300.0
    ground = fractal_terrain(size, size / (150 if fast else 632), relief_m=8.0, seed=1)
    rng = np.random.default_rng(1)
    reach = size / 2 - 10
    poses = _circuit(size / 6, ground.height_at)
    stands = np.array([pose[:2, 3] for pose in poses])
    boxes = []
    for x, y in rng.uniform(-reach, reach, (40 if fast else 200, 2)):
        length, width, height = rng.uniform((1.5, 1.5, 1.0), (12.0, 8.0, 6.0))
        if np.hypot(*(stands - (x, y)).T).min() < 12:
            continue
        foot = float(ground.height_at(x, y)) - 1.0
        boxes.append(box((length, width, height + 1.0), (x, y, foot), float(rng.uniform(0, np.pi))))
    return merged([ground.mesh(), *boxes], "terrain with boxes"), poses


def vegetation_mesh(fast: bool) -> tuple[Mesh, list[Array]]:
    """Trees and grass on rolling ground as one mesh of 4 million triangles, no instancing; poses in it."""
    size, trees, per_tree, tile = (60.0, 4, 30_000, 10.0) if fast else (150.0, 40, 80_000, 10.0)
    ground = fractal_terrain(size, 1.0, relief_m=2.0, seed=2)
    rng = np.random.default_rng(2)
    reach = size / 2 - 4
    trunks = spaced_positions(
        rng, (-reach, -reach, reach, reach), trees, 7.0, keep=lambda at: np.asarray(np.hypot(*at.T) > 6)
    )
    model = detailed_tree(per_tree, 2, _LIGHT_TREE)
    grown = placements(rng, trunks, scale=(0.7, 1.3), height_at=ground.height_at)
    side = np.arange(-size / 2 + tile / 2, size / 2, tile)
    cells = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
    sod = grass_tile(tile, 5.0, seed=2, segments=3)
    tiles = tilings(rng, cells, height_at=ground.height_at)
    copies = [model.moved(transform) for transform in grown] + [sod.moved(transform) for transform in tiles]
    return merged([ground.mesh(), *copies], "vegetation"), _circuit(size / 6, ground.height_at, trunks)


def courtyard_place(fast: bool) -> tuple[World, list[Array]]:
    """The courtyard of B, 3.5.1 (191,245,324 triangles), and eight poses of a drive in it."""
    config = CourtyardConfig()
    if fast:
        config = CourtyardConfig(size_m=100.0, trees=10, triangles=5_000_000, blades_per_m2=8.0)
    world = courtyard(0, config)
    return world, _circuit(config.size_m / 4, trunks=_trunks(world))


def vegetated(triangles: int, size_m: float = 300.0) -> tuple[World, list[Array]]:
    """A courtyard of about ``triangles``, a sixth of them grass as in B's, and poses in it.

    Up to B's 191 million the blades and the leaves on fifty trees grow in number, beyond it the
    trees do as well. Trees of few triangles have coarser wood.
    """
    standard = CourtyardConfig()
    trees = max(standard.trees, round(standard.trees * triangles / standard.triangles))
    trees = max(1, round(trees * (size_m / standard.size_m) ** 2))
    coarse = triangles < trees * 500_000
    config = CourtyardConfig(
        size_m=size_m,
        trees=trees,
        triangles=triangles,
        blades_per_m2=triangles / 6 / (2 * standard.blade_segments) / size_m**2,
        tree=_LIGHT_TREE if coarse else standard.tree,
    )
    world = courtyard(0, config)
    return world, _circuit(size_m / 4, trunks=_trunks(world))


def as_recorded(splats: Splats, sensor: Sensor, poses: Sequence[Array]) -> World:
    """A world of splats that knows how it was recorded, as a build leaves it: by sweeps of ``sensor`` from ``poses``.

    The space that their beams crossed is observed; each splat counts as seen a few times from 5 to 40 m.
    """
    seen = pack_seen(np.array([6]), (np.array([5.0]), np.array([40.0])), (np.array([0.2]), np.array([0.9])))
    known = Splats(
        splats.centre,
        splats.normal,
        splats.radius,
        splats.label,
        splats.reflectance,
        splats.instance,
        name=splats.name,
        depth=splats.depth,
        gap_m=splats.gap_m,
        extra={SEEN_COLUMN: np.repeat(seen, len(splats))},
    )
    world = World([known])
    observer = SpaceObserver(world.origin, VOXEL_M, sensor.range_max_m)
    sim = Simulator(world, sensor)
    for pose in poses:
        observer.add(sim.sweep(pose))
    world.observed = observer.observed
    return world


def _trunks(world: World) -> Array:
    copies = next(layer for layer in world.layers if layer.name == "trees")
    assert isinstance(copies, Instances)
    return np.asarray(copies.transforms[:, :2, 3], dtype=np.float64)


def _circuit(
    radius_m: float, height_at: Callable[[Array, Array], Array] | None = None, trunks: Array | None = None
) -> list[Array]:
    """Eight poses (4, 4) around a circle, 2 m above the ground, heading along it, none in a tree."""
    angle = np.linspace(0, 2 * np.pi, 512, endpoint=False)
    at = radius_m * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    if trunks is not None:
        free = np.hypot(*(at[:, None] - trunks).transpose(2, 0, 1)).min(axis=1) > _CLEAR_OF_TRUNKS_M
        angle, at = angle[free], at[free]
    chosen = np.linspace(0, len(at), 8, endpoint=False).astype(int)
    ground = np.zeros(len(at)) if height_at is None else height_at(at[:, 0], at[:, 1])
    return [
        from_xyz_rpy(at[i, 0], at[i, 1], ground[i] + SENSOR_HEIGHT_M, yaw=float(angle[i]) + np.pi / 2) for i in chosen
    ]
