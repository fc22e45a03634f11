"""The tables of a scene that we write, those of several joined, and both on disk."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import compress, count
from pathlib import Path
from typing import Any

import numpy as np

from resweep.errors import InputError
from resweep.files import write_file
from resweep.files.strict_json import format_json
from resweep.io.datasets.nuscenes.annotations import annotate
from resweep.io.datasets.nuscenes.classes import Row, make_common_tables, make_sensor_token
from resweep.io.datasets.nuscenes.ground_mask import name_map_file
from resweep.io.datasets.nuscenes.nuscenes_scene import (
    FACTS,
    TIME,
    NuScenesFrame,
    NuScenesScene,
    express_pose,
    find_keys,
    link_rows,
)
from resweep.io.datasets.nuscenes.returns_cameras import CAMERAS, make_data_rows, make_mount_row, make_sensor_row

SceneTables = dict[str, list[Row]]


def make_tables(scene: NuScenesScene, frames: Sequence[NuScenesFrame]) -> SceneTables:
    """Every table of a scene; there are as many frames as the log has sweeps."""
    keys = find_keys(frames)
    samples = [scene.token("sample", at) for at, key in enumerate(keys) if key]
    # A sweep between keyframes belongs to the sample that follows (nuScenes schema), the last ones to the last.
    after = np.minimum(np.cumsum(keys) - keys, len(samples) - 1).tolist()
    annotations, instances = annotate(scene, frames, [samples[number] for number in after])
    tables: SceneTables = {
        **make_common_tables(),
        "calibrated_sensor": [_make_mount_row(scene)],
        "ego_pose": [
            {
                "token": scene.token("ego_pose", at),
                "timestamp": scene.stamp(frame.time),
                **express_pose(scene, frame.pose),
            }
            for at, frame in enumerate(frames)
        ],
        "instance": instances,
        "log": [_make_log_row(scene, frames[0])],
        "map": [_make_map_row(scene)],
        "sample": link_rows(
            {
                "token": scene.token("sample", at),
                "timestamp": scene.stamp(frame.time),
                "scene_token": scene.token("scene"),
            }
            for at, frame in enumerate(frames)
            if keys[at]
        ),
        "sample_annotation": annotations,
        "sample_data": link_rows(
            _make_data_row(scene, frame, at, keys[at], samples[after[at]]) for at, frame in enumerate(frames)
        ),
        "scene": [_make_scene_row(scene, samples)],
    }
    if scene.lidarseg:
        tables["lidarseg"] = [
            {"token": token, "sample_data_token": token, "filename": scene.label_file(at).as_posix()}
            for at, token in ((at, scene.token("sample_data", at)) for at, key in enumerate(keys) if key)
        ]
    if scene.cameras:
        _add_cameras(scene, tables, [frame.time for frame in compress(frames, keys)])
    return dict(sorted(tables.items()))


def _add_cameras(scene: NuScenesScene, tables: SceneTables, times: list[float]) -> None:
    """Add the pictures of every camera at the ``times`` of the keyframes."""
    scans = [row for row in tables["sample_data"] if row["is_key_frame"]]
    for camera in CAMERAS:
        tables["sensor"].append(make_sensor_row(camera))
        tables["calibrated_sensor"].append(make_mount_row(scene, camera))
        tables["sample_data"] += make_data_rows(scene, camera, scans, times)


def _make_mount_row(scene: NuScenesScene) -> Row:
    """The ego vehicle is where its LiDAR is: a log knows no other frame."""
    return {
        "token": scene.token("calibrated_sensor"),
        "sensor_token": make_sensor_token(),
        "translation": [0.0, 0.0, 0.0],
        "rotation": [1.0, 0.0, 0.0, 0.0],
        "camera_intrinsic": [],
    }


def _make_log_row(scene: NuScenesScene, first: NuScenesFrame) -> Row:
    """The log's record. Each log is a location of its own, since its map is."""
    day = datetime.fromtimestamp(scene.stamp(first.time) / 1e6, UTC).strftime("%Y-%m-%d")
    words = {"logfile": scene.logfile, "vehicle": "unknown", "date_captured": day, "location": scene.logfile}
    return {"token": scene.token("log"), **words}


def _make_map_row(scene: NuScenesScene) -> Row:
    return {
        "token": scene.token("map"),
        "log_tokens": [scene.token("log")],
        "category": "semantic_prior",
        "filename": name_map_file(scene.logfile).as_posix(),
    }


def _make_scene_row(scene: NuScenesScene, samples: list[str]) -> Row:
    return {
        "token": scene.token("scene"),
        "log_token": scene.token("log"),
        "nbr_samples": len(samples),
        "first_sample_token": samples[0],
        "last_sample_token": samples[-1],
        "name": scene.name,
        "description": scene.sensor_name,
        FACTS: scene.facts(),
    }


def _make_data_row(scene: NuScenesScene, frame: NuScenesFrame, at: int, key: bool, sample: str) -> Row:
    return {
        "token": scene.token("sample_data", at),
        "sample_token": sample,
        "ego_pose_token": scene.token("ego_pose", at),
        "calibrated_sensor_token": scene.token("calibrated_sensor"),
        "timestamp": scene.stamp(frame.time),
        TIME: frame.time,
        "fileformat": "pcd",
        "is_key_frame": key,
        "height": 0,
        "width": 0,
        "filename": scene.scan_file(frame.time, key).as_posix(),
    }


def join_tables(parts: Sequence[SceneTables], names: Sequence[str]) -> SceneTables:
    """The rows of several sets of tables in one; what they have in common is there once.

    ``names`` say where each is from, for errors. Two different records of one token are an error. A scene whose name
    another one has gets a number after it.
    """
    joined: dict[str, dict[str, Row]] = {}
    for part, name in zip(parts, names, strict=True):
        for table, rows in part.items():
            found = joined.setdefault(table, {})
            for row in rows:
                other = found.setdefault(row["token"], row)
                if table == "scene":  # it may have been renamed when it was joined before
                    other = {**other, "name": row["name"]}
                if other != row:
                    raise InputError(
                        f"{name}: {table} {row['token']} differs from the record of that token in another dataset; "
                        "write each log once, then merge"
                    )
    tables = {table: list(rows.values()) for table, rows in sorted(joined.items())}
    tables["scene"] = _rename_scenes(tables["scene"])
    return _separate_starts(tables)


def _rename_scenes(scenes: list[Row]) -> list[Row]:
    """The scenes, no two of one name."""
    taken: dict[str, Row] = {}
    for row in scenes:
        name = next(word for word in _number_names(row["name"]) if word not in taken)
        taken[name] = {**row, "name": name}
    return list(taken.values())


def _separate_starts(tables: SceneTables) -> SceneTables:
    """The tables with scenes that begin at the same time moved by microseconds: the devkit cannot list such scenes.

    Two sensors that were simulated along one recorded drive begin at once.
    """
    samples = {row["token"]: row for row in tables["sample"]}
    moved: dict[str, int] = {}
    taken: set[int] = set()
    for scene in tables["scene"]:
        start = samples[scene["first_sample_token"]]["timestamp"]
        moved[scene["token"]] = next(shift for shift in count() if start + shift not in taken)
        taken.add(start + moved[scene["token"]])
    if not any(moved.values()):
        return tables
    of_sample = {token: moved[row["scene_token"]] for token, row in samples.items()}
    of_pose = {row["ego_pose_token"]: of_sample[row["sample_token"]] for row in tables["sample_data"]}
    shifts = {
        "sample": ("token", of_sample),
        "sample_data": ("sample_token", of_sample),
        "ego_pose": ("token", of_pose),
    }
    later = {
        table: [{**row, "timestamp": row["timestamp"] + shift.get(row[key], 0)} for row in tables[table]]
        for table, (key, shift) in shifts.items()
    }
    return {**tables, **later}


def _number_names(name: str) -> Iterator[str]:
    yield name
    yield from (f"{name}-{number}" for number in count(2))


def write_tables(tables: SceneTables, folder: Path, splits: Mapping[str, Sequence[str]] | None = None) -> None:
    """Write every table to ``folder``, and ``splits.json``: lists of scenes by name, among them ``all``.

    The devkit looks scenes of a split up there, unless the split is one of nuScenes' own.
    """
    scenes = [row["name"] for row in tables["scene"]]
    contents: dict[str, Any] = {**tables, "splits": {**(splits or {}), "all": scenes}}
    for name, content in contents.items():
        write_file(folder / f"{name}.json", (format_json(content, indent=0) + "\n").encode())
