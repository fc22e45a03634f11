"""PandaSet sequences: ``lidar/NN.pkl.gz`` with poses.json and timestamps.json, cuboids and classes.

Points and cuboids are in world coordinates; they are transformed to the LiDAR's frame at the sweep's pose. The files
are pickles of pandas frames: only pandas' and NumPy's own building blocks are unpickled, anything else that a
file asks for is refused. ``lidar=0`` is the spinning Pandar64 (the default), ``1`` the forward PandarGT.
"""

from __future__ import annotations

import gzip
import io
import zlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from resweep.boxes import Boxes
from resweep.errors import FaultKind, ResweepError, SweepError
from resweep.io.columns import sweep_from_columns
from resweep.io.datasets.boxes import Tracks, boxes_from_yaws
from resweep.io.datasets.json_files import read_json
from resweep.io.datasets.numbered_files import list_numbered
from resweep.io.empty_beams import Rig, infer_empty_beams
from resweep.io.format import Format
from resweep.io.rigid import poses_from_quaternions, trajectory_from_rows
from resweep.labels import NO_LABELS, load_labels
from resweep.log import EmptyBeams, Log
from resweep.optional import require
from resweep.pose import Array, inverse, transform
from resweep.sensors import find_sensor
from resweep.sweep import Sweep

_SENSORS = ("hesai-pandar64", "hesai-pandargt")
_REACH_S = 0.25  # how far the first and last sweep may reach out of the poses
# What a pickled frame is made of; modules moved between versions of the two packages.
_ALLOWED_MODULES = (
    *("pandas.core.frame", "pandas.core.series", "pandas.core.internals", "pandas.core.indexes", "pandas._libs"),
    *("pandas.core.arrays", "pandas.core.dtypes", "pandas.core.generic", "pandas.core.index", "pandas.indexes"),
)
_ALLOWED = {
    *(("numpy", name) for name in ("ndarray", "dtype", "bool_", "float64", "float32", "int64", "str_")),
    *(("numpy.core.multiarray", name) for name in ("_reconstruct", "scalar")),
    *(("numpy._core.multiarray", name) for name in ("_reconstruct", "scalar")),
    *(("numpy.core.numeric", "_frombuffer"), ("numpy._core.numeric", "_frombuffer")),
    *(("builtins", name) for name in ("slice", "object", "list", "dict", "tuple", "set", "frozenset", "bytearray")),
    *(("builtins", name) for name in ("int", "float", "str", "bool", "complex", "bytes")),
    *(("copyreg", "_reconstructor"), ("copy_reg", "_reconstructor"), ("_codecs", "encode")),
    *(("pandas.arrays", "ArrowStringArray"), ("pandas.arrays", "StringArray")),
    *(("pyarrow.lib", name) for name in ("_restore_array", "chunked_array", "py_buffer", "type_for_alias")),
    *(("pandas", name) for name in ("DataFrame", "Index", "RangeIndex", "Series", "StringDtype")),
}

# Functions, where all else that a frame is made of are classes.
_MAKERS = ("_unpickle_block", "_new_Index", "new_block", "_new_DatetimeIndex", "_new_PeriodIndex")


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
        table, T_sensor_world = _read_frame(scans[at]), inverse(poses[at])
        columns = _make_columns(table, scans[at], T_sensor_world)
        labels = _read_labels(path / "annotations" / "semseg" / scans[at].name, len(table))
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
        meta={"format": "pandaset", "path": str(path)},
    )
    if lidar == 1:
        return bare
    motion = trajectory_from_rows(times, poses, str(path / "lidar" / "poses.json"))
    return infer_empty_beams(bare, empty_beams, Rig(motion=motion.extended(_REACH_S)))


def _read_poses(folder: Path, count: int) -> tuple[Array, Array]:
    """Times (n,) and ``T_world_sensor`` (n, 4, 4) of ``count`` sweeps."""
    records, times = read_json(folder / "poses.json"), read_json(folder / "timestamps.json")
    for name, rows in (("poses.json", records), ("timestamps.json", times)):
        if len(rows) != count:
            raise ResweepError(f"{folder / name}: {len(rows)} rows for {count} sweeps; they must pair up")
    position = [[row["position"][axis] for axis in "xyz"] for row in records]
    heading = [[row["heading"][axis] for axis in "wxyz"] for row in records]
    return np.asarray(times, np.float64), poses_from_quaternions(position, heading, str(folder / "poses.json"))


def _make_columns(table: Any, file: Path, T_sensor_world: Array) -> dict[str, Array]:
    missing = [name for name in ("x", "y", "z", "i", "t") if name not in table]
    if missing:
        raise SweepError(
            f"{file}: no field '{missing[0]}'; it has {', '.join(map(str, table.columns))}", FaultKind.OTHER_FIELDS
        )
    world = np.stack([table[axis].to_numpy(np.float64) for axis in "xyz"], axis=1)
    columns: dict[str, Array] = dict(zip("xyz", transform(T_sensor_world, world).T, strict=True))
    columns.update(intensity=table["i"].to_numpy(np.float32), time=table["t"].to_numpy(np.float64))
    if "d" in table:
        columns["d"] = table["d"].to_numpy(np.int64)
    return columns


def _read_labels(file: Path, count: int) -> Array | None:
    if not file.is_file():
        return None
    labels = _read_frame(file)["class"].to_numpy(np.int32)
    if len(labels) != count:
        raise SweepError(
            f"{file}: {len(labels)} labels for {count} points; it belongs to another sweep", FaultKind.OTHER_LABELS
        )
    return np.asarray(labels)


def _read_boxes(file: Path, T_sensor_world: Array, lidar: int, tracks: Tracks) -> Boxes | None:
    if not file.is_file():
        return None
    table = _read_frame(file)
    if "cuboids.sensor_id" in table:  # objects where both LiDARs see are drawn once for each
        table = table[np.isin(table["cuboids.sensor_id"].to_numpy(np.int64), (-1, lidar))]
    centre = np.stack([table[f"position.{axis}"].to_numpy(np.float64) for axis in "xyz"], axis=1)
    # x is the width and y the length; yaw 0 points along y (pandaset-devkit, Cuboids.data).
    size = np.stack([table[f"dimensions.{axis}"].to_numpy(np.float64) for axis in "yxz"], axis=1)
    yaw = table["yaw"].to_numpy(np.float64) + np.pi / 2
    track = np.array([tracks[str(name)] for name in table["uuid"]], np.int64)
    return boxes_from_yaws(T_sensor_world, centre, yaw, size, [str(name) for name in table["label"]], track)


def _read_frame(file: Path) -> Any:
    """The pandas frame in a pickle, made of nothing but pandas' and NumPy's own parts."""
    require("pandas", "reading PandaSet")
    base: Any = require("pandas.compat.pickle_compat", "reading PandaSet").Unpickler

    class Careful(base):  # type: ignore[misc]
        def find_class(self, module: str, name: str) -> Any:
            known = (module, name) in _ALLOWED
            # A dotted name would reach through a module into whatever that imports.
            if known or (module.startswith(_ALLOWED_MODULES) and "." not in name):
                if module.partition(".")[0] == "pyarrow":
                    require("pyarrow", "reading PandaSet")
                found = super().find_class(module, name)
                own = isinstance(found, type) and found.__module__.startswith("pandas.")
                if known or own or name in _MAKERS:
                    return found
            raise ResweepError(f"{file}: asks for {module}.{name}, which no point table needs; not unpickled")

    try:
        data = gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()
        table = Careful(io.BytesIO(data)).load()
    except ResweepError:
        raise
    except (OSError, EOFError, zlib.error, ValueError, ImportError, AttributeError, TypeError, LookupError) as error:
        raise SweepError(
            f"{file}: truncated or not a pickled pandas frame ({error}); fetch it again", FaultKind.TRUNCATED
        ) from error
    except Exception as error:  # pickle's own errors share no narrower base
        raise ResweepError(f"{file}: damaged ({error}); fetch it again") from error
    if not hasattr(table, "columns"):
        raise ResweepError(f"{file}: holds no pandas frame; fetch it again")
    return table


FORMAT = Format("pandaset", "PandaSet sequence", recognises=recognises, open_log=open_log)
