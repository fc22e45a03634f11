"""What every layout has of a run: its poses and times, and the truth of each sweep beside the layout's own files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from resweep import portable
from resweep.boxes import BOX_MARGIN_M
from resweep.dataset.actor_annotations import Annotations
from resweep.files import write_file
from resweep.files.strict_json import format_json, parse_json
from resweep.files.untrusted import read_bytes
from resweep.io import poses
from resweep.io.datasets.kitti.kitti_camera import DEFAULT_CAMERA, KittiCamera
from resweep.io.files import kitti_bin
from resweep.labels import LabelSet
from resweep.pose import Array, Trajectory, inverse
from resweep.sensors import Sensor
from resweep.sweep import Sweep

UNIT = "1.0 0.0 0.0 0.0 0.0 1.0 0.0 0.0 0.0 0.0 1.0 0.0"


@dataclass(frozen=True, eq=False)
class RunFacts:
    """What is known of a run: its name, sensor, ``labels`` of its returns, and ``times`` (n,), ``poses`` (n, 4, 4).

    ``dataset`` is the name of its plan, ``spec`` its sensor in full. ``identity`` is a hash over all that decides the
    run's bytes: no run of another dataset has it. ``first_frame`` counts the sweeps of the runs before it; ``camera``
    is the one that KITTI's labels are seen by.
    """

    name: str
    sensor: str
    labels: LabelSet
    times: Array
    poses: Array
    dataset: str = ""
    spec: Sensor | None = None
    identity: str = ""
    first_frame: int = 0
    camera: KittiCamera = DEFAULT_CAMERA


def is_complete(folder: Path, at: int) -> bool:
    """Whether a sweep of a run has all its files."""
    return (folder / "boxes" / f"{at:06d}.json").is_file()


def write_truth(folder: Path, at: int, sweep: Sweep, found: Annotations) -> None:
    """Write what no layout has a place for, the boxes last."""
    stem = f"{at:06d}"
    write_file(folder / "labels" / f"{stem}.label", kitti_bin.pack_labels(sweep, f"{stem}.label"))
    velocity = sweep.extra.get("velocity")
    still = np.zeros((len(sweep), 3), "<f4") if velocity is None else np.ascontiguousarray(velocity, "<f4")
    write_file(folder / "velocity" / f"{stem}.bin", still, sparse=True)
    write_file(folder / "time" / f"{stem}.bin", (sweep.time - sweep.timestamp).astype("<f4"))
    record = {"timestamp": sweep.timestamp, "box_margin_m": BOX_MARGIN_M, "objects": found.rows()}
    write_file(folder / "boxes" / f"{stem}.json", (format_json(record) + "\n").encode())


def write_poses(folder: Path, run: RunFacts) -> None:
    """Write ``poses.txt`` (those of a camera, as KITTI has them) and ``times.txt`` of a run."""
    Tr = poses.T_CAMERA_LIDAR
    path = Trajectory(np.arange(len(run.times)), portable.matmul(Tr, run.poses, inverse(Tr)))
    poses.write_poses(path, folder / "poses.txt", "kitti")
    write_file(folder / "times.txt", "".join(f"{time!r}\n" for time in run.times.tolist()).encode())


def read_objects(folder: Path, at: int) -> list[dict[str, Any]]:
    """The objects that a complete sweep's boxes list."""
    record = parse_json(read_bytes(folder / "boxes" / f"{at:06d}.json"))
    objects: list[dict[str, Any]] = record["objects"]
    return objects


def pack_points(sweep: Sweep) -> Array:
    """Rows (n, 4) float32 of x, y, z, remission as KITTI has them: motion during the sweep undone, 0 to 1."""
    rows = np.empty((len(sweep), 4), "<f4")
    rows[:, :3], rows[:, 3] = sweep.deskewed(), kitti_bin.scale_remission(sweep.intensity)
    return rows
