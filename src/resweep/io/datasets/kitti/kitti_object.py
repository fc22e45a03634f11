"""KITTI object detection: ``training/`` with velodyne, calib and label_2, one file a frame each.

Frames are single moments of many drives: they have boxes but no poses and no common clock. Boxes are given
in the rectified camera's frame, and turned into the LiDAR's with the frame's own calibration.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from resweep import portable
from resweep.boxes import Boxes
from resweep.errors import InputError
from resweep.files.untrusted import read_plain_text
from resweep.io.datasets.kitti.kitti_camera import read_T_rect_lidar
from resweep.io.datasets.kitti.kitti_raw import RATE_HZ, SENSOR
from resweep.io.datasets.numbered_files import list_numbered
from resweep.io.empty_beams import infer_empty_beams
from resweep.io.files import kitti_bin
from resweep.io.format import Format, read_as
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
        intensity_scale=1.0,
        meta={"format": "kitti-object", "path": str(path), "poses": "unknown"},
    )
    return infer_empty_beams(log, empty_beams)


def _read_boxes(file: Path, calib: Path) -> Boxes:
    rows = []
    for number, line in enumerate(read_plain_text(file).splitlines(), 1):
        words = line.split()
        if words and words[0] != "DontCare":
            rows.append((words[0], -1, parse_label(words, f"{file}, line {number}")))
    return turn_boxes(rows, inverse(read_T_rect_lidar(calib)))


def parse_label(words: Sequence[str], where: str) -> list[float]:
    """h w l x y z ry, the last values of a label; ``where`` names it in errors."""
    if len(words) < _COLUMNS:
        raise InputError(f"{where}: {len(words)} values, a label has {_COLUMNS}")
    try:
        numbers = [float(word) for word in words[8:_COLUMNS]]
    except ValueError as error:
        raise InputError(f"{where}: {error}") from error
    if not np.isfinite(numbers).all():
        raise InputError(f"{where}: holds NaN or infinity; fetch the labels again")
    return numbers


def turn_boxes(rows: Sequence[tuple[str, int, list[float]]], T_lidar_rect: Array) -> Boxes:
    """Boxes in the LiDAR's frame from name, track and the numbers of `parse_label`, which are the camera's."""
    values = np.array([numbers for _, _, numbers in rows], float).reshape(-1, 7)
    height, width, length, turn = values[:, 0], values[:, 1], values[:, 2], values[:, 6]
    # The position is the middle of the floor, and the camera's y points down.
    centre = transform(T_lidar_rect, values[:, 3:6] - height[:, None] * [0.0, 0.5, 0.0])
    heading = portable.matmul(
        np.stack([portable.cos(turn), np.zeros_like(turn), -portable.sin(turn)], axis=1), T_lidar_rect[:3, :3].T
    )
    yaw = portable.arctan2(heading[:, 1], heading[:, 0])
    size = np.stack([length, width, height], axis=1)
    return Boxes(centre, size, yaw, [name for name, _, _ in rows], np.array([track for _, track, _ in rows], np.int64))


FORMAT = Format(
    "kitti-object",
    "KITTI object detection frames",
    recognises=recognises,
    open_log=open_log,
    parts=("velodyne/*.bin", "calib/*.txt", "label_2/*.txt"),
)
