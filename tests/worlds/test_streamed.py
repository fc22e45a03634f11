"""A world that is opened without being read, and parts of worlds near a drive."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from resweep.errors import ResweepError
from resweep.log import Log
from resweep.pose import Trajectory, from_xyz_rpy
from resweep.worlds import Instances, StreamedWorld, Volumes, World, load_world
from resweep.worlds.store.near import find_near
from resweep.worlds.store.save import save_world
from resweep.worlds.stream.cells import CellsInMemory, make_cells


def poses(*x: float) -> np.ndarray:
    return np.array([from_xyz_rpy(500_000.25 + at, 5_000_000.5, 121.0) for at in x])


def test_tiles_near_a_drive_are_read(mixed_world: World, tmp_path: Path) -> None:
    path = save_world(mixed_world, tmp_path / "a.world", tile_size_m=25.0)
    drive = poses(-100.0, 0.0)
    part = load_world(path, near=drive, range_m=20.0)
    assert 0 < part.n_primitives < mixed_world.n_primitives / 2
    low, high = part.bounds - mixed_world.origin
    assert low[0] < -115
    assert 15 < high[0] < 60
    moving = load_world(path, near=Trajectory(np.array([0.0, 1.0]), drive), range_m=20.0)
    log = Log(lambda i: None, np.array([0.0, 1.0]), drive)  # type: ignore[arg-type,return-value]
    for other in (moving, load_world(path, near=log, range_m=20.0)):
        assert other.n_primitives == part.n_primitives
    # Between two poses far apart everything is read as well.
    assert load_world(path, near=poses(-100.0, 100.0), range_m=20.0).n_primitives > part.n_primitives


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"near": poses(9000.0)}, r"no layer has anything within 250 m of the drive; the world spans"),
        ({"near": poses(0.0), "range_m": 0.0}, "range_m: expected a number of metres above zero, got 0.0"),
        ({"near": poses(0.0), "bounds": [[0, 0], [1, 1]]}, "near: is given together with bounds"),
        ({"near": np.zeros((0, 4, 4))}, "near: holds no pose"),
        ({"near": np.zeros((2, 3))}, "near"),
    ],
)
def test_what_is_wrong_with_near_is_said(saved_once: Path, arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ResweepError, match=message):
        load_world(saved_once, **arguments)


def test_boxes_near_a_path() -> None:
    boxes = np.array([[[x, 0.0, 0.0], [x + 1.0, 1.0, 1.0]] for x in range(100)])
    path = np.array([[10.5, -3.0, 0.5], [12.5, -3.0, 0.5], [12.5, -8.0, 0.5]])
    assert np.flatnonzero(find_near(boxes, path, 3.0)).tolist() == [10, 11, 12]
    assert np.flatnonzero(find_near(boxes, path, 3.05)).tolist() == [9, 10, 11, 12, 13]
    assert np.flatnonzero(find_near(boxes, path[:1], 3.0)).tolist() == [10]


@pytest.mark.slow
def test_tiles_in_memory_are_those_on_disk(mixed_world: World, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    mean = np.c_[rng.uniform(-140, 140, (400, 2)), rng.normal(size=400)]
    volumes = Volumes(mean, np.tile([0.01, 0.0, 0.0, 0.01, 0.0, 0.01], (400, 1)), rng.uniform(0, 1, 400), label=2)
    world = World([volumes, *mixed_world.layers, volumes], mixed_world.origin, tile_size_m=25.0)
    stored = StreamedWorld(world.save(tmp_path / "a.world"))
    cells = make_cells(load_world(tmp_path / "a.world"))
    assert cells is not None
    for one, other in zip(cells, stored.layers, strict=True):
        assert (one.kind, one.traits) == (other.kind, other.traits)
        for name in ("place", "n_rows", "n_points", "bounds"):
            np.testing.assert_array_equal(getattr(one.table, name), getattr(other.table, name))
        for tile in range(len(one.table.n_rows)):
            a, b = one.read(tile), other.read(tile)
            for name in _columns(a):
                np.testing.assert_array_equal(getattr(a, name), getattr(b, name), err_msg=name)
    last = stored.layers[-1].read(0)
    assert isinstance(last, Volumes)
    assert last.number is not None
    assert last.number.min() >= 400


def _columns(layer: Any) -> tuple[str, ...]:
    if isinstance(layer, Volumes):
        return ("mean", "covariance", "permeability", "label", "number")
    return ("transforms", "instance", "label") if isinstance(layer, Instances) else ("vertices", "faces", "label")


def test_worlds_of_few_tiles_are_not_divided(mixed_world: World, tmp_path: Path) -> None:
    assert make_cells(mixed_world) is None
    path = mixed_world.save(tmp_path / "a.world")
    assert not StreamedWorld(path).is_divided
    assert load_world(path).tile_size_m == 50.0
    fine = save_world(mixed_world, tmp_path / "b.world", tile_size_m=25.0)
    assert StreamedWorld(fine).is_divided
    assert load_world(fine).tile_size_m == 25.0
    again = load_world(fine).moved(np.eye(4)).relabelled("unknown")
    assert again.tile_size_m == (again + again).tile_size_m == 25.0


def test_volumes_of_a_part_keep_their_numbers_until_worlds_are_added(tmp_path: Path) -> None:
    mean = np.c_[np.arange(40) * 5.0, np.zeros(40), np.zeros(40)]
    volumes = Volumes(mean[::-1], np.tile([0.01, 0.0, 0.0, 0.01, 0.0, 0.01], (40, 1)), 0.5)
    path = save_world(World([volumes, volumes]), tmp_path / "a.world", tile_size_m=20.0)
    part = load_world(path, bounds=[[0, -1], [30, 1]])
    numbers = [layer.number for layer in part.layers if isinstance(layer, Volumes)]
    assert [number.tolist() for number in numbers if number is not None] == [[*range(32, 40)], [*range(72, 80)]]
    moved = part.layers[0].moved(np.eye(4))
    assert isinstance(moved, Volumes)
    np.testing.assert_array_equal(moved.number, numbers[0])
    assert all(layer.number is None for layer in (part + part).layers if isinstance(layer, Volumes))
    assert all(layer.number is None for layer in load_world(path).layers if isinstance(layer, Volumes))


def test_an_old_record_without_counts_is_counted(saved: Path) -> None:
    index = json.loads((saved / "world.json").read_text())
    counts = {int(key): value for key, value in index.pop("label_counts").items()}
    for entry in index["layers"]:
        entry["bounds"] = None
    (saved / "world.json").write_text(json.dumps(index))
    world = StreamedWorld(saved)
    assert world.label_counts == counts
    np.testing.assert_allclose(world.bounds, index["bounds"], atol=1e-3)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda index: index.update(tile_size_m=0), "field 'tile_size_m' cannot be 0"),
        (lambda index: index["layers"][0].update(kind="fog"), "layers of kind 'fog' are unknown"),
        (lambda index: index.update(layers=[]), "has no layer"),
        (lambda index: index["layers"][0].update(n_faces=3), "do not add up to 3 rows"),
    ],
)
def test_a_damaged_record_is_one_error(saved: Path, change: Any, message: str) -> None:
    index = json.loads((saved / "world.json").read_text())
    change(index)
    (saved / "world.json").write_text(json.dumps(index))
    with pytest.raises(ResweepError, match=message):
        StreamedWorld(saved)


def test_cells_of_a_layer_hold_each_row_once(mixed_world: World) -> None:
    for layer in mixed_world.layers:
        cells = CellsInMemory(layer, 25.0, 0)
        parts = [cells.read(tile) for tile in range(len(cells.table.n_rows))]
        assert sum(part.n_primitives for part in parts) == layer.n_primitives
