"""The motion of a cloud's frame from a bag: the TF tree, or odometry and pose topics with it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from resweep import portable
from resweep.errors import InputError, ResweepError
from resweep.io.rigid import pose_from_quaternion, trajectory_from_rows
from resweep.pose import Array, Trajectory, inverse

TF_TYPES = ("tf2_msgs/msg/TFMessage", "tf/msg/tfMessage", "tf2_msgs/TFMessage", "tf/tfMessage")
POSE_TYPES = (
    "nav_msgs/msg/Odometry",
    "geometry_msgs/msg/PoseStamped",
    "geometry_msgs/msg/PoseWithCovarianceStamped",
)
_STATIC = 1e-9
_BASES = ("base_link", "base_footprint", "base")


def to_seconds(stamp: Any) -> float:
    """Seconds of a ROS time."""
    return int(int(stamp.sec) * 10**9 + int(stamp.nanosec)) / 10**9


def pose_from_message(pose: Any, where: str) -> Array:
    """A 4x4 from a message's position and orientation, or translation and rotation."""
    place = getattr(pose, "position", None)
    turn = getattr(pose, "orientation", None)
    place = pose.translation if place is None else place
    turn = pose.rotation if turn is None else turn
    return pose_from_quaternion([place.x, place.y, place.z], [turn.w, turn.x, turn.y, turn.z], where)


@dataclass
class Frames:
    """A tree of frames: each child with its parent and ``T_parent_child``, fixed or over time."""

    fixed: dict[str, tuple[str, Array]] = field(default_factory=dict)
    moving: dict[str, tuple[str, Trajectory]] = field(default_factory=dict)

    @classmethod
    def read(cls, messages: Iterable[Any], where: str) -> Frames:
        """The tree of TF messages, static and not; an edge that never moves is fixed."""
        edges: dict[tuple[str, str], list[tuple[float, Array]]] = {}
        for message in messages:
            for item in message.transforms:
                names = (_strip(item.header.frame_id), _strip(item.child_frame_id))
                at = f"{where}, {names[0]} to {names[1]}"
                edges.setdefault(names, []).append(
                    (to_seconds(item.header.stamp), pose_from_message(item.transform, at))
                )
        tree = cls()
        for (parent, child), rows in edges.items():
            poses = np.stack([pose for _, pose in rows])
            if np.abs(poses - poses[0]).max() < _STATIC:
                tree.fixed[child] = (parent, poses[0])
            else:
                times = np.array([time for time, _ in rows])
                tree.moving[child] = (parent, trajectory_from_rows(times, poses, f"{where}, {parent} to {child}"))
        return tree

    def list_ancestors(self, frame: str, fixed_only: bool = False) -> list[str]:
        """``frame`` and its ancestors, up to the root, or up to the first edge that moves."""
        line = [frame]
        while True:
            here = line[-1]
            if here in self.moving and not fixed_only:
                parent = self.moving[here][0]
            elif here in self.fixed and here not in self.moving:
                parent = self.fixed[here][0]
            else:
                return line
            if parent in line:
                raise ResweepError(f"TF: frames {' > '.join([*line, parent])} go round in a circle")
            line.append(parent)

    def rigid(self, target: str, source: str) -> Array | None:
        """``T_target_source`` where the two are fixed to each other, else None."""
        up_target, up_source = self.list_ancestors(target, True), self.list_ancestors(source, True)
        common = next((frame for frame in up_source if frame in up_target), None)
        if common is None:
            return None
        return portable.matmul(inverse(self._down(up_target, common)), self._down(up_source, common))

    def _down(self, line: list[str], ancestor: str) -> Array:
        pose = np.eye(4)
        for frame in line[: line.index(ancestor)]:
            pose = portable.matmul(self.fixed[frame][1], pose)
        return pose

    def motion(self, frame: str, world: str | None) -> Trajectory | None:
        """``T_world_frame`` over time up to ``world`` or the root, or None where nothing on the way moves."""
        line = self.list_ancestors(frame)
        if world is not None:
            if world not in line:
                raise ResweepError(f"TF: no frame '{world}' above '{frame}' (only {', '.join(line[1:]) or 'none'})")
            line = line[: line.index(world) + 1]
        edges = [self.moving[name][1] for name in line[:-1] if name in self.moving]
        if not edges:
            return None
        first, last = max(edge.start for edge in edges), min(edge.end for edge in edges)
        times = np.unique(np.concatenate([edge.times for edge in edges]))
        times = times[(times >= first) & (times <= last)]
        if not len(times):
            raise ResweepError(f"TF: the transforms between {', '.join(line)} share no time")
        poses = np.tile(np.eye(4), (len(times), 1, 1))
        for name in line[:-1]:
            step = self.moving[name][1].at(times) if name in self.moving else self.fixed[name][1]
            poses = portable.matmul(step, poses)
        return Trajectory(times, poses)


def _strip(name: str) -> str:
    return str(name).lstrip("/")  # early TF wrote /base_link


def read_topic_motion(messages: Iterable[Any], frames: Frames, cloud: str, where: str) -> tuple[Trajectory, bool]:
    """``T_world_cloud`` from odometry or pose messages; whether the way to the cloud's frame is known."""
    times, poses, child = [], [], ""
    for message in messages:
        child = _strip(getattr(message, "child_frame_id", "")) or child
        pose = message.pose.pose if hasattr(message.pose, "pose") else message.pose
        times.append(to_seconds(message.header.stamp))
        poses.append(pose_from_message(pose, f"{where}, message {len(times) - 1}"))
    if not times:
        raise InputError(f"{where}: no message, so no pose; choose another with pose_topic=")
    motion = trajectory_from_rows(np.array(times), np.stack(poses), where)
    for base in [child] if child else _BASES:
        mount = frames.rigid(base, cloud)
        if mount is not None:
            return motion.offset(mount), True
    return motion, False
