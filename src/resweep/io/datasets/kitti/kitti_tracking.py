"""KITTI tracking: ``training/`` with ``velodyne/0000/``, ``calib/0000.txt``, ``label_02/0000.txt``, ``oxts/0000.txt``.

A sequence has poses where there is oxts, and boxes with tracks where there is label_02. Boxes are given in the
rectified camera's frame, and turned into the LiDAR's with the sequence's own calibration.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from resweep import portable
from resweep.boxes import Boxes
from resweep.config import read_text
from resweep.errors import InputError, ResweepError
from resweep.io.datasets.choices import choose_one
from resweep.io.datasets.kitti.kitti_camera import read_fields, read_T_rect_lidar
from resweep.io.datasets.kitti.kitti_object import parse_label, turn_boxes
from resweep.io.datasets.kitti.kitti_raw import RATE_HZ, SENSOR
from resweep.io.datasets.kitti.oxts import project_packets
from resweep.io.datasets.numbered_files import list_numbered
from resweep.io.empty_beams import infer_empty_beams
from resweep.io.files import kitti_bin
from resweep.io.format import Format, read_as
from resweep.io.rigid import pose_from_matrix
from resweep.labels import NO_LABELS
from resweep.log import Log
from resweep.pose import Array, inverse
from resweep.sensors import load_sensor
from resweep.sweep import Sweep


def recognises(path: Path) -> bool:
    """Whether ``path`` is ``training`` or ``testing``: sequences of velodyne scans with a calibration each."""
    scans = path / "velodyne"
    return scans.is_dir() and any((path / "calib" / f"{item.name}.txt").is_file() for item in _list_sequences(path))


def _list_sequences(path: Path) -> list[Path]:
    return sorted(item for item in (path / "velodyne").iterdir() if item.is_dir())


def open_log(
    path: Path,
    rate_hz: float | None = None,
    drop_nan: bool = False,
    empty_beams: bool = True,
    sequence: str | None = None,
) -> Log:
    """The ``sequence``, such as "0000" (not needed if there is one), in ``path``: ``training`` or ``testing``."""
    name = choose_one(sequence, [item.name for item in _list_sequences(path)], "sequence", path)
    scans, index = list_numbered(path / "velodyne" / name, (".bin",))
    times = index / (rate_hz or RATE_HZ)
    calib, motion = path / "calib" / f"{name}.txt", path / "oxts" / f"{name}.txt"
    poses = _read_poses(motion, calib, index) if motion.is_file() else np.tile(np.eye(4), (len(scans), 1, 1))
    labels = path / "label_02" / f"{name}.txt"
    boxes = _read_boxes(labels, calib) if labels.is_file() else None

    def load(at: int) -> Sweep:
        scan, stamp = read_as(kitti_bin.FORMAT, scans[at], drop_nan=drop_nan), float(times[at])
        frame = None if boxes is None else boxes.get(int(index[at]), turn_boxes([], np.eye(4)))
        beam_time = np.full(scan.n_beams, stamp)
        return replace(scan, pose=poses[at], timestamp=stamp, beam_time=beam_time, boxes=frame, sensor=SENSOR)

    log = Log(
        load,
        times,
        poses,
        name,
        sensor=load_sensor(SENSOR),
        labels=NO_LABELS,
        poses_known=motion.is_file(),
        times_known=False,
        intensity_scale=1.0,
        meta={"format": "kitti-tracking", "path": str(path), "poses": "oxts" if motion.is_file() else "unknown"},
    )
    return infer_empty_beams(log, empty_beams)


def _read_poses(file: Path, calib: Path, index: Array) -> Array:
    """``T_world_lidar`` (n, 4, 4) of the scans: line 7 of the packets is that of scan 000007."""
    rows = []
    for number, line in enumerate(read_text(file, "the packets of a sequence").splitlines(), 1):
        try:
            row = np.array(line.split()[:6], float)
        except ValueError as error:
            raise InputError(f"{file}, line {number}: no numbers ({error}); fetch it again") from error
        if len(row) < 6 or not np.isfinite(row).all():
            raise InputError(f"{file}, line {number}: is no GPS/IMU packet of 30 numbers; fetch it again")
        rows.append(row)
    if index.max() >= len(rows):
        raise InputError(f"{file}: {len(rows)} lines, but there is a scan {index.max():06d}; it belongs elsewhere")
    fields = read_fields(calib)
    numbers = fields.get("Tr_imu_velo") or fields.get("Tr_imu_to_velo")
    if numbers is None:
        raise ResweepError(f"{calib}: no Tr_imu_velo; poses of the IMU cannot be turned into the LiDAR's without")
    T_imu_lidar = inverse(pose_from_matrix(numbers, f"{calib}, Tr_imu_velo"))
    return np.asarray(portable.matmul(project_packets(np.stack(rows)), T_imu_lidar)[index])


def _read_boxes(file: Path, calib: Path) -> dict[int, Boxes]:
    """The boxes of each frame; ``DontCare`` is left out."""
    T_lidar_rect = inverse(read_T_rect_lidar(calib))
    frames: dict[int, list[tuple[str, int, list[float]]]] = {}
    for number, line in enumerate(read_text(file, "the labels of a sequence").splitlines(), 1):
        words = line.split()
        if len(words) > 2 and words[2] != "DontCare":
            where = f"{file}, line {number}"
            try:
                frame, track = int(words[0]), int(words[1])
            except ValueError as error:
                raise InputError(f"{where}: {error}; a label begins with frame and track") from error
            frames.setdefault(frame, []).append((words[2], track, parse_label(words[2:], where)))
    return {frame: turn_boxes(rows, T_lidar_rect) for frame, rows in frames.items()}


FORMAT = Format(
    "kitti-tracking",
    "KITTI tracking sequence",
    recognises=recognises,
    open_log=open_log,
    parts=("velodyne/*/*.bin", "calib/*.txt", "oxts/*.txt", "label_02/*.txt"),
)
