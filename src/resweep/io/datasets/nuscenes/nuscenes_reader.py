"""nuScenes scenes: JSON tables, ``.pcd.bin`` scans, lidarseg and panoptic labels, boxes.

A scan has rows of x y z intensity ring as little-endian float32, in the LiDAR's frame, motion-compensated.
``T_world_sensor = ego_pose · calibrated_sensor``. Keyframes (2 Hz) have boxes and labels; the scans between
them (``sweeps/``, up to 20 Hz in all) are in the log unless ``keyframes_only``. Scans hold every firing of the 32
lasers: beams without return are points where the LiDAR was (`resweep.io.datasets.firings`).
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np

from resweep import portable
from resweep.boxes import Boxes
from resweep.errors import FaultKind, InputError, ResweepError, SweepError
from resweep.files.untrusted import open_regular, read_bytes
from resweep.io.datasets.annotated_boxes import Tracks, boxes_from_poses
from resweep.io.datasets.choices import choose_one
from resweep.io.datasets.firings import sweep_from_firings
from resweep.io.datasets.nuscenes.classes import CHANNEL, LABELS, LABELS_BY_NAME
from resweep.io.datasets.nuscenes.nuscenes_scene import FACTS, TIME, TRACK, VELOCITY
from resweep.io.datasets.nuscenes.nuscenes_writer import write_log
from resweep.io.datasets.nuscenes.scene_facts import SENSOR, read_facts
from resweep.io.datasets.nuscenes.tables import TableRecord, Tables, find_tables, read_records, take_single
from resweep.io.empty_beams import infer_empty_beams
from resweep.io.folders.faults import Faults, refuse_faulty
from resweep.io.format import Format, read_as
from resweep.io.reading_limits import UNZIP_ERRORS, check_scan_size, parse_npy, read_member
from resweep.io.rigid import pose_from_quaternion, poses_from_quaternions
from resweep.labels import NO_LABELS, LabelSet
from resweep.log import Log
from resweep.pose import Array, inverse
from resweep.sweep import Sweep

_COLUMNS = ("x", "y", "z", "intensity", "ring")
_FULL_SCALE = 255.0
_ROW_BYTES = 4 * len(_COLUMNS)
_PANOPTIC = 1000  # panoptic label = class · 1000 + instance (nuScenes panoptic, data format)


def read(path: Path, drop_nan: bool = False) -> Sweep:
    """The scan in a ``.pcd.bin`` file, in the LiDAR's frame."""
    return replace(sweep_from_firings(_read_columns(path)[0], path, drop_nan), sensor=SENSOR)


def _read_columns(path: Path) -> tuple[dict[str, Array], int]:
    check_scan_size(path, _ROW_BYTES)
    data = read_bytes(path)
    if len(data) % _ROW_BYTES:
        raise SweepError(
            f"{path}: truncated or not a nuScenes scan ({len(data)} bytes are not rows of {_ROW_BYTES}: "
            "x y z intensity ring)",
            FaultKind.TRUNCATED,
        )
    rows = np.frombuffer(data, "<f4").reshape(-1, len(_COLUMNS)).astype(np.float32)
    return dict(zip(_COLUMNS, rows.T, strict=True)), len(rows)


def recognises(path: Path) -> bool:
    """Whether ``path`` is the dataset's root, or the folder of a version's tables in it."""
    return (path / "scene.json").is_file() or (path.is_dir() and any(path.glob("v1.0-*/scene.json")))


def find_part(path: Path) -> tuple[Path, dict[str, str]] | None:
    """The dataset and the scene that DATAROOT/SCENE names; None for other paths."""
    return (path.parent, {"scene": path.name}) if recognises(path.parent) else None


def open_log(
    path: Path,
    rate_hz: float | None = None,
    drop_nan: bool = False,
    scene: str | None = None,
    version: str | None = None,
    keyframes_only: bool = False,
    channel: str = CHANNEL,
    empty_beams: bool = True,
    keep_going: bool = False,
) -> Log:
    """One ``scene`` (a name such as ``scene-0061``) of the dataset; its times are recorded, ``rate_hz`` is unused."""
    del rate_hz
    inside = (path / "scene.json").is_file()
    root = path.absolute().parent if inside else path
    tables = Tables(path) if inside else find_tables(path, version)
    if tables is None:
        raise InputError(f"{path}: no v1.0-*/scene.json in it; give the folder that holds samples/ and the tables")
    scenes = _name_scenes(read_records(tables.folder / "scene.json"))
    name = choose_one(scene, sorted(scenes), "scene", path, hint=f", or open {root}/NAME")
    facts = read_facts(scenes[name].get(FACTS), f"{tables.folder / 'scene.json'}, {name}")
    frames = _find_frames(tables, scenes[name]["token"], channel, keyframes_only)
    faults = Faults()
    T_global_sensor = _read_poses(tables, frames, faults if keep_going else None)
    poses = portable.matmul(facts.T_world_global, T_global_sensor)
    times = np.array([_find_time(frame, tables) for frame in frames])
    notes = _SceneAnnotations(tables, frames)

    def load(at: int) -> Sweep:
        file = root / frames[at]["filename"]
        scan = read_as(_LabelledScan(notes.labels(root, frames[at])).format, file, drop_nan=drop_nan)
        stamp = float(times[at])
        return replace(
            scan,
            pose=poses[at],
            timestamp=stamp,
            beam_time=np.full(scan.n_beams, stamp),
            intensity=scan.intensity / np.float32(facts.intensity_scale),
            boxes=notes.boxes(frames[at], inverse(T_global_sensor[at])),
            sensor=facts.sensor_name,
        )

    log = Log(
        load,
        times,
        poses,
        name,
        sensor=facts.sensor,
        sensor_name=facts.sensor_name,
        labels=LABELS if notes.has_labels else NO_LABELS,
        intensity_scale=_FULL_SCALE / facts.intensity_scale,
        meta={"format": "nuscenes", "path": str(path), "scene": name},
    )
    return refuse_faulty(infer_empty_beams(log, empty_beams), faults)


def _name_scenes(records: Iterable[TableRecord]) -> dict[str, TableRecord]:
    """Scenes by name; of those that share one, all but the first have the beginning of their token after it."""
    found: dict[str, TableRecord] = {}
    for record in records:
        name = record["name"]
        found[name if name not in found else f"{name}-{record['token'][:8]}"] = record
    return found


def _find_frames(tables: Tables, scene: str, channel: str, keyframes_only: bool) -> list[TableRecord]:
    """The LiDAR's sample_data of a scene in the order of time."""
    samples = set(tables.select("sample", lambda record: record["scene_token"] == scene))
    sensors = set(tables.select("sensor", lambda record: record["channel"] == channel))
    mounts = set(tables.select("calibrated_sensor", lambda record: record["sensor_token"] in sensors))
    found = tables.select(
        "sample_data",
        lambda record: (
            record["sample_token"] in samples
            and record["calibrated_sensor_token"] in mounts
            and (record["is_key_frame"] or not keyframes_only)
        ),
    )
    if not found:
        raise InputError(f"{tables.folder / 'sample_data.json'}: no {channel} scan of this scene; check channel=")
    return sorted(found.values(), key=lambda record: record["timestamp"])


def _find_time(frame: TableRecord, tables: Tables) -> float:
    """Seconds of a scan: exact where Resweep wrote the tables, else the table's microseconds."""
    stamp = frame.get(TIME, frame["timestamp"] / 1e6)
    if type(stamp) not in (int, float) or not np.isfinite(stamp):
        where = f"{tables.folder / 'sample_data.json'}, record {frame['token']}"
        raise InputError(f"{where}: '{TIME}' must be a number, got {stamp!r:.40}; fetch the metadata again")
    return float(stamp)


def _read_poses(tables: Tables, frames: list[TableRecord], faults: Faults | None) -> Array:
    """``T_world_sensor`` (n, 4, 4); with ``faults``, frames without a pose are noted there and get the identity."""
    placed = np.tile(np.eye(4), (len(frames), 1, 1))
    for table, key in (("ego_pose", "ego_pose_token"), ("calibrated_sensor", "calibrated_sensor_token")):
        found = tables.look_up_all(table, {frame[key] for frame in frames})
        for at, frame in enumerate(frames):
            where = f"{tables.folder / table}.json, record {frame[key]}"
            try:
                row = take_single(found.get(frame[key], []), where)
                placed[at] = portable.matmul(
                    placed[at], pose_from_quaternion(row["translation"], row["rotation"], where)
                )
            except ResweepError as error:
                if faults is None:
                    raise
                faults.add(at, f"no pose: {error}")
                placed[at] = np.eye(4)
    return placed


class _SceneAnnotations:
    """The annotations of the keyframes of a scene: boxes, and a label a point."""

    def __init__(self, tables: Tables, frames: list[TableRecord]) -> None:
        self._where = f"{tables.folder / 'sample_annotation.json'}"
        keys = {frame["token"] for frame in frames if frame["is_key_frame"]}
        samples = {frame["sample_token"] for frame in frames}
        self._by_sample: dict[str, list[TableRecord]] | None = None
        if tables.has("sample_annotation"):
            self._by_sample = {}
            found = tables.select("sample_annotation", lambda record: record["sample_token"] in samples)
            for record in found.values():
                self._by_sample.setdefault(record["sample_token"], []).append(record)
            self._instance = tables.look_up("instance", {record["instance_token"] for record in found.values()})
            self._category = tables.look_up(
                "category", {record["category_token"] for record in self._instance.values()}
            )
            self._tracks = _find_tracks(self._instance, (record["instance_token"] for record in found.values()))
        self._files: dict[str, tuple[str, str]] = {}
        for table in ("lidarseg", "panoptic"):  # panoptic labels hold the classes too, so they come last
            if tables.has(table):
                for record in tables.select(table, lambda record: record["sample_data_token"] in keys).values():
                    self._files[record["sample_data_token"]] = (table, record["filename"])

    @property
    def has_labels(self) -> bool:
        """Whether any scan of the scene has labels."""
        return bool(self._files)

    def boxes(self, frame: TableRecord, T_sensor_world: Array) -> Boxes | None:
        """The boxes of a keyframe in the LiDAR's frame; None between keyframes."""
        if self._by_sample is None or not frame["is_key_frame"]:
            return None
        rows = self._by_sample.get(frame["sample_token"], [])
        poses = poses_from_quaternions(
            [row["translation"] for row in rows], [row["rotation"] for row in rows], self._where
        )
        size = np.array([row["size"] for row in rows], float).reshape(-1, 3)[:, [1, 0, 2]]  # theirs: width length
        names = [self._category[self._instance[row["instance_token"]]["category_token"]]["name"] for row in rows]
        track = np.array([self._tracks[row["instance_token"]] for row in rows], np.int64)
        return replace(
            boxes_from_poses(T_sensor_world, poses, size, names, track),
            label=np.array([LABELS_BY_NAME.get(name, 0) for name in names], np.int64),
            velocity=np.array([self._read_velocity(row) for row in rows]).reshape(-1, 3),
            n_points=np.array([self._read_count(row) for row in rows], np.int64),
        )

    def _read_velocity(self, row: TableRecord) -> list[float]:
        """Metres a second, which only our own annotations have."""
        value = row.get(VELOCITY, [np.nan] * 3)
        if type(value) is not list or [type(item) for item in value] != [float] * 3:
            raise InputError(
                f"{self._where}, record {row['token']}: '{VELOCITY}' must be three numbers; write it again"
            )
        return value

    def _read_count(self, row: TableRecord) -> int:
        value = row.get("num_lidar_pts", -1)
        if type(value) is not int or not -1 <= value < 1 << 32:
            raise InputError(f"{self._where}, record {row['token']}: 'num_lidar_pts' must be a whole number")
        return value

    def labels(self, root: Path, frame: TableRecord) -> dict[str, tuple[Path, Array]]:
        """Label columns of a keyframe with the file each is from."""
        if frame["token"] not in self._files:
            return {}
        table, name = self._files[frame["token"]]
        file = root / name
        if not file.is_file():
            raise SweepError(f"{file}: missing, though {table}.json names it; fetch the labels", FaultKind.MISSING)
        if table == "lidarseg":
            return {"label": (file, np.frombuffer(read_bytes(file), np.uint8).astype(np.int32))}
        try:
            with open_regular(file) as stream, zipfile.ZipFile(stream) as archive:
                data = read_member(archive, "data.npy", file.stat().st_size, str(file))
                packed = parse_npy(data, f"{file}, data.npy").astype(np.int32)
        except ResweepError:
            raise
        except (*UNZIP_ERRORS, ValueError, OSError) as error:
            raise SweepError(
                f"{file}: truncated or no panoptic labels ({error}); fetch it again", FaultKind.TRUNCATED
            ) from error
        return {"label": (file, packed // _PANOPTIC), "instance": (file, packed % _PANOPTIC)}


def _find_tracks(instances: dict[str, TableRecord], order: Iterable[str]) -> Tracks | dict[str, int]:
    """A number for each instance: that of the log that was written, else counted in the order of the annotations."""
    if all(type(record.get(TRACK)) is int for record in instances.values()):
        return {token: record[TRACK] for token, record in instances.items()}
    return Tracks(order)


class _LabelledScan:
    """The reader of a scan whose points have labels in files of their own."""

    def __init__(self, labels: dict[str, tuple[Path, Array]]) -> None:
        self._labels = labels
        self.format = replace(SCAN, read=self._read)

    def _read(self, path: Path, drop_nan: bool = False) -> Sweep:
        columns, count = _read_columns(path)
        for name, (file, values) in self._labels.items():
            if not count and len(values):
                raise SweepError(f"{path}: holds no point, but {file.name} has labels; fetch it again", FaultKind.EMPTY)
            if len(values) != count:
                raise SweepError(
                    f"{file}: {len(values)} labels for {count} points; it belongs to another scan",
                    FaultKind.OTHER_LABELS,
                )
            columns[name] = values
        return sweep_from_firings(columns, path, drop_nan)


def find_labels(path: Path) -> LabelSet:
    """None: the labels of a scan are in the dataset's tables."""
    del path
    return NO_LABELS


SCAN = Format(
    "nuscenes-scan",
    "nuScenes scan",
    (".pcd.bin",),
    frame="deskewed",
    read=read,
    spins=True,
    labels=find_labels,
    placed=lambda path: True,  # scans are in the frame of their sensor
)
FORMAT = Format(
    "nuscenes",
    "nuScenes scene",
    frame="deskewed",
    recognises=recognises,
    open_log=open_log,
    write_log=write_log,
    find_part=find_part,
    parts=("v1.0-*/scene.json", "samples/LIDAR_TOP/*", "sweeps/LIDAR_TOP/*"),
)
