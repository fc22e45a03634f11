"""The bench of A, V-A: a stationary HDL-64E that scans six targets at about 8 m again and again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from resweep import Sensor, Simulator, Sweep, World, load_sensor
from resweep.pose import from_xyz_rpy
from resweep.scenes import SCENE_LABELS, Terrain, TreeConfig, grass_tile, merged, tree, wall
from resweep.worlds import Mesh

Array = NDArray[Any]

DISTANCE_M = 8.0  # A, V-A
STEP_DEG = 0.09  # A, V-A: 4,000 counts in a turn
NOISE_M = 0.005  # A, V-C
SENSOR_HEIGHT_M = 1.8
LASER_STEP_DEG = 26.8 / 63  # of the HDL-64E of B, Table 4
TREE_SEED, GRASS_SEED = 11, 12  # the worlds' settings were chosen on other plants: tree 3, grass 5
RAYS = 32  # that fill the spot of a real shot


def bench_sensor(top_deg: float, lasers: int, width_deg: float, rays: int = RAYS, noise: float = NOISE_M) -> Sensor:
    """The HDL-64E with ``lasers`` of its lasers below ``top_deg``, firing only over ``width_deg`` about +x.

    Each shot's direction is off by up to half a step of the encoder, and ``rays`` are drawn over the spot.
    """
    half = STEP_DEG * round(width_deg / STEP_DEG / 2)
    made = load_sensor("velodyne-hdl-64e").with_(
        **{
            "beam.rays": "random",
            "beam.n_rays": rays,
            "receiver.range_noise_sigma_m": noise,
            "pointing.encoder_step_rad": float(np.radians(STEP_DEG)),
        }
    )
    pattern = {
        "kind": "spinning",
        "azimuth_min_deg": -half,
        "azimuth_max_deg": half,
        "azimuth_resolution_deg": STEP_DEG,
        "direction": "clockwise",
        "channels": {"elevation_deg": [top_deg - LASER_STEP_DEG * i for i in range(lasers)]},
    }
    return Sensor(**{**made.model_dump(exclude_none=True), "pattern": pattern})


def planes() -> World:
    """Two upright planes that meet in an edge towards the sensor."""
    edge = (DISTANCE_M, 0.0)
    walls = [wall(edge, (DISTANCE_M + 0.5, side * 0.9), 3.0, 0.01) for side in (-1, 1)]
    return World([merged(walls, "planes")], labels=SCENE_LABELS)


def small_tree(leaves: int) -> World:
    """A tree of 3 m, its trunk at 8 m, with ``leaves`` leaves of 5 cm."""
    habit = TreeConfig(
        height_m=3.0,
        crown_radius_m=0.9,
        crown_base=0.2,
        trunk_diameter_m=0.08,
        branches=(24, 7, 5),
        leaves=leaves,
        leaf_length_m=0.05,
        leaf_width_m=0.03,
    )
    return World([_placed(tree(TREE_SEED, habit))], labels=SCENE_LABELS)


def grass(height_m: tuple[float, float], density_per_m2: float, width_m: tuple[float, float]) -> World:
    """A meadow of 4 m around 8 m, on uneven soil."""
    soil = Terrain(np.random.default_rng(5).normal(0.0, 0.006, (161, 161)), 4.0 / 160, -2.0, -2.0)
    blades = grass_tile(4.0, density_per_m2, height_m, seed=GRASS_SEED, width_m=width_m)
    return World([_placed(soil.mesh()), _placed(blades)], labels=SCENE_LABELS)


def _placed(mesh: Mesh) -> Mesh:
    return mesh.moved(from_xyz_rpy(DISTANCE_M))


@dataclass(frozen=True)
class Target:
    """A target, the highest of the lasers that look at it, and A's distances (Table I)."""

    name: str
    world: Callable[[], World]
    top_deg: float
    paper_surface: float
    paper_volumetric: float


TARGETS = (
    Target("planes", planes, 1.0, 0.019, 0.068),
    Target("tree, high density", partial(small_tree, 24_000), 1.0, 0.111, 0.074),
    Target("tree, medium density", partial(small_tree, 6_000), 1.0, 0.896, 0.125),
    Target("tree, low density", partial(small_tree, 1_500), 1.0, 0.622, 0.054),
    Target("tall grass", partial(grass, (0.4, 0.8), 6_000.0, (0.004, 0.01)), -9.5, 0.888, 0.095),
    Target("short grass", partial(grass, (0.03, 0.06), 6_000.0, (0.002, 0.004)), -11.5, 1.229, 0.091),
)
POSE = from_xyz_rpy(z=SENSOR_HEIGHT_M)


def scan(world: World, sensor: Sensor, count: int, seed: int) -> Sweep:
    """``count`` sweeps from one place as one sweep of all their beams, without labels, as A's data have none."""
    return together(scan_each(world, sensor, count, seed))


def scan_each(world: World, sensor: Sensor, count: int, seed: int) -> list[Sweep]:
    """``count`` sweeps from one place, one after the other, without labels."""
    simulator = Simulator(world, sensor, seed=seed)
    return [together([simulator.sweep(POSE, index=i)]) for i in range(count)]


def together(sweeps: Sequence[Sweep]) -> Sweep:
    """Sweeps from one place as one sweep of all their beams; labels are taken off."""
    first = np.cumsum([0] + [sweep.n_beams for sweep in sweeps])
    beams = ("beam_origin", "beam_direction", "beam_time", "beam_ring", "beam_column", "beam_status")
    columns: dict[str, Any] = {name: np.concatenate([getattr(sweep, name) for sweep in sweeps]) for name in beams}
    for name in ("range", "intensity", "return_index"):
        columns[name] = np.concatenate([getattr(sweep, name) for sweep in sweeps])
    columns["beam"] = np.concatenate([sweep.beam + at for sweep, at in zip(sweeps, first[:-1], strict=True)])
    none = np.zeros(len(columns["beam"]), np.int32)
    return replace(sweeps[0], trajectory=None, boxes=None, extra={}, label=none, instance=none, **columns)
