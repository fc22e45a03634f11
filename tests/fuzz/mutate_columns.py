"""Mutants of what files mean: impossible numbers in columns of points, poses, times and headers.

The files stay whole, so that readers get to see the numbers; damaged bytes are rarely that.
"""

from __future__ import annotations

import io
import random
import re
import struct
from collections.abc import Callable
from typing import Any

import numpy as np

_VALUES = (*(float("nan"), float("inf"), -float("inf"), 1e38, -1e38, -5.0), *(1e300, 1e15, 2.1e7, 0.0, 70_000.0, 1e-30))
_WORDS = ("nan", "inf", "-Infinity", "1e15", "-1e15", "1e38", "1e300", "-5", "0", "-45e9", "2.1e7")
_CLOCK = re.compile(rb"\d\d:\d\d:\d\d(\.\d+)?")
_CLOCKS = (b"25:61:61", b"00:00:00", b"23:59:60", b"13:02:25.9e300", b"13:02:25.nan", b"-1:-1:-1", b"")
_NUMBER = re.compile(rb"(?<![\w.])-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?(?![\w.])")
_PLY_CODES = {"char": "i1", "uchar": "u1", "short": "i2", "ushort": "u2", "int": "i4", "uint": "u4"} | {
    **{"float": "f4", "double": "f8", "int8": "i1", "uint8": "u1", "int16": "i2", "uint16": "u2"},
    **{"int32": "i4", "uint32": "u4", "float32": "f4", "float64": "f8"},
}


def change_columns(data: bytes, name: str, rng: random.Random) -> bytes | None:
    """``data`` of a file of that ``name`` with something impossible in it; None for a file of no known columns."""
    for suffixes, change in _CHANGES:
        if name.lower().endswith(suffixes) or (suffixes == (".npy",) and data.startswith(b"\x93NUMPY")):
            return change(data, rng)
    return None


def _change_table(data: bytes, at: int, dtype: Any, rng: random.Random, count: int | None = None) -> bytes | None:
    """Some values of one field in the rows that begin ``at`` a place."""
    dtype = np.dtype(dtype)
    rows = (len(data) - at) // dtype.itemsize if count is None else count
    if rows < 1 or at + rows * dtype.itemsize > len(data):
        return None
    table = np.frombuffer(data, dtype, rows, at).copy()
    column = table[rng.choice(dtype.names)] if dtype.names else table
    _set_values(column.reshape(rows, -1), rng)
    return data[:at] + table.tobytes() + data[at + table.nbytes :]


def _set_values(column: Any, rng: random.Random) -> None:
    """One, some or all rows of a column (n, k) set to something that cannot be."""
    value, count = rng.choice(_VALUES), rng.choice((1, 1, 3, len(column)))
    rows = [rng.randrange(len(column)) for _ in range(count)] if count < len(column) else slice(None)
    with np.errstate(all="ignore"):
        if column.dtype.kind in "iu":
            limit = np.iinfo(column.dtype)
            column[rows] = rng.choice((limit.min, limit.max, 0, 1))
        else:
            column[rows] = value


def _change_kitti(data: bytes, rng: random.Random) -> bytes | None:
    return _change_table(data, 0, [(axis, "<f4") for axis in "xyzi"], rng)


def _change_nuscenes(data: bytes, rng: random.Random) -> bytes | None:
    return _change_table(data, 0, [(axis, "<f4") for axis in "xyzir"], rng)


def _change_pcd(data: bytes, rng: random.Random) -> bytes | None:
    found = re.search(rb"^DATA (\w+)[^\n]*\n", data, re.MULTILINE)
    if found is None:
        return None
    head = data[: found.start()].decode("latin-1")
    fields = {words[0]: words[1:] for line in head.splitlines() if (words := line.split())}
    if found[1] != b"binary" or rng.random() < 0.2:
        return _change_word(data, rng, rb"^VIEWPOINT.*$" if rng.random() < 0.5 else rb"(?s).*")
    codes = [f"<{kind.lower()}{size}" for kind, size in zip(fields["TYPE"], fields["SIZE"], strict=True)]
    return _change_table(data, found.end(), list(zip(fields["FIELDS"], codes, strict=True)), rng)


def _change_ply(data: bytes, rng: random.Random) -> bytes | None:
    end = data.find(b"end_header\n") + len(b"end_header\n")
    head = data[:end].decode("latin-1")
    elements = re.findall(r"element (\w+) (\d+)\n((?:property .*\n)*)", head)
    plain = elements and elements[0][0] == "vertex" and "list" not in elements[0][2] and "binary" in head
    if not plain or rng.random() < 0.3:
        return _change_ply_header(head, rng).encode("latin-1") + data[end:]
    order = ">" if "big_endian" in head else "<"
    words = [line.split() for line in elements[0][2].splitlines()]
    dtype = [(name, order + _PLY_CODES[kind]) for _, kind, name in words]
    return _change_table(data, end, dtype, rng, int(elements[0][1]))


def _change_ply_header(head: str, rng: random.Random) -> str:
    """No rows, more rows than there are, or a property left out, repeated or of another type."""
    lines = head.split("\n")
    chosen = [at for at, line in enumerate(lines) if line.startswith(("element", "property"))]
    if not chosen:
        return head
    at = rng.choice(chosen)
    words = lines[at].split()
    if words[0] == "element":
        words[-1] = rng.choice(("0", "1", "2", "-1", "4294967296", "1e3"))
        lines[at] = " ".join(words)
    else:
        word = rng.choice((*_PLY_CODES, "list uchar int", "list float double", "list int int"))
        lines[at : at + 1] = rng.choice(([], [lines[at]] * 2, [f"property {word} {words[-1]}"]))
    return "\n".join(lines)


# Places in a LAS header: scales, offsets and bounds are doubles from 131 on.
_LAS_DOUBLES = range(131, 227, 8)


def _change_las(data: bytes, rng: random.Random) -> bytes | None:
    if len(data) < 227:
        return None
    if data[104] & 0x80 or rng.random() < 0.5:  # compressed points are out of reach
        changed = bytearray(data)
        struct.pack_into("<d", changed, rng.choice(_LAS_DOUBLES), rng.choice(_VALUES))
        return bytes(changed)
    start, length = struct.unpack_from("<I", data, 96)[0], struct.unpack_from("<H", data, 105)[0]
    rest = [("rest", f"V{length - 12}")] if length > 12 else []
    count = min(struct.unpack_from("<I", data, 107)[0] or 1, (len(data) - start) // length)
    table = np.frombuffer(data, [*((axis, "<i4") for axis in "xyz"), *rest], count, start).copy()
    _set_values(table[rng.choice("xyz")].reshape(count, 1), rng)
    return data[:start] + table.tobytes() + data[start + table.nbytes :]


def _change_feather(data: bytes, rng: random.Random) -> bytes | None:
    import pyarrow as pa
    from pyarrow import feather

    table = feather.read_table(pa.BufferReader(data))
    names = [name for name in table.column_names if table[name].type not in (pa.string(), pa.large_string())]
    at = table.column_names.index(rng.choice(names))
    values = table.column(at).to_numpy().copy()
    _set_values(values.reshape(len(values), 1), rng)
    out = io.BytesIO()
    feather.write_feather(table.set_column(at, table.column_names[at], pa.array(values)), out)
    return out.getvalue()


def _change_npy(data: bytes, rng: random.Random) -> bytes | None:
    array = np.load(io.BytesIO(data))
    if array.dtype.kind not in "iuf" or not array.size:
        return None
    flat = np.atleast_1d(array).reshape(max(1, len(np.atleast_1d(array))), -1)
    _set_values(flat[:, rng.randrange(flat.shape[1]) :][:, :1], rng)
    out = io.BytesIO()
    np.save(out, flat.reshape(array.shape))
    return out.getvalue()


def _change_e57(data: bytes, rng: random.Random) -> bytes | None:
    """Scans listed again, or an impossible number in their list."""
    from tests.fuzz.mutate import page_e57, unpage_e57

    start, length = struct.unpack_from("<QQ", data, 24)
    flat = unpage_e57(data)
    at = start // 1024 * 1020 + start % 1024
    xml = flat[at : at + length]
    first, last = xml.find(b"<vectorChild"), xml.find(b"</vectorChild>") + len(b"</vectorChild>")
    if rng.random() < 0.3 and 0 <= first < last:
        xml = xml[:last] + xml[first:last] * rng.choice((1, 3, 2000)) + xml[last:]
    else:
        xml = _change_word(xml, rng) or xml
    content = bytearray(flat[:at] + xml)
    size = len(page_e57(bytes(content)))
    struct.pack_into("<Q", content, 16, size)
    struct.pack_into("<Q", content, 32, len(xml))
    return page_e57(bytes(content))


def _change_text(data: bytes, rng: random.Random) -> bytes | None:
    """A clock that no day has, or a number that no drive has."""
    clocks = list(_CLOCK.finditer(data))
    if clocks and rng.random() < 0.7:
        found = rng.choice(clocks)
        return data[: found.start()] + rng.choice(_CLOCKS) + data[found.end() :]
    return _change_word(data, rng)


def _change_word(data: bytes, rng: random.Random, within: bytes = rb"(?s).*") -> bytes | None:
    """One number of a text, in the part that matches ``within``, set to something that cannot be."""
    part = re.search(within, data, re.MULTILINE)
    found = [] if part is None else list(_NUMBER.finditer(data, part.start(), part.end()))[:5000]
    if not found:
        return None
    chosen = rng.choice(found)
    return data[: chosen.start()] + rng.choice(_WORDS).encode() + data[chosen.end() :]


def _change_bag(data: bytes, rng: random.Random) -> bytes | None:
    """A number every so many bytes, which meets a field of some points of a message."""
    changed, at = bytearray(data), rng.randrange(len(data) // 2, max(len(data) - 64, len(data) // 2 + 1))
    step, code = rng.choice((16, 18, 22, 26, 32, 48)), rng.choice("fd")
    value = rng.choice([value for value in _VALUES if code == "d" or not 3.4e38 < abs(value) < np.inf])
    for place in range(at, min(at + step * rng.choice((1, 5)), len(data) - 8), step):
        struct.pack_into(f"<{code}", changed, place, value)
    return bytes(changed)


_CHANGES: tuple[tuple[tuple[str, ...], Callable[[bytes, random.Random], bytes | None]], ...] = (
    ((".pcd.bin",), _change_nuscenes),
    ((".bin",), _change_kitti),
    ((".pcd",), _change_pcd),
    ((".ply",), _change_ply),
    ((".las", ".laz"), _change_las),
    ((".feather",), _change_feather),
    ((".npy",), _change_npy),
    ((".e57",), _change_e57),
    ((".txt", ".csv", ".tum", ".kitti", ".json", ".yaml", ".xml", ".obj"), _change_text),
    ((".bag", ".db3", ".mcap"), _change_bag),
)
