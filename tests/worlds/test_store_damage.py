"""Damaged, foreign and newer worlds: one error each, which names the file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from resweep.errors import ResweepError
from resweep.worlds import Mesh, World, load_world


def index_of(path: Path) -> dict[str, Any]:
    return json.loads((path / "world.json").read_text())


def change_index(path: Path, change: Any) -> None:
    data = index_of(path)
    change(data)
    (path / "world.json").write_text(json.dumps(data))


def test_missing_and_foreign_folders(tmp_path: Path) -> None:
    with pytest.raises(ResweepError, match=r"none\.world: no such world"):
        load_world(tmp_path / "none.world")
    with pytest.raises(ResweepError, match=r"not a world \(it has no world\.json\)"):
        load_world(tmp_path)
    (tmp_path / "world.json").write_text("[1, 2")
    with pytest.raises(ResweepError, match=r"world\.json: cannot be read"):
        load_world(tmp_path)
    (tmp_path / "world.json").write_text('{"format": "other"}')
    with pytest.raises(ResweepError, match=r"world\.json: not a world's"):
        load_world(tmp_path)


def test_newer_format_and_unknown_kind(tmp_path: Path) -> None:
    path = World([Mesh([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]])]).save(tmp_path / "a.world")
    change_index(path, lambda data: data["layers"][0].update(kind="voxels"))
    with pytest.raises(ResweepError, match=r"world\.json: layers\[0\]: layers of kind 'voxels' are unknown"):
        load_world(path)
    change_index(path, lambda data: data.update(format_version=2))
    with pytest.raises(ResweepError, match=r"world\.json: format 2 is newer than this Resweep's 1; upgrade"):
        load_world(path)


@pytest.mark.parametrize("field", ["format_version", "origin", "meta", "layers"])
def test_index_without_a_field(saved: Path, field: str) -> None:
    path = saved
    change_index(path, lambda data: data.pop(field))
    with pytest.raises(ResweepError, match=rf"world\.json: field '{field}' is missing"):
        load_world(path)


@pytest.mark.parametrize("layer", [0, 1])
def test_layer_without_any_one_field(saved: Path, layer: int) -> None:
    path = saved
    whole = index_of(path)
    needed = {
        0: ("kind", "path", "constants", "counting", "n_faces", "n_vertices", "materials", "name"),
        1: ("path", "mesh", "n_instances", "constants", "counting"),
    }
    for field in needed[layer]:
        (path / "world.json").write_text(json.dumps(whole))
        change_index(path, lambda data, field=field: data["layers"][layer].pop(field))
        with pytest.raises(ResweepError, match=rf"world\.json: layers\[{layer}\]: field '{field}' is missing"):
            load_world(path)


def test_index_with_values_of_the_wrong_kind(saved: Path) -> None:
    path = saved
    whole = index_of(path)
    for change in (
        lambda data: data.update(origin=[1, "x", 2]),
        lambda data: data.update(origin=[1, 2]),
        lambda data: data["layers"][0]["constants"].update(instance="x"),
        lambda data: data["layers"][0].update(n_vertices=5),
        lambda data: data["layers"][0].update(materials=[{"colour": 3}]),
        lambda data: data["layers"][0].update(path="layers/0009"),
        lambda data: data.update(layers=[3]),
    ):
        (path / "world.json").write_text(json.dumps(whole))
        change_index(path, change)
        with pytest.raises(ResweepError, match=r"a\.world"):
            load_world(path)


@pytest.mark.parametrize("damage", ["cut", "flip", "empty", "gone", "header", "shape"])
@pytest.mark.parametrize("column", ["faces", "vertices", "order", "tiles", "label"])
def test_damaged_arrays_name_their_file(saved: Path, column: str, damage: str) -> None:
    path = saved
    folder = path / "layers/0000" / column
    chunk = next(file for file in sorted((folder / "c").rglob("*")) if file.is_file())
    content = bytearray(chunk.read_bytes())
    if damage == "cut":
        chunk.write_bytes(content[: len(content) // 2])
    elif damage == "flip":
        content[len(content) // 2] ^= 16
        chunk.write_bytes(content)
    elif damage == "empty":
        chunk.write_bytes(b"")
    elif damage == "gone":
        chunk.unlink()
    elif damage == "header":
        (folder / "zarr.json").write_text("{")
    else:
        header = json.loads((folder / "zarr.json").read_text())
        header["shape"][0] //= 2
        (folder / "zarr.json").write_text(json.dumps(header))
    with pytest.raises(
        ResweepError, match=rf"a\.world.*layers.0000.{column}: is damaged .*save the world again"
    ) as error:
        load_world(path)
    assert "\n" not in str(error.value)
