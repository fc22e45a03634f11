"""Survey clouds as logs: tiles in one world frame, a piece of up to a million points a sweep."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from resweep.config import validate
from resweep.errors import FaultKind, InputError, ResweepError, SweepError
from resweep.io.clouds.box import Box, check_resolution
from resweep.io.clouds.tile import (
    SurveyTile,
    TilePiece,
    cut_pieces,
    read_facts,
    read_points,
    read_tile,
    stack_coordinates,
)
from resweep.io.files.las import FULL_SCALE, check_scale, columns_from_points
from resweep.io.files.las_crs import check_metres, is_same_crs, name_crs
from resweep.io.folders.pose_files import ASSUMED_RATE_HZ
from resweep.io.points.columns import sweep_from_columns
from resweep.io.points.header import Header
from resweep.labels import UNKNOWN_LABELS, LabelSet, load_labels
from resweep.log import EmptyBeams, Fault, Log
from resweep.pose import Array, from_xyz_rpy
from resweep.sweep import Sweep

CHUNK_POINTS = 1_000_000  # of a sweep: about 100 MB


def open_tiles(
    files: Sequence[Path],
    path: Path,
    rate_hz: float | None = None,
    bounds: Sequence[float] | None = None,
    resolution: float | None = None,
    intensity_scale: float = FULL_SCALE,
    chunk_points: int = CHUNK_POINTS,
    drop_nan: bool = False,
    keep_going: bool = False,
) -> Log:
    """The points of LAS, LAZ and COPC ``files`` as one log, of which headers alone are read now.

    A sweep holds up to ``chunk_points`` points of one file, or one node of an octree, at a pose in the middle of the
    file's bounds, in whole metres. Only points in ``bounds`` are there, and of COPC files only levels down to
    ``resolution`` metres between points. What of a file the bounds cut is read once now, so that no sweep is empty. The
    sensor's position is unknown.
    """
    box, resolution, scale = Box.of(bounds), check_resolution(resolution), check_scale(intensity_scale)
    if chunk_points < 1:
        raise ResweepError(f"chunk_points: expected points above zero, got {chunk_points}")
    skipped: list[Fault] = []
    tiles = _read_tiles(files, skipped if keep_going else None)
    for tile in tiles:
        if tile.posed:
            raise InputError(
                f"{tile.path}: holds a sweep with the pose of its sensor, not a cloud; open it without bounds"
            )
    crs = _find_common_crs(tiles)
    pieces = [piece for tile in tiles for piece in cut_pieces(tile, box, resolution, chunk_points)]
    if not pieces:
        raise InputError(f"{path}: {_explain_nothing(tiles, bounds)}")
    times = np.arange(len(pieces)) / (rate_hz or ASSUMED_RATE_HZ)
    poses = np.stack([_place(piece.tile, box) for piece in pieces])

    def load(at: int) -> Sweep:
        own = read_facts(pieces[at].tile, "intensity_scale")
        counts = scale if own is None else check_scale(float(own))
        return _read_piece(pieces[at], box, poses[at], float(times[at]), counts, chunk_points, drop_nan)

    return Log(
        load,
        times,
        poses,
        path.name.removesuffix(".laz").removesuffix(".copc").removesuffix(".las"),
        labels=_find_labels(tiles),
        times_known=False,
        sensor_position_known=False,
        cloud="raw",
        empty_beams=EmptyBeams("unknown", "not inferred: a survey's cloud does not say where its sensor was"),
        crs=crs,
        skipped=tuple(skipped),
        meta={
            "format": "tiles",
            "path": str(path),
            "tiles": len(tiles),
            "crs": name_crs(crs) if crs else "unknown",
            "asked": {
                "bounds": None if bounds is None else [float(value) for value in bounds],
                "resolution": resolution,
                "intensity_scale": scale,
                "chunk_points": chunk_points,
            },
        },
    )


def _read_tiles(files: Sequence[Path], skipped: list[Fault] | None) -> list[SurveyTile]:
    """The tiles; with ``skipped``, those that cannot be read are noted there with a warning."""
    tiles = []
    for file in files:
        try:
            tiles.append(read_tile(file))
        except ResweepError as error:
            if skipped is None:
                raise
            warnings.warn(f"{file.name} is left out: {error}", stacklevel=5)
            skipped.append(Fault(error.kind if isinstance(error, SweepError) else FaultKind.UNREADABLE, str(error)))
    return tiles


def _find_common_crs(tiles: Sequence[SurveyTile]) -> str:
    """The coordinate system of all tiles, empty where none has one; raises where they differ."""
    first = next((tile for tile in tiles if tile.crs), None)
    if first is None:
        return ""
    check_metres(first.crs, str(first.path))
    for tile in tiles:
        if tile.crs and not is_same_crs(first.crs, tile.crs):
            raise InputError(
                f"{tile.path}: coordinate system {name_crs(tile.crs)}, {first.path.name} has {name_crs(first.crs)}; "
                "reproject one of them, or give them folders of their own"
            )
    silent = [tile.path.name for tile in tiles if not tile.crs]
    if silent:
        warnings.warn(
            f"{len(silent)} of {len(tiles)} tiles ({silent[0]} first) name no coordinate system; "
            f"taken to be in {name_crs(first.crs)} as the others",
            stacklevel=5,
        )
    return first.crs


def _explain_nothing(tiles: Sequence[SurveyTile], bounds: Sequence[float] | None) -> str:
    filled = [tile for tile in tiles if tile.points]
    if bounds is None or not filled:
        return "no point in it; fetch it again"
    low = np.min([tile.low for tile in filled], axis=0)
    high = np.max([tile.high for tile in filled], axis=0)
    span = ", ".join(f"{axis} {a:.2f} to {b:.2f}" for axis, a, b in zip("xyz", low, high, strict=True))
    return f"no point within the bounds {', '.join(f'{value:.12g}' for value in bounds)}; it has {span}"


def _place(tile: SurveyTile, box: Box) -> Array:
    """A pose in the middle of what a box leaves of a tile, in whole metres.

    From there, float32 keeps a tenth of a millimetre over a kilometre.
    """
    low, high = np.maximum(tile.low, box.low), np.minimum(tile.high, box.high)
    return from_xyz_rpy(*np.round((low + high) / 2).tolist())


def _find_labels(tiles: Sequence[SurveyTile]) -> LabelSet:
    """The classes of the LAS specification, or those of the files that Resweep wrote, if they are all the same."""
    found = [_read_labels(tile) for tile in tiles]
    return found[0] if all(labels == found[0] for labels in found) else UNKNOWN_LABELS


def _read_labels(tile: SurveyTile) -> LabelSet:
    if tile.facts is None:
        return load_labels("asprs")
    stored = read_facts(tile, "labels")
    return UNKNOWN_LABELS if stored is None else validate(stored, LabelSet, f"{tile.path}, labels")


def _read_piece(
    piece: TilePiece, box: Box, pose: Array, time: float, scale: float, max_points: int, drop_nan: bool
) -> Sweep:
    whole = box.contains(piece.tile.low, piece.tile.high)
    parts = []
    for points in read_points(piece, max_points):
        columns = columns_from_points(points, scale)
        if not whole:
            keep = box.inside(stack_coordinates(points))
            columns = {name: values[keep] for name, values in columns.items()}
        parts.append(columns)
    # A column of zeros is left out of some parts; there it is zero.
    names = {name: values for columns in parts for name, values in columns.items()}
    joined = {
        name: np.concatenate([columns.get(name, np.zeros(len(columns["x"]), like.dtype)) for columns in parts])
        for name, like in names.items()
    }
    return sweep_from_columns(joined, str(piece.tile.path), Header("world", pose, time), drop_nan=drop_nan)
