"""The topics of a bag that is being written, and the messages on them.

Frames follow REP 105: ``odom`` is the world of the log, ``base_link`` moves in it. The LiDAR (``lidar``) and the
inertial sensor (``imu``) sit at the origin of ``base_link``, since a log knows only where its LiDAR is.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from resweep.io.ros import livox
from resweep.io.ros.imu import InertialMotion
from resweep.io.ros.point_layouts import BagCloud, PackedPoints, to_nanoseconds
from resweep.optional import require
from resweep.pose import Array, Trajectory, rotation_of

MOTION = "/resweep/motion"
WORLD, BASE, LIDAR, IMU = "odom", "base_link", "lidar", "imu"
LIVOX_TOPIC = "/livox/lidar"  # that of the driver's launch files
_TYPES = {
    "/points": "sensor_msgs/msg/PointCloud2",
    "/imu": "sensor_msgs/msg/Imu",
    "/odom": "nav_msgs/msg/Odometry",
    "/tf": "tf2_msgs/msg/TFMessage",
    "/tf_static": "tf2_msgs/msg/TFMessage",
    MOTION: "nav_msgs/msg/Path",
}


class Topics:
    """The topics of a bag being written; times are seconds as stamped."""

    def __init__(self, writer: Any, with_motion: bool, with_livox: bool) -> None:
        typesys = require("rosbags.typesys", "writing ROS bags")
        self._store = typesys.get_typestore(typesys.Stores.ROS2_JAZZY)
        self._writer = writer
        self._types: dict[str, Any] = self._store.types
        topics = {name: kind for name, kind in _TYPES.items() if with_motion or name not in ("/imu", "/odom", "/tf")}
        if with_livox:
            for name, text in livox.DEFINITIONS.items():
                self._store.register(typesys.get_types_from_msg(text, name))
            topics[LIVOX_TOPIC] = livox.TYPE
        self._channels = {
            topic: (
                writer.add_connection(
                    topic,
                    kind,
                    typestore=self._store,
                    offered_qos_profiles=_make_latched() if topic == "/tf_static" else (),
                ),
                kind,
            )
            for topic, kind in topics.items()
        }

    def _make(self, kind: str, *values: Any) -> Any:
        return self._types[kind](*values)

    def _header(self, time: float, frame: str) -> Any:
        sec, nanosec = divmod(to_nanoseconds(time), 10**9)
        return self._make("std_msgs/msg/Header", self._make("builtin_interfaces/msg/Time", sec, nanosec), frame)

    def _send(self, topic: str, time: float, message: Any) -> None:
        self._write(topic, time, self._store.serialize_cdr(message, self._channels[topic][1]))

    def _write(self, topic: str, time: float, data: Any) -> None:
        self._writer.write(self._channels[topic][0], to_nanoseconds(time), data)

    def _vector(self, values: Array) -> Any:
        return self._make("geometry_msgs/msg/Vector3", *map(float, values))

    def _quaternion(self, rotation: Rotation) -> Any:
        return self._make("geometry_msgs/msg/Quaternion", *map(float, rotation.as_quat()))

    def _pose(self, pose: Array) -> Any:
        place = self._make("geometry_msgs/msg/Point", *map(float, pose[:3, 3]))
        return self._make("geometry_msgs/msg/Pose", place, self._quaternion(rotation_of(pose)))

    def _transform(self, time: float, parent: str, child: str, pose: Array) -> Any:
        turn = self._quaternion(rotation_of(pose))
        moved = self._make("geometry_msgs/msg/Transform", self._vector(pose[:3, 3]), turn)
        return self._make("geometry_msgs/msg/TransformStamped", self._header(time, parent), child, moved)

    def mounts(self, time: float) -> None:
        """Where the sensors sit on the base, on /tf_static."""
        fixed = [self._transform(time, BASE, sensor, np.eye(4)) for sensor in (LIDAR, IMU)]
        self._send("/tf_static", time, self._make("tf2_msgs/msg/TFMessage", fixed))

    def pose(self, time: float, pose: Array, motion: InertialMotion) -> None:
        """The base's pose at a time, on /odom and /tf; ``motion`` (of one row) gives the twist, in the base's frame."""
        twist = self._make(
            "geometry_msgs/msg/Twist", self._vector(motion.own_velocity[0]), self._vector(motion.turn_rate[0])
        )
        odometry = self._make(
            "nav_msgs/msg/Odometry",
            self._header(time, WORLD),
            BASE,
            self._make("geometry_msgs/msg/PoseWithCovariance", self._pose(pose), np.zeros(36)),
            self._make("geometry_msgs/msg/TwistWithCovariance", twist, np.zeros(36)),
        )
        self._send("/odom", time, odometry)
        moved = self._transform(time, WORLD, BASE, pose)
        self._send("/tf", time, self._make("tf2_msgs/msg/TFMessage", [moved]))

    def imu(self, times: Array, motion: InertialMotion) -> None:
        """What the inertial sensor measures at times (n,); covariances of zero mean unknown."""
        turn_rate, force = motion.turn_rate, motion.specific_force
        for at, time in enumerate(times.tolist()):
            message = self._make(
                "sensor_msgs/msg/Imu",
                self._header(time, IMU),
                self._quaternion(motion.rotation[at]),
                np.zeros(9),
                self._vector(turn_rate[at]),
                np.zeros(9),
                self._vector(force[at]),
                np.zeros(9),
            )
            self._send("/imu", time, message)

    def motion(self, time: float, trajectory: Trajectory) -> None:
        """The motion through the sweep of that time."""
        knots = [
            self._make("geometry_msgs/msg/PoseStamped", self._header(float(knot), WORLD), self._pose(pose))
            for knot, pose in zip(trajectory.times, trajectory.poses, strict=True)
        ]
        self._send(MOTION, time, self._make("nav_msgs/msg/Path", self._header(time, WORLD), knots))

    def cloud(self, time: float, packed: PackedPoints) -> None:
        """One sweep's points on /points."""
        fields, step, data = packed
        count = len(data) // step
        message = self._make(
            "sensor_msgs/msg/PointCloud2",
            self._header(time, LIDAR),
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

    def livox(self, time: float, cloud: BagCloud) -> None:
        """One sweep's points as Livox's own message."""
        self._write(LIVOX_TOPIC, time, livox.serialize(self._store, self._header(time, LIDAR), cloud))


def _make_latched() -> tuple[Any, ...]:
    """The quality of service of tf2's static broadcaster: late subscribers get the last message too."""
    given = require("rosbags.interfaces", "writing ROS bags")
    endless = given.QosTime(9223372036, 854775807)  # as ROS 2 records durations without end
    return (
        given.Qos(
            given.QosHistory.KEEP_LAST,
            1,
            given.QosReliability.RELIABLE,
            given.QosDurability.TRANSIENT_LOCAL,
            endless,
            endless,
            given.QosLiveliness.AUTOMATIC,
            endless,
            False,
        ),
    )
