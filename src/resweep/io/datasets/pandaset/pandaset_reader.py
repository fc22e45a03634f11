"""PandaSet sequences: ``lidar/NN.pkl.gz`` with poses.json and timestamps.json, cuboids and classes.

Points and cuboids are in world coordinates; they are transformed to the LiDAR's frame at the sweep's pose. The files
are pickles of pandas frames. They are read without unpickling (`pandas_frames`): nothing that a file names is imported
or called. ``lidar=0`` is the spinning Pandar64 (the default), ``1`` the forward PandarGT.
"""

from __future__ import annotations

import zlib
from dataclasses import replace
from pathlib import Path

import numpy as np

from resweep.boxes import Boxes
from resweep.errors import FaultKind, InputError, ResweepError, SweepError
from resweep.files.untrusted import read_bytes
from resweep.io.datasets.annotated_boxes import Tracks, boxes_from_yaws
from resweep.io.datasets.json_files import read_list
from resweep.io.datasets.numbered_files import list_numbered
from resweep.io.datasets.pandaset.pandas_frames import Columns, read_frame
from resweep.io.empty_beams import LidarRig, infer_empty_beams
from resweep.io.format import Format
from resweep.io.points.columns import sweep_from_columns
from resweep.io.reading_limits import gunzip
from resweep.io.rigid import poses_from_quaternions, trajectory_from_rows
from resweep.labels import NO_LABELS, load_labels
from resweep.log import EmptyBeams, Log
from resweep.pose import Array, inverse, transform
from resweep.sensors import find_sensor
from resweep.sweep import Sweep

_SENSORS = ("hesai-pandar64", "hesai-pandargt")
_REACH_S = 0.25  # how far the first and last sweep may reach out of the poses


def recognises(path: Path) -> bool:
    """Whether ``path`` is a sequence: a folder with ``lidar/*.pkl.gz`` or unpacked ``lidar/*.pkl``."""
    return (path / "lidar").is_dir() and any(any((path / "lidar").glob(name)) for name in ("*.pkl.gz", "*.pkl"))


def open_log(
    path: Path, rate_hz: float | None = None, drop_nan: bool = False, lidar: int = 0, empty_beams: bool = True
) -> Log:
    """The sequence in ``path``; times are those of timestamps.json, so ``rate_hz`` is not used."""
    del rate_hz
    if lidar not in (0, 1):
        raise ResweepError(f"lidar={lidar}: PandaSet has 0, the Pandar64, and 1, the PandarGT")
    scans = sorted([*(path / "lidar").glob("*.pkl.gz"), *(path / "lidar").glob("*.pkl")])
    if not scans:
        list_numbered(path / "lidar", (".gz", ".pkl"))
    times, poses = _read_poses(path / "lidar", len(scans))
    tracks, sensor = Tracks(), _SENSORS[lidar]

    def load(at: int) -> Sweep:
        table, T_sensor_world = _read_table(scans[at]), inverse(poses[at])
        columns = _make_columns(table, scans[at], T_sensor_world)
        labels = _read_labels(path / "annotations" / "semseg" / scans[at].name, len(columns["x"]))
        if labels is not None:
            columns["label"] = labels
        if "d" in columns:
            mine = columns.pop("d") == lidar
            columns = {name: values[mine] for name, values in columns.items()}
        scan = sweep_from_columns(columns, str(scans[at]), drop_nan=drop_nan)
        boxes = _read_boxes(path / "annotations" / "cuboids" / scans[at].name, T_sensor_world, lidar, tracks)
        return replace(scan, pose=poses[at], timestamp=float(times[at]), boxes=boxes, sensor=sensor)

    bare = Log(
        load,
        times,
        poses,
        path.name,
        sensor=find_sensor(sensor),
        sensor_name=sensor,
        labels=load_labels("pandaset") if (path / "annotations" / "semseg").is_dir() else NO_LABELS,
        empty_beams=EmptyBeams("unknown", "not inferred: the PandarGT does not spin"),
        intensity_scale=255.0,
        meta={"format": "pandaset", "path": str(path)},
    )
    if lidar == 1:
        return bare
    motion = trajectory_from_rows(times, poses, str(path / "lidar" / "poses.json"))
    return infer_empty_beams(bare, empty_beams, LidarRig(motion=motion.extended(_REACH_S)))


def _read_poses(folder: Path, count: int) -> tuple[Array, Array]:
    """Times (n,) and ``T_world_sensor`` (n, 4, 4) of ``count`` sweeps."""
    records, stamps = read_list(folder / "poses.json"), read_list(folder / "timestamps.json")
    for name, rows in (("poses.json", records), ("timestamps.json", stamps)):
        if len(rows) != count:
            raise InputError(f"{folder / name}: {len(rows)} rows for {count} sweeps; they must pair up")
    position = [row.part("position").numbers("x", "y", "z") for row in records]
    heading = [row.part("heading").numbers("w", "x", "y", "z") for row in records]
    times = np.array([stamp.number() for stamp in stamps])
    return times, poses_from_quaternions(position, heading, str(folder / "poses.json"))


def _make_columns(table: Columns, file: Path, T_sensor_world: Array) -> dict[str, Array]:
    world = np.stack([_take(table, axis, np.float64, file) for axis in "xyz"], axis=1)
    columns: dict[str, Array] = dict(zip("xyz", transform(T_sensor_world, world).T, strict=True))
    columns.update(intensity=_take(table, "i", np.float32, file), time=_take(table, "t", np.float64, file))
    if "d" in table:
        columns["d"] = _take(table, "d", np.int64, file)
    return columns


def _take(table: Columns, name: str, dtype: type[np.generic], file: Path) -> Array:
    """A column of numbers (n,)."""
    if name not in table:
        raise SweepError(f"{file}: no field '{name}'; it has {', '.join(table)}", FaultKind.OTHER_FIELDS)
    if table[name].dtype.kind not in "biuf":
        raise SweepError(f"{file}: field '{name}' holds no numbers; fetch it again", FaultKind.OTHER_FIELDS)
    return table[name].astype(dtype)


def _read_labels(file: Path, count: int) -> Array | None:
    if not file.is_file():
        return None
    labels = _take(_read_table(file), "class", np.int32, file)
    if len(labels) != count:
        raise SweepError(
            f"{file}: {len(labels)} labels for {count} points; it belongs to another sweep", FaultKind.OTHER_LABELS
        )
    return labels


def _read_boxes(file: Path, T_sensor_world: Array, lidar: int, tracks: Tracks) -> Boxes | None:
    if not file.is_file():
        return None
    table = _read_table(file)
    if "cuboids.sensor_id" in table:  # objects where both LiDARs see are drawn once for each
        mine = np.isin(_take(table, "cuboids.sensor_id", np.int64, file), (-1, lidar))
        table = {name: values[mine] for name, values in table.items()}
    missing = [name for name in ("uuid", "label") if name not in table]
    if missing:
        raise SweepError(f"{file}: no field '{missing[0]}'; it has {', '.join(table)}", FaultKind.OTHER_FIELDS)
    centre = np.stack([_take(table, f"position.{axis}", np.float64, file) for axis in "xyz"], axis=1)
    # x is the width and y the length; yaw 0 points along y (pandaset-devkit, Cuboids.data).
    size = np.stack([_take(table, f"dimensions.{axis}", np.float64, file) for axis in "yxz"], axis=1)
    yaw = _take(table, "yaw", np.float64, file) + np.pi / 2
    track = np.array([tracks[str(name)] for name in table["uuid"]], np.int64)
    return boxes_from_yaws(T_sensor_world, centre, yaw, size, [str(name) for name in table["label"]], track)


def _read_table(file: Path) -> Columns:
    """The columns of a pickled pandas frame, compressed or not."""
    data = read_bytes(file)
    try:
        return read_frame(gunzip(data, str(file)) if file.suffix == ".gz" else data, str(file))
    except ResweepError:
        raise
    except (EOFError, zlib.error, ValueError) as error:
        raise SweepError(
            f"{file}: truncated or not a pickled pandas frame ({error}); fetch it again", FaultKind.TRUNCATED
        ) from error


FORMAT = Format(
    "pandaset",
    "PandaSet sequence",
    recognises=recognises,
    open_log=open_log,
    parts=("lidar/*.pkl*", "lidar/poses.json", "lidar/timestamps.json"),
)
