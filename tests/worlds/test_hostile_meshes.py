"""Mesh files that are wrong in ways that their readers let pass."""

from __future__ import annotations

import base64
import json
import struct
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from resweep.errors import ResweepError
from resweep.worlds import World


def make_gltf(**changes: Any) -> dict[str, Any]:
    buffer = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0]], "<f4").tobytes() + struct.pack("<3H2x", 0, 1, 2)
    uri = "data:application/octet-stream;base64," + base64.b64encode(buffer).decode()
    return {
        **{"asset": {"version": "2.0"}, "scene": 0, "scenes": [{"nodes": [0]}], "nodes": [{"mesh": 0}]},
        "meshes": [{"primitives": [{"attributes": {"POSITION": 0}, "indices": 1}]}],
        "accessors": [
            {"componentType": 5126, "count": 3, "type": "VEC3", "bufferView": 0},
            {"componentType": 5123, "count": 3, "type": "SCALAR", "bufferView": 1},
        ],
        "bufferViews": [
            {"buffer": 0, "byteLength": 36, "byteOffset": 0},
            {"buffer": 0, "byteLength": 6, "byteOffset": 36},
        ],
        "buffers": [{"uri": uri, "byteLength": 44}],
        **changes,
    }


def test_a_good_one(tmp_path: Path) -> None:
    (tmp_path / "a.gltf").write_text(json.dumps(make_gltf()))
    assert len(World.from_mesh(tmp_path / "a.gltf").layers[0].faces) == 1  # type: ignore[union-attr]


def test_an_obj_of_two_coordinates(tmp_path: Path) -> None:
    (tmp_path / "a.obj").write_text("v 1 2\nv 2 3\nv 3 5\nf 1 2 3\n")
    with pytest.raises(ResweepError, match=r"a\.obj.*vertices of 2 coordinates"):
        World.from_mesh(tmp_path / "a.obj")


def test_zeros_that_are_not_in_the_file(tmp_path: Path) -> None:
    accessors = [{"componentType": 5126, "count": 10**9, "type": "VEC3"}, make_gltf()["accessors"][1]]
    (tmp_path / "a.gltf").write_text(json.dumps(make_gltf(accessors=accessors)))
    tracemalloc.start()
    with pytest.raises(ResweepError, match="accessor 0 counts 1000000000 items"):
        World.from_mesh(tmp_path / "a.gltf")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 100 << 20


def test_nodes_in_a_circle(tmp_path: Path) -> None:
    nodes = [{"children": [1]}, {"mesh": 0, "children": [0]}]
    (tmp_path / "a.gltf").write_text(json.dumps(make_gltf(nodes=nodes)))
    with pytest.raises(ResweepError, match=r"a\.gltf.*its nodes are no tree"):
        World.from_mesh(tmp_path / "a.gltf")


def test_a_chunk_longer_than_the_file(tmp_path: Path) -> None:
    text = json.dumps(make_gltf()).encode()
    text += b" " * (-len(text) % 4)
    for length, good in ((len(text), True), (0xFFFFFFF0, False)):
        head = struct.pack("<4sIIII", b"glTF", 2, 20 + len(text), length, 0x4E4F534A)
        (tmp_path / "a.glb").write_bytes(head + text)
        if good:
            World.from_mesh(tmp_path / "a.glb")
        else:
            with pytest.raises(ResweepError, match=r"a\.glb.*chunks of \d+ bytes in \d+"):
                World.from_mesh(tmp_path / "a.glb")


def view(**changes: Any) -> list[dict[str, Any]]:
    one, two = make_gltf()["bufferViews"]
    return [{**one, **changes}, two]


def accessor(**changes: Any) -> list[dict[str, Any]]:
    one, two = make_gltf()["accessors"]
    return [{**one, **changes}, two]


MANY = [{"attributes": {"POSITION": 0}, "indices": 1}] * 100_001


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"bufferViews": view(byteLength=2**40)}, "buffer view 0: bytes 0 to 1,099,511,627,776 of a buffer of 44"),
        ({"bufferViews": view(byteOffset=-8)}, "buffer view 0: byteOffset must be a whole number from 0, got -8"),
        ({"bufferViews": view(byteStride=0)}, "buffer view 0: byteStride must be a whole number from 4"),
        ({"bufferViews": view(byteStride=2**31)}, "buffer view 0: byteStride must be 4 to 252"),
        ({"bufferViews": view(buffer=7)}, "buffer view 0: buffer 7 is not there, the file has 1"),
        ({"bufferViews": view(byteStride=4)}, "accessor 0: 3 items end at byte 20 of a view of 36"),
        ({"accessors": accessor(count=2**62)}, "accessor 0: .* items end at byte .* of a view of 36"),
        ({"accessors": accessor(count=-1)}, "accessor 0: count must be a whole number from 1, got -1"),
        ({"accessors": accessor(byteOffset=2**63)}, "accessor 0: 3 items end at byte"),
        ({"accessors": accessor(sparse={"count": 1})}, "accessor 0: is sparse, which is not read"),
        ({"accessors": accessor(componentType=[5126])}, "accessor 0: componentType"),
        ({"accessors": accessor(bufferView="0")}, "accessor 0: bufferView must be a whole number from 0, got '0'"),
        ({"buffers": [{"uri": "data:,AAAA", "byteLength": 10**12}]}, "buffer 0: is said to have 1,000,000,000,000"),
        ({"buffers": [{"uri": "/dev/zero", "byteLength": 44}]}, "path '/dev/zero' is not allowed"),
        ({"meshes": [{"primitives": MANY}]}, "has 100,001 primitives, 100,000 at most"),
        ({"nodes": [{"mesh": 0, "children": [0]}]}, "its nodes are no tree: node 0"),
        ({"nodes": [{"mesh": 0}, {"children": [0]}, {"children": [0]}]}, "node 0 is below both 1 and 2"),
        (
            {"nodes": [{"mesh": 0, "matrix": [1e300, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1]}]},
            "transform has a number beyond",
        ),
        ({"nodes": [{"mesh": 0, "scale": [1e9, 1e9, 1e9]}]}, "reaches 1e.09 m from zero, and no coordinate is beyond"),
    ],
)
def test_a_gltf_that_is_not_what_it_says(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    (tmp_path / "a.gltf").write_text(json.dumps(make_gltf(**changes)))
    with pytest.raises(ResweepError, match=rf"a\.gltf.*({message})") as caught:
        World.from_mesh(tmp_path / "a.gltf")
    assert "\n" not in str(caught.value)


def test_copies_that_do_not_fit_into_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("resweep.memory.measure_room", lambda: 10_000)
    parts = [{"attributes": {"POSITION": 0}, "indices": 1}] * 100
    (tmp_path / "a.gltf").write_text(json.dumps(make_gltf(meshes=[{"primitives": parts}])))
    with pytest.raises(ResweepError, match=r"a\.gltf.*its geometry would take 17\.0 kB of memory"):
        World.from_mesh(tmp_path / "a.gltf")
