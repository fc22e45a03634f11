"""nuScenes' file of detections: JSON by the token of each sample, boxes in the global frame."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from resweep import portable
from resweep.boxes import Boxes
from resweep.categories import find_category
from resweep.errors import InputError
from resweep.io.datasets.annotated_boxes import boxes_from_poses
from resweep.io.datasets.json_files import JsonValue, read_json
from resweep.io.datasets.nuscenes.classes import CHANNEL
from resweep.io.datasets.nuscenes.nuscenes_scene import TIME
from resweep.io.datasets.nuscenes.tables import TableRecord, Tables, find_tables
from resweep.io.rigid import pose_from_quaternion, poses_from_quaternions
from resweep.log import Log
from resweep.perception.detection.recorded_detections import RecordedDetections, collect_classes
from resweep.perception.models import Detections
from resweep.pose import Array, inverse

_SAME_TIME_S = 1e-5  # the tables have microseconds


def open_nuscenes_results(path: Path, log: Log, recording: Path) -> RecordedDetections:
    """The detections in a results JSON, of the keyframes of a log that was opened from the dataset ``recording``.

    Each keyframe of the log needs an entry, as nuScenes' evaluation demands; entries of other scenes of the dataset
    are left out. Boxes are turned into the LiDAR's frame by the tables' poses.
    """
    entries = read_json(path).part("results").entries()
    tables = _find_tables(recording)
    frames = _find_keyframes(tables)
    strange = [token for token in entries if token not in frames]
    if strange:
        raise InputError(
            f"{path}: sample '{strange[0][:40]}' is not in {tables.folder} ({len(strange)} such); "
            "these are results of other frames"
        )
    stamps = {token: _find_time(frame, tables) for token, frame in frames.items()}
    times, found = [], []
    for token, stamp in stamps.items():
        away = np.abs(log.times - stamp)
        if not len(away) or away.min() > _SAME_TIME_S:
            continue
        if token not in entries:
            raise InputError(f"{path}: no entry for sample '{token[:40]}' of the log '{log.name}'; give all samples")
        times.append(float(log.times[away.argmin()]))
        found.append(_read_sample(entries[token], inverse(_find_pose(tables, frames[token]))))
    if not found:
        raise InputError(f"{path}: none of its samples is a sweep of the log '{log.name}'; give that of these frames")
    return RecordedDetections(collect_classes(found), np.array(times), tuple(found), str(path))


def _find_tables(recording: Path) -> Tables:
    for folder in (recording, recording.parent):
        if (folder / "scene.json").is_file():
            return Tables(folder)
        tables = find_tables(folder, None)
        if tables is not None:
            return tables
    raise InputError(f"{recording}: has no tables of nuScenes (v1.0-*/scene.json); give the dataset of the log")


def _find_keyframes(tables: Tables) -> dict[str, TableRecord]:
    """The LiDAR's keyframes by the token of their sample."""
    sensors = set(tables.select("sensor", lambda record: record["channel"] == CHANNEL))
    mounts = set(tables.select("calibrated_sensor", lambda record: record["sensor_token"] in sensors))
    found = tables.select(
        "sample_data", lambda record: record["is_key_frame"] and record["calibrated_sensor_token"] in mounts
    )
    return {record["sample_token"]: record for record in found.values()}


def _find_time(frame: TableRecord, tables: Tables) -> float:
    """Seconds of a frame, as the log of it has them: exact where Resweep wrote the tables, else microseconds."""
    stamp = frame.get(TIME, frame["timestamp"] / 1e6)
    return JsonValue(stamp, tables.folder / "sample_data.json", f"record {frame['token']}").number()


def _find_pose(tables: Tables, frame: TableRecord) -> Array:
    """``T_global_sensor`` of a frame."""
    poses = []
    for table in ("ego_pose", "calibrated_sensor"):
        token = frame[f"{table}_token"]
        row = tables.look_up(table, {token})[token]
        where = f"{tables.folder / table}.json, record {token}"
        poses.append(pose_from_quaternion(row["translation"], row["rotation"], where))
    return portable.matmul(*poses)


def _read_sample(entry: JsonValue, T_sensor_global: Array) -> Detections:
    """The detections of a sample in the LiDAR's frame; classes are categories such as car."""
    rows = entry.items()
    if not rows:
        return Detections(Boxes(np.zeros((0, 3)), np.zeros((0, 3)), np.zeros(0), ()), np.zeros(0))
    size = np.array([row.part("size").numbers(count=3) for row in rows])[:, [1, 0, 2]]  # theirs: width length height
    if not (size > 0).all():
        at = int(np.flatnonzero(~(size > 0).all(axis=1))[0])
        raise InputError(f"{rows[at].where}.size: expected three numbers above 0; write the results again")
    places = [row.part("translation").numbers(count=3) for row in rows]
    turns = [row.part("rotation").numbers(count=4) for row in rows]
    poses = poses_from_quaternions(places, turns, entry.where)
    names = [find_category(row.part("detection_name").text()).name for row in rows]
    score = np.array([row.part("detection_score").number() for row in rows])
    return Detections(boxes_from_poses(T_sensor_global, poses, size, names, np.full(len(rows), -1)), score)
