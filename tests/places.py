"""Small recorded places with known truth, and a slow tracer that the tests can trust."""

from __future__ import annotations

from typing import Any

import numpy as np

import resweep as rs
from resweep.boxes import Boxes
from resweep.build import Cloud, HybridConfig, Map
from resweep.build.refine.refine import Refinement
from resweep.build.settings.refine import REFINEMENTS, Refine
from resweep.labels import LabelSet, load_labels
from resweep.log import Log
from resweep.map.beams import Beams
from resweep.pose import Array, from_xyz_rpy
from resweep.scenes import SCENES
from resweep.simulate import Simulator
from resweep.sweep import Sweep
from resweep.worlds import Splats

LABELS = load_labels("semantickitti")
ROAD, BUILDING, POLE, CAR, VEGETATION, MOVING_CAR = 40, 50, 80, 10, 70, 252  # its ids
WALL_M = 10.0
STEP_DEG = 0.2  # between the bearings of `standing_sensor`


def standing_sensor(
    elevation_deg: list[float], half_deg: float, noise_m: float, divergence_rad: float = 0.0
) -> rs.Sensor:
    """Lasers that sweep ``half_deg`` to either side, with one ray a pulse."""
    return rs.Sensor.model_validate(
        {
            "name": "standing",
            "range_max_m": 50.0,
            "wavelength_nm": 905.0,
            "rotation_rate_hz": 10.0,
            "pattern": {
                "kind": "spinning",
                "azimuth_min_deg": -half_deg,
                "azimuth_max_deg": half_deg,
                "azimuth_resolution_deg": STEP_DEG,
                "channels": {"elevation_deg": elevation_deg},
            },
            "beam": {"divergence_h_rad": divergence_rad, "divergence_v_rad": divergence_rad, "rays": "single"},
            "receiver": {"mode": "strongest", "range_noise_sigma_m": noise_m},
        }
    )


def cloud_of(
    points: Array, label: Array | int = 0, sensor: Array | None = None, intensity: Array | float = 0.3
) -> Cloud:
    """A cloud of bare points, all seen from ``sensor`` (3,), by default 2 m above the origin."""
    count = len(points)
    place = np.array([0.0, 0.0, 2.0]) if sensor is None else sensor
    return Cloud(
        np.zeros(3),
        np.asarray(points, np.float32),
        np.broadcast_to(place, (count, 3)).astype(np.float32),
        np.broadcast_to(label, count).astype(np.int32),
        np.zeros(count, np.int32),
        np.broadcast_to(intensity, count).astype(np.float32),
        np.zeros(count, np.int32),
        np.ones(count, bool),
    )


def map_of(points: Array, label: Array | int = 0, sensor: Array | None = None, labels: LabelSet = LABELS) -> Map:
    """A map of bare points without a log, as `cloud_of` makes them."""
    return Map(cloud_of(points, label, sensor), labels)


def plane(half: float = 3.0, step: float = 0.1, noise: float = 0.0, seed: int = 1) -> Array:
    """Points of the square |x|, |y| < half on z = 0, at random within a grid of ``step``."""
    rng = np.random.default_rng(seed)
    axis = np.arange(-half, half, step)
    grid = np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1).reshape(-1, 2)
    grid = grid + rng.uniform(0, step, grid.shape)
    return np.column_stack([grid, noise * rng.standard_normal(len(grid))])


def nearest_hits(splats: Splats, origins: Array, directions: Array) -> Array:
    """Ranges (n,) of rays to the nearest disc by trying every disc (C, eqs. 8 to 12); infinite for a miss."""
    ranges = np.full(len(origins), np.inf)
    for at, (o, d) in enumerate(zip(origins, directions, strict=True)):
        slope = splats.normal @ d
        with np.errstate(divide="ignore", invalid="ignore"):
            t = np.einsum("ni,ni->n", splats.centre - o, splats.normal) / slope
            off = o + t[:, None] * d - splats.centre
        hit = (t > 0) & ((off**2).sum(axis=1) < splats.radius**2)
        ranges[at] = t[hit].min() if hit.any() else np.inf
    return ranges


def log_of(sweeps: list[Array], poses: list[Array], labels: LabelSet = LABELS, **columns: list[Array]) -> Log:
    """A log of world points (one array a sweep), each seen from its pose at 10 Hz."""
    made = []
    for at, (points, pose) in enumerate(zip(sweeps, poses, strict=True)):
        local = (points - pose[:3, 3]) @ pose[:3, :3]
        extra: dict[str, Any] = {name: values[at] for name, values in columns.items()}
        made.append(Sweep.from_points(local, pose=pose, timestamp=0.1 * at, **extra))
    return Log.from_sweeps(made, "test", labels=labels)


def shrub_sweeps(count: int, labelled: bool = True, boxed: bool = False) -> list[Sweep]:
    """A shrub on a lawn, from places 20 cm apart; a box around a piece of the lawn moves across it."""
    rng = np.random.default_rng(0)
    lawn = plane(4.0, 0.1, 0.003)
    made = []
    for step in range(count):
        shrub = rng.normal(0.0, 0.35, (600, 3)) + np.array([1.0, 0.0, 1.2])
        points = np.concatenate([lawn, shrub])
        label = np.repeat([ROAD, VEGETATION], [len(lawn), len(shrub)]) if labelled else np.zeros(len(points))
        centre, size = np.array([[3.0, 0.3 * step, -1.0]]), np.array([[2.0, 1.0, 2.0]])
        boxes = Boxes(centre, size, np.zeros(1), ["car"], np.array([1])) if boxed else None
        pose = at(-6.0 + 0.2 * step)
        local = points - pose[:3, 3]
        made.append(Sweep.from_points(local, pose=pose, timestamp=0.1 * step, label=label, boxes=boxes))
    return made


def street_drive(noise_m: float = 0.0) -> Log:
    """Eight stationary sweeps of an HDL-64E with single rays along the street, 1.7 m apart."""
    exact = {"receiver.range_noise_sigma_m": noise_m, "receiver.range_quantisation_m": 0.0, "beam.rays": "single"}
    sim = Simulator(SCENES["street"](seed=1), "velodyne-hdl-64e", seed=1)
    sim = sim.with_sensor(sim.sensor.with_(**exact))
    poses = np.stack([from_xyz_rpy(x, 0.3 * np.sin(x), 1.9, yaw=0.02 * x) for x in np.linspace(-6, 6, 8)])
    return Log.from_sweeps(list(sim.run(poses)))


def at(x: float, y: float = 0.0, z: float = 2.0) -> Array:
    """A pose without turn."""
    return from_xyz_rpy(x, y, z)


def wall(at_m: float, spacing: float = 0.1) -> Splats:
    """Splats of the plane x = ``at_m`` in front of the origin, which overlap."""
    axis = np.arange(-1.0, 1.0, spacing)
    y, z = (values.reshape(-1) for values in np.meshgrid(axis, axis))
    centre = np.column_stack([np.full(len(y), at_m), y, z])
    return Splats(centre, np.tile([-1.0, 0, 0], (len(y), 1)), np.full(len(y), spacing), depth=8, gap_m=0.2)


def beams_to(x_m: Array | float, count: int = 4000, seed: int = 0, noise_m: float = 0.01) -> Beams:
    """Beams from the origin at random through the wall, which end at ``x_m`` along x, or nowhere where that is inf."""
    rng = np.random.default_rng(seed)
    target = np.column_stack([np.full(count, WALL_M), rng.uniform(-0.9, 0.9, (count, 2))])
    direction = target / np.linalg.norm(target, axis=1)[:, None]
    length = np.broadcast_to(x_m, count) / direction[:, 0] + noise_m * rng.standard_normal(count)
    returned = np.isfinite(length)
    return Beams(
        np.zeros((count, 3), np.float32),
        direction.astype(np.float32),
        np.where(returned, length, 80.0).astype(np.float32),
        returned,
    )


def work(how: Refine = "full", threads: int = 0) -> Refinement:
    """The steps of a refinement of the wall, in a map of a point on it and of one on a pole before it."""
    points = np.array([[WALL_M - 2.0, 0.5, 0.5], [WALL_M, 0.0, 0.0]])
    return Refinement(REFINEMENTS[how], cloud_of(points, POLE), 0.0, HybridConfig(), threads)
