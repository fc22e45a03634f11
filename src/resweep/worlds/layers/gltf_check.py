"""glTF and GLB files, checked before a reader sees them: every view lies in its buffer, every accessor in its view.

Readers reserve what a file's JSON says, and follow its nodes wherever they lead. A damaged file would take all memory,
or be read as another shape than it is. The rules are those of glTF 2.0 (3.6 on buffers and accessors, 3.5.2 on nodes).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import unquote

from resweep.files.strict_json import parse_json
from resweep.files.untrusted import check_name, read_bytes
from resweep.memory import check_room

_COMPONENT_BYTES = {5120: 1, 5121: 1, 5122: 2, 5123: 2, 5125: 4, 5126: 4}
_COMPONENTS = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4, "MAT2": 4, "MAT3": 9, "MAT4": 16}
_MAX_DEPTH = 500  # of nodes within each other
_MAX_PARTS = 100_000  # each becomes a layer
_COPIES = 4  # of an array that reading makes
_JSON, _BIN = 0x4E4F534A, 0x004E4942


def check_gltf(path: Path) -> None:
    """Raise ValueError, with what is wrong and where, for a file that is not what it says of itself."""
    data = read_bytes(path)
    binary: int | None = None
    text = data
    if path.suffix.lower() == ".glb":
        text, binary = _split_chunks(data)
    tree = parse_json(text)
    if not isinstance(tree, dict):
        raise ValueError("its JSON is no object")
    buffers = [_measure_buffer(item, path, binary, at) for at, item in _items(tree, "buffers")]
    views = [_check_view(item, buffers, f"buffer view {at}") for at, item in _items(tree, "bufferViews")]
    accessors = [_check_accessor(item, views, len(data), f"accessor {at}") for at, item in _items(tree, "accessors")]
    for at, image in _items(tree, "images"):
        if "bufferView" in image:
            _pick(image, "bufferView", views, f"image {at}")
    total = sum(accessors) + _check_meshes(tree, accessors)
    check_room(_COPIES * total, "its geometry", "export it with fewer copies")
    _check_nodes(tree)


def _split_chunks(data: bytes) -> tuple[bytes, int]:
    """The JSON of a GLB file, and how many bytes of binary data follow it."""
    at, chunks = 12, []
    while at < len(data):  # chunks: length, kind, contents
        length, kind = (int.from_bytes(data[at + shift : at + shift + 4], "little") for shift in (0, 4))
        chunks.append((kind, at + 8, length))
        at += 8 + length
    if at != len(data) or not chunks:
        raise ValueError(f"chunks of {at} bytes in {len(data)}")
    kind, start, length = chunks[0]
    if kind != _JSON:
        raise ValueError("its first chunk is no JSON")
    return data[start : start + length], chunks[1][2] if len(chunks) > 1 and chunks[1][0] == _BIN else 0


def _items(tree: dict[str, Any], name: str) -> list[tuple[int, dict[str, Any]]]:
    """The objects of one of the file's lists, with their numbers."""
    found = tree.get(name, [])
    if not isinstance(found, list) or not all(isinstance(item, dict) for item in found):
        raise ValueError(f"{name} is no list of objects")
    return list(enumerate(found))


def _count(item: dict[str, Any], name: str, where: str, low: int = 0, default: int | None = None) -> int:
    value = item.get(name, default)
    if type(value) is not int or value < low:
        raise ValueError(f"{where}: {name} must be a whole number from {low}, got {value!r:.40}")
    return value


def _pick(item: dict[str, Any], name: str, among: list[Any], where: str) -> Any:
    index = _count(item, name, where)
    if index >= len(among):
        raise ValueError(f"{where}: {name} {index} is not there, the file has {len(among)}")
    return among[index]


def _measure_buffer(item: dict[str, Any], path: Path, binary: int | None, at: int) -> int:
    """Bytes of a buffer, which are there."""
    where = f"buffer {at}"
    size, uri = _count(item, "byteLength", where), item.get("uri")
    if uri is None:
        held = binary if at == 0 and binary is not None else 0
    elif not isinstance(uri, str):
        raise ValueError(f"{where}: uri is no text")
    elif uri.startswith("data:"):
        held = 3 * (len(uri) - uri.find(",") - 1) // 4
    else:
        check_name(unquote(uri))
        file = path.parent / unquote(uri)
        held = file.stat().st_size if file.is_file() else 0
    if size > held:
        raise ValueError(f"{where}: is said to have {size:,} bytes, {held:,} are there")
    return size


def _check_view(item: dict[str, Any], buffers: list[int], where: str) -> tuple[int, int | None]:
    """Length of a view, and bytes from one element to the next where it says so."""
    size = _pick(item, "buffer", buffers, where)
    start, length = _count(item, "byteOffset", where, default=0), _count(item, "byteLength", where, 1)
    if start + length > size:
        raise ValueError(f"{where}: bytes {start:,} to {start + length:,} of a buffer of {size:,}")
    if "byteStride" not in item:
        return length, None
    stride = _count(item, "byteStride", where, 4)
    if stride > 252:
        raise ValueError(f"{where}: byteStride must be 4 to 252, got {stride}")
    return length, stride


def _check_accessor(item: dict[str, Any], views: list[tuple[int, int | None]], file_bytes: int, where: str) -> int:
    """Bytes that an accessor is read as."""
    kind, component = item.get("type"), item.get("componentType")
    if (
        not isinstance(kind, str)
        or type(component) is not int
        or _COMPONENTS.get(kind, 0) * _COMPONENT_BYTES.get(component, 0) == 0
    ):
        raise ValueError(f"{where}: componentType {component!r:.20} of type {kind!r:.20} is not known")
    if "sparse" in item:
        raise ValueError(f"{where}: is sparse, which is not read; export it without morph targets")
    count, size = _count(item, "count", where, 1), _COMPONENTS[kind] * _COMPONENT_BYTES[component]
    start = _count(item, "byteOffset", where, default=0)
    if "bufferView" not in item:
        if count > file_bytes:
            raise ValueError(f"{where} counts {count} items, and the file has none of them")
        return count * size
    length, stride = _pick(item, "bufferView", views, where)
    end = start + (count - 1) * (stride or size) + size
    if end > length or (stride is not None and stride < size):
        raise ValueError(f"{where}: {count:,} items end at byte {end:,} of a view of {length:,}")
    return count * size


def _check_meshes(tree: dict[str, Any], accessors: list[int]) -> int:
    """Bytes of what the meshes are made of, counted as often as they are used."""
    total = 0
    parts = sum(len(_items(mesh, "primitives")) for _, mesh in _items(tree, "meshes"))
    if parts > _MAX_PARTS:
        raise ValueError(f"has {parts:,} primitives, {_MAX_PARTS:,} at most are read; join them")
    for at, mesh in _items(tree, "meshes"):
        for number, part in _items(mesh, "primitives"):
            where, attributes = f"mesh {at}, primitive {number}", part.get("attributes")
            if not isinstance(attributes, dict):
                raise ValueError(f"{where}: attributes are missing")
            total += sum(_pick(attributes, name, accessors, where) for name in attributes)
            total += _pick(part, "indices", accessors, where) if "indices" in part else 0
    return total


def _check_nodes(tree: dict[str, Any]) -> None:
    """Raise unless the nodes are trees: each has one parent at most, and none is below itself."""
    nodes, meshes = [item for _, item in _items(tree, "nodes")], [item for _, item in _items(tree, "meshes")]
    parent: dict[int, int] = {}
    for at, node in enumerate(nodes):
        if "mesh" in node:
            _pick(node, "mesh", meshes, f"node {at}")
        children = node.get("children", [])
        for child in children if isinstance(children, list) else [children]:
            if type(child) is not int or not 0 <= child < len(nodes):
                raise ValueError(f"its nodes are no tree: node {at} has a child {child!r:.20} of {len(nodes)} nodes")
            if parent.setdefault(child, at) != at:
                raise ValueError(f"its nodes are no tree: node {child} is below both {parent[child]} and {at}")
    depth: dict[int, int] = {}
    for at in range(len(nodes)):
        line = [at]
        while line[-1] in parent and line[-1] not in depth and len(line) <= _MAX_DEPTH:
            line.append(parent[line[-1]])
        top = depth.get(line[-1], 0)
        if len(line) + top > _MAX_DEPTH:
            raise ValueError(f"its nodes are no tree: node {at} is more than {_MAX_DEPTH} nodes deep, or below itself")
        depth.update({node: top + above for above, node in enumerate(reversed(line))})
    for _, scene in _items(tree, "scenes"):
        for root in scene.get("nodes", []):
            if type(root) is not int or not 0 <= root < len(nodes):
                raise ValueError(f"its nodes are no tree: a scene has a node {root!r:.20} of {len(nodes)}")
