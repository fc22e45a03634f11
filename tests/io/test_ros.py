"""ROS bags of both generations: topics, poses from TF and odometry, and bags that we write."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from scipy.spatial.transform import Rotation

from resweep.errors import ResweepError
from resweep.io import open_log, write_log
from resweep.io.ros import bag_index
from resweep.log import Log
from resweep.pose import Array, Trajectory, from_xyz_rpy

rosbag1 = pytest.importorskip("rosbags.rosbag1")
rosbag2 = pytest.importorskip("rosbags.rosbag2")
typesys = pytest.importorskip("rosbags.typesys")
AnyReader = pytest.importorskip("rosbags.highlevel").AnyReader

START = 1_700_000_000
MOUNT = from_xyz_rpy(0.5, 0.0, 1.2, yaw=np.pi / 2)


class Recorder:
    """Writes a bag of either generation with the same calls."""

    def __init__(self, path: Path, ros2: bool, storage: str = "sqlite3", compressed: bool = False) -> None:
        self.ros2 = ros2
        store = typesys.Stores.ROS2_HUMBLE if ros2 else typesys.Stores.ROS1_NOETIC
        self.store = typesys.get_typestore(store)
        if ros2:
            plugin = rosbag2.StoragePlugin[storage.upper()]
            self.writer: Any = rosbag2.Writer(path, version=9, storage_plugin=plugin)
        else:
            self.writer = rosbag1.Writer(path)
            definition = "geometry_msgs/TransformStamped[] transforms"
            self.store.register(typesys.get_types_from_msg(definition, "tf2_msgs/msg/TFMessage"))
        if compressed:
            self.writer.set_compression(rosbag2.CompressionMode.MESSAGE, rosbag2.CompressionFormat.ZSTD)
        self.writer.open()
        self.channels: dict[str, Any] = {}

    def make(self, kind: str, *values: Any) -> Any:
        return self.store.types[kind](*values)

    def header(self, time: float, frame: str) -> Any:
        nanoseconds = round(time * 1e9)
        stamp = self.make("builtin_interfaces/msg/Time", *divmod(nanoseconds + START * 10**9, 10**9))
        return self.make("std_msgs/msg/Header", *(() if self.ros2 else (0,)), stamp, frame)

    def send(self, topic: str, time: float, message: Any, late: float = 0.02) -> None:
        kind = message.__msgtype__
        if topic not in self.channels:
            self.channels[topic] = self.writer.add_connection(topic, kind, typestore=self.store)
        to_bytes = self.store.serialize_cdr if self.ros2 else self.store.serialize_ros1
        moment = START * 10**9 + round((time + late) * 1e9)
        self.writer.write(self.channels[topic], moment, to_bytes(message, kind))

    def cloud(self, time: float, topic: str = "/points", frame: str = "lidar") -> None:
        points = np.zeros(3, [("x", "<f4"), ("y", "<f4"), ("z", "<f4"), ("t", "<u4"), ("ring", "<u2")])
        points["x"], points["y"], points["ring"] = [10, np.nan, 20], [0, 0, 1], [4, 5, 6]
        points["t"] = [0, 10**7, 5 * 10**7]
        fields = [
            self.make("sensor_msgs/msg/PointField", name, offset, code, 1)
            for name, offset, code in (("x", 0, 7), ("y", 4, 7), ("z", 8, 7), ("t", 12, 6), ("ring", 16, 4))
        ]
        data = np.frombuffer(points.tobytes(), np.uint8)
        head = self.header(time, frame)
        self.send(topic, time, self.make("sensor_msgs/msg/PointCloud2", head, 1, 3, fields, False, 18, 54, data, False))

    def _parts(self, pose: Array) -> tuple[list[float], Any]:
        turn = Rotation.from_matrix(pose[:3, :3]).as_quat()
        return [float(v) for v in pose[:3, 3]], self.make("geometry_msgs/msg/Quaternion", *map(float, turn))

    def transform(self, time: float, parent: str, child: str, pose: Array, topic: str = "/tf") -> None:
        place, turn = self._parts(pose)
        moved = self.make("geometry_msgs/msg/Transform", self.make("geometry_msgs/msg/Vector3", *place), turn)
        item = self.make("geometry_msgs/msg/TransformStamped", self.header(time, parent), child, moved)
        self.send(topic, time, self.make("tf2_msgs/msg/TFMessage", [item]))

    def odometry(self, time: float, pose: Array, topic: str = "/odom", child: str = "base_link") -> None:
        place, turn = self._parts(pose)
        spot = self.make("geometry_msgs/msg/Pose", self.make("geometry_msgs/msg/Point", *place), turn)
        zero = self.make("geometry_msgs/msg/Vector3", 0.0, 0.0, 0.0)
        twist = self.make("geometry_msgs/msg/Twist", zero, zero)
        message = self.make(
            "nav_msgs/msg/Odometry",
            self.header(time, "odom"),
            child,
            self.make("geometry_msgs/msg/PoseWithCovariance", spot, np.zeros(36)),
            self.make("geometry_msgs/msg/TwistWithCovariance", twist, np.zeros(36)),
        )
        self.send(topic, time, message)

    def close(self) -> None:
        self.writer.close()


def base(time: float) -> Array:
    """The robot drives along x at 4 m/s."""
    return from_xyz_rpy(4 * time)


def path_of(folder: Path, ros2: bool) -> Path:
    return folder / ("drive" if ros2 else "drive.bag")


KINDS = [(False, ""), (True, "sqlite3"), (True, "mcap")]


@pytest.mark.parametrize(("ros2", "storage"), KINDS)
@pytest.mark.parametrize("source", ["tf", "odometry"])
def test_poses(ros2: bool, storage: str, source: str, tmp_path: Path) -> None:
    path = path_of(tmp_path, ros2)
    bag = Recorder(path, ros2, storage)
    bag.transform(0.0, "base_link", "lidar", MOUNT, "/tf_static")
    for step in range(21):
        if source == "tf":
            bag.transform(step * 0.05, "odom", "base_link", base(step * 0.05))
            bag.transform(step * 0.05, "map", "odom", from_xyz_rpy(100.0))
        else:
            bag.odometry(step * 0.05, base(step * 0.05))
    for step in range(9):
        bag.cloud(0.02 + step * 0.1)
    bag.close()
    log = open_log(path)
    assert (log.meta["format"], len(log), log.meta["topic"]) == ("ros2" if ros2 else "ros1", 9, "/points")
    # Header stamps count, not the times of recording 20 ms later.
    np.testing.assert_allclose(log.times - START, 0.02 + np.arange(9) * 0.1, atol=1e-6)
    shift = 100.0 if source == "tf" else 0.0
    for at in (0, 5):
        expected = from_xyz_rpy(shift) @ base(0.02 + 0.1 * at) @ MOUNT
        np.testing.assert_allclose(log.poses[at], expected, atol=1e-5)
    sweep = log[3]
    np.testing.assert_array_equal(sweep.ring, [4, 6])  # the NaN point is a beam without return
    np.testing.assert_allclose(sweep.time - sweep.timestamp, [0, 0.05], atol=1e-6)
    # Between its points the LiDAR moved 0.2 m along the robot's x, which is its own -y.
    np.testing.assert_allclose(sweep.deskewed() - sweep.points, [[0, 0, 0], [0, -0.2, 0]], atol=1e-4)
    still = open_log(path, compensated=True)[3]
    np.testing.assert_array_equal(still.deskewed(), still.points)
    if storage == "mcap":
        assert len(open_log(next(path.glob("*.mcap")))) == 9  # one stored file alone


@pytest.mark.parametrize(("ros2", "storage"), KINDS)
def test_the_index_leads_to_the_same_messages(
    ros2: bool, storage: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = path_of(tmp_path, ros2)
    bag = Recorder(path, ros2, storage)
    for step in range(30):
        bag.odometry(step * 0.1, base(step * 0.1), child="lidar")
        bag.cloud(step * 0.1)
    bag.close()
    file = next(path.glob(f"*.{'db3' if storage == 'sqlite3' else 'mcap'}")) if ros2 else path
    heads = bag_index.read_messages([file], "/points", 12)
    whole = bag_index.read_messages([file], "/points", None)
    assert heads is not None
    assert whole is not None
    assert [(moment, raw[:12]) for moment, raw in whole] == heads
    with AnyReader([path], default_typestore=bag.store) as reader:
        clouds = [c for c in reader.connections if c.topic == "/points"]
        assert [(moment, bytes(raw)) for _, moment, raw in reader.messages(connections=clouds)] == whole
    fast = open_log(path)
    monkeypatch.setattr(bag_index, "read_messages", lambda *arguments: None)  # as in a compressed bag
    slow = open_log(path)
    np.testing.assert_array_equal(fast.times, slow.times)
    np.testing.assert_array_equal(fast.poses, slow.poses)


def test_compressed_bags(tmp_path: Path) -> None:
    bag = Recorder(tmp_path / "drive", ros2=True, compressed=True)
    for step in range(3):
        bag.cloud(step * 0.1)
    bag.close()
    assert len(open_log(tmp_path / "drive")[2]) == 2


def test_topics_must_be_clear(tmp_path: Path) -> None:
    bag = Recorder(tmp_path / "drive.bag", ros2=False)
    for step in range(3):
        bag.cloud(step * 0.1, "/front/points", "front")
        bag.cloud(step * 0.1, "/rear/points", "rear")
        bag.odometry(step * 0.1, base(step * 0.1), "/odom", "front")
        bag.odometry(step * 0.1, base(step * 0.1), "/odom/raw", "front")
    bag.close()
    with pytest.raises(ResweepError, match=r"several topics \(/front/points, /rear/points\); choose with topic="):
        open_log(tmp_path / "drive.bag")
    with pytest.raises(ResweepError, match=r"no point clouds on '/frnt/points'; did you mean '/front/points'"):
        open_log(tmp_path / "drive.bag", topic="/frnt/points")
    with pytest.raises(ResweepError, match=r"\(/odom, /odom/raw\); choose with pose_topic="):
        open_log(tmp_path / "drive.bag", topic="/front/points")
    log = open_log(tmp_path / "drive.bag", topic="/front/points", pose_topic="/odom/raw")
    np.testing.assert_allclose(log.poses[:, 0, 3], [0, 0.4, 0.8], atol=1e-6)
    assert "extrinsic" not in log.meta
    rear = open_log(tmp_path / "drive.bag", topic="/rear/points", pose_topic="/odom")
    assert rear.meta["extrinsic"] == "assumed identity"


def test_clouds_without_poses(tmp_path: Path) -> None:
    bag = Recorder(tmp_path / "drive", ros2=True)
    bag.cloud(0.0)
    bag.cloud(0.1)
    bag.close()
    log = open_log(tmp_path / "drive")
    assert not log.poses_known
    assert log[1].trajectory is None


def test_clouds_outside_the_poses_are_counted(tmp_path: Path) -> None:
    bag = Recorder(tmp_path / "drive", ros2=True)
    for step in range(10):
        bag.cloud(step * 0.1)
        if step > 4:
            bag.odometry(step * 0.1, base(step * 0.1), child="lidar")
    bag.close()
    with pytest.warns(UserWarning, match="3 of 10 clouds lie outside the poses"):
        log = open_log(tmp_path / "drive")
    assert (len(log), log.meta["unplaced"]) == (7, 3)
    np.testing.assert_allclose(log.poses[0, 0, 3], 1.2, atol=1e-5)
    assert log[0].timestamp == log.times[0]


def test_damaged_bags_are_named(tmp_path: Path) -> None:
    bag = Recorder(tmp_path / "drive.bag", ros2=False)
    bag.cloud(0.0)
    bag.close()
    whole = (tmp_path / "drive.bag").read_bytes()
    (tmp_path / "drive.bag").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ResweepError, match=r"drive\.bag: truncated or not a ROS bag"):
        open_log(tmp_path / "drive.bag")


def test_frames_that_go_round(tmp_path: Path) -> None:
    bag = Recorder(tmp_path / "drive", ros2=True)
    bag.cloud(0.0)
    for step in range(2):
        bag.transform(step * 0.1, "a", "lidar", base(step))
        bag.transform(step * 0.1, "lidar", "a", base(step))
    bag.close()
    with pytest.raises(ResweepError, match="lidar > a > lidar go round in a circle"):
        open_log(tmp_path / "drive")


@pytest.mark.parametrize("storage", ["mcap", "sqlite3"])
def test_written_bags(storage: str, log: Log, tmp_path: Path) -> None:
    write_log(log, tmp_path / "out", format="ros2", storage=storage, progress=False)
    information = yaml.safe_load((tmp_path / "out/metadata.yaml").read_text())["rosbag2_bagfile_information"]
    assert information["storage_identifier"] == storage
    for name in information["relative_file_paths"]:
        assert (tmp_path / "out" / name).is_file()
    counts = {
        each["topic_metadata"]["name"]: (each["topic_metadata"]["type"], each["message_count"])
        for each in information["topics_with_message_count"]
    }
    assert counts["/points"] == ("sensor_msgs/msg/PointCloud2", 3)
    assert counts["/odom"] == ("nav_msgs/msg/Odometry", 3)
    assert counts["/tf"] == ("tf2_msgs/msg/TFMessage", 3)
    assert information["message_count"] == sum(count for _, count in counts.values())
    back = open_log(tmp_path / "out")
    for at, sweep in enumerate(back):
        for column in ("ring", "label", "instance", "return_index", "intensity", "time"):
            np.testing.assert_array_equal(getattr(sweep, column), getattr(log[at], column), err_msg=column)
        np.testing.assert_allclose(sweep.points, log[at].points, atol=1e-5)
        np.testing.assert_allclose(sweep.deskewed(), log[at].deskewed(), atol=1e-5)


def test_standing_sweeps_stay_as_they_are(log: Log, tmp_path: Path) -> None:
    """Points with times, but without motion, must not be moved when they are read again."""
    poses = np.stack([from_xyz_rpy(5 * at, yaw=at) for at in range(3)])
    stationary = [replace(log[at], trajectory=None, pose=poses[at]) for at in range(3)]
    write_log(Log.from_sweeps(stationary), tmp_path / "a", format="ros2", progress=False)
    mixed = [replace(log[0], pose=poses[0], trajectory=Trajectory(log[0].trajectory.times, poses)), *stationary[1:]]  # type: ignore[union-attr]
    write_log(Log.from_sweeps(mixed), tmp_path / "b", format="ros2", progress=False)
    for name, sweeps in (("a", stationary), ("b", mixed)):
        for sweep, made in zip(open_log(tmp_path / name), sweeps, strict=True):
            assert (sweep.trajectory is None) == (made.trajectory is None)
            np.testing.assert_allclose(sweep.world_points(), made.world_points(), atol=1e-4)


def test_refused(log: Log, tmp_path: Path) -> None:
    with pytest.raises(ResweepError, match="storage 'mcab': did you mean 'mcap'"):
        write_log(log, tmp_path / "out", format="ros2", storage="mcab", progress=False)
    with pytest.raises(ResweepError, match="keeps points in the sensor's frame"):
        write_log(log, tmp_path / "out", format="ros2", frame="world", progress=False)
    with pytest.raises(ResweepError, match="format 'ros1' can only be read"):
        write_log(log, tmp_path / "out", format="ros1", progress=False)


def test_missing_package_is_named(log: Log, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import importlib

    real = importlib.import_module

    def without(name: str, package: str | None = None) -> Any:
        if name.startswith("rosbags"):
            raise ImportError("No module named 'rosbags'")
        return real(name, package)

    monkeypatch.setattr(importlib, "import_module", without)
    with pytest.raises(ResweepError, match=r"needs the package 'rosbags'.*pip install 'resweep\[logs\]'"):
        write_log(log, tmp_path / "out", format="ros2", progress=False)
