"""nuScenes: ``samples/LIDAR_TOP/NNNNNN.pcd.bin``, and the tables of a run, made from its finished sweeps."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from resweep.boxes import Boxes
from resweep.dataset.annotations import Annotations
from resweep.dataset.layouts.run_files import RunFacts, pack_points, read_objects
from resweep.files import write_file
from resweep.io.datasets.nuscenes_write import VERSION, GrowingTables
from resweep.io.files import kitti_bin
from resweep.log import Log
from resweep.sweep import Sweep

# nuScenes schema, visibility: the share of an annotation that is seen, in four bins.
_BINS = ((0.4, "1", "v0-40"), (0.6, "2", "v40-60"), (0.8, "3", "v60-80"), (1.01, "4", "v80-100"))


def write_sweep(folder: Path, at: int, sweep: Sweep, found: Annotations, run: RunFacts) -> None:
    """Write the scan of one sweep."""
    rows = pack_points(sweep, 5)
    rows[:, 4] = sweep.ring
    write_file(folder / "samples" / "LIDAR_TOP" / f"{at:06d}.pcd.bin", rows)


def write_run(folder: Path, run: RunFacts) -> None:
    """Write ``v1.0-resweep/`` and ``lidarseg/`` of a run all of whose sweeps are there."""
    times, poses = run.times, run.poses
    tables = GrowingTables(Log(lambda at: _sweep(folder, at)[0], times, poses, run.name, sensor_name=run.sensor))
    segments = folder / "lidarseg" / VERSION
    (folder / VERSION).mkdir(exist_ok=True)
    seen: list[dict[str, Any]] = []
    for at in range(len(times)):
        sweep, objects = _sweep(folder, at)
        scan = Path("samples") / "LIDAR_TOP" / f"{at:06d}.pcd.bin"
        token = tables.add(at, float(times[at]), poses[at], scan, sweep)
        file = segments / f"{token}_lidarseg.bin"
        write_file(file, sweep.label.astype(np.uint8))
        row = {"token": token, "sample_data_token": token, "filename": str(file.relative_to(folder))}
        tables.rows["lidarseg"].append(row)
        seen += objects
    for annotation, item in zip(tables.rows["sample_annotation"], seen, strict=True):
        annotation["num_lidar_pts"] = item["n_points_in_box"]
        annotation["visibility_token"] = _visibility(item["occlusion"])
    tables.rows["visibility"] = [{"token": token, "level": level, "description": ""} for _, token, level in _BINS]
    tables.close(lidarseg=True)
    tables.write(folder / VERSION)


def _visibility(occlusion: float | None) -> str:
    return "" if occlusion is None else next(token for top, token, _ in _BINS if 1.0 - occlusion < top)


def _sweep(folder: Path, at: int) -> tuple[Sweep, list[dict[str, Any]]]:
    """What the tables need of a finished sweep: labels and boxes."""
    file = folder / "labels" / f"{at:06d}.label"
    count = file.stat().st_size // 4
    label, instance = kitti_bin.read_labels(file, count)
    objects = read_objects(folder, at)
    boxes = Boxes(
        np.array([item["centre"] for item in objects]),
        np.array([item["size"] for item in objects]),
        np.array([item["yaw"] for item in objects]),
        [item["name"] for item in objects],
        np.array([item["track"] for item in objects]),
    )
    return Sweep.from_points(np.zeros((count, 3)), label=label, instance=instance, boxes=boxes), objects
