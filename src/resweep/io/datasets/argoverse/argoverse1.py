"""Argoverse 1 tracking logs: ``lidar/PC_<ns>.ply``, ``poses/city_SE3_egovehicle_<ns>.json`` and labels.

Points are in the vehicle's frame, motion-compensated; ``pose`` is the vehicle's. Which of the two stacked
LiDARs a return came from is not published, so beams begin midway between them, 6 cm from either, and those
that returned nothing cannot be inferred.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np

from resweep.boxes import Boxes
from resweep.errors import InputError, ResweepError
from resweep.io.datasets.annotated_boxes import Tracks, boxes_from_poses
from resweep.io.datasets.json_files import read_json, read_list
from resweep.io.files import ply
from resweep.io.format import Format, read_as
from resweep.io.rigid import pose_from_quaternion, poses_from_quaternions
from resweep.labels import NO_LABELS
from resweep.log import EmptyBeams, Log
from resweep.pose import Array
from resweep.sensors import load_sensor
from resweep.sweep import Sweep

SENSOR = "velodyne-vlp-32c"
_LABELS = "per_sweep_annotations_amodal"
_LIDARS = ("vehicle_SE3_up_lidar_", "vehicle_SE3_down_lidar_")


def recognises(path: Path) -> bool:
    """Whether ``path`` is a log: a folder with ``lidar/PC_*.ply``."""
    return (path / "lidar").is_dir() and any((path / "lidar").glob("PC_*.ply"))


def open_log(path: Path, rate_hz: float | None = None, drop_nan: bool = False, empty_beams: bool = True) -> Log:
    """The log in ``path``; its times are those in the files' names, so ``rate_hz`` is not used."""
    del rate_hz
    scans = sorted((path / "lidar").glob("PC_*.ply"), key=_parse_stamp)
    if not scans:
        raise InputError(f"{path}: no lidar/PC_*.ply in it; give the folder of one log")
    stamps = np.array([_parse_stamp(scan) for scan in scans])
    poses = np.stack([_read_pose(path / "poses" / f"city_SE3_egovehicle_{stamp}.json") for stamp in stamps.tolist()])
    times = stamps * 1e-9
    origin = _read_origin(path / "vehicle_calibration_info.json")
    tracks = Tracks()

    def load(at: int) -> Sweep:
        scan = read_as(ply.FORMAT, scans[at], drop_nan=drop_nan)
        boxes = _read_boxes(path / _LABELS / f"tracked_object_labels_{stamps[at]}.json", tracks)
        stamp = float(times[at])
        scan = replace(scan, timestamp=stamp, beam_time=np.full(scan.n_beams, stamp), pose=poses[at], boxes=boxes)
        return replace(scan.with_origins(np.broadcast_to(origin, (scan.n_beams, 3))), sensor=SENSOR)

    del empty_beams  # the LiDAR of a return is unknown
    return Log(
        load,
        times,
        poses,
        path.name,
        sensor=load_sensor(SENSOR),
        labels=NO_LABELS,
        empty_beams=EmptyBeams("unknown", "not inferred: which of the two LiDARs a return came from is not published"),
        meta={"format": "argoverse1", "path": str(path)},
    )


def _parse_stamp(scan: Path) -> int:
    found = re.fullmatch(r"PC_(\d+)", scan.stem)
    if found is None:
        raise ResweepError(f"{scan}: scans are named by their time in nanoseconds, as PC_315966265259836000.ply")
    return int(found[1])


def _read_pose(file: Path) -> Array:
    if not file.is_file():
        raise InputError(f"{file}: missing; every sweep needs the vehicle's pose at its time. Fetch the log again")
    record = read_json(file)
    translation, rotation = record.part("translation").numbers(count=3), record.part("rotation").numbers(count=4)
    return pose_from_quaternion(translation, rotation, str(file))


def _read_origin(file: Path) -> Array:
    """Between the two LiDARs (3,) in the vehicle's frame."""
    record = read_json(file)
    missing = [name for name in _LIDARS if not record.has(name)]
    if missing:
        raise InputError(f"{file}: no '{missing[0]}', so the beams' origin is unknown; fetch the log again")
    places = [record.part(name).part("translation").numbers(count=3) for name in _LIDARS]
    return np.asarray(np.mean(places, axis=0), np.float64)


def _read_boxes(file: Path, tracks: Tracks) -> Boxes | None:
    if not file.is_file():
        return None
    rows = read_list(file)
    centre = [row.part("center").numbers("x", "y", "z") for row in rows]
    turn = [row.part("rotation").numbers("w", "x", "y", "z") for row in rows]
    size = np.array([row.numbers("length", "width", "height") for row in rows], float).reshape(-1, 3)
    track = np.array([tracks[row.part("track_label_uuid").text()] for row in rows], np.int64)
    names = [row.part("label_class").text() for row in rows]
    return boxes_from_poses(np.eye(4), poses_from_quaternions(centre, turn, str(file)), size, names, track)


FORMAT = Format(
    "argoverse1",
    "Argoverse 1 log",
    recognises=recognises,
    open_log=open_log,
    parts=("lidar/PC_*.ply", "poses/city_SE3_egovehicle_*.json", "vehicle_calibration_info.json"),
)
