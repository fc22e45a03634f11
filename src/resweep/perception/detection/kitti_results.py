"""KITTI's files of detections: one a frame, 16 columns a detection, in the rectified camera's frame.

Columns are type, truncated, occluded, alpha, the box in the image (4), height, width, length, the middle of the floor
(x y z), the turn about y, and the score (KITTI object devkit, readme). A frame without detections has an empty file.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from resweep.boxes import Boxes
from resweep.categories import find_category
from resweep.errors import InputError
from resweep.files.untrusted import read_plain_text
from resweep.io.datasets.kitti.kitti_camera import read_camera, read_T_rect_lidar
from resweep.io.datasets.kitti.kitti_object import parse_label, turn_boxes
from resweep.io.datasets.numbered_files import list_numbered
from resweep.log import Log
from resweep.perception.detection.recorded_detections import RecordedDetections, check_whole, collect_classes
from resweep.perception.models import Detections
from resweep.pose import Array, inverse

_COLUMNS = 16
_SCANS = (Path("velodyne"), Path("velodyne_points") / "data")


def recognises_kitti(path: Path) -> bool:
    """Whether ``path`` is a folder with a text file for each frame."""
    return path.is_dir() and next(path.glob("*.txt"), None) is not None


def open_kitti_results(path: Path, log: Log, recording: Path) -> RecordedDetections:
    """The detections in a folder of result files, of the frames of a log that was opened from ``recording``.

    Files have the number of their scan, as 000007.txt has that of 000007.bin; each sweep of the log has one. Boxes are
    turned into the LiDAR's frame by the calibration of the recording: that of the frame (``calib/000007.txt``), else
    ``calib.txt`` or ``calib_cam_to_cam.txt``.
    """
    files, numbers = list_numbered(path, (".txt",))
    scans = _list_scans(recording)
    check_whole(log, len(scans), recording)
    by_number = dict(zip(numbers.tolist(), files, strict=True))
    strange = sorted(set(by_number) - set(scans))
    if strange:
        raise InputError(
            f"{by_number[strange[0]]}: {recording} has no scan {strange[0]} ({len(strange)} such files); "
            "these are results of other frames"
        )
    wanted = [scans[at] for at in log.numbers.tolist()]
    missing = [number for number in wanted if number not in by_number]
    if missing:
        raise InputError(
            f"{path}: has no file of frame {missing[0]} ({len(missing)} of {len(wanted)} sweeps have none); a frame "
            "without detections has an empty file, and results of other frames do not fit"
        )
    found = tuple(_read_frame(by_number[number], _find_T_lidar_rect(recording, by_number[number])) for number in wanted)
    return RecordedDetections(collect_classes(found), log.times, found, str(path))


def _list_scans(recording: Path) -> list[int]:
    folder = next((recording / name for name in _SCANS if (recording / name).is_dir()), None)
    if folder is None:
        raise InputError(f"{recording}: no scans of KITTI in it (velodyne); give the folder that the log is in")
    return [int(number) for number in list_numbered(folder, (".bin", ".txt"))[1].tolist()]


def _find_T_lidar_rect(recording: Path, file: Path) -> Array:
    own = recording / "calib" / file.name
    T_rect_lidar = read_T_rect_lidar(own) if own.is_file() else read_camera(recording).T_rect_lidar
    return inverse(T_rect_lidar)


def _read_frame(file: Path, T_lidar_rect: Array) -> Detections:
    """The detections in a file, in the LiDAR's frame; classes are categories such as car."""
    rows, scores = [], []
    try:
        lines = read_plain_text(file).splitlines()
    except ValueError as error:
        raise InputError(f"{file}: is no text; give the files that KITTI's evaluation takes") from error
    for number, line in enumerate(lines, 1):
        words, where = line.split(), f"{file}, line {number}"
        if not words or words[0] == "DontCare":
            continue
        if len(words) != _COLUMNS:
            raise InputError(f"{where}: {len(words)} values; a result has {_COLUMNS}, the score last")
        numbers = parse_label(words, where)
        rows.append((find_category(words[0]).name, -1, numbers))
        scores.append(_read_score(words[-1], where))
        if min(numbers[:3]) <= 0:
            raise InputError(f"{where}: a size that is not above 0; write the results again")
    if not rows:
        return Detections(Boxes(np.zeros((0, 3)), np.zeros((0, 3)), np.zeros(0), ()), np.zeros(0))
    return Detections(turn_boxes(rows, T_lidar_rect), np.array(scores))


def _read_score(word: str, where: str) -> float:
    try:
        score = float(word)
    except ValueError as error:
        raise InputError(f"{where}: the score '{word[:40]}' is no number") from error
    if not np.isfinite(score):
        raise InputError(f"{where}: the score is {word}; a model that gives NaN found nothing")
    return score
