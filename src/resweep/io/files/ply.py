"""PLY, the polygon file as a point cloud: text, or binary of either byte order.

Writes every return column as a vertex property, and the sweep's pose in comments. Reads any properties in
any order; elements other than ``vertex`` (faces, cameras) are passed over.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from resweep.errors import FaultKind, InputError, ResweepError, SweepError, nearest_names
from resweep.files.untrusted import read_bytes
from resweep.io.format import Format
from resweep.io.points.columns import columns_from_sweep, has_label_field, sweep_from_columns
from resweep.io.points.header import Header, read_head
from resweep.io.points.rows import from_text, pack, to_text, unpack
from resweep.labels import NO_LABELS, UNKNOWN_LABELS, LabelSet
from resweep.pose import Array
from resweep.sweep import Sweep

ENCODINGS = ("ascii", "binary_little_endian", "binary_big_endian")
_TYPES = {
    **{"char": "i1", "uchar": "u1", "short": "i2", "ushort": "u2", "int": "i4", "uint": "u4"},
    **{"float": "f4", "double": "f8", "int8": "i1", "uint8": "u1", "int16": "i2", "uint16": "u2"},
    **{"int32": "i4", "uint32": "u4", "float32": "f4", "float64": "f8"},
}
_NAMES = {code: name for name, code in reversed(_TYPES.items())}
_EXACT_IN_DOUBLE = 1 << 53
_HEADER_MAX = 1 << 22


@dataclass(frozen=True)
class _Element:
    """One element: its name, how many, and (name, type, type of the list's count or None) per property."""

    name: str
    count: int
    properties: tuple[tuple[str, str, str | None], ...]

    @property
    def has_list(self) -> bool:
        return any(count is not None for _, _, count in self.properties)

    @property
    def min_bytes(self) -> int:
        """Bytes of a row whose lists are empty, in binary."""
        return sum(int((count or kind)[1]) for _, kind, count in self.properties)

    def dtype(self, order: str) -> np.dtype[Any]:
        return np.dtype([(name, order + kind) for name, kind, _ in self.properties])


@dataclass(frozen=True)
class _PlyHeader:
    encoding: str
    elements: tuple[_Element, ...]
    comments: tuple[str, ...]
    body: int


def write(sweep: Sweep, path: Path, frame: str = "sensor", encoding: str = "binary_little_endian") -> None:
    """Write the returns of ``sweep``; ``encoding`` is one of `ENCODINGS`."""
    if encoding not in ENCODINGS:
        raise ResweepError(f"PLY encoding '{encoding}': {nearest_names(encoding, ENCODINGS)}")
    columns = {name: _narrow(name, v, path.name) for name, v in columns_from_sweep(sweep, frame, path.name).items()}
    lines = [
        "ply",
        f"format {encoding} 1.0",
        *(f"comment {line}" for line in Header.of(sweep, frame).to_lines()),
        f"element vertex {len(sweep)}",
        *(f"property {_NAMES[values.dtype.str[1:]]} {name}" for name, values in columns.items()),
        "end_header",
    ]
    if encoding == "ascii":
        body = to_text(columns)
    else:
        body = pack(columns, "<" if encoding == "binary_little_endian" else ">").tobytes()
    path.write_bytes(("\n".join(lines) + "\n").encode("ascii") + body)


def _narrow(name: str, values: Array, where: str) -> Array:
    """PLY has no 64-bit integers: they go as doubles where that loses nothing."""
    if values.dtype.kind == "f" or values.dtype.itemsize < 8:
        return values
    if len(values) and (int(values.max()) > _EXACT_IN_DOUBLE or int(values.min()) < -_EXACT_IN_DOUBLE):
        raise InputError(f"{where}: column '{name}' holds integers too large for PLY; write .pcd or .sweep")
    return values.astype(np.float64)


def read(path: Path, drop_nan: bool = False) -> Sweep:
    """The sweep in the vertices of a PLY file; ``drop_nan`` leaves out points that hold NaN."""
    data = read_bytes(path)
    layout = parse_header(data, str(path))
    columns = _read_vertices(layout, data, str(path))
    if _count_faces(layout):
        warnings.warn(
            f"{path}: is a mesh of {_count_faces(layout):,} faces, and only its corners are taken, as points; the mesh "
            "itself is a world, which simulate, view and render take",
            stacklevel=2,
        )
    return sweep_from_columns(columns, str(path), Header.from_lines(layout.comments, str(path)), drop_nan=drop_nan)


def peek(path: Path) -> Header | None:
    """Pose and time from the file's comments, or None if it has none of ours."""
    return Header.from_lines(parse_header(read_head(path, b"end_header"), str(path)).comments, str(path))


def read_fields(path: Path) -> tuple[str, ...]:
    """The names of the points' properties."""
    layout = parse_header(read_head(path, b"end_header"), str(path))
    return tuple(name for each in layout.elements if each.name == "vertex" for name, _, _ in each.properties)


def find_labels(path: Path) -> LabelSet:
    """Labels of unknown meaning, or none where no field holds any."""
    return UNKNOWN_LABELS if has_label_field(read_fields(path)) else NO_LABELS


def is_mesh(path: Path) -> bool:
    """Whether the file has faces, so that it is a mesh and not a cloud."""
    return _count_faces(parse_header(read_head(path, b"end_header"), str(path))) > 0


def _count_faces(layout: _PlyHeader) -> int:
    return sum(element.count for element in layout.elements if element.name == "face")


def parse_header(data: bytes, where: str) -> _PlyHeader:
    """The elements, comments and encoding of a PLY file, and where its body begins."""
    end = data.find(b"end_header", 0, _HEADER_MAX)
    if not data.startswith(b"ply") or end < 0:
        raise InputError(f"{where}: no PLY header (it must begin with 'ply' and reach 'end_header')")
    body = end + len(b"end_header")
    body += 2 if data[body : body + 2] == b"\r\n" else 1
    encoding, comments = "", []
    elements: list[tuple[str, int, list[tuple[str, str, str | None]]]] = []
    for number, line in enumerate(data[:end].decode("ascii", "replace").splitlines(), 1):
        word, _, rest = line.strip().partition(" ")
        parts = rest.split()
        try:
            if word == "format":
                encoding = parts[0]
            elif word == "comment":
                comments.append(rest)
            elif word == "element":
                elements.append((parts[0], int(parts[1]), []))
            elif word == "property" and parts[0] == "list":
                elements[-1][2].append((parts[3], _TYPES[parts[2]], _TYPES[parts[1]]))
            elif word == "property":
                elements[-1][2].append((parts[1], _TYPES[parts[0]], None))
        except (IndexError, KeyError, ValueError) as error:
            raise InputError(f"{where}, line {number}: '{line.strip()}' is no PLY header line") from error
    if encoding not in ENCODINGS:
        raise InputError(f"{where}: PLY format '{encoding}'; {nearest_names(encoding, ENCODINGS)}")
    for name, count, properties in elements:
        if count < 0 or (count and not properties):
            raise InputError(f"{where}: element '{name}' has {count} rows of {len(properties)} properties")
    return _PlyHeader(encoding, tuple(_Element(n, c, tuple(p)) for n, c, p in elements), tuple(comments), body)


def _read_vertices(layout: _PlyHeader, data: bytes, where: str) -> dict[str, Array]:
    if not any(element.name == "vertex" for element in layout.elements):
        raise InputError(f"{where}: no 'vertex' element; it holds no points")
    try:
        return _read_ascii(layout, data, where) if layout.encoding == "ascii" else _read_binary(layout, data)
    except (IndexError, _TruncatedError) as error:
        raise SweepError(
            f"{where}: truncated (its header promises more points); fetch or write it again", FaultKind.TRUNCATED
        ) from error


class _TruncatedError(Exception):
    """The body ends before the element it should hold."""


def _read_ascii(layout: _PlyHeader, data: bytes, where: str) -> dict[str, Array]:
    lines = [line for line in data[layout.body :].splitlines() if line.strip()]
    for element in layout.elements:
        if element.name == "vertex":
            break
        lines = lines[element.count :]
    if len(lines) < element.count:
        raise _TruncatedError
    rows = [line.split() for line in lines[: element.count]]
    if element.has_list:
        rows = [_select_scalars(row, element) for row in rows]
    scalars = _Element(element.name, element.count, tuple(p for p in element.properties if p[2] is None))
    words = [word for row in rows for word in row]
    return unpack(from_text(words, scalars.dtype("="), element.count, where))


def _select_scalars(words: list[bytes], element: _Element) -> list[bytes]:
    kept, at = [], 0
    for _, _, count in element.properties:
        if count is None:
            kept.append(words[at])
            at += 1
        else:
            at += 1 + _count_items(words[at])
    return kept


def _count_items(stored: Any) -> int:
    """The length of a list, from a number or a word."""
    count = int(stored)
    if count < 0:
        raise ResweepError(f"a list of {count} items; write the file again")
    return count


def _read_binary(layout: _PlyHeader, data: bytes) -> dict[str, Array]:
    order = "<" if layout.encoding == "binary_little_endian" else ">"
    at = layout.body
    for element in layout.elements:
        if len(data) - at < element.count * element.min_bytes:
            raise _TruncatedError
        if element.has_list:
            columns, at = _walk(element, data, at, order)
        else:
            rows = np.frombuffer(data, element.dtype(order), element.count, at)
            columns, at = (unpack(rows) if element.name == "vertex" else {}), at + rows.nbytes
        if element.name == "vertex":
            break
    return columns


def _walk(element: _Element, data: bytes, at: int, order: str) -> tuple[dict[str, Array], int]:
    """The plain properties of an element with lists, whose rows differ in length and are stepped through."""
    steps = [
        (name, np.dtype(order + kind), None if count is None else np.dtype(order + count))
        for name, kind, count in element.properties
    ]
    values: dict[str, list[Any]] = {name: [] for name, _, count in steps if count is None}
    for _ in range(element.count):
        for name, kind, count in steps:
            size = kind.itemsize
            if count is None:
                values[name].append(data[at : at + size])
            else:
                if len(data) - at < count.itemsize:
                    raise _TruncatedError
                size = count.itemsize + size * _count_items(np.frombuffer(data, count, 1, at)[0])
            at += size
        if at > len(data):
            raise _TruncatedError
    kinds = {name: kind for name, kind, _ in steps}
    joined = {name: np.frombuffer(b"".join(parts), kinds[name]) for name, parts in values.items()}
    return {name: column.astype(column.dtype.newbyteorder("=")) for name, column in joined.items()}, at


FORMAT = Format(
    "ply",
    "PLY point cloud",
    (".ply",),
    read=read,
    write=write,
    peek=peek,
    spins=True,
    fields=read_fields,
    labels=find_labels,
)
