"""Argoverse 2 sensor logs: ``sensors/lidar/<ns>.feather``, the vehicle's poses, calibration and annotations.

Points are in the vehicle's frame at the sweep's time, motion-compensated; ``pose`` is the vehicle's. Lasers
0 to 31 are those of ``up_lidar``, 32 to 63 of ``down_lidar``; each beam begins where its LiDAR was when it
fired, seen from the vehicle at the sweep's time. Beams that returned nothing are inferred for each LiDAR in its
own frame, where the points' times and the vehicle's motion put the returns as they were measured.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from resweep import portable
from resweep.boxes import Boxes
from resweep.errors import FaultKind, InputError, ResweepError, SweepError
from resweep.files.untrusted import read_bytes
from resweep.io.datasets.annotated_boxes import Tracks, boxes_from_poses
from resweep.io.datasets.argoverse.arrow_file import check_arrow
from resweep.io.empty_beams import LidarRig, LogLidar, infer_empty_beams
from resweep.io.format import Format
from resweep.io.points.columns import sweep_from_columns
from resweep.io.rigid import poses_from_quaternions, trajectory_from_rows
from resweep.labels import load_labels
from resweep.log import Log
from resweep.optional import require
from resweep.pose import Array, Trajectory, inverse, transform
from resweep.sensors import load_sensor
from resweep.sweep import Sweep

SENSOR = "velodyne-vlp-32c"
_LIDARS = ("up_lidar", "down_lidar")
_LASERS = 32
_REACH_S = 0.25
_TEXTS = ("sensor_name", "track_uuid", "category")


def recognises(path: Path) -> bool:
    """Whether ``path`` is a log: a folder with ``sensors/lidar/*.feather``."""
    return (path / "sensors" / "lidar").is_dir() and any((path / "sensors" / "lidar").glob("*.feather"))


def open_log(path: Path, rate_hz: float | None = None, drop_nan: bool = False, empty_beams: bool = True) -> Log:
    """The log in ``path``; its times are those in the files' names, so ``rate_hz`` is not used."""
    del rate_hz
    scans = sorted((path / "sensors" / "lidar").glob("*.feather"), key=_parse_stamp)
    if not scans:
        raise InputError(f"{path}: no sensors/lidar/*.feather in it; give the folder of one log")
    stamps = np.array([_parse_stamp(scan) for scan in scans])
    motion = _read_motion(path / "city_SE3_egovehicle.feather")
    times = stamps * 1e-9
    outside = np.flatnonzero((times < motion.start) | (times > motion.end))
    if len(outside):
        raise InputError(f"{path / 'city_SE3_egovehicle.feather'}: no pose at the time of {scans[outside[0]].name}")
    poses = motion.at(times)
    mounts = _read_mounts(path / "calibration" / "egovehicle_SE3_sensor.feather")
    annotations = lru_cache(maxsize=1)(lambda: _read_annotations(path / "annotations.feather"))

    def load(at: int) -> Sweep:
        table = _read_table(scans[at], ("x", "y", "z", "intensity", "laser_number", "offset_ns"))
        table["time"] = times[at] + table.pop("offset_ns").astype(np.float64) * 1e-9
        table.update({axis: table[axis].astype(np.float32) for axis in "xyz"})
        scan = sweep_from_columns(table, str(scans[at]), drop_nan=drop_nan)
        scan = scan.with_origins(_find_origins(scan, mounts[:, :3, 3], motion, poses[at]))
        boxes = _select_boxes(annotations(), int(stamps[at]), str(path / "annotations.feather"))
        return replace(scan, pose=poses[at], timestamp=float(times[at]), boxes=boxes, sensor=SENSOR)

    bare = Log(
        load,
        times,
        poses,
        path.name,
        sensor=load_sensor(SENSOR),
        labels=load_labels("argoverse2"),
        intensity_scale=255.0,
        meta={"format": "argoverse2", "path": str(path)},
    )
    lidars = [LogLidar(at * _LASERS, (at + 1) * _LASERS, mount) for at, mount in enumerate(mounts)]
    return infer_empty_beams(bare, empty_beams, LidarRig(lidars, motion))


def _parse_stamp(scan: Path) -> int:
    if not scan.stem.isdigit():
        raise ResweepError(f"{scan}: sweeps are named by their time in nanoseconds, as 315966265259836000.feather")
    return int(scan.stem)


def _read_table(file: Path, columns: tuple[str, ...]) -> dict[str, Any]:
    """Columns of a feather file as arrays."""
    feather = require("pyarrow.feather", "reading Argoverse 2")
    arrow = require("pyarrow", "reading Argoverse 2")
    if not file.is_file():
        raise InputError(f"{file}: missing; fetch the log again")
    try:
        data = read_bytes(file)
        check_arrow(data, str(file))
        table = feather.read_table(arrow.BufferReader(data), memory_map=False)
        table.validate(full=True)
        return _take_columns(table, columns, file)
    except ResweepError:
        raise
    except (arrow.ArrowException, OSError, ValueError, TypeError, KeyError, NotImplementedError) as error:
        raise SweepError(
            f"{file}: truncated or not a feather file ({error}); fetch it again", FaultKind.TRUNCATED
        ) from error


def _take_columns(table: Any, columns: tuple[str, ...], file: Path) -> dict[str, Any]:
    missing = [name for name in columns if name not in table.column_names]
    if missing:
        raise SweepError(
            f"{file}: no field '{missing[0]}'; it has {', '.join(table.column_names)}", FaultKind.OTHER_FIELDS
        )
    found = {name: table[name].to_numpy() for name in columns}
    for name, values in found.items():
        if name not in _TEXTS and values.dtype.kind not in "iuf":
            raise SweepError(f"{file}: field '{name}' holds no numbers; fetch it again", FaultKind.OTHER_FIELDS)
    return found


_POSE = ("qw", "qx", "qy", "qz", "tx_m", "ty_m", "tz_m")


def _parse_poses(table: dict[str, Any], where: str) -> Array:
    quaternion, position = (np.stack([table[name] for name in part], axis=1) for part in (_POSE[:4], _POSE[4:]))
    return poses_from_quaternions(position, quaternion, where)


def _read_motion(file: Path) -> Trajectory:
    """``T_city_vehicle`` over time, a little beyond its ends."""
    table = _read_table(file, ("timestamp_ns", *_POSE))
    return trajectory_from_rows(table["timestamp_ns"] * 1e-9, _parse_poses(table, str(file)), str(file)).extended(
        _REACH_S
    )


def _read_mounts(file: Path) -> Array:
    """Poses of the two LiDARs (2, 4, 4): ``T_vehicle_lidar``."""
    table = _read_table(file, ("sensor_name", *_POSE))
    names = [str(name) for name in table["sensor_name"]]
    missing = [name for name in _LIDARS if name not in names]
    if missing:
        raise InputError(f"{file}: no sensor '{missing[0]}'; fetch the log again")
    return _parse_poses(table, str(file))[[names.index(name) for name in _LIDARS]]


def _find_origins(scan: Sweep, origins: Array, motion: Trajectory, pose: Array) -> Array:
    """The beams' origins (n, 3) in the vehicle's frame at ``pose``."""
    lidar = (scan.ring >= _LASERS).astype(int)
    # The vehicle moves smoothly: a pose every millisecond serves all beams around it.
    moments, which = np.unique(np.round(np.clip(scan.time, motion.start, motion.end), 3), return_inverse=True)
    moved = portable.matmul(inverse(pose), motion.at(np.clip(moments, motion.start, motion.end)))
    return transform(moved[which], origins[lidar])


def _read_annotations(file: Path) -> dict[str, Any] | None:
    if not file.is_file():
        return None
    columns = ("timestamp_ns", "track_uuid", "category", "length_m", "width_m", "height_m", *_POSE)
    table = _read_table(file, columns)
    tracks = Tracks(map(str, table["track_uuid"]))
    table["track"] = np.array([tracks[str(name)] for name in table["track_uuid"]], np.int64)
    return table


def _select_boxes(table: dict[str, Any] | None, stamp: int, where: str) -> Boxes | None:
    if table is None:
        return None
    here = table["timestamp_ns"] == stamp
    rows = {name: values[here] for name, values in table.items()}
    size = np.stack([rows[name] for name in ("length_m", "width_m", "height_m")], axis=1)
    return boxes_from_poses(
        np.eye(4), _parse_poses(rows, where), size, [str(name) for name in rows["category"]], rows["track"]
    )


FORMAT = Format(
    "argoverse2",
    "Argoverse 2 sensor log",
    recognises=recognises,
    open_log=open_log,
    parts=("sensors/lidar/*.feather", "city_SE3_egovehicle.feather", "calibration/egovehicle_SE3_sensor.feather"),
)
