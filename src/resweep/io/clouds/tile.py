"""One file of a survey: the facts of its header, and its points a piece at a time."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from resweep.errors import FaultKind, InputError, SweepError
from resweep.files.strict_json import parse_json
from resweep.files.untrusted import open_regular
from resweep.io.clouds.box import Box
from resweep.io.clouds.octree import Node, Octree, has_octree, read_layout
from resweep.io.files.las import DAMAGE, find_header
from resweep.io.files.las_crs import read_crs
from resweep.io.files.las_layout import check_layout
from resweep.pose import Array

FACTS = ("resweep", 2)  # in our own files: the record of what LAS has no field for
_SLACK = 1.0  # steps of the coordinates by which a header may round its bounds


@dataclass(frozen=True, eq=False)
class SurveyTile:
    """A file: its bounds (3,) each, how many points, its coordinate system, and its octree if it has one.

    ``facts`` are what Resweep wrote of its points, None for files of others. A ``posed`` file holds one sweep of a
    sensor.
    """

    path: Path
    low: Array
    high: Array
    points: int
    crs: str
    octree: Octree | None
    facts: Mapping[str, Any] | None
    posed: bool


@dataclass(frozen=True)
class TilePiece:
    """A part of a tile that is read at once: points from ``start`` to ``stop``, or nodes of its octree."""

    tile: SurveyTile
    start: int = 0
    stop: int = 0
    nodes: tuple[Node, ...] = ()


def read_tile(path: Path) -> SurveyTile:
    """The facts in the header of a file; no point is read."""
    import laspy

    octree = read_layout(path) if path.name.lower().endswith(".copc.laz") or has_octree(path) else None
    if octree is None:
        check_layout(path)
    try:
        with laspy.open(os.fspath(path)) as file:
            header = file.header
    except (laspy.LaspyException, *DAMAGE) as error:
        raise _make_damage_error(path, str(error)) from error
    records = [*header.vlrs, *(header.evlrs or ())]
    step = np.abs(np.asarray(header.scales, dtype=np.float64))
    low, high = np.asarray(header.mins, np.float64), np.asarray(header.maxs, np.float64)
    if header.point_count and not (np.isfinite([low, high]).all() and (low <= high).all() and np.isfinite(step).all()):
        raise _make_damage_error(path, "bounds in its header that are no box")
    slack = _SLACK * step
    posed = find_header(header.vlrs, str(path)) is not None
    return SurveyTile(
        path, low - slack, high + slack, int(header.point_count), read_crs(records), octree, _read_facts(records), posed
    )


def _make_damage_error(path: Path, problem: str) -> SweepError:
    return SweepError(f"{path}: damaged or not a LAS file ({problem}); fetch or write it again", FaultKind.TRUNCATED)


def _read_facts(records: list[Any]) -> Mapping[str, Any] | None:
    for record in records:
        if (record.user_id, record.record_id) == FACTS:
            facts = parse_json(record.record_data_bytes())
            if isinstance(facts, dict):
                return facts
    return None


def cut_pieces(tile: SurveyTile, box: Box, resolution: float | None, max_points: int) -> list[TilePiece]:
    """The pieces of a tile that have points in the box, of up to ``max_points`` points there each."""
    if not tile.points or not box.intersects(tile.low, tile.high):
        return []
    if tile.octree is not None:
        return _group_nodes(tile, tile.octree, box, resolution, max_points)
    if resolution is not None:
        raise InputError(
            f"{tile.path}: has no levels of detail, so no resolution can be chosen; only COPC files have them"
        )
    if box.contains(tile.low, tile.high):
        return [TilePiece(tile, at, min(at + max_points, tile.points)) for at in range(0, tile.points, max_points)]
    return _group_ranges(tile, box, max_points)


def _group_ranges(tile: SurveyTile, box: Box, max_points: int) -> list[TilePiece]:
    """Ranges of points, each as long as it takes to have ``max_points`` of them in the box."""
    pieces: list[TilePiece] = []
    start, kept, at = 0, 0, 0
    for points in read_points(TilePiece(tile, 0, tile.points), max_points, places_only=True):
        found = int(box.inside(stack_coordinates(points)).sum())
        if kept and kept + found > max_points:
            pieces.append(TilePiece(tile, start, at))
            start, kept = at, 0
        kept, at = kept + found, at + len(points)
    return [*pieces, TilePiece(tile, start, at)] if kept else pieces


def _group_nodes(
    tile: SurveyTile, octree: Octree, box: Box, resolution: float | None, max_points: int
) -> list[TilePiece]:
    """Groups of nodes near one another in the file, of the levels that ``resolution`` asks for."""
    # Each level halves the spacing of the one before (COPC 1.0).
    last = 31 if resolution is None else max(0, math.ceil(math.log2(octree.spacing / resolution)))
    groups: list[list[Node]] = []
    room = 0
    for node in sorted(octree.nodes, key=lambda node: node.offset):
        low, high = octree.box(node)
        if node.level > last or not box.intersects(low, high):
            continue
        found = node.points
        if not box.contains(low, high):
            (points,) = read_points(TilePiece(tile, nodes=(node,)), max_points, places_only=True)
            found = int(box.inside(stack_coordinates(points)).sum())
        if not found:
            continue
        if not groups or found > room:
            groups.append([])
            room = max_points
        groups[-1].append(node)
        room -= found
    return [TilePiece(tile, nodes=tuple(group)) for group in groups]


def stack_coordinates(points: Any) -> Array:
    """Coordinates (n, 3) float64 of laspy's points."""
    return np.stack([np.asarray(points[axis], dtype=np.float64) for axis in "xyz"], axis=1)


def read_points(piece: TilePiece, max_points: int, places_only: bool = False) -> Iterator[Any]:
    """The points of a piece as laspy has them, up to ``max_points`` at once; of nodes, those of all of them."""
    import laspy
    from lazrs import LazrsError

    path = piece.tile.path
    chosen = laspy.DecompressionSelection.all()
    if places_only:
        chosen = laspy.DecompressionSelection.xy_returns_channel() | laspy.DecompressionSelection.Z
    try:
        with laspy.open(os.fspath(path), decompression_selection=chosen) as file:
            if piece.nodes:
                yield _read_nodes(file.header, path, piece.nodes, chosen)
                return
            file.seek(piece.start)
            for at in range(piece.start, piece.stop, max_points):
                count = min(max_points, piece.stop - at)
                points = file.read_points(count)
                if len(points) != count:
                    raise _make_damage_error(path, f"fewer than {piece.tile.points} points")
                yield points
    except SweepError:
        raise
    except (laspy.LaspyException, LazrsError, *DAMAGE) as error:
        raise _make_damage_error(path, str(error)) from error


def _read_nodes(header: Any, path: Path, nodes: tuple[Node, ...], chosen: Any) -> Any:
    import laspy
    import lazrs

    laszip = header.vlrs.get_by_id("laszip encoded", (22204,))[0].record_data
    out = np.zeros(sum(node.points for node in nodes) * header.point_format.size, np.uint8)
    with open_regular(path) as file:
        parts = []
        for node in nodes:
            file.seek(node.offset)
            parts.append(file.read(node.size))
    table = [(node.points, node.size) for node in nodes]
    lazrs.decompress_points_with_chunk_table(b"".join(parts), laszip, out, table, chosen.to_lazrs())
    packed = laspy.PackedPointRecord.from_buffer(out, header.point_format)
    return laspy.ScaleAwarePointRecord(packed.array, packed.point_format, header.scales, header.offsets)


def read_facts(tile: SurveyTile, name: str) -> Any:
    """A fact that Resweep wrote of the points of a tile, None where it did not."""
    return None if tile.facts is None else tile.facts.get(name)
