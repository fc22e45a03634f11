"""A COPC file of any number of points: a LAZ 1.4 file whose chunks are the nodes of an octree (copc.io, 1.0).

Points go to a file beside the output as they come, are sorted there into cubes that fit into memory, and leave it node
by node. `copclib` compresses and writes the nodes. All nodes are in one page of the hierarchy: 32 bytes each.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

import resweep
from resweep.errors import OutputError, ResweepError
from resweep.files.strict_json import format_json
from resweep.io.clouds.octree import read_layout
from resweep.io.clouds.writing.octree_levels import (
    CELL_BITS,
    count_shared_bits,
    fill_nodes,
    find_levels,
    rank_priority,
    sort_morton,
)
from resweep.io.clouds.writing.partition import MAX_PART_POINTS, CloudPart, SpillFile, sort_parts
from resweep.optional import require
from resweep.pose import Array
from resweep.progress import track

USER, RECORD = "resweep", 2  # of the record of what LAS has no field for
_INT32 = 2**31 - 1
_RECORDS_AT = 243  # number of extended records, LAS 1.4 R15, table 3
_TIMES_AT = 375 + 54 + 56  # first and last GPS time in the info record, COPC 1.0
# Fields of point formats 6 and 7 (LAS 1.4 R15, tables 13 and 14); bits as the table numbers them.
_POINT6 = [
    *((axis, "<i4") for axis in "XYZ"),
    *(("intensity", "<u2"), ("returns", "u1"), ("flags", "u1"), ("classification", "u1"), ("user_data", "u1")),
    *(("scan_angle", "<i2"), ("point_source_id", "<u2"), ("gps_time", "<f8")),
]
_COLOURS = ("red", "green", "blue")
_POINT = {6: np.dtype(_POINT6), 7: np.dtype([*_POINT6, *((name, "<u2") for name in _COLOURS)])}
# Fields whose range the file states, in the order of copclib's names.
_RANGED = ("intensity", "classification", "user_data", "scan_angle", "point_source_id", "gps_time", *_COLOURS)


@dataclass
class _PointRanges:
    """Ranges of all points, as the header holds them."""

    low: Array = field(default_factory=lambda: np.full(3, _INT32, np.int64))
    high: Array = field(default_factory=lambda: np.full(3, -_INT32, np.int64))
    ranges: dict[str, tuple[float, float]] = field(default_factory=dict)
    by_return: Array = field(default_factory=lambda: np.zeros(16, np.int64))

    def add(self, rows: Array) -> None:
        grid = np.stack([rows[axis] for axis in "XYZ"], axis=1).astype(np.int64)
        self.low, self.high = np.minimum(self.low, grid.min(axis=0)), np.maximum(self.high, grid.max(axis=0))
        number, total = rows["returns"] & 15, rows["returns"] >> 4
        self.by_return += np.bincount(number, minlength=16)
        columns = {name: rows[name] for name in _RANGED if name in (rows.dtype.names or ())}
        for name, values in {**columns, "return_number": number, "number_of_returns": total}.items():
            low, high = self.ranges.get(name, (np.inf, -np.inf))
            self.ranges[name] = (min(low, float(values.min())), max(high, float(values.max())))


class CopcWriter:
    """Takes points in any order and any number, and writes the file when it is closed.

    ``scale_m`` is the step of the coordinates, ``wkt`` the coordinate system or nothing, ``facts`` what Resweep wants
    to know again. The folder of ``path`` takes two copies of the points meanwhile, 60 bytes or more each.
    """

    def __init__(
        self,
        path: Path,
        scale_m: float = 0.001,
        wkt: str = "",
        facts: Mapping[str, Any] | None = None,
        max_points: int = MAX_PART_POINTS,
    ) -> None:
        self._copclib = require("copclib", "writing COPC")
        if not (np.isfinite(scale_m) and scale_m > 0):
            raise ResweepError(f"scale_m: expected metres above zero for a step of coordinates, got {scale_m}")
        self.path, self.scale_m, self._wkt, self._facts, self._max_points = (
            path,
            float(scale_m),
            wkt,
            facts or {},
            max_points,
        )
        self._seen, self._offset = _PointRanges(), np.zeros(3)
        self._spills: list[SpillFile] = []

    def __enter__(self) -> CopcWriter:
        return self

    def __exit__(self, *error: object) -> None:
        for spill in self._spills:
            spill.close()

    @property
    def count(self) -> int:
        """How many points there are so far."""
        return self._spills[0].count if self._spills else 0

    def add(self, points: Array, columns: Mapping[str, Array]) -> None:
        """Take in points (n, 3) float64 in metres with columns (n,), named as in LAS.

        ``columns`` may have intensity, classification, return_number, number_of_returns, gps_time, user_data,
        scan_angle, point_source_id, flags (as the point format packs them), and colours in the first call if ever.
        """
        if not len(points):
            return
        if not self._spills:
            self._offset = np.round(points.mean(axis=0))
            kind = 7 if all(name in columns for name in _COLOURS) else 6
            self._spills = [SpillFile(self.path.parent, _POINT[kind])]
        steps = np.round((points - self._offset) / self.scale_m)
        if np.abs(steps).max() > _INT32:
            reach = float(np.abs(points - self._offset).max())
            raise OutputError(
                f"{self.path.name}: points {reach:.3g} m apart do not fit steps of {self.scale_m:g} m; "
                "check them for outliers, or give a larger scale_m"
            )
        rows = _pack(steps.astype(np.int32), columns, self._spills[0].dtype)
        self._seen.add(rows)
        self._spills[0].append(rows)

    def close(self, progress: bool = True) -> None:
        """Sort the points into the octree and write the file."""
        if not self.count:
            raise OutputError(f"{self.path.name}: no point to write")
        # The cube begins at the lowest point and is as wide as the cloud: copclib's own readers take it for granted.
        side = max(1 << CELL_BITS, int((self._seen.high - self._seen.low).max()))
        bits, corner = side.bit_length(), self._seen.low

        def units_of(rows: Array) -> Array:
            steps = np.stack(
                [rows[axis].astype(np.int64) - low for axis, low in zip("XYZ", corner, strict=True)], axis=1
            )
            return np.asarray(np.minimum((steps << bits) // side, (1 << bits) - 1), np.uint32)

        spread, parts = sort_parts(self._spills[0], units_of, bits, self.path.parent, self._max_points)
        self._spills.append(spread)
        self._spills[0].close()
        writer = self._copclib.FileWriter(str(self.path), self._make_config(side))
        nodes = _Nodes(self._copclib, writer)
        for part in track(parts, f"writing {self.path.name}", show=progress):
            rows = spread.read(part.start, part.count)
            _add_part(nodes, part, rows, units_of(rows), bits)
        nodes.finish()
        writer.Close()
        _complete(self.path, self._facts, self._seen.ranges["gps_time"])
        self._check(nodes.count)

    def _make_config(self, steps: int) -> Any:
        copclib, seen = self._copclib, self._seen
        kind = 7 if "red" in (self._spills[0].dtype.names or ()) else 6
        scale, offset = (copclib.Vector3(*values) for values in ([self.scale_m] * 3, self._offset.tolist()))
        config = copclib.CopcConfigWriter(kind, scale, offset, self._wkt)
        header, info = config.las_header, config.copc_info
        low, high = (np.asarray(grid) * self.scale_m + self._offset for grid in (seen.low, seen.high))
        header.min, header.max = copclib.Vector3(*low.tolist()), copclib.Vector3(*high.tolist())
        header.points_by_return = seen.by_return[1:].tolist()
        header.system_identifier = "resweep"
        header.generating_software = f"resweep {resweep.__version__}"
        header.creation_year, header.creation_day = 2000, 1  # fixed: the same points give the same bytes on any day
        side = max(float((high - low).max()), steps * self.scale_m)
        info.center_x, info.center_y, info.center_z = (low + side / 2).tolist()
        info.halfsize, info.spacing = side / 2, side / 2**CELL_BITS
        for name, span in seen.ranges.items():
            setattr(config.copc_extents, name, copclib.CopcExtent(*span))
        return config

    def _check(self, points: int) -> None:
        """Raise unless the file is whole: the library does not report a full disk."""
        layout = read_layout(self.path)
        if points != self.count or sum(node.points for node in layout.nodes) != points:
            raise OutputError(f"{self.path}: could not be written whole; look for space on the disk")


def _pack(grid: Array, columns: Mapping[str, Array], dtype: np.dtype[np.void]) -> Array:
    rows = np.zeros(len(grid), dtype)
    for axis, name in enumerate("XYZ"):
        rows[name] = grid[:, axis]
    number = np.asarray(columns.get("return_number", 1), np.uint8)
    total = np.asarray(columns.get("number_of_returns", number), np.uint8)
    rows["returns"] = number | (total << 4)
    for name in dtype.names or ():
        if name in columns:
            rows[name] = columns[name]
    return rows


class _Nodes:
    """The nodes of the file: those of a part are written at once, larger ones when their last part has come."""

    def __init__(self, copclib: Any, writer: Any) -> None:
        self._copclib, self._writer = copclib, writer
        self._open: dict[int, tuple[tuple[int, ...], list[Array]]] = {}
        self.count = 0

    def write(self, level: int, key: tuple[int, ...], rows: Array) -> None:
        """Write a whole node."""
        data = self._copclib.VectorChar(rows.view(np.int8))
        self._writer.AddNode(self._copclib.VoxelKey(level, *key), data)
        self.count += len(rows)

    def enter(self, level: int, key: tuple[int, ...]) -> bool:
        """Go on with a node of several parts; gives whether it has no point yet."""
        if level not in self._open or self._open[level][0] != key:
            self._flush(level)
            self._open[level] = (key, [])
        return not self._open[level][1]

    def add(self, level: int, rows: Array) -> None:
        """Add points to the node of ``level`` that was entered last."""
        if len(rows):
            self._open[level][1].append(rows)

    def finish(self) -> None:
        """Write what is not yet written."""
        for level in sorted(self._open):
            self._flush(level)

    def _flush(self, level: int) -> None:
        key, rows = self._open.pop(level, ((), []))
        if rows:
            self.write(level, key, np.concatenate(rows))


def _add_part(nodes: _Nodes, part: CloudPart, rows: Array, units: Array, bits: int) -> None:
    """Divide the points of a part among the nodes above, at and below it."""
    order = sort_morton(units)
    rows, units, priority = rows[order], units[order], rank_priority(part.start, part.count)[order]
    shared = count_shared_bits(units, bits)
    level = find_levels(shared, priority, bits, part.depth)
    best = int(np.argmin(priority))
    level[best] = min(level[best], part.top_level)
    for at in range(part.depth):
        key = tuple(int(value) for value in units[0] >> (bits - at)) if bits > at else (0, 0, 0)
        below = np.flatnonzero(level > at)
        if nodes.enter(at, key) and not (level == at).any() and len(below):
            level[below[np.argmin(priority[below])]] = at  # no node is empty above others
        nodes.add(at, rows[level == at])
    fill_nodes(level, shared, priority, bits, part.depth)
    for at in range(part.depth, int(level.max()) + 1):
        chosen = np.flatnonzero(level == at)
        keys = units[chosen] >> (bits - at)
        edges = np.flatnonzero(np.concatenate([[True], (keys[1:] != keys[:-1]).any(axis=1), [True]]))
        for first, last in pairwise(edges):
            nodes.write(at, tuple(int(value) for value in keys[first]), rows[chosen[first:last]])


def _complete(path: Path, facts: Mapping[str, Any], times: tuple[float, float]) -> None:
    """Put right what copclib 2.6 writes, the first time as the last one too, and add a record with ``facts``.

    It comes after the other extended records; readers skip records that they do not know.
    """
    text = format_json(facts, sort_keys=True).encode()
    with path.open("r+b") as file:
        file.seek(_TIMES_AT)
        file.write(struct.pack("<2d", *times))
        file.seek(_RECORDS_AT)
        (count,) = struct.unpack("<I", file.read(4))
        file.seek(0, 2)
        file.write(struct.pack("<2x16sHQ32s", USER.encode(), RECORD, len(text), b"facts of the cloud") + text)
        file.seek(_RECORDS_AT)
        file.write(struct.pack("<I", count + 1))
