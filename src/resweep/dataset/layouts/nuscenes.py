"""nuScenes: one dataroot for all runs, each of them a scene.

``samples/``, ``lidarseg/``, ``maps/`` and the tables in ``v1.0-resweep/`` lie beside the folders of the runs,
which hold the truth of their sweeps. A run's own tables are in its ``tables.json``; when all runs are there they are
joined.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from resweep.boxes import Boxes
from resweep.dataset.actor_annotations import Annotations
from resweep.dataset.layouts.run_files import RunFacts, read_objects
from resweep.files import write_file
from resweep.files.strict_json import format_json, parse_json
from resweep.files.untrusted import read_bytes
from resweep.io.datasets.nuscenes.annotations import find_unnamed
from resweep.io.datasets.nuscenes.classes import LABELS, warn_unnamed
from resweep.io.datasets.nuscenes.ground_mask import GroundMask, name_map_file
from resweep.io.datasets.nuscenes.nuscenes_scene import NuScenesFrame, NuScenesScene
from resweep.io.datasets.nuscenes.nuscenes_writer import pack_scan
from resweep.io.datasets.nuscenes.returns_cameras import CAMERAS, name_picture_file
from resweep.io.datasets.nuscenes.scene_tables import SceneTables, join_tables, make_tables, write_tables
from resweep.io.files import kitti_bin
from resweep.label_mapping import map_labels
from resweep.pose import transform
from resweep.sweep import Sweep

_TABLES = "tables.json"
_INTENSITY_SCALE = 255.0  # simulated intensities are relative: 1 is a white target


def write_sweep(folder: Path, at: int, sweep: Sweep, found: Annotations, run: RunFacts) -> None:
    """Write scan, labels and pictures of one sweep."""
    scene, root = _describe(run), folder.parent
    scan = pack_scan(sweep.deskewed(), sweep.intensity, sweep.ring, _INTENSITY_SCALE)
    if scene.lidarseg:
        write_file(root / scene.label_file(at), map_labels(run.labels, LABELS).map(sweep.label).astype(np.uint8))
    time = float(run.times[at])
    for camera in CAMERAS:
        picture = camera.draw(scan[:, :3], scan[:, 3] / np.float32(_INTENSITY_SCALE))
        write_file(root / name_picture_file(scene, camera, time), picture)
    write_file(root / scene.scan_file(time), scan)


def write_run(folder: Path, run: RunFacts) -> None:
    """Write the map of a run all of whose sweeps are there, and its tables."""
    scene, root = _describe(run), folder.parent
    mask = GroundMask(run.poses, run.name)
    frames = [_read_frame(folder, run, at) for at in range(len(run.times))]
    if scene.lidarseg:
        mapping, seen = map_labels(run.labels, LABELS), set()
        for at, frame in enumerate(frames):
            points = np.frombuffer(read_bytes(root / scene.scan_file(frame.time)), "<f4").reshape(-1, 5)[:, :3]
            label, _ = kitti_bin.read_labels(folder / "labels" / f"{at:06d}.label", len(points))
            mask.add(transform(frame.pose, points), mapping.map(label))
            seen.update(np.unique(label).tolist())
        warn_unnamed(f"dataset '{run.dataset}'", "labels", mapping.lost_names(np.array(sorted(seen), np.int64)))
    warn_unnamed(f"dataset '{run.dataset}'", "boxes", find_unnamed(frames, run.labels))
    write_file(root / name_map_file(scene.logfile), mask.encode())
    write_file(folder / _TABLES, (format_json(make_tables(scene, frames)) + "\n").encode())


def write_dataset(output: Path, runs: Sequence[RunFacts]) -> None:
    """Write the tables of all runs as one set."""
    names = [f"{output / run.name / _TABLES}" for run in runs]
    parts: list[SceneTables] = [parse_json(read_bytes(name)) for name in names]
    write_tables(join_tables(parts, names), output / _describe(runs[0]).version)


def _describe(run: RunFacts) -> NuScenesScene:
    return NuScenesScene(
        identity=run.identity,
        name=f"{run.dataset}-{run.name}",
        start_s=float(run.times[0]),
        origin=GroundMask.find_origin(run.poses),
        intensity_scale=_INTENSITY_SCALE,
        lidarseg=run.labels.known,
        labels=run.labels,
        sensor=run.spec,
        sensor_name=run.sensor,
    )


def _read_frame(folder: Path, run: RunFacts, at: int) -> NuScenesFrame:
    """What the tables need of a finished sweep."""
    objects = read_objects(folder, at)
    boxes = Boxes(
        np.array([item["centre"] for item in objects]),
        np.array([item["size"] for item in objects]),
        np.array([item["yaw"] for item in objects]),
        [item["name"] for item in objects],
        np.array([item["track"] for item in objects]),
        np.array([item["label"] for item in objects]),
        np.array([item["velocity"] for item in objects]),
    )
    hidden = np.array([np.nan if item["occlusion"] is None else item["occlusion"] for item in objects])
    count = np.array([item["n_points_in_box"] for item in objects], np.int64)
    return NuScenesFrame(float(run.times[at]), run.poses[at], boxes, count, 1.0 - hidden)
