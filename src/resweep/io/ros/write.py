"""Writing logs as ROS 2 bags: PointCloud2 on ``/points``, the motion on ``/odom`` and ``/tf``.

Points have x y z intensity ring ``timestamp`` (absolute seconds, as Hesai's driver has it), return_index, label
and instance. The motion through each sweep of raw points is on ``/resweep/motion`` as a Path of its stamp;
a sweep without is motion-compensated. Boxes and empty beams have no place.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from resweep.errors import ResweepError, nearest_names
from resweep.io.columns import check_finite, express_points
from resweep.io.ros.pointcloud2 import pack
from resweep.log import Log
from resweep.optional import require
from resweep.pose import Array, Trajectory, rotation_of
from resweep.sweep import Sweep

MOTION = "/resweep/motion"
STORAGES = ("mcap", "sqlite3")
_WORLD, _SENSOR = "odom", "lidar"
_VERSION = 9  # of the bag's metadata, that of ROS 2 Jazzy


def write_log(log: Log, sweeps: Iterable[Sweep], folder: Path, frame: str = "sensor", storage: str = "mcap") -> None:
    """Fill ``folder`` with a bag; ``storage`` is one of `STORAGES`."""
    if storage not in STORAGES:
        raise ResweepError(f"storage '{storage}': {nearest_names(storage, STORAGES)}")
    if frame == "world":
        raise ResweepError("a ROS bag keeps points in the sensor's frame; write frame='deskewed', or another format")
    rosbag2 = require("rosbags.rosbag2", "writing ROS bags")
    plugin = rosbag2.StoragePlugin[storage.upper()]
    # The library makes the folder itself, so the bag is made inside and moved up.
    bag = folder / "drive"
    with rosbag2.Writer(bag, version=_VERSION, storage_plugin=plugin) as writer:
        out = _Topics(writer)
        for at, sweep in enumerate(sweeps):
            time = float(log.times[at])
            out.pose(time, log.poses[at])
            if sweep.trajectory is not None and frame == "sensor":
                out.motion(time, sweep.trajectory)
            out.cloud(time, _make_columns(sweep, frame))
    for made in bag.iterdir():
        made.rename(folder / made.name)
    bag.rmdir()


def _make_columns(sweep: Sweep, frame: str) -> dict[str, Array]:
    points = express_points(sweep, frame)
    check_finite(points, "ROS bag")
    columns: dict[str, Array] = {axis: np.ascontiguousarray(points[:, at], np.float32) for at, axis in enumerate("xyz")}
    columns.update(intensity=sweep.intensity, ring=sweep.ring, timestamp=sweep.time)
    columns.update(return_index=sweep.return_index, label=sweep.label, instance=sweep.instance)
    return columns


def _to_nanoseconds(time: float) -> int:
    """Whole nanoseconds of a float's exact value, so that the float comes back from them."""
    return round(Fraction(time) * 10**9)


class _Topics:
    """The topics of a bag being written."""

    def __init__(self, writer: Any) -> None:
        typesys = require("rosbags.typesys", "writing ROS bags")
        self._store = typesys.get_typestore(typesys.Stores.ROS2_JAZZY)
        self._writer = writer
        self._types: dict[str, Any] = self._store.types
        self._channels = {
            topic: (writer.add_connection(topic, kind, typestore=self._store), kind)
            for topic, kind in (
                ("/points", "sensor_msgs/msg/PointCloud2"),
                ("/odom", "nav_msgs/msg/Odometry"),
                ("/tf", "tf2_msgs/msg/TFMessage"),
                (MOTION, "nav_msgs/msg/Path"),
            )
        }

    def _make(self, kind: str, *values: Any) -> Any:
        return self._types[kind](*values)

    def _header(self, time: float, frame: str) -> Any:
        sec, nanosec = divmod(_to_nanoseconds(time), 10**9)
        return self._make("std_msgs/msg/Header", self._make("builtin_interfaces/msg/Time", sec, nanosec), frame)

    def _send(self, topic: str, time: float, message: Any) -> None:
        channel, kind = self._channels[topic]
        self._writer.write(channel, _to_nanoseconds(time), self._store.serialize_cdr(message, kind))

    def pose(self, time: float, pose: Array) -> None:
        """The sensor's pose at a time, on /odom and /tf."""
        spot = self._pose(pose)
        stamped = self._header(time, _WORLD)
        nothing = self._make("geometry_msgs/msg/Vector3", 0.0, 0.0, 0.0)
        odometry = self._make(
            "nav_msgs/msg/Odometry",
            stamped,
            _SENSOR,
            self._make("geometry_msgs/msg/PoseWithCovariance", spot, np.zeros(36)),
            self._make(
                "geometry_msgs/msg/TwistWithCovariance",
                self._make("geometry_msgs/msg/Twist", nothing, nothing),
                np.zeros(36),
            ),
        )
        self._send("/odom", time, odometry)
        place = self._make("geometry_msgs/msg/Vector3", spot.position.x, spot.position.y, spot.position.z)
        moved = self._make("geometry_msgs/msg/Transform", place, spot.orientation)
        transform = self._make("geometry_msgs/msg/TransformStamped", stamped, _SENSOR, moved)
        self._send("/tf", time, self._make("tf2_msgs/msg/TFMessage", [transform]))

    def _pose(self, pose: Array) -> Any:
        place = self._make("geometry_msgs/msg/Point", *map(float, pose[:3, 3]))
        turn = rotation_of(pose).as_quat()
        return self._make(
            "geometry_msgs/msg/Pose", place, self._make("geometry_msgs/msg/Quaternion", *map(float, turn))
        )

    def motion(self, time: float, trajectory: Trajectory) -> None:
        """The motion through the sweep of that time."""
        knots = [
            self._make("geometry_msgs/msg/PoseStamped", self._header(float(knot), _WORLD), self._pose(pose))
            for knot, pose in zip(trajectory.times, trajectory.poses, strict=True)
        ]
        self._send(MOTION, time, self._make("nav_msgs/msg/Path", self._header(time, _WORLD), knots))

    def cloud(self, time: float, columns: dict[str, Array]) -> None:
        """One sweep's points on /points."""
        fields, step, data = pack(columns)
        count = len(data) // step
        message = self._make(
            "sensor_msgs/msg/PointCloud2",
            self._header(time, _SENSOR),
            1,
            count,
            [self._make("sensor_msgs/msg/PointField", name, offset, kind, 1) for name, offset, kind in fields],
            False,
            step,
            step * count,
            data,
            True,
        )
        self._send("/points", time, message)
