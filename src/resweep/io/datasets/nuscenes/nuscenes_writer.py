"""Writing logs as nuScenes: one scene of ``LIDAR_TOP``, with tables, labels and a map that the devkit loads.

Points keep the log's sensor frame (x forward), and the calibrated sensor is at the vehicle's origin. Sweeps with boxes
or labels are keyframes. Cameras show the returns. Labels are mapped to nuScenes-lidarseg, intensities to 0 to 255.
"""

from __future__ import annotations

import hashlib
import shutil
import warnings
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from resweep.boxes import Boxes
from resweep.errors import ResweepError
from resweep.files import write_file
from resweep.io.datasets.nuscenes.annotations import find_unnamed
from resweep.io.datasets.nuscenes.classes import LABELS, warn_unnamed
from resweep.io.datasets.nuscenes.ground_mask import GroundMask, name_map_file
from resweep.io.datasets.nuscenes.nuscenes_scene import VERSION, NuScenesFrame, NuScenesScene, check_stamps, find_keys
from resweep.io.datasets.nuscenes.returns_cameras import CAMERAS, name_picture_file
from resweep.io.datasets.nuscenes.scene_tables import make_tables, write_tables
from resweep.io.points.columns import check_finite, express_points
from resweep.label_mapping import LabelMapping, map_labels
from resweep.labels import NO_LABELS
from resweep.log import Log
from resweep.pose import Array
from resweep.sweep import Sweep

_INTENSITY_MAX = 255.0
_DRAFT = "draft"  # scans and labels, until all are there and the log's tokens are known


def write_log(
    log: Log,
    sweeps: Iterable[Sweep],
    folder: Path,
    frame: str = "deskewed",
    lidarseg: bool = True,
    cameras: bool = True,
    version: str = VERSION,
    scene: str | None = None,
    intensity_scale: float | None = None,
) -> Log:
    """Fill ``folder`` with the scene of a log, named ``scene`` (default: as the log); the log with its labels mapped.

    ``lidarseg=False`` leaves the labels out, ``cameras=False`` the pictures of the returns that stand for images.
    Tables are in a folder ``version``, which begins with v1.0-. Intensities are multiplied by ``intensity_scale``:
    unless given, so that 255 is the full scale of the log (`Log.full_scale`).
    """
    if frame == "world":
        raise ResweepError("nuScenes keeps points in the LiDAR's frame; write frame='deskewed', or another format")
    if not version.startswith("v1.0-") or "/" in version:
        raise ResweepError(f"version '{version}': nuScenes' versions are called v1.0-mini, v1.0-trainval or the like")
    if intensity_scale is not None and not 0 < intensity_scale < np.inf:
        raise ResweepError(f"intensity_scale {intensity_scale:g}: expected a number above zero")
    check_stamps(log.times, log.name)
    draft = _SceneDraft(log, folder, frame, lidarseg, cameras, intensity_scale)
    for at, sweep in enumerate(sweeps):
        draft.add(at, sweep)
    name = scene or log.name or "drive"
    draft.finish(name, version)
    return replace(log, labels=LABELS) if draft.mapping is not None else log


@dataclass
class _SceneDraft:
    """A scene whose sweeps come one by one; its tokens are hashes of all their contents, known at the end."""

    log: Log
    folder: Path
    frame: str
    lidarseg: bool
    cameras: bool
    scale: float | None
    frames: list[NuScenesFrame] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.mask = GroundMask(self.log.poses, self.log.name)
        self.mapping: LabelMapping | None = None
        if self.lidarseg and self.log.labels.known:
            self.mapping = map_labels(self.log.labels, LABELS)
        self._hash = hashlib.sha256(self.log.name.encode())
        self._seen: set[int] = set()

    def add(self, at: int, sweep: Sweep) -> None:
        """Write the scan and labels of a sweep, and keep what the tables need of it."""
        if self.scale is None:
            self.scale = _INTENSITY_MAX / (self.log.full_scale or 1.0)
        points = express_points(sweep, self.frame)
        check_finite(points, f"sweep {at}")
        labels = np.zeros(len(sweep), np.uint8)
        if self.mapping is not None:
            labels = self.mapping.map(sweep.label).astype(np.uint8)
            self.mask.add(sweep.world_points(), labels)
        self._seen.update(np.unique(sweep.label).tolist())
        scan = pack_scan(points, sweep.intensity, sweep.ring, self.scale or 1.0)
        self._write(at, "scan", scan)
        self._write(at, "labels", labels)
        for camera in CAMERAS if self.cameras else ():
            picture = camera.draw(scan[:, :3], scan[:, 3] / np.float32(_INTENSITY_MAX))
            write_file(self._draft_file(at, camera.channel), picture)
        labelled = bool(LABELS.is_labelled(labels).any())
        self.frames.append(self._make_frame(at, sweep.boxes, scan[:, :3], labelled))

    def _make_frame(self, at: int, boxes: Boxes | None, points: Array, labelled: bool) -> NuScenesFrame:
        count = np.zeros(0, np.int64) if boxes is None else boxes.count_points(points)
        pose, time = self.log.poses[at], float(self.log.times[at])
        self._hash.update(np.ascontiguousarray(pose).tobytes() + np.float64(time).tobytes())
        if boxes is not None:
            columns = (boxes.centre, boxes.size, boxes.yaw, boxes.track, boxes.label)
            self._hash.update("/".join(boxes.name).encode() + b"".join(column.tobytes() for column in columns))
        return NuScenesFrame(time, pose, boxes, count, np.full(len(count), np.nan), labelled)

    def _write(self, at: int, kind: str, data: Array) -> None:
        self._hash.update(data.tobytes())
        write_file(self._draft_file(at, kind), data)

    def _draft_file(self, at: int, kind: str) -> Path:
        return self.folder / _DRAFT / f"{at:06d}.{kind}"

    def finish(self, name: str, version: str) -> None:
        """Give all files their names, and write the map and the tables."""
        log = self.log
        scene = NuScenesScene(
            identity=self._hash.hexdigest(),
            name=name,
            start_s=float(log.times[0]),
            origin=self.mask.origin,
            intensity_scale=self.scale or 1.0,
            version=version,
            lidarseg=self.mapping is not None,
            cameras=self.cameras,
            labels=log.labels,
            sensor=log.sensor,
            sensor_name=log.sensor_name,
        )
        for at, key in enumerate(find_keys(self.frames)):
            time = self.frames[at].time
            _move(self._draft_file(at, "scan"), self.folder / scene.scan_file(time, key))
            if scene.lidarseg and key:
                _move(self._draft_file(at, "labels"), self.folder / scene.label_file(at))
            for camera in CAMERAS if scene.cameras and key else ():
                _move(self._draft_file(at, camera.channel), self.folder / name_picture_file(scene, camera, time))
        shutil.rmtree(self.folder / _DRAFT)
        write_file(self.folder / name_map_file(scene.logfile), self.mask.encode())
        write_tables(make_tables(scene, self.frames), self.folder / version)
        self._warn_of_unnamed()

    def _warn_of_unnamed(self) -> None:
        """Warn once of what has no name in nuScenes."""
        where, labels = f"log '{self.log.name}'", self.log.labels
        lost = self.mapping.lost_names(np.array(sorted(self._seen), np.int64)) if self.mapping is not None else []
        warn_unnamed(where, "labels", lost)
        warn_unnamed(where, "boxes", find_unnamed(self.frames, labels))
        if self.lidarseg and not labels.known and labels != NO_LABELS and self._seen - {0}:
            warnings.warn(
                f"{where}: the meaning of its labels is unknown, so they are left out; name their vocabulary (labels)",
                stacklevel=5,
            )


def _move(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    source.rename(target)


def pack_scan(points: Array, intensity: Array, ring: Array, scale: float) -> Array:
    """Rows (n, 5) float32 of x y z intensity ring; intensities end at 255."""
    rows = np.empty((len(points), 5), "<f4")
    rows[:, :3], rows[:, 4] = points, ring
    rows[:, 3] = np.clip(intensity * np.float32(scale), 0.0, _INTENSITY_MAX)
    return rows
