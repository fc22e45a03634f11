"""E57, the exchange format of scanners: a file of one or many scans, each with its pose.

A file with several scans opens as a log of them. Beams that returned nothing are those points that the file
marks invalid; they are left out. Needs the package ``pye57``.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from resweep import portable
from resweep.errors import FaultKind, InputError, ResweepError, SweepError
from resweep.io.clouds.e57_scans import check_scans
from resweep.io.folders import sweep_files
from resweep.io.format import Format
from resweep.io.points.columns import sweep_from_columns
from resweep.io.reading_limits import check_expansion
from resweep.io.rigid import pose_from_quaternion
from resweep.log import EmptyBeams, Log
from resweep.optional import require
from resweep.pose import Array
from resweep.sweep import Sweep

_CARTESIAN = ("cartesianX", "cartesianY", "cartesianZ")
_SPHERICAL = ("sphericalRange", "sphericalAzimuth", "sphericalElevation")
_INVALID = ("cartesianInvalidState", "sphericalInvalidState")
_OURS = {"rowIndex": "ring", "columnIndex": "column", "returnIndex": "return_index", "timeStamp": "time"}


def recognises(path: Path) -> bool:
    """Whether ``path`` is an E57 file."""
    return path.is_file() and path.suffix.lower() == ".e57"


def read(path: Path, drop_nan: bool = False, scan: int | None = None) -> Sweep:
    """The scan number ``scan`` of a file, or its only one."""
    with _open(path) as file:
        if scan is None and file.scan_count > 1:
            raise InputError(f"{path}: holds {file.scan_count} scans; give scan=NUMBER, or open_log it alone")
        return _read_scan(file, path, scan or 0, drop_nan)


def open_log(path: Path, rate_hz: float | None = None, drop_nan: bool = False, empty_beams: bool = True) -> Log:
    """The scans of a file, or the files of a folder, as a log; scans have no common clock, so times count up."""
    del empty_beams  # scanners on tripods do not fire in turns of one grid
    if path.is_dir():
        files = sweep_files.list_sweep_files(path, (".e57",))
        return replace(sweep_files.open_sweeps(FORMAT, path, files, rate_hz, drop_nan=drop_nan), cloud="raw")
    with _open(path) as file:
        poses = np.stack([_read_pose(file.get_header(at), f"{path}, scan {at}") for at in range(file.scan_count)])
    times = np.arange(len(poses)) / (rate_hz or sweep_files.RATE_HZ)

    def load(at: int) -> Sweep:
        with _open(path) as file:
            return sweep_files.place_sweep(_read_scan(file, path, at, drop_nan), poses[at], float(times[at]))

    return Log(
        load,
        times,
        poses,
        path.stem,
        times_known=False,
        sensor_position_known=is_placed(path),
        cloud="raw",
        empty_beams=EmptyBeams("unknown", "not inferred: points that the file marks invalid are left out"),
        meta={"format": "e57", "path": str(path)},
    )


@contextmanager
def _open(path: Path) -> Iterator[Any]:
    pye57 = require("pye57", "reading E57")
    check_scans(path)
    try:
        file = pye57.E57(os.fspath(path))
    except Exception as error:  # the library's errors share no base
        raise SweepError(
            f"{path}: truncated or not an E57 file ({error}); fetch it again", FaultKind.TRUNCATED
        ) from error
    try:
        if not file.scan_count:
            raise InputError(f"{path}: holds no scan; fetch or export it again")
        yield file
    finally:
        file.close()


def _read_pose(header: Any, where: str) -> Array:
    """``T_world_scanner``; a scan without pose is at the origin."""
    position = header.translation if header.has_pose() else np.zeros(3)
    quaternion = header.rotation if header.has_pose() else np.array([1.0, 0, 0, 0])
    return pose_from_quaternion(position, quaternion, where)


def is_placed(path: Path) -> bool:
    """Whether every scan of a file has a pose, which is that of its scanner.

    Writers give the identity to merged clouds too; it is a scanner's only if the points have rows and columns.
    """
    with _open(path) as file:
        headers = [file.get_header(at) for at in range(file.scan_count)]
        return all(_has_scanner(header, f"{path}, scan {at}") for at, header in enumerate(headers))


def _has_scanner(header: Any, where: str) -> bool:
    if not header.has_pose():
        return False
    moved = bool(np.any(_read_pose(header, where) != np.eye(4)))
    return moved or {"rowIndex", "columnIndex"} <= set(header.point_fields)


def _read_scan(file: Any, path: Path, at: int, drop_nan: bool) -> Sweep:
    where = f"{path}, scan {at}"
    if not 0 <= at < file.scan_count:
        raise InputError(f"{path}: no scan {at}; it holds {file.scan_count}")
    try:
        header = file.get_header(at)
        # A field that never varies takes no bytes, so that a file may count any number of points.
        check_expansion(int(header.point_count) * 8 * max(1, len(header.point_fields)), path.stat().st_size, where)
        raw = {name: np.asarray(values) for name, values in file.read_scan_raw(at, True).items()}
    except ResweepError:
        raise
    except Exception as error:  # the library's errors share no base
        raise InputError(f"{where}: damaged ({error}); fetch it again") from error
    columns = _convert_coordinates(raw, where)
    for name in _INVALID:
        if name in raw:
            valid = raw.pop(name) == 0
            raw = {key: values[valid] for key, values in raw.items()}
            columns = {key: values[valid] for key, values in columns.items()}
    for name, values in raw.items():
        if name not in (*_CARTESIAN, *_SPHERICAL, *_INVALID):
            columns[_OURS.get(name, name)] = values
    sweep = sweep_from_columns(columns, where, drop_nan=drop_nan)
    if np.any(sweep.pose != np.eye(4)):  # a cloud far from its own origin was moved near; the scan's pose comes first
        return replace(sweep, pose=portable.matmul(_read_pose(file.get_header(at), where), sweep.pose))
    return replace(sweep, pose=_read_pose(file.get_header(at), where))


def _convert_coordinates(raw: dict[str, Array], where: str) -> dict[str, Array]:
    if all(name in raw for name in _CARTESIAN):
        return {axis: raw[name].astype(np.float64) for axis, name in zip("xyz", _CARTESIAN, strict=True)}
    if not all(name in raw for name in _SPHERICAL):
        raise InputError(f"{where}: neither cartesian nor spherical coordinates; it has {', '.join(raw)}")
    distance, azimuth, elevation = (raw[name].astype(np.float64) for name in _SPHERICAL)
    flat = distance * portable.cos(elevation)
    return {
        "x": flat * portable.cos(azimuth),
        "y": flat * portable.sin(azimuth),
        "z": distance * portable.sin(elevation),
    }


FORMAT = Format("e57", "E57 scans", (".e57",), read=read, recognises=recognises, open_log=open_log, placed=is_placed)
