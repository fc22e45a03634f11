"""Tiles of a survey: a folder of LAS, LAZ and COPC files in one coordinate system, as 3DEP, LiDAR HD and AHN give them.

A folder is taken for tiles if the points of every file are in no sensor's frame: by a coordinate system, by an
octree, or by coordinates over 10 km from the origin. Other folders of such files hold sweeps, unless asked for by name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from resweep.errors import InputError, ResweepError
from resweep.io.clouds.cloud_log import CHUNK_POINTS, open_tiles
from resweep.io.clouds.tile import SurveyTile, read_tile
from resweep.io.files.las import FULL_SCALE
from resweep.io.folders import sweep_files
from resweep.io.folders.pose_files import find_pose_file
from resweep.io.format import Format
from resweep.io.log_json import FILE
from resweep.io.points.columns import FAR_M
from resweep.log import Log

SUFFIXES = (".las", ".laz")
OPTIONS = ("bounds", "resolution", "chunk_points")  # of this reader alone
_COMPARED_FILES = 20  # files that are looked at to know what a folder holds


def recognises(path: Path) -> bool:
    """Whether ``path`` is a folder of tiles, or one file too large for a sweep."""
    if path.is_file():
        return path.name.lower().endswith(SUFFIXES) and any(
            tile.points > CHUNK_POINTS and not tile.posed for tile in _read_some([path])
        )
    found = _read_some(_list_tiles(path))
    return bool(found) and all(_has_frame(tile) for tile in found)


def _read_some(files: list[Path]) -> list[SurveyTile]:
    """Some of the files, those that can be read: opening the others raises."""
    tiles = []
    for file in files[:: max(1, len(files) // _COMPARED_FILES)]:
        with suppress(ResweepError, OSError, ValueError):
            tiles.append(read_tile(file))
    return tiles


def _list_tiles(path: Path) -> list[Path]:
    """The tiles of a folder; none where it is a log of sweeps."""
    if not path.is_dir() or (path / FILE).exists() or find_pose_file(path) is not None:
        return []
    return sweep_files.list_sweep_files(path, SUFFIXES)


def _has_frame(tile: SurveyTile) -> bool:
    far = bool(np.abs(np.round((tile.low + tile.high) / 2)).max() > FAR_M)
    return not tile.posed and (bool(tile.crs) or tile.octree is not None or far)


def asks_for_tiles(path: Path, options: Mapping[str, Any]) -> bool:
    """Whether options are given that only clouds take, for files that may be such."""
    if not any(name in options for name in OPTIONS):
        return False
    return path.name.lower().endswith(SUFFIXES) if path.is_file() else bool(_list_tiles(path))


def open_log(
    path: Path,
    rate_hz: float | None = None,
    empty_beams: bool = True,
    bounds: Sequence[float] | None = None,
    resolution: float | None = None,
    intensity_scale: float = FULL_SCALE,
    chunk_points: int = CHUNK_POINTS,
    drop_nan: bool = False,
    keep_going: bool = False,
) -> Log:
    """The points of a folder of tiles, or of one file, as a log: see `open_tiles`."""
    files = [path] if path.is_file() else sweep_files.list_sweep_files(path, SUFFIXES)
    if not files:
        raise InputError(f"{path}: no {' or '.join(SUFFIXES)} file in it; give the folder that holds them")
    return open_tiles(
        files, path, rate_hz, bounds, resolution, intensity_scale, chunk_points, drop_nan, keep_going=keep_going
    )


FORMAT = Format("tiles", "LAS, LAZ and COPC tiles", recognises=recognises, open_log=open_log)
