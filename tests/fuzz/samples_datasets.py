"""Samples of datasets and bags: those that the readers' own tests make, and some of their own."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from resweep.io import write_log
from tests.fuzz.reader import Reader, read_log
from tests.fuzz.samples_sweeps import make_log


def _test(module: str) -> Any:
    return importlib.import_module(f"tests.io.test_{module}")


def _make_kitti_raw(folder: Path) -> Path:
    module = _test("kitti_raw")
    drive: Path = module.make_drive(folder)
    (drive / "tracklet_labels.xml").write_text(module.TRACKLETS)
    return drive


def _make_nuscenes(folder: Path) -> Path:
    root: Path = _test("nuscenes").make_dataset(folder / "nuscenes")
    labels = np.arange(4, dtype=np.uint16) * 1000
    (root / "panoptic/v1.0-mini").mkdir(parents=True)
    np.savez_compressed(root / "panoptic/v1.0-mini/d2_panoptic.npz", data=labels)
    name = '[{"token": "d2", "sample_data_token": "d2", "filename": "panoptic/v1.0-mini/d2_panoptic.npz"}]'
    (root / "v1.0-mini/panoptic.json").write_text(name)
    return root


def _read_nuscenes(path: Path) -> None:
    read_log(path, scene="scene-0061")


def _read_kitti_tracking(path: Path) -> None:
    read_log(path, sequence="0002")


def _make_argoverse2(folder: Path) -> Path:
    import pyarrow as pa
    from pyarrow import feather

    log = folder / "log"
    for name in ("sensors/lidar", "calibration"):
        (log / name).mkdir(parents=True)
    stamps = [315966265259836000, 315966265359836000]
    pose = {"qw": [1.0, 1.0], "qx": [0.0] * 2, "qy": [0.0] * 2, "qz": [0.0] * 2}
    place = {"tx_m": [1.0, 2.0], "ty_m": [0.0] * 2, "tz_m": [0.0] * 2}
    feather.write_feather(pa.table({"timestamp_ns": stamps, **pose, **place}), log / "city_SE3_egovehicle.feather")
    mounts = pa.table({"sensor_name": ["up_lidar", "down_lidar"], **pose, **place})
    feather.write_feather(mounts, log / "calibration/egovehicle_SE3_sensor.feather")
    size = {"length_m": [4.0, 5.0], "width_m": [2.0] * 2, "height_m": [1.5] * 2}
    boxes = {"timestamp_ns": stamps, "track_uuid": ["a", "b"], "category": ["BUS", "DOG"], **size, **pose, **place}
    feather.write_feather(pa.table(boxes), log / "annotations.feather")
    points = make_log()[0].points[::8]
    for stamp in stamps:
        table = {name: column.astype(np.float16) for name, column in zip("xyz", points.T, strict=True)}
        table["intensity"] = np.arange(len(points)).astype(np.uint8)
        table["laser_number"] = (np.arange(len(points)) % 64).astype(np.uint8)
        table["offset_ns"] = np.linspace(0, 10**8, len(points)).astype(np.int32)
        feather.write_feather(pa.table(table), log / f"sensors/lidar/{stamp}.feather")
    return log


def _record(ros2: bool, storage: str = "", compression: str = "") -> Callable[[Path], Path]:
    """A bag of clouds, odometry and transforms; ``compression`` of ROS 1's chunks or of ROS 2's messages."""

    def make(folder: Path) -> Path:
        module = _test("ros")
        path: Path = module.path_of(folder, ros2)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            bag = module.Recorder(path, ros2, storage, bool(compression) and ros2)
        if compression and not ros2:
            bag.writer.close()
            path.unlink()
            bag = _compressed_bag(module, path, compression)
        bag.transform(0.0, "base_link", "lidar", module.MOUNT, "/tf_static")
        for step in range(6):
            bag.transform(step * 0.1, "odom", "base_link", module.base(step * 0.1))
        for step in range(3):
            bag.cloud(0.02 + step * 0.1)
        bag.close()
        return path

    return make


def _compressed_bag(module: Any, path: Path, compression: str) -> Any:
    class Compressed(module.Recorder):  # type: ignore[misc]
        def __init__(self) -> None:
            self.ros2 = False
            self.store = module.typesys.get_typestore(module.typesys.Stores.ROS1_NOETIC)
            definition = "geometry_msgs/TransformStamped[] transforms"
            self.store.register(module.typesys.get_types_from_msg(definition, "tf2_msgs/msg/TFMessage"))
            self.writer = module.rosbag1.Writer(path)
            self.writer.set_compression(module.rosbag1.Writer.CompressionFormat[compression])
            self.writer.open()
            self.channels: dict[str, Any] = {}

    return Compressed()


def _make_ros2(folder: Path) -> Path:
    write_log(make_log(), folder / "bag", format="ros2", progress=False)
    return folder / "bag"


def _make_nuscenes_written(folder: Path) -> Path:
    write_log(make_log(), folder / "log", format="nuscenes", progress=False)
    return folder / "log"


READERS = [
    Reader("kitti-object", lambda folder: _test("kitti_object").make_training(folder), read_log),
    Reader("kitti-tracking", lambda folder: _test("kitti_tracking").make_training(folder), _read_kitti_tracking),
    Reader("kitti-360", lambda folder: _test("kitti360").make_dataset(folder / "root")[0], read_log),
    Reader("kitti-raw", _make_kitti_raw, read_log, 0.5),
    Reader("nuscenes", _make_nuscenes, _read_nuscenes),
    Reader("nuscenes-written", _make_nuscenes_written, read_log, 0.5),
    Reader("argoverse1", lambda folder: _test("argoverse").make_argoverse1(folder / "log"), read_log),
    Reader("argoverse2", _make_argoverse2, read_log, 0.5),
    Reader("pandaset", lambda folder: _test("pandaset").make_sequence(folder / "001"), read_log),
    Reader("ros1", _record(False), read_log, 0.5),
    *(Reader(f"ros1-{kind.lower()}", _record(False, compression=kind), read_log, 0.3) for kind in ("BZ2", "LZ4")),
    Reader("ros2-sqlite", _record(True, "sqlite3"), read_log, 0.5),
    Reader("ros2-mcap", _record(True, "mcap"), read_log, 0.5),
    Reader("ros2-zstd", _record(True, "sqlite3", "zstd"), read_log, 0.3),
    Reader("ros2-written", _make_ros2, read_log, 0.3),
]
