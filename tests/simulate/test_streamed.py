"""Sweeps in a world that is read tile by tile are those of the whole world, byte for byte."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import resweep as rs
from resweep.errors import ResweepError
from resweep.labels import load_labels
from resweep.pose import Trajectory, from_xyz_rpy
from resweep.scenario import Actor
from resweep.simulate import Retracer, Simulator
from resweep.simulate import tile_cache as caching
from resweep.simulate.recorded_sensor import make_one_ray_sensor
from resweep.simulate.sources import StreamedScene
from resweep.sweep import Sweep
from resweep.worlds import Instances, Mesh, Splats, StreamedWorld, Volumes, World, load_world
from resweep.worlds.store.near import find_near
from resweep.worlds.store.save import save_world
from resweep.worlds.stream.cells import DividedScene

TILE_M = 10.0
COLUMNS = ("beam", "range", "intensity", "return_index", "label", "instance", "beam_status", "points")
SENSOR = rs.load_sensor("velodyne-vlp-16").with_(
    **{"range_max_m": 15.0, "pattern.azimuth_resolution_deg": 1.0, "pattern.firing_period_s": None}
)
SHORT = SENSOR.with_(range_max_m=6.0)
SPOT = SENSOR.with_(**{"beam.rays": "nine", "receiver.mode": "strongest-and-last", "receiver.max_returns": 2})
LENGTH_M, HALF_M = 120.0, 12.0


def assert_same(one: Sweep, other: Sweep) -> None:
    for name in COLUMNS:
        assert getattr(one, name).tobytes() == getattr(other, name).tobytes(), name
    assert one.extra["primitive"].tobytes() == other.extra["primitive"].tobytes()
    if one.boxes is not None:
        assert other.boxes is not None
        assert one.boxes.centre.tobytes() == other.boxes.centre.tobytes()
        assert one.extra["velocity"].tobytes() == other.extra["velocity"].tobytes()


def flat_splats(rng: np.random.Generator, n: int, *, depth: int = 8, name: str = "ground") -> Splats:
    """Discs on a plane, and on walls: exactly level, so that many lie at one range."""
    centre = np.c_[rng.uniform(0, LENGTH_M, n), rng.uniform(-HALF_M, HALF_M, n), np.zeros(n)]
    normal = np.tile([0.0, 0.0, 1.0], (n, 1))
    wall = rng.random(n) < 0.3
    centre[wall, 1], centre[wall, 2] = HALF_M, rng.uniform(0, 4, int(wall.sum()))
    normal[wall] = [0, -1, 0]
    return Splats(
        centre,
        normal,
        rng.uniform(0.1, 0.4, n),
        label=np.where(wall, 50, rng.choice([40, 44], n)),
        reflectance=rng.uniform(0.1, 0.9, n),
        instance=rng.integers(0, 4, n),
        name=name,
        depth=depth,
    )


def bushes(rng: np.random.Generator, n: int, name: str = "bushes") -> Volumes:
    mean = np.c_[rng.uniform(0, LENGTH_M, n), rng.uniform(-8, 8, n), rng.uniform(0, 2.5, n)]
    covariance = np.array([0.04, 0.005, 0.0, 0.03, 0.0, 0.05]) * rng.uniform(0.5, 2, (n, 1))
    return Volumes(mean, covariance, rng.uniform(0.1, 0.95, n), rng.uniform(0.1, 0.3, n), label=70, name=name)


def rough_ground(rng: np.random.Generator) -> Mesh:
    """A mesh over all tiles whose edges lie on their borders."""
    x, y = np.arange(0, LENGTH_M + 1, 2.5), np.arange(-HALF_M - 0.5, HALF_M + 1, 2.5)
    grid = np.stack(np.meshgrid(x, y, indexing="ij"), axis=-1).reshape(-1, 2)
    vertices = np.c_[grid, np.where(np.abs(grid[:, 1]) > 5, rng.normal(0, 0.2, len(grid)), 0.0)]
    corner = (np.arange(len(x) - 1)[:, None] * len(y) + np.arange(len(y) - 1)).ravel()
    w = len(y)
    faces = np.r_[np.c_[corner, corner + w, corner + 1], np.c_[corner + 1, corner + w, corner + w + 1]]
    faces = faces[rng.permutation(len(faces))]
    return Mesh(vertices, faces, label=rng.integers(1, 9, len(faces)), reflectance=0.4, name="rough")


def stones(rng: np.random.Generator, n: int) -> Instances:
    mesh = Mesh([[0, 0, 1.5], [1, 0, 0], [0, 1, 0], [-1, -1, 0]], [[0, 1, 2], [0, 2, 3], [0, 3, 1]], label=4)
    transforms = np.zeros((n, 3, 4))
    transforms[:, :, :3] = np.eye(3) * rng.uniform(0.3, 0.8, (n, 1, 1))
    transforms[:, :2, 3] = np.c_[rng.uniform(0, LENGTH_M, n), rng.uniform(-HALF_M, HALF_M, n)]
    return Instances(mesh, transforms, instance=np.arange(100, 100 + n), label=np.arange(n) % 3 - 1, name="stones")


def make_world(*kinds: str, seed: int = 0) -> World:
    rng = np.random.default_rng(seed)
    layers: dict[str, Any] = {
        "splats": lambda: flat_splats(rng, 9000),
        "surfels": lambda: flat_splats(rng, 5000, depth=1, name="surfels"),
        "volumes": lambda: bushes(rng, 2500),
        "hedge": lambda: bushes(rng, 800, "hedge"),
        "mesh": lambda: rough_ground(rng),
        "instances": lambda: stones(rng, 60),
    }
    return World([layers[kind]() for kind in kinds], (1000.0, -50.0, 7.0), labels=load_labels("semantickitti"))


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A world of all kinds."""
    world = make_world("splats", "volumes", "mesh", "hedge", "instances")
    return save_world(world, tmp_path_factory.mktemp("place") / "a.world", tile_size_m=TILE_M)


def drive(first_m: float = 30.0, last_m: float = 52.0, y: float = 0.0) -> Trajectory:
    poses = np.array([from_xyz_rpy(1000 + x, -50 + y, 8.8) for x in (first_m, last_m)])
    return Trajectory(np.array([0.0, 1.0]), poses)


def cache_of(simulator: Simulator | Retracer) -> caching.TileCache:
    source = simulator.tracer.source
    assert isinstance(source, StreamedScene)
    return source.cache


@pytest.mark.parametrize(
    "kinds",
    [("splats",), ("surfels",), ("volumes",), ("mesh",), ("instances",), ("splats", "hedge", "volumes", "mesh")],
    ids="-".join,
)
def test_a_sweep_at_a_border_is_that_of_the_whole_world(tmp_path: Path, kinds: tuple[str, ...]) -> None:
    path = save_world(make_world(*kinds), tmp_path / "a.world", tile_size_m=TILE_M)
    for sensor in (SENSOR, SPOT):
        whole = Simulator(load_world(path), sensor, seed=3)
        streamed = Simulator(StreamedWorld(path), sensor, seed=3)
        for index, x in enumerate((30.0, 40.0, 39.999, 57.3)):  # on borders, beside one, and amid a tile
            pose = from_xyz_rpy(1000 + x, -50.0, 8.8, yaw=0.1 * index)
            one, other = whole.sweep(pose, index=index), streamed.sweep(pose, index=index)
            assert len(one) > 50
            assert_same(one, other)
        assert len(cache_of(streamed).kept) < len(DividedScene(StreamedWorld(path).layers).cells)


def test_driving_across_borders_among_actors(place: Path) -> None:
    car = Mesh([[0, 0, 0], [2, 0, 0], [2, 0, 1.5], [0, 0, 1.5]], [[0, 1, 2], [0, 2, 3]], label=0)
    cloud = Splats(np.array([[0.0, 0.0, 1.0]]), np.array([[0.0, -1.0, 0.0]]), np.array([0.7]), depth=5)
    poses = np.array([from_xyz_rpy(1035, -46, 7.0), from_xyz_rpy(1055, -46, 7.0)])
    actor = Actor((car, cloud), Trajectory(np.array([0.0, 1.0]), poses), 9000, 10, "car")
    whole = Simulator(load_world(place), SENSOR, actors=[actor]).run(drive())
    streamed = Simulator(StreamedWorld(place), SENSOR, actors=[actor]).run(drive())
    assert len(whole) > 8
    for one, other in zip(whole, streamed, strict=True):
        assert_same(one, other)
    assert any(9000 in sweep.instance for sweep in whole)
    with pytest.raises(ResweepError, match="instance 103 is also that of something in the world's layer 'stones'"):
        Simulator(StreamedWorld(place), SENSOR, actors=[Actor((car,), actor.trajectory, 103, 10, "car")])


def test_recorded_beams_and_predictions_are_those_of_the_whole_world(place: Path) -> None:
    recorded = Simulator(load_world(place), SENSOR).run(drive(), sweeps=3)
    sensor = make_one_ray_sensor(0.002, 15.0)
    whole = Retracer(load_world(place), sensor, aligned=True)
    streamed = Retracer(StreamedWorld(place), sensor, aligned=True)
    for one, other in zip(whole.run(recorded), streamed.run(recorded), strict=True):
        assert_same(one, other)
    sweep = recorded[1]
    moved = replace(sweep, pose=from_xyz_rpy(0.02, -0.03, 0.01) @ sweep.pose)
    found = whole.find_pose(moved)
    assert not np.array_equal(found, moved.pose)
    assert found.tobytes() == streamed.find_pose(moved).tobytes()
    assert whole.predict(sweep).range.tobytes() == streamed.predict(sweep).range.tobytes()
    assert whole.log_likelihood(sweep).tobytes() == streamed.log_likelihood(sweep).tobytes()


@pytest.fixture(scope="module")
def uneven() -> World:
    """A world in which no two things lie at exactly one range."""
    rng = np.random.default_rng(1)
    ground = flat_splats(rng, 9000)
    normal = ground.normal + rng.normal(0, 0.1, ground.normal.shape)
    normal /= np.linalg.norm(normal, axis=1, keepdims=True)
    splats = Splats(ground.centre, normal, ground.radius, ground.label, ground.reflectance, depth=8)
    return World([splats, bushes(rng, 2500), bushes(rng, 800, "hedge")], tile_size_m=TILE_M)


def test_tiles_decide_nothing(uneven: World, tmp_path: Path) -> None:
    """Other tiles, and a scene without any, give the same sweep."""
    pose = from_xyz_rpy(40.0, 0.0, 1.8)
    expected = Simulator(uneven, SENSOR).sweep(pose)
    for size_m in (7.0, 1000.0):
        path = save_world(uneven, tmp_path / f"{size_m}.world", tile_size_m=size_m)
        assert_same(expected, Simulator(StreamedWorld(path), SENSOR).sweep(pose))


def test_a_part_near_a_drive_gives_the_same_sweeps(uneven: World, tmp_path: Path) -> None:
    """Volumes keep their numbers, which their random draws depend on."""
    path = uneven.save(tmp_path / "a.world")
    poses = np.array([from_xyz_rpy(x, 0.0, 1.8) for x in (30.0, 45.0)])
    part = load_world(path, near=poses, range_m=31.0)
    assert part.n_primitives < 0.9 * uneven.n_primitives
    for one, other in zip(Simulator(uneven, SENSOR).run(poses), Simulator(part, SENSOR).run(poses), strict=True):
        assert_same(one, other)


def test_memory_is_bounded_and_tiles_come_ahead(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(caching, "_RESERVED_BYTES", 0)
    everything = Simulator(StreamedWorld(place), SHORT)
    cache = cache_of(everything)
    with cache.holding(np.array([[5.0, 0, 0], [115.0, 0, 0]]), 22.0):
        total = cache.size
    limit = int(total * 0.6)
    streamed = Simulator(StreamedWorld(place, memory=limit), SHORT)
    largest, path = 0, Trajectory(np.array([0.0, 3.0]), drive(5.0, 115.0).poses)
    expected = Simulator(load_world(place), SHORT).run(path)
    for one, other in zip(expected, streamed.run(path), strict=True):
        largest = max(largest, cache_of(streamed).size)
        assert_same(one, other)
    assert 0.3 * total < largest <= limit
    assert cache_of(streamed).n_read <= len(cache.kept) + 6  # almost nothing was dropped too early


def test_tiles_ahead_are_read_in_the_background(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    simulator = Simulator(StreamedWorld(place), SENSOR)
    cache = cache_of(simulator)
    threads = set()
    build = DividedScene.build

    def noted(self: DividedScene, cell: int) -> Any:
        threads.add(threading.current_thread().name)
        return build(self, cell)

    monkeypatch.setattr(DividedScene, "build", noted)
    log = simulator.run(drive(20.0, 60.0))
    sweep = log[0]
    assert len(sweep) > 100
    assert sweep.trajectory is not None
    path = sweep.trajectory.poses[:, :3, 3] - simulator.world.origin
    needed = np.flatnonzero(find_near(simulator.tracer.source._scene.boxes, path, 40.0)).tolist()
    at_hand = {*cache.kept, *cache._coming}
    assert at_hand > set(needed)
    assert all(name.startswith("resweep-tiles") for name in threads)


def test_timing_changes_nothing(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Slow readers, no reading ahead, and several threads that sweep at once in little memory."""
    monkeypatch.setattr(caching, "_RESERVED_BYTES", 0)
    expected = list(Simulator(load_world(place), SENSOR).run(drive(5.0, 110.0)))
    build = DividedScene.build
    rng = np.random.default_rng(0)

    def slow(self: DividedScene, cell: int) -> Any:
        threading.Event().wait(float(rng.uniform(0, 0.01)))
        return build(self, cell)

    monkeypatch.setattr(DividedScene, "build", slow)
    streamed = Simulator(StreamedWorld(place, memory=80_000_000), SENSOR, threads=1).run(drive(5.0, 110.0))
    with ThreadPoolExecutor(3) as pool:
        for one, other in zip(expected, pool.map(lambda i: streamed[i], range(len(streamed))), strict=True):
            assert_same(one, other)


def test_too_little_memory_is_one_error(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ResweepError, match=r"a\.world: the \d+ tiles within 40 m of the sensor take about .* memory"):
        Simulator(StreamedWorld(place, memory=301_000_000), SENSOR).sweep(drive().poses[0])


def test_a_damaged_tile_is_one_error_when_it_is_needed(tmp_path: Path) -> None:
    path = save_world(make_world("mesh"), tmp_path / "a.world", tile_size_m=TILE_M)
    streamed = Simulator(StreamedWorld(path), SENSOR)
    chunk = path / "layers/0000/faces/c/0/0"
    chunk.write_bytes(chunk.read_bytes()[:100])
    with pytest.raises(ResweepError, match=r"layers/0000/faces: is damaged"):
        streamed.sweep(drive().poses[0])


def test_opening_reads_no_primitive(place: Path) -> None:
    world, whole = StreamedWorld(place), load_world(place)
    opened = [column for layer in world.layers for column in layer.columns._open.values()]
    assert not any(column._files._array for column in opened if column.shape[0] > 500)
    assert world.bounds.tobytes() == whole.bounds.tobytes()
    assert (world.has_labels, world.label_counts, world.labels) == (True, whole.label_counts, whole.labels)
    assert (world.n_primitives, world.tile_size_m) == (whole.n_primitives, TILE_M)
    assert world.largest_instance == whole.largest_instance == 159
    assert world.find_instance(np.array([3, 159])) == whole.find_instance(np.array([3, 159]))
    assert world.find_instance(np.array([77])) is whole.find_instance(np.array([77])) is None
