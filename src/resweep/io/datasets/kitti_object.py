"""KITTI object detection: ``training/`` with velodyne, calib and label_2, one file a frame each.

Frames are single moments of many drives: they have boxes but no poses and no common clock. Boxes are given
in the rectified camera's frame, and turned into the LiDAR's with the frame's own calibration.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from resweep import portable
from resweep.boxes import Boxes
from resweep.errors import ResweepError
from resweep.io.datasets.kitti_raw import RATE_HZ, SENSOR
from resweep.io.datasets.numbered_files import list_numbered
from resweep.io.empty_beams import infer_empty_beams
from resweep.io.files import kitti_bin
from resweep.io.format import Format, read_as
from resweep.io.rigid import pose_from_matrix
from resweep.labels import NO_LABELS
from resweep.log import Log
from resweep.pose import Array, inverse, transform
from resweep.sensors import load_sensor
from resweep.sweep import Sweep

_COLUMNS = 15  # type truncated occluded alpha, box of the image (4), h w l, x y z, ry (KITTI object devkit, readme)


def recognises(path: Path) -> bool:
    """Whether ``path`` is ``training`` or ``testing``: velodyne scans with a calibration each."""
    return (path / "velodyne").is_dir() and (path / "calib").is_dir() and any((path / "calib").glob("*.txt"))


def open_log(path: Path, rate_hz: float | None = None, drop_nan: bool = False, empty_beams: bool = True) -> Log:
    """The frames in ``path`` (``training`` or ``testing``), with boxes where there is label_2."""
    scans, index = list_numbered(path / "velodyne", (".bin",))
    times = index / (rate_hz or RATE_HZ)
    poses = np.tile(np.eye(4), (len(scans), 1, 1))

    def load(at: int) -> Sweep:
        scan, stem = read_as(kitti_bin.FORMAT, scans[at], drop_nan=drop_nan), scans[at].stem
        label = path / "label_2" / f"{stem}.txt"
        boxes = _read_boxes(label, path / "calib" / f"{stem}.txt") if label.is_file() else None
        stamp = float(times[at])
        beam_time = np.full(scan.n_beams, stamp)
        return replace(scan, timestamp=stamp, beam_time=beam_time, boxes=boxes, sensor=SENSOR)

    log = Log(
        load,
        times,
        poses,
        path.name,
        sensor=load_sensor(SENSOR),
        labels=NO_LABELS,
        poses_known=False,
        times_known=False,
        meta={"format": "kitti-object", "path": str(path), "poses": "unknown"},
    )
    return infer_empty_beams(log, empty_beams)


def _read_T_velo_camera(file: Path) -> Array:
    """``T_velo_rect`` (4, 4): inverse of R0_rect · Tr_velo_to_cam."""
    if not file.is_file():
        raise ResweepError(f"{file}: missing; the boxes cannot be turned into the LiDAR's frame without")
    fields = dict(line.split(":", 1) for line in file.read_text().splitlines() if ":" in line)
    for key, count in (("R0_rect", 9), ("Tr_velo_to_cam", 12)):
        if key not in fields or len(fields[key].split()) != count:
            raise ResweepError(f"{file}: no {key} of {count} numbers; fetch the calibration again")
    rectify = np.column_stack([np.array(fields["R0_rect"].split(), float).reshape(3, 3), np.zeros(3)])
    Tr = np.array(fields["Tr_velo_to_cam"].split(), float)
    return inverse(
        portable.matmul(pose_from_matrix(rectify, f"{file}, R0_rect"), pose_from_matrix(Tr, f"{file}, Tr_velo_to_cam"))
    )


def _read_boxes(file: Path, calib: Path) -> Boxes:
    rows = []
    for number, line in enumerate(file.read_text().splitlines(), 1):
        words = line.split()
        if not words or words[0] == "DontCare":
            continue
        if len(words) < _COLUMNS:
            raise ResweepError(f"{file}, line {number}: {len(words)} values, a label has {_COLUMNS}")
        try:
            rows.append((words[0], *map(float, words[8:15])))
        except ValueError as error:
            raise ResweepError(f"{file}, line {number}: {error}") from error
    T_velo_camera = _read_T_velo_camera(calib)
    values = np.array([row[1:] for row in rows], float).reshape(-1, 7)
    height, width, length, turn = values[:, 0], values[:, 1], values[:, 2], values[:, 6]
    # The place is the middle of the floor, and the camera's y points down.
    centre = transform(T_velo_camera, values[:, 3:6] - height[:, None] * [0.0, 0.5, 0.0])
    heading = portable.matmul(
        np.stack([portable.cos(turn), np.zeros_like(turn), -portable.sin(turn)], axis=1), T_velo_camera[:3, :3].T
    )
    yaw = portable.arctan2(heading[:, 1], heading[:, 0])
    return Boxes(centre, np.stack([length, width, height], axis=1), yaw, [str(row[0]) for row in rows])


FORMAT = Format("kitti-object", "KITTI object detection frames", recognises=recognises, open_log=open_log)
