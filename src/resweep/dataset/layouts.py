"""Where a dataset's files lie: the layouts of SemanticKITTI and KITTI, one folder a run.

Each sweep's files are written one by one and appear whole; ``boxes/NNNNNN.json`` comes last and says that the sweep is
complete. Beside what the layouts have, ``velocity/NNNNNN.bin`` holds (n, 3) float32 metres a second in the world and
``time/NNNNNN.bin`` (n,) float32 seconds since the sweep's timestamp, a row a point.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np

from resweep import portable
from resweep.dataset.annotations import Annotations
from resweep.files import write_file
from resweep.io import poses
from resweep.io.files import kitti_bin
from resweep.pose import Array, Trajectory, inverse, transform
from resweep.sweep import Sweep

LAYOUTS = ("semantickitti", "kitti", "nuscenes")
_UNIT = "1.0 0.0 0.0 0.0 0.0 1.0 0.0 0.0 0.0 0.0 1.0 0.0"
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


def is_complete(folder: Path, at: int) -> bool:
    """Whether a sweep of a run has all its files."""
    return (folder / "boxes" / f"{at:06d}.json").is_file()


def write_sweep(folder: Path, layout: str, at: int, sweep: Sweep, found: Annotations) -> None:
    """Write the files of one sweep, the boxes last."""
    stem = f"{at:06d}"
    nuscenes = layout == "nuscenes"
    rows = np.empty((len(sweep), 5 if nuscenes else 4), "<f4")
    rows[:, :3], rows[:, 3] = sweep.deskewed(), sweep.intensity
    if nuscenes:
        rows[:, 4] = sweep.ring
    scan = Path("samples", "LIDAR_TOP", f"{stem}.pcd.bin") if nuscenes else Path("velodyne", f"{stem}.bin")
    write_file(folder / scan, rows)
    write_file(folder / "labels" / f"{stem}.label", kitti_bin.pack_labels(sweep, f"{stem}.label"))
    velocity = sweep.extra.get("velocity")
    still = np.zeros((len(sweep), 3), "<f4") if velocity is None else np.ascontiguousarray(velocity, "<f4")
    write_file(folder / "velocity" / f"{stem}.bin", still, sparse=True)
    write_file(folder / "time" / f"{stem}.bin", (sweep.time - sweep.timestamp).astype("<f4"))
    if layout == "kitti":
        write_file(folder / "calib" / f"{stem}.txt", _calibration().encode())
        lines = "".join(f"{line}\n" for line in format_kitti_lines(found))
        write_file(folder / "label_2" / f"{stem}.txt", lines.encode())
    record = {"timestamp": sweep.timestamp, "objects": found.rows()}
    write_file(folder / "boxes" / f"{stem}.json", (json.dumps(record) + "\n").encode())


def write_run(folder: Path, layout: str, times: Array, all_poses: Array, name: str, sensor: str) -> None:
    """Write what belongs to a run as a whole: poses, times, calibration, tracks or tables."""
    Tr = poses.T_CAMERA_LIDAR
    poses.write_poses(
        Trajectory(np.arange(len(times)), portable.matmul(Tr, all_poses, inverse(Tr))), folder / "poses.txt", "kitti"
    )
    write_file(folder / "times.txt", "".join(f"{time!r}\n" for time in times.tolist()).encode())
    matrix = " ".join(repr(value) for value in Tr[:3].ravel().tolist())
    if layout == "semantickitti":
        text = "".join(f"P{at}: {_UNIT}\n" for at in range(4)) + f"Tr: {matrix}\n"
        write_file(folder / "calib.txt", text.encode())
    elif layout == "kitti":
        write_file(folder / "label_02.txt", "".join(_format_tracks(folder, len(times))).encode())
    else:
        from resweep.dataset.tables import write_tables

        write_tables(folder, times, all_poses, name, sensor)


def read_objects(folder: Path, at: int) -> list[dict[str, Any]]:
    """The objects that a complete sweep's boxes list."""
    record = json.loads((folder / "boxes" / f"{at:06d}.json").read_text(encoding="utf-8"))
    objects: list[dict[str, Any]] = record["objects"]
    return objects


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
    alpha = _wrap_angle(turn - math.atan2(x, z))
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
    lines = [f"P{at}: {_UNIT}" for at in range(4)]
    lines += ["R0_rect: 1.0 0.0 0.0 0.0 1.0 0.0 0.0 0.0 1.0", f"Tr_velo_to_cam: {matrix}", f"Tr_imu_to_velo: {_UNIT}"]
    return "\n".join(lines) + "\n"
