"""PCD, the point cloud file of PCL: text, binary or LZF-compressed.

Writes every return column; VIEWPOINT is the sweep's pose, except with ``frame="world"``, where the points
are already in the world frame. Reads what PCL and drivers write: any fields in any order, padding fields ``_``,
fields of several values, organised clouds (whose NaN points mean no return).
"""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from resweep import portable
from resweep.errors import FaultKind, InputError, ResweepError, SweepError, nearest_names
from resweep.files.untrusted import read_bytes
from resweep.io.files import lzf
from resweep.io.format import Format
from resweep.io.points import rows
from resweep.io.points.columns import columns_from_sweep, has_label_field, sweep_from_columns
from resweep.io.points.header import Header, read_head
from resweep.io.points.organised import add_cells
from resweep.io.reading_limits import check_expansion
from resweep.labels import NO_LABELS, UNKNOWN_LABELS, LabelSet
from resweep.pose import Array, rotation_of
from resweep.sweep import Sweep

ENCODINGS = ("ascii", "binary", "binary_compressed")
_SIZES = {"I": (1, 2, 4, 8), "U": (1, 2, 4, 8), "F": (4, 8)}
_HEADER_MAX = 1 << 22
_NO_VIEWPOINT = (0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0)  # what PCL writes where none was set
_VALUES_MAX = 1 << 16  # of one field


@dataclass(frozen=True)
class _PcdHeader:
    """A parsed PCD header: the record of one point, how many, how stored, and where the body begins."""

    dtype: np.dtype[Any]
    points: int
    height: int
    encoding: str
    viewpoint: tuple[float, ...]
    comments: tuple[str, ...]
    body: int

    @property
    def organised(self) -> bool:
        """Whether the cloud is an image."""
        return self.height > 1


def write(sweep: Sweep, path: Path, frame: str = "sensor", encoding: str = "binary") -> None:
    """Write the returns of ``sweep``; ``encoding`` is one of `ENCODINGS`."""
    if encoding not in ENCODINGS:
        raise ResweepError(f"PCD encoding '{encoding}': {nearest_names(encoding, ENCODINGS)}")
    columns = columns_from_sweep(sweep, frame, path.name)
    if encoding == "ascii":
        body = rows.to_text(columns)
    elif encoding == "binary":
        body = rows.pack(columns).tobytes()
    else:
        # Compressed bodies go field by field, so that similar bytes are together.
        raw = b"".join(values.astype(values.dtype.newbyteorder("<")).tobytes() for values in columns.values())
        packed = lzf.compress(raw)
        body = struct.pack("<II", len(packed), len(raw)) + packed
    path.write_bytes(_make_header(sweep, frame, encoding, columns).encode("ascii") + body)


def _make_header(sweep: Sweep, frame: str, encoding: str, columns: dict[str, Array]) -> str:
    kinds = {"i": "I", "u": "U", "f": "F"}
    pose = np.eye(4) if frame == "world" else sweep.pose
    x, y, z, w = rotation_of(pose).as_quat().tolist()
    viewpoint = [*pose[:3, 3].tolist(), w, x, y, z]
    lines = [
        "# .PCD v0.7 - Point Cloud Data file format",
        *(f"# {line}" for line in Header.of(sweep, frame).to_lines()),
        "VERSION 0.7",
        "FIELDS " + " ".join(columns),
        "SIZE " + " ".join(str(values.dtype.itemsize) for values in columns.values()),
        "TYPE " + " ".join(kinds[values.dtype.kind] for values in columns.values()),
        "COUNT " + " ".join("1" for _ in columns),
        f"WIDTH {len(sweep)}",
        "HEIGHT 1",
        "VIEWPOINT " + " ".join(repr(value) for value in viewpoint),
        f"POINTS {len(sweep)}",
        f"DATA {encoding}",
    ]
    return "\n".join(lines) + "\n"


def read(path: Path, drop_nan: bool = False) -> Sweep:
    """The sweep in a PCD file; ``drop_nan`` leaves out points that hold NaN, as organised clouds always do."""
    data = read_bytes(path)
    layout = _parse_layout(data, str(path))
    header = _find_header(layout, str(path))
    columns = {name: values for name, values in _read_columns(layout, data, str(path)).items() if not _is_padding(name)}
    if layout.organised:
        columns = add_cells(columns, layout.height, layout.points // layout.height)
    return sweep_from_columns(
        columns, str(path), header, _parse_viewpoint(layout.viewpoint, str(path)), drop_nan=drop_nan or layout.organised
    )


def peek(path: Path) -> Header | None:
    """Pose and time from the file's head, or None if it names neither."""
    return _find_header(_parse_layout(read_head(path, b"\nDATA"), str(path)), str(path))


def is_placed(path: Path) -> bool:
    """Whether the file has the position of its sensor: in our comment, or by a VIEWPOINT that is not the default."""
    layout = _parse_layout(read_head(path, b"\nDATA"), str(path))
    return _find_header(layout, str(path)) is not None or layout.viewpoint != _NO_VIEWPOINT


def read_fields(path: Path) -> tuple[str, ...]:
    """The names of the points' fields."""
    return tuple(_parse_layout(read_head(path, b"\nDATA"), str(path)).dtype.names or ())


def find_labels(path: Path) -> LabelSet:
    """Labels of unknown meaning, or none where no field holds any."""
    return UNKNOWN_LABELS if has_label_field(read_fields(path)) else NO_LABELS


def _find_header(layout: _PcdHeader, where: str) -> Header | None:
    return Header.from_lines(layout.comments, where)


def _parse_layout(data: bytes, where: str) -> _PcdHeader:
    found = re.search(rb"^DATA[ \t]+(\w+)[^\n]*(?:\n|\Z)", data[:_HEADER_MAX], re.MULTILINE)
    if found is None:
        raise InputError(f"{where}: no PCD header (no DATA line); is it a PCD file, whole?")
    fields: dict[str, list[str]] = {}
    comments = []
    for line in data[: found.start()].decode("ascii", "replace").splitlines():
        if line.startswith("#"):
            comments.append(line[1:].strip())
        elif line.strip():
            key, *values = line.split()
            fields[key.upper()] = values
    encoding = found[1].decode().lower()
    if encoding not in ENCODINGS:
        raise InputError(f"{where}: DATA {encoding} is no PCD encoding; {nearest_names(encoding, ENCODINGS)}")
    try:
        width, height = int(fields["WIDTH"][0]), int(fields.get("HEIGHT", ["1"])[0])
        points = int(fields["POINTS"][0]) if "POINTS" in fields else width * height
        viewpoint = tuple(float(value) for value in fields.get("VIEWPOINT", _NO_VIEWPOINT))
        dtype = _parse_dtype(fields, where)
    except (KeyError, IndexError) as error:
        raise InputError(f"{where}: the PCD header lacks {error}; write the file again") from error
    except ResweepError:
        raise
    except ValueError as error:
        raise InputError(f"{where}: bad PCD header ({error})") from error
    if points < 0 or (height > 1 and points != width * height):
        raise InputError(f"{where}: the PCD header says {points} points, {width} x {height}")
    if not dtype.itemsize:
        raise InputError(f"{where}: the PCD header names no field")
    return _PcdHeader(dtype, points, height, encoding, viewpoint, tuple(comments), found.end())


def _parse_dtype(fields: dict[str, list[str]], where: str) -> np.dtype[Any]:
    names = fields["FIELDS"]
    counts = fields.get("COUNT", ["1"] * len(names))
    if not len(names) == len(fields["SIZE"]) == len(fields["TYPE"]) == len(counts):
        raise InputError(f"{where}: FIELDS, SIZE, TYPE and COUNT of the PCD header differ in length")
    entries: list[Any] = []
    for at, (name, size, kind, count) in enumerate(zip(names, fields["SIZE"], fields["TYPE"], counts, strict=True)):
        if int(size) not in _SIZES.get(kind.upper(), ()):
            raise InputError(f"{where}: field '{name}' has TYPE {kind} SIZE {size}, which PCD does not know")
        if not 1 <= int(count) <= _VALUES_MAX:
            raise InputError(f"{where}: field '{name}' has COUNT {count}, 1 to {_VALUES_MAX} expected")
        unique = f"_{at}" if _is_padding(name) else name
        base = f"<{kind.lower()}{size}"
        entries.append((unique, base) if int(count) == 1 else (unique, base, (int(count),)))
    return np.dtype(entries)


def _is_padding(name: str) -> bool:
    return re.fullmatch(r"_\d*", name) is not None


def _read_columns(layout: _PcdHeader, data: bytes, where: str) -> dict[str, Array]:
    dtype, count = layout.dtype, layout.points
    if layout.encoding == "ascii":
        return rows.unpack(rows.from_text(data[layout.body :].split(), dtype, count, where))
    if layout.encoding == "binary":
        need = count * dtype.itemsize
        _check_length(len(data) - layout.body, need, where)
        return rows.unpack(np.frombuffer(data, dtype, count, layout.body))
    _check_length(len(data) - layout.body, 8, where)
    packed, size = struct.unpack_from("<II", data, layout.body)
    start = layout.body + 8
    _check_length(len(data) - start, packed, where)
    check_expansion(size, packed, where)
    return _split_fields(lzf.decompress(data[start : start + packed], size, where), layout, where)


def _check_length(have: int, need: int, where: str) -> None:
    if have < need:
        raise SweepError(
            f"{where}: truncated ({have} bytes of points, {need} expected); fetch or write it again",
            FaultKind.TRUNCATED,
        )


def _split_fields(raw: bytes, layout: _PcdHeader, where: str) -> dict[str, Array]:
    names = list(layout.dtype.names or ())
    # PCL leaves padding out of compressed bodies, though its header may still list it; others keep it in.
    bare = [name for name in names if not _is_padding(name)]
    for chosen in (bare, names):
        if len(raw) == layout.points * sum(layout.dtype[name].itemsize for name in chosen):
            break
    else:
        raise InputError(f"{where}: {len(raw)} bytes of points do not fit the fields of the header; write it again")
    columns: dict[str, Array] = {}
    at = 0
    for name in chosen:
        field = layout.dtype[name]
        values = np.frombuffer(raw, field.base, layout.points * int(np.prod(field.shape)), at)
        columns[name] = values.reshape(layout.points, *field.shape).astype(field.base.newbyteorder("="))
        at += layout.points * field.itemsize
    return columns


def _parse_viewpoint(viewpoint: tuple[float, ...], where: str) -> Array:
    """``T_world_sensor`` from VIEWPOINT: tx ty tz qw qx qy qz."""
    pose = np.eye(4)
    numbers = np.array(viewpoint)
    if numbers.shape != (7,) or not np.isfinite(numbers).all() or abs(portable.norm(numbers[3:]) - 1) > 1e-3:
        raise InputError(f"{where}: VIEWPOINT must be tx ty tz qw qx qy qz with a unit quaternion, got {viewpoint}")
    pose[:3, :3] = Rotation.from_quat(numbers[[4, 5, 6, 3]]).as_matrix()
    pose[:3, 3] = numbers[:3]
    return pose


FORMAT = Format(
    "pcd",
    "PCD point cloud",
    (".pcd",),
    read=read,
    write=write,
    peek=peek,
    spins=True,
    fields=read_fields,
    placed=is_placed,
    labels=find_labels,
)
