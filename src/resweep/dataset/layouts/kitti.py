"""KITTI's object detection: ``velodyne/``, ``calib/`` and ``label_2/``, a file a frame each."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from resweep.dataset.annotations import Annotations
from resweep.dataset.layouts.run_files import UNIT, RunFacts, pack_points, read_objects
from resweep.files import write_file
from resweep.io import poses
from resweep.pose import transform
from resweep.sweep import Sweep

# KITTI object devkit, readme: 0 fully visible, 1 partly, 2 largely occluded, 3 unknown; it gives no shares.
_PARTLY, _LARGELY = 0.2, 0.6
KITTI_NAMES = {
    "car": "Car",
    "van": "Van",
    "truck": "Truck",
    "pedestrian": "Pedestrian",
    "cyclist": "Cyclist",
    "tram": "Tram",
}


def write_sweep(folder: Path, at: int, sweep: Sweep, found: Annotations, run: RunFacts) -> None:
    """Write scan, calibration and labels of one sweep."""
    stem = f"{at:06d}"
    write_file(folder / "velodyne" / f"{stem}.bin", pack_points(sweep))
    write_file(folder / "calib" / f"{stem}.txt", _calibration().encode())
    lines = "".join(f"{line}\n" for line in format_kitti_lines(found))
    write_file(folder / "label_2" / f"{stem}.txt", lines.encode())


def write_run(folder: Path, run: RunFacts) -> None:
    """Write the tracks of a run."""
    write_file(folder / "label_02.txt", "".join(_format_tracks(folder, len(run.times))).encode())


def write_dataset(output: Path, runs: Sequence[RunFacts]) -> None:
    """Write nothing: runs are sequences of their own."""


def format_kitti_lines(found: Annotations) -> list[str]:
    """Lines of label_2; there is no image, so its box is -1 throughout. Objects without returns are left out."""
    rows = [row for row in found.rows() if row["n_points"] > 0]
    return [_format_kitti_line(row) for row in rows]


def _format_kitti_line(row: dict[str, Any]) -> str:
    """type truncated occluded alpha, box of the image (4), h w l, x y z of the floor's middle, ry (KITTI devkit)."""
    length, width, height = row["size"]
    floor = np.array([row["centre"]]) - [[0.0, 0.0, height / 2]]
    x, y, z = transform(poses.T_CAMERA_LIDAR, floor)[0].tolist()
    turn = _wrap_angle(-row["yaw"] - np.pi / 2)
    alpha = _wrap_angle(turn - np.arctan2(x, z))
    numbers = (alpha, -1.0, -1.0, -1.0, -1.0, height, width, length, x, y, z, turn)
    name = KITTI_NAMES.get(row["name"], "Misc")
    return f"{name} 0.00 {_occlusion_level(row['occlusion'])} " + " ".join(f"{value:.4f}" for value in numbers)


def _format_tracks(folder: Path, count: int) -> list[str]:
    """KITTI tracking's lines: the frame and the track before those of an object label."""
    return [
        f"{at} {row['track']} {_format_kitti_line(row)}\n"
        for at in range(count)
        for row in read_objects(folder, at)
        if row["n_points"] > 0
    ]


def _occlusion_level(occlusion: float | None) -> int:
    if occlusion is None:
        return 3
    return 0 if occlusion < _PARTLY else 1 if occlusion < _LARGELY else 2


def _wrap_angle(angle: float) -> float:
    return float((angle + np.pi) % (2 * np.pi) - np.pi)


def _calibration() -> str:
    matrix = " ".join(repr(value) for value in poses.T_CAMERA_LIDAR[:3].ravel().tolist())
    lines = [f"P{at}: {UNIT}" for at in range(4)]
    lines += ["R0_rect: 1.0 0.0 0.0 0.0 1.0 0.0 0.0 0.0 1.0", f"Tr_velo_to_cam: {matrix}", f"Tr_imu_to_velo: {UNIT}"]
    return "\n".join(lines) + "\n"
