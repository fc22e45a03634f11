"""The octree of a COPC file: its nodes, checked against the file before anything is decoded.

Source of the fields: COPC specification 1.0 (copc.io). The info record is the first one after the header; pages of the
hierarchy are lists of entries of 32 bytes, of which some lead to further pages.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np

from resweep.errors import FaultKind, SweepError
from resweep.files.untrusted import open_regular
from resweep.io.files.las_layout import LasDamageError, check_layout
from resweep.io.reading_limits import check_expansion
from resweep.pose import Array

_HEADER_BYTES, _VLR_BYTES, _INFO_BYTES, _ENTRY_BYTES = 375, 54, 160, 32
_DEEPEST = 31  # keys are int32
_PAGE = -1  # in place of the number of points of an entry
_MAX_NODES = 10_000_000


@dataclass(frozen=True)
class Node:
    """A node of the octree: its key, and the chunk of its points."""

    level: int
    key: tuple[int, int, int]
    offset: int
    size: int
    points: int


@dataclass(frozen=True, eq=False)
class Octree:
    """Corner (3,) and side of the root in metres, the spacing of its points, and all nodes that have points."""

    corner: Array
    side: float
    spacing: float
    nodes: tuple[Node, ...]

    def box(self, node: Node) -> Array:
        """Lowest and highest corner (2, 3) of a node."""
        side = self.side / 2**node.level
        low = self.corner + np.array(node.key) * side
        return np.array([low, low + side])


def has_octree(path: Path) -> bool:
    """Whether a LAS or LAZ file is marked as a COPC file."""
    with open_regular(path) as file:
        data = file.read(_HEADER_BYTES + 22)
    return len(data) == _HEADER_BYTES + 22 and data[:4] == b"LASF" and _is_info(data[_HEADER_BYTES:])


def _is_info(record: bytes) -> bool:
    user, number = struct.unpack_from("<2x16sH", record)
    return bool(user.rstrip(b"\0") == b"copc" and number == 1)


def read_layout(path: Path) -> Octree:
    """The octree of a file; raises `SweepError` unless every node lies within it, once."""
    check_layout(path)
    size = path.stat().st_size
    with open_regular(path) as file:
        head = file.read(_HEADER_BYTES + _VLR_BYTES + _INFO_BYTES)
        try:
            if len(head) < _HEADER_BYTES + _VLR_BYTES + _INFO_BYTES or not _is_info(head[_HEADER_BYTES:]):
                raise LasDamageError("no COPC record after its header; a plain LAZ file ends in .laz only")
            return _read_octree(file, head, size, str(path))
        except (struct.error, LasDamageError) as error:
            raise SweepError(
                f"{path}: damaged or not a COPC file ({error}); fetch or write it again", FaultKind.TRUNCATED
            ) from error


def _read_octree(file: BinaryIO, head: bytes, size: int, where: str) -> Octree:
    (points_at,) = struct.unpack_from("<I", head, 96)
    (record,) = struct.unpack_from("<H", head, 105)
    (points,) = struct.unpack_from("<Q", head, 247)
    *centre, half, spacing, root_at, root_size = struct.unpack_from("<5dQQ", head, _HEADER_BYTES + _VLR_BYTES)
    if not np.isfinite([*centre, half, spacing]).all() or half <= 0 or spacing <= 0:
        raise LasDamageError("a cube or spacing that is no size")
    nodes = tuple(_walk(file, root_at, root_size, size))
    for node in nodes:
        if not (points_at + 8 <= node.offset and node.offset + node.size <= size):
            raise LasDamageError(f"node {_name_node(node)} lies beyond its end")
        check_expansion(node.points * record, node.size, f"{where}, node {_name_node(node)}")
    _require_apart(nodes)
    found = sum(node.points for node in nodes)
    if found != points:
        raise LasDamageError(f"{found} points in its nodes, {points} in its header")
    return Octree(np.array(centre) - half, 2 * half, spacing, nodes)


def _name_node(node: Node) -> str:
    return "-".join(map(str, (node.level, *node.key)))


def _walk(file: BinaryIO, root_at: int, root_size: int, size: int) -> Iterator[Node]:
    """The nodes of all pages that have points."""
    pages, seen = [(root_at, root_size)], {root_at}
    keys: set[tuple[int, ...]] = set()
    while pages:
        at, length = pages.pop()
        if length <= 0 or length % _ENTRY_BYTES or at + length > size or len(keys) > _MAX_NODES:
            raise LasDamageError("its hierarchy is cut off")
        file.seek(at)
        for level, x, y, z, offset, bytes_, points in struct.iter_unpack("<4iQii", file.read(length)):
            if not (0 <= level <= _DEEPEST and all(0 <= value < 1 << level for value in (x, y, z))):
                raise LasDamageError(f"a node with the key {level}-{x}-{y}-{z}")
            if points == _PAGE:
                if offset in seen:
                    raise LasDamageError("a page of its hierarchy that leads to itself")
                seen.add(offset)
                pages.append((offset, bytes_))
                continue
            if (level, x, y, z) in keys or points < 0 or bytes_ < 0:
                raise LasDamageError(f"node {level}-{x}-{y}-{z} is there twice or has no size")
            keys.add((level, x, y, z))
            if points:
                yield Node(level, (x, y, z), offset, bytes_, points)


def _require_apart(nodes: tuple[Node, ...]) -> None:
    end = 0
    for node in sorted(nodes, key=lambda node: node.offset):
        if node.offset < end:
            raise LasDamageError(f"node {_name_node(node)} lies within another")
        end = node.offset + node.size
