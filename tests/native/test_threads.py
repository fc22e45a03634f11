"""Two threads everywhere: the same bytes as one, and nothing for the thread sanitizer to report."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
import trimesh

from resweep import _core
from resweep.embree_library import open_embree
from resweep.pose import Array, Trajectory, from_xyz_rpy
from resweep.scenario import Actor
from resweep.sensors import Sensor
from resweep.simulate import Simulator
from resweep.simulate.scene import make_native_scene
from resweep.sweep import Sweep
from resweep.worlds import Instances, Mesh, Splats, Volumes, World

BOX = trimesh.creation.box((2, 2, 2))
CUBE = Mesh(BOX.vertices, BOX.faces)


@pytest.fixture(scope="module")
def world() -> World:
    """A room with a wall of splats, a cloud of volumes and copies of a cube: every kind of geometry."""
    rng = np.random.default_rng(3)
    wall = np.column_stack([np.full(3000, 8.0), rng.uniform(-6, 6, (3000, 2))])
    splats = Splats(wall, np.tile([1.0, 0.0, 0.0], (3000, 1)), np.full(3000, 0.4), depth=3)
    volumes = Volumes(rng.uniform(-4, 4, (500, 3)), np.tile(np.array([1, 0, 0, 1, 0, 1]) * 0.02, (500, 1)), 0.7)
    places = np.tile(np.eye(4), (50, 1, 1))
    places[:, :3, :3] *= 0.1
    places[:, :3, 3] = rng.uniform(-5, 5, (50, 3))
    return World([Mesh(BOX.vertices * 12, BOX.faces), splats, volumes, Instances(CUBE, places)])


@pytest.fixture(scope="module")
def sensor() -> Sensor:
    return Sensor(
        name="quick",
        range_max_m=50.0,
        wavelength_nm=905,
        rotation_rate_hz=10,
        pattern={
            "kind": "spinning",
            "azimuth_resolution_deg": 1.0,
            "channels": {"elevation_deg": list(np.linspace(-30, 30, 16))},
        },
        beam={"divergence_h_rad": 0.01, "divergence_v_rad": 0.01, "rays": "nine"},
        receiver={"mode": "strongest-and-last", "max_returns": 2, "range_noise_sigma_m": 0.02},
    )


def actors() -> list[Actor]:
    path = Trajectory([0.0, 0.05, 0.2], [from_xyz_rpy(-5, y, 0, yaw=y) for y in (-2.0, -1.0, 2.0)])
    return [Actor((CUBE,), path, instance=77, name="cube")]


def columns(sweep: Sweep) -> bytes:
    names = ("range", "intensity", "beam", "return_index", "label", "instance", "beam_status")
    return b"".join(getattr(sweep, name).tobytes() for name in names)


@pytest.mark.parametrize("packet", [1, 8, 16])
def test_tracing(world: World, sensor: Sensor, packet: int) -> None:
    path = Trajectory([0.0, 0.2], [from_xyz_rpy(0, 0, 0), from_xyz_rpy(0.5, 0, 0, yaw=0.2)])
    sweeps = [
        Simulator(world, sensor, actors=actors(), seed=4, threads=threads, packet=packet).sweep(path, index=1)
        for threads in (1, 2)
    ]
    assert len(sweeps[0].range) > 3000
    assert 77 in sweeps[0].instance
    assert columns(sweeps[0]) == columns(sweeps[1])


def test_callers_on_several_threads_share_a_scene(world: World, sensor: Sensor) -> None:
    simulator = Simulator(world, sensor, actors=actors(), seed=4, threads=2)
    alone = [columns(simulator.sweep(np.eye(4), index=i)) for i in range(4)]
    with ThreadPoolExecutor(2) as pool:
        together = list(pool.map(lambda i: columns(simulator.sweep(np.eye(4), index=i)), range(4)))
    assert together == alone


def rays(count: int) -> tuple[Array, Array]:
    rng = np.random.default_rng(5)
    directions = rng.normal(size=(count, 3)).astype(np.float32)
    return np.zeros((count, 3), np.float32), directions / np.linalg.norm(directions, axis=1)[:, None]


def same(run: Callable[[int], dict[str, Any]]) -> dict[str, Any]:
    one, two = run(1), run(2)
    for name, column in one.items():
        assert np.asarray(column).tobytes() == np.asarray(two[name]).tobytes(), name
    return one


def test_intersection(world: World) -> None:
    scene, (origins, directions) = make_native_scene(world), rays(20_000)
    found = same(lambda threads: scene.intersect(origins, directions, 50.0, threads))
    assert np.isfinite(found["range"]).all()


def test_prediction(world: World) -> None:
    scene, (origins, directions) = make_native_scene(world), rays(20_000)
    measured = np.full(len(origins), 5.0, np.float32)
    how = {"sigma": 0.03, "clutter": 0.02, "window": 0.1, "slope": 0.003, "range_max": 50.0}
    found = same(lambda threads: scene.predict(origins, directions, measured, **how, threads=threads))
    assert {1, 2, 3} <= set(found["kind"].tolist())


def test_counting_beams(world: World) -> None:
    origins, directions = rays(20_000)
    lengths, ended = np.full(len(origins), 3.0, np.float32), np.arange(len(origins)) % 2 == 0
    volumes = next(layer for layer in world.layers if isinstance(layer, Volumes))

    def count(threads: int) -> dict[str, Any]:
        counter = _core.BeamCounter(volumes.lower())
        counter.add(origins, directions, lengths, ended, 0.003, threads)
        return {"passed": counter.passed(), "stopped": counter.stopped(), "exposure": counter.exposure()}

    assert same(count)["stopped"].sum() > 100


def test_neighbours() -> None:
    points = np.random.default_rng(6).uniform(-10, 10, (8_000, 3)).astype(np.float32)
    points[:, 2] *= 0.01
    k, radius = np.full(len(points), 12, np.int32), np.full(len(points), 2.0, np.float32)

    def search(threads: int) -> dict[str, Any]:
        tree = _core.KdTree(points, threads)
        index, distance2 = tree.knn(None, 5, 2.0, threads)
        nearest, _ = tree.knn(points.astype(np.float64) + 0.1, 1, np.inf, threads)
        shapes = tree.pca(k, radius, ["normal", "radius", "count"], threads)
        empty = np.zeros((len(points), 0), np.float32)
        grown = tree.grow(shapes["normal"], k, radius, radius, k, 0.2, 0.6, empty, threads)
        first, second = tree.join(shapes["normal"], k, np.full(len(points), 2, np.int32), 8, 2.0, 0.1, threads)
        return {
            "index": index,
            "distance2": distance2,
            "nearest": nearest,
            **shapes,
            **{f"grown {name}": column for name, column in grown.items()},
            "first": first,
            "second": second,
            "counts": tree.radius_count(1.0, threads),
            "mean_radius": tree.mean_radius(8, 1, threads),
            "plane": tree.mean_plane_distance(8, 2.0, 1, threads),
            "free": _core.in_free_cells(points[:1000], points, 0.5, threads),
        }

    assert len(same(search)["grown seed"]) > 300


def test_carving() -> None:
    open_embree()
    rng = np.random.default_rng(7)
    centre = np.column_stack([np.full(2000, 5.0), rng.uniform(-3, 3, (2000, 2))]).astype(np.float32)
    normal = np.tile(np.array([1, 0, 0], np.float32), (2000, 1))
    radius, ratio = np.full(2000, 0.3, np.float32), np.full(2000, 1.0, np.float32)
    origin = np.zeros((40_000, 3), np.float32)
    point = rng.uniform([4.9, -3, -3], [5.1, 3, 3], (40_000, 3)).astype(np.float32)
    point[::3] *= 2  # these passed
    seen = np.ones(len(point), bool)

    def cut(threads: int) -> dict[str, Any]:
        left = _core.carve(centre, normal, radius, ratio, origin, point, seen, 3, 0.2, 0.0, 0.02, threads)
        return {"radius": left}

    left = same(cut)["radius"]
    assert (left < 0.3).any()


def test_points_against_a_range_image() -> None:
    rng = np.random.default_rng(8)
    points = rng.uniform(-20, 20, (50_000, 3)).astype(np.float32)
    sweep = np.zeros(len(points), np.int32)
    near = rng.uniform(5, 20, (60, 120)).astype(np.float32)

    def count(threads: int) -> dict[str, Any]:
        passed, confirmed = np.zeros(len(points), np.uint32), np.zeros(len(points), np.uint32)
        _core.count_seen_through(
            points=points,
            sweep=sweep,
            passed=passed,
            confirmed=confirmed,
            number=1,
            pose=np.eye(4),
            near=near,
            far=near + np.float32(1.0),
            first_row=0,
            all_rows=60,
            cell=np.radians(3.0),
            reach=21.0,
            margin=0.1,
            margin_per_m=0.0,
            threads=threads,
        )
        return {"passed": passed, "confirmed": confirmed}

    counts = same(count)
    assert counts["passed"].any()
    assert counts["confirmed"].any()
