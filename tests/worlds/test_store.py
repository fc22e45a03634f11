"""A world on disk is the same world: whole, in part, and never half written."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from resweep.calibration import Calibration
from resweep.errors import ResweepError
from resweep.labels import LabelSet, load_labels
from resweep.sensors import load_sensor
from resweep.simulate import Simulator
from resweep.worlds import Instances, Mesh, World, load_world
from resweep.worlds.store import tiled_columns as tiles
from resweep.worlds.store.save import save_world

# Names of files of other kinds, which a folder must not have.
FILE_NAMES = ("place.ply", "place.OBJ", "place.laz", "place.glb")
MESH_COLUMNS = ("vertices", "faces", "label", "reflectance", "material", "instance")


def assert_same_mesh(a: Mesh, b: Mesh) -> None:
    assert (a.name, a.materials) == (b.name, b.materials)
    for name in MESH_COLUMNS:
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name), err_msg=name)
        assert getattr(a, name).dtype == getattr(b, name).dtype


def assert_same_world(a: World, b: World) -> None:
    np.testing.assert_array_equal(a.origin, b.origin)
    assert (a.meta, a.labels) == (b.meta, b.labels)
    assert [layer.kind for layer in a.layers] == [layer.kind for layer in b.layers]
    for one, other in zip(a.layers, b.layers, strict=True):
        if isinstance(one, Instances):
            assert isinstance(other, Instances)
            assert one.name == other.name
            assert_same_mesh(one.mesh, other.mesh)
            for name in ("transforms", "instance", "label"):
                np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)
        else:
            assert_same_mesh(one, other)


def one_face(**attributes: Any) -> World:
    return World([Mesh([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]], **attributes)])


def test_the_vocabulary_comes_back_whole(tmp_path: Path) -> None:
    mine = LabelSet(name="mine", classes={3: {"name": "kerb", "group": "ground", "colour": "#010203"}})
    world = World(one_face(label=3).layers, labels=mine)
    again = load_world(world.save(tmp_path / "a.world"))
    assert again.labels == mine
    assert index_of(tmp_path / "a.world")["label_counts"] == {"3": 1}


def test_a_world_saved_without_a_vocabulary_has_an_unknown_one(tmp_path: Path) -> None:
    path = one_face(label=3).save(tmp_path / "a.world")
    index = index_of(path)
    assert index.pop("labels")["name"] == "unknown"
    (path / "world.json").write_text(json.dumps(index))
    assert load_world(path).labels == load_labels("unknown")
    (path / "world.json").write_text(json.dumps({**index, "labels": {"name": "a", "classes": {"x": {"name": "b"}}}}))
    with pytest.raises(ResweepError, match=r"world\.json: labels: classes\.x: input should be a valid integer"):
        load_world(path)


def index_of(path: Path) -> dict[str, Any]:
    return json.loads((path / "world.json").read_text())


def change_index(path: Path, change: Callable[[dict[str, Any]], object]) -> None:
    data = index_of(path)
    change(data)
    (path / "world.json").write_text(json.dumps(data))


def test_a_calibration_is_saved_and_older_worlds_keep_theirs_in_meta(tmp_path: Path) -> None:
    lasers = Calibration([0.001, -0.002], [0.01, 0.02])
    path = World(one_face().layers, calibration=lasers).save(tmp_path / "a.world")
    assert load_world(path).calibration.to_dict() == lasers.to_dict()
    change_index(path, lambda data: data["meta"].update(calibration=data.pop("calibration")))
    assert load_world(path).calibration.to_dict() == lasers.to_dict()
    assert load_world(one_face().save(tmp_path / "b.world")).calibration is None
    change_index(path, lambda data: data.update(calibration={"elevation_rad": [0.0, 0.1], "range_m": [0.0]}))
    with pytest.raises(ResweepError, match=r"world\.json: field 'calibration' cannot be read .*one value a ring"):
        load_world(path)


@pytest.mark.parametrize("tile_size_m", [1000.0, 50.0, 7.0])
def test_round_trip_keeps_everything_in_order(mixed_world: World, tmp_path: Path, tile_size_m: float) -> None:
    save_world(mixed_world, tmp_path / "a.world", tile_size_m=tile_size_m)
    assert_same_world(mixed_world, load_world(tmp_path / "a.world"))


def test_loaded_world_simulates_the_same_bytes(mixed_world: World, tmp_path: Path) -> None:
    again = load_world(mixed_world.save(tmp_path / "a.world"))
    pose = np.eye(4)
    pose[:3, 3] = mixed_world.origin + np.array([0, 0, 4])
    sweeps = [Simulator(world, load_sensor("velodyne-vlp-16"), seed=1).sweep(pose) for world in (mixed_world, again)]
    assert len(sweeps[0]) > 1000
    for name in ("beam", "range", "intensity", "label", "instance", "return_index", "beam_status"):
        assert getattr(sweeps[0], name).tobytes() == getattr(sweeps[1], name).tobytes(), name


def test_layers_that_share_a_mesh_share_it_after_loading(mixed_world: World, tmp_path: Path) -> None:
    loaded = load_world(mixed_world.save(tmp_path / "a.world")).layers
    assert loaded[1].mesh is loaded[2].mesh  # type: ignore[union-attr]


def test_one_value_for_all_rows_stays_one_value(mixed_world: World, tmp_path: Path) -> None:
    path = mixed_world.save(tmp_path / "a.world")
    assert index_of(path)["layers"][0]["constants"] == {"instance": 7}
    assert not (path / "layers/0000/instance").exists()
    assert load_world(path).layers[0].instance.strides == (0,)


def test_columns_that_only_count_need_no_array(tmp_path: Path) -> None:
    path = one_face().save(tmp_path / "a.world")
    assert index_of(path)["layers"][0]["counting"] == ["order", "source"]
    assert sorted(item.name for item in (path / "layers/0000").iterdir() if item.is_dir()) == [
        "faces",
        "tiles",
        "vertices",
    ]


def test_a_kind_that_is_not_listed_is_not_saved(tmp_path: Path) -> None:
    class Fog(Mesh):
        kind = "fog"

    world = World([Fog(np.eye(3), np.array([[0, 1, 2]]), name="mist")])
    with pytest.raises(ResweepError, match="layer 'mist': layers of kind 'fog' cannot be saved"):
        world.save(tmp_path / "a.world")
    assert list(tmp_path.iterdir()) == []


def test_index_says_what_the_world_is(mixed_world: World, tmp_path: Path) -> None:
    data = index_of(mixed_world.save(tmp_path / "a.world"))
    assert data["format_version"] == 1
    assert data["units"]["length"] == "metre"
    assert data["origin"] == mixed_world.origin.tolist()
    np.testing.assert_array_equal(data["bounds"], mixed_world.bounds)
    assert data["meta"] == mixed_world.meta
    assert {"resweep", "zarr", "python"} <= set(data["versions"])
    first = data["layers"][0]
    assert (first["kind"], first["name"], first["n_faces"], first["n_vertices"]) == ("mesh", "ground", 7200, 3721)
    assert first["materials"][1]["name"] == "paint"


def test_same_world_gives_same_bytes(mixed_world: World, tmp_path: Path) -> None:
    one, two = mixed_world.save(tmp_path / "a.world"), mixed_world.save(tmp_path / "b.world")
    files = sorted(file.relative_to(one) for file in one.rglob("*") if file.is_file())
    assert files == sorted(file.relative_to(two) for file in two.rglob("*") if file.is_file())
    assert all((one / file).read_bytes() == (two / file).read_bytes() for file in files)


def test_bounds_read_all_that_reaches_into_them_and_little_else(mixed_world: World, tmp_path: Path) -> None:
    path = mixed_world.save(tmp_path / "a.world")
    low, high = mixed_world.origin[:2] + 10, mixed_world.origin[:2] + 30
    part = load_world(path, bounds=[low, high])
    whole, some = mixed_world.layers[0], part.layers[0]
    corners, kept = (mesh.vertices[mesh.faces] for mesh in (whole, some))
    inside = ((corners[..., :2].max(axis=1) >= 10) & (corners[..., :2].min(axis=1) <= 30)).all(axis=1)
    wanted, got = ({face.tobytes() for face in faces} for faces in (corners[inside], kept))
    assert wanted <= got
    assert len(kept) < 0.2 * len(corners)
    # What is read keeps the order it was saved in, and its attributes.
    position = {face.tobytes(): row for row, face in enumerate(corners)}
    rows = np.array([position[face.tobytes()] for face in kept])
    assert (np.diff(rows) > 0).all()
    np.testing.assert_array_equal(some.label, whole.label[rows])
    np.testing.assert_array_equal(some.reflectance, whole.reflectance[rows])


def test_bounds_find_a_copy_whose_mesh_reaches_in_from_another_tile(tmp_path: Path) -> None:
    beam = Mesh([[0, 0, 0], [120, 0, 0], [120, 0, 1]], [[0, 1, 2]], name="beam")
    transforms = np.zeros((2, 3, 4))
    transforms[:, :, :3] = np.eye(3)
    transforms[1, :, 3] = [0, 300, 0]
    path = World([Instances(beam, transforms, instance=[1, 2])]).save(tmp_path / "a.world")
    part = load_world(path, bounds=[[110, -5, 0], [115, 5, 1]])
    assert part.layers[0].instance.tolist() == [1]


def test_bounds_in_three_dimensions(tmp_path: Path) -> None:
    lower, upper = one_face(name="low").layers[0], one_face(name="high").layers[0]
    lift = np.eye(4)
    lift[2, 3] = 20.0
    path = World([lower, upper.moved(lift)]).save(tmp_path / "a.world")
    assert [layer.name for layer in load_world(path, bounds=[[0, 0, 19], [1, 1, 21]]).layers] == ["high"]
    assert len(load_world(path, bounds=[[0, 0], [1, 1]]).layers) == 2


def test_a_part_is_read_without_touching_the_rest(
    mixed_world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tiles, "CHUNK_ROWS", 256)
    path = mixed_world.save(tmp_path / "a.world")
    corner = mixed_world.bounds[0, :2]
    shutil.rmtree(path / "layers/0000/faces/c/20")  # rows in the middle of the world
    assert load_world(path, bounds=[corner, corner + 40]).layers[0].n_triangles > 0
    with pytest.raises(ResweepError, match=r"layers/0000/faces: is damaged \(chunk 20 is missing\)"):
        load_world(path)


def test_bounds_with_nothing_inside_and_bad_bounds(mixed_world: World, tmp_path: Path) -> None:
    path = mixed_world.save(tmp_path / "a.world")
    with pytest.raises(ResweepError, match=r"no layer has anything within the bounds; the world spans \[\[49"):
        load_world(path, bounds=[[0, 0], [1, 1]])
    for bad in ([[1, 1], [0, 0]], [0, 1], "here", [[0, 0], [np.nan, 1]]):
        with pytest.raises(ResweepError, match="bounds: expected"):
            load_world(path, bounds=bad)


def test_smallest_worlds(tmp_path: Path) -> None:
    for number, world in enumerate((one_face(), World([Mesh([[1, 2, 3]], [[0, 0, 0]])]))):
        assert_same_world(world, load_world(world.save(tmp_path / f"{number}.world")))


def test_saving_replaces_a_world_whole(mixed_world: World, tmp_path: Path) -> None:
    path = mixed_world.save(tmp_path / "deep" / "a.world")
    small = one_face(label=3)
    assert small.save(path) == path
    assert_same_world(small, load_world(path))
    assert [item.name for item in path.parent.iterdir()] == ["a.world"]
    with pytest.raises(ResweepError, match="exists already"):
        small.save(path, overwrite=False)


@pytest.mark.parametrize("kind", ["folder", "empty", "file", "other json"])
def test_saving_over_anything_else_is_refused(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "mine"
    if kind == "file":
        path.write_text("keep me")
    else:
        path.mkdir()
        if kind != "empty":
            (path / ("world.json" if kind == "other json" else "keep.txt")).write_text('{"format": "another"}')
    before = sorted(str(item) for item in tmp_path.rglob("*"))
    with pytest.raises(ResweepError, match="mine: exists and is not a world"):
        one_face().save(path)
    assert sorted(str(item) for item in tmp_path.rglob("*")) == before


def test_a_save_that_fails_leaves_the_old_world(mixed_world: World, tmp_path: Path) -> None:
    path = one_face(label=3).save(tmp_path / "a.world")
    mixed_world.meta["handle"] = object()
    with pytest.raises(ResweepError, match="world meta: cannot be saved as JSON"):
        mixed_world.save(path)
    assert load_world(path).layers[0].label.tolist() == [3]
    assert [item.name for item in tmp_path.iterdir()] == ["a.world"]


@pytest.mark.parametrize("function", ["os.rename = disk.exchange", "json.dumps"])
def test_a_killed_save_leaves_the_old_world_or_none(tmp_path: Path, function: str) -> None:
    code = f"""
import json, os, signal, sys
from pathlib import Path
from resweep.files import disk
from resweep.worlds import Mesh, World
world = World([Mesh([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]], label=9)])
{function} = lambda *a, **k: os.kill(os.getpid(), signal.SIGKILL)
world.save(Path(sys.argv[1]))
"""
    path = one_face(label=3).save(tmp_path / "a.world")
    for target in (path, tmp_path / "new.world"):
        result = subprocess.run([sys.executable, "-c", code, str(target)], check=False, capture_output=True)
        assert result.returncode != 0
        assert not result.stderr
    assert load_world(path).layers[0].label.tolist() == [3]
    assert not (tmp_path / "new.world").exists()


def test_meta_of_numpy_values_and_paths_is_kept_plain(tmp_path: Path) -> None:
    world = one_face()
    world.meta.update(count=np.int64(3), scale=np.float32(0.5), box=np.eye(2), file=Path("a/b.ply"))
    meta = load_world(world.save(tmp_path / "a.world")).meta
    assert meta == {"count": 3, "scale": 0.5, "box": [[1, 0], [0, 1]], "file": str(Path("a/b.ply"))}


@pytest.mark.slow
def test_a_million_triangles_take_little_time(tmp_path: Path) -> None:
    n = 709
    x, y = np.meshgrid(np.arange(n) * 0.5, np.arange(n) * 0.5, indexing="ij")
    vertices = np.stack([x, y, np.sin(x)], axis=-1).reshape(-1, 3)
    corner = (np.arange(n - 1)[:, None] * n + np.arange(n - 1)).ravel()
    faces = np.r_[np.c_[corner, corner + n, corner + 1], np.c_[corner + 1, corner + n, corner + n + 1]]
    world = World([Mesh(vertices, faces, label=np.arange(len(faces)) % 20)])
    assert world.n_triangles > 1_000_000
    begin = time.perf_counter()
    world.save(tmp_path / "a.world")
    saved = time.perf_counter()
    load_world(tmp_path / "a.world")
    assert saved - begin < 2.0
    assert time.perf_counter() - saved < 1.0


@pytest.mark.parametrize("name", FILE_NAMES)
def test_a_world_is_not_saved_under_the_name_of_a_file(name: str, tmp_path: Path) -> None:
    world = World([Mesh([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]])])
    with pytest.raises(ResweepError, match=r"saved as a folder.*place\.world.*export"):
        world.save(tmp_path / name)
    assert list(tmp_path.iterdir()) == []
