"""Writing logs as nuScenes: one scene, every sweep a keyframe of ``LIDAR_TOP``, with the tables devkits load.

Points keep the log's sensor frame (x forward), and the calibrated sensor is at the vehicle's origin; the
cameras, maps and attributes that a full dataset has are left out, their tables are empty.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from resweep import portable
from resweep.errors import ResweepError
from resweep.io.columns import check_finite, express_points
from resweep.log import Log
from resweep.pose import Array, from_xyz_rpy, rotation_of
from resweep.sweep import Sweep

VERSION = "v1.0-resweep"
TIME = "time_s"  # beside the integer microseconds of `timestamp`: the time with all its digits
_LABEL_MAX = 255


def write_log(log: Log, sweeps: Iterable[Sweep], folder: Path, frame: str = "deskewed", lidarseg: bool = True) -> None:
    """Fill ``folder`` with ``samples/``, ``lidarseg/`` (unless false) and the tables in ``v1.0-resweep/``."""
    if frame == "world":
        raise ResweepError("nuScenes keeps points in the LiDAR's frame; write frame='deskewed', or another format")
    tables = GrowingTables(log)
    scans, labels = folder / "samples" / "LIDAR_TOP", folder / "lidarseg" / VERSION
    for place in (scans, *([labels] if lidarseg else []), folder / VERSION):
        place.mkdir(parents=True)
    for at, sweep in enumerate(sweeps):
        scan = scans / f"{at:06d}.pcd.bin"
        _write_scan(sweep, scan, frame)
        token = tables.add(at, float(log.times[at]), log.poses[at], scan.relative_to(folder), sweep)
        if lidarseg:
            file = labels / f"{token}_lidarseg.bin"
            _write_labels(sweep, file)
            tables.rows["lidarseg"].append(
                {"token": token, "sample_data_token": token, "filename": str(file.relative_to(folder))}
            )
    tables.close(lidarseg)
    tables.write(folder / VERSION)


def _write_scan(sweep: Sweep, file: Path, frame: str) -> None:
    points = express_points(sweep, frame)
    check_finite(points, file.name)
    rows = np.empty((len(points), 5), "<f4")
    rows[:, :3], rows[:, 3], rows[:, 4] = points, sweep.intensity, sweep.ring
    file.write_bytes(rows.tobytes())


def _write_labels(sweep: Sweep, file: Path) -> None:
    label = sweep.label
    if len(label) and (label.min() < 0 or label.max() > _LABEL_MAX):
        raise ResweepError(
            f"{file.name}: label {int(label.max())} does not fit lidarseg's 8 bits; map the classes first, or write "
            "with lidarseg=False"
        )
    file.write_bytes(label.astype(np.uint8).tobytes())


def _token(*words: object) -> str:
    """32 hex digits that depend on the words alone, so that the same log gives the same bytes."""
    return hashlib.md5("/".join(map(str, words)).encode(), usedforsecurity=False).hexdigest()


def _quaternion(pose: Array) -> list[float]:
    x, y, z, w = rotation_of(pose).as_quat().tolist()
    return [w, x, y, z]


_NAMES = (
    *("attribute", "calibrated_sensor", "category", "ego_pose", "instance", "lidarseg", "log", "map", "sample"),
    *("sample_annotation", "sample_data", "scene", "sensor", "visibility"),
)


class GrowingTables:
    """The tables as they grow, sweep by sweep."""

    def __init__(self, log: Log) -> None:
        self.rows: dict[str, list[dict[str, Any]]] = {name: [] for name in _NAMES}
        self._scene = _token("scene", log.name)
        self._last: dict[str, dict[str, Any]] = {}
        self._last_name: dict[str, str] = {}
        self._labels: set[int] = set()
        name = log.name or "drive"
        sensor, mount, record = _token("sensor"), _token("mount"), _token("log", log.name)
        self._mount = mount
        self.rows["sensor"] = [{"token": sensor, "channel": "LIDAR_TOP", "modality": "lidar"}]
        self.rows["calibrated_sensor"] = [
            {
                "token": mount,
                "sensor_token": sensor,
                "translation": [0.0, 0.0, 0.0],
                "rotation": [1.0, 0.0, 0.0, 0.0],
                "camera_intrinsic": [],
            }
        ]
        self.rows["log"] = [
            {"token": record, "logfile": name, "vehicle": "", "date_captured": "", "location": "resweep"}
        ]
        self.rows["scene"] = [{"token": self._scene, "log_token": record, "name": name, "description": log.sensor_name}]

    def add(self, at: int, time: float, pose: Array, file: Path, sweep: Sweep) -> str:
        """Add one keyframe; the token of its sample_data."""
        token, sample, ego = _token("data", at), _token("sample", at), _token("ego", at)
        stamp = round(time * 1e6)
        place = {"translation": pose[:3, 3].tolist(), "rotation": _quaternion(pose)}
        self.rows["ego_pose"].append({"token": ego, "timestamp": stamp, **place})
        self._chain("sample", {"token": sample, "timestamp": stamp, "scene_token": self._scene})
        data = {
            "token": token,
            "sample_token": sample,
            "ego_pose_token": ego,
            "calibrated_sensor_token": self._mount,
            "timestamp": stamp,
            TIME: time,
            "fileformat": "pcd",
            "is_key_frame": True,
            "height": 0,
            "width": 0,
            "filename": str(file),
        }
        self._chain("sample_data", data)
        self._labels.update(np.unique(sweep.label).tolist())
        if sweep.boxes is not None:
            self._annotate(at, sample, pose, sweep)
        return token

    def _chain(self, table: str, row: dict[str, Any], key: str = "") -> None:
        """Append ``row`` with links to the one before it of the same kind."""
        row.update(prev="", next="")
        before = self._last.get(table + key)
        if before is not None:
            before["next"], row["prev"] = row["token"], before["token"]
        self._last[table + key] = row
        self.rows[table].append(row)

    def _annotate(self, at: int, sample: str, pose: Array, sweep: Sweep) -> None:
        boxes = sweep.boxes
        assert boxes is not None
        inside = boxes.contains(sweep.deskewed()).sum(axis=1) if len(boxes) else np.zeros(0, int)
        for box in range(len(boxes)):
            track = int(boxes.track[box])
            instance = _token("instance", track if track >= 0 else f"{at}-{box}")
            self._last_name.setdefault(instance, boxes.name[box])
            x, y, z = boxes.centre[box].tolist()
            placed = portable.matmul(pose, from_xyz_rpy(x, y, z, yaw=float(boxes.yaw[box])))
            length, width, height = boxes.size[box].tolist()
            row = {
                "token": _token("annotation", at, box),
                "sample_token": sample,
                "instance_token": instance,
                "visibility_token": "",
                "attribute_tokens": [],
                "translation": placed[:3, 3].tolist(),
                "size": [width, length, height],
                "rotation": _quaternion(placed),
                "num_lidar_pts": int(inside[box]),
                "num_radar_pts": 0,
            }
            self._chain("sample_annotation", row, instance)

    def close(self, lidarseg: bool) -> None:
        """Fill in what is known only at the end: the scene's extent, instances and categories."""
        samples = self.rows["sample"]
        ends = {"first_sample_token": samples[0]["token"], "last_sample_token": samples[-1]["token"]}
        self.rows["scene"][0].update(nbr_samples=len(samples), **ends)
        names = sorted(set(self._last_name.values()))
        for name in names:
            self.rows["category"].append({"token": _token("category", name), "name": name, "description": ""})
        by_instance: dict[str, list[str]] = {}
        for row in self.rows["sample_annotation"]:
            by_instance.setdefault(row["instance_token"], []).append(row["token"])
        for instance, tokens in by_instance.items():
            self.rows["instance"].append(
                {
                    "token": instance,
                    "category_token": _token("category", self._last_name[instance]),
                    "nbr_annotations": len(tokens),
                    "first_annotation_token": tokens[0],
                    "last_annotation_token": tokens[-1],
                }
            )
        if lidarseg:  # the devkit finds a point's class by the category's index
            for label in sorted(self._labels):
                row = {"token": _token("label", label), "name": f"label-{label}", "description": "", "index": label}
                self.rows["category"].append(row)
        else:
            del self.rows["lidarseg"]

    def write(self, folder: Path) -> None:
        """Write every table to ``folder``."""
        for name, rows in self.rows.items():
            (folder / f"{name}.json").write_text(json.dumps(rows, indent=0) + "\n")
