"""ROS 1 bags and ROS 2 bags (SQLite and MCAP): a topic of PointCloud2 as a log.

Poses come from TF, up to the topmost frame above the cloud's, else from the one odometry or pose topic. Clouds
with point times get the motion through them; ``compensated=True`` marks them as deskewed before.
Opening reads the clouds' stamps and the poses, by the bag's index where it is not compressed, else by going
through it once; points are decoded only when a sweep is asked for. Needs the package ``rosbags``.
"""

from __future__ import annotations

import os
import struct
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from resweep.config import parse_yaml, read_text
from resweep.errors import FaultKind, InputError, ResweepError, SweepError, nearest_names
from resweep.files.untrusted import open_regular
from resweep.io.datasets.json_files import is_inside
from resweep.io.empty_beams import LidarRig, infer_empty_beams
from resweep.io.format import Format
from resweep.io.points.columns import has_label_field, sweep_from_columns
from resweep.io.rigid import trajectory_from_rows
from resweep.io.ros import bag_index
from resweep.io.ros.bag_writer import write_log
from resweep.io.ros.bounded_files import BoundedPath, bound_decompression
from resweep.io.ros.frames import POSE_TYPES, TF_TYPES, Frames, pose_from_message, read_topic_motion, to_seconds
from resweep.io.ros.notes import undo_writing
from resweep.io.ros.packets import explain_packets
from resweep.io.ros.pointcloud2 import to_columns
from resweep.io.ros.topics import MOTION
from resweep.labels import NO_LABELS, UNKNOWN_LABELS
from resweep.log import Log
from resweep.optional import require
from resweep.pose import Array, Trajectory
from resweep.sweep import Sweep

CLOUD = "sensor_msgs/msg/PointCloud2"
_INFORMATION = "rosbag2_bagfile_information"
_STORED = (".mcap", ".db3")
_HEAD_BYTES = 12  # what a stamp takes: sequence number or encapsulation, seconds, nanoseconds
_ROUNDING_S = 1e-6  # nanoseconds in a float64 are off by a quarter of it
_REACH_S = 0.25  # clouds this far out of the poses are placed by the velocity there


def recognises_bag(path: Path) -> bool:
    """Whether ``path`` is a ROS 1 bag, or a folder of the parts of one."""
    if path.is_dir():
        return any(path.glob("*.bag"))
    return path.suffix.lower() == ".bag"


def recognises_bag2(path: Path) -> bool:
    """Whether ``path`` is the folder of a ROS 2 bag, or one stored file of it."""
    if path.is_dir():
        file = path / "metadata.yaml"
        return file.is_file() and _INFORMATION.encode() in _read_start(file)
    return path.suffix.lower() in _STORED


def _read_start(file: Path) -> bytes:
    with open_regular(file) as stream:
        return stream.read(1000)


def open_log(
    path: Path,
    rate_hz: float | None = None,
    drop_nan: bool = True,
    topic: str | None = None,
    pose_topic: str | None = None,
    world: str | None = None,
    compensated: bool = False,
    empty_beams: bool = True,
) -> Log:
    """The clouds of ``topic`` in a bag; it and ``pose_topic`` may be left out where there is but one.

    ``world`` names the TF frame to take as the world. Clouds taken before or after all poses are left out with
    a warning, and counted in ``meta["unplaced"]``. Times are recorded, so ``rate_hz`` is not used.
    """
    del rate_hz
    bag = _Bag(path)
    cloud = bag.choose(topic, (CLOUD,), "topic", "point clouds")
    index, times = bag.index(cloud)
    first = bag.cloud(cloud, index[0])
    motion, origin = _find_motion(bag, first.header.frame_id.lstrip("/"), pose_topic, world)
    keep, poses = _find_covered(path, times, motion)
    recorded = bag.motions()
    chosen = np.flatnonzero(keep)

    def load(at: int) -> Sweep:
        which = int(chosen[at])
        where = f"{path}, {cloud} message {which}"
        stamp = float(times[which])
        columns = to_columns(bag.cloud(cloud, index[which]), stamp, where)
        sweep = replace(sweep_from_columns(columns, where, drop_nan=drop_nan), pose=poses[at], timestamp=stamp)
        if "time" not in columns:
            sweep = replace(sweep, beam_time=np.full(sweep.n_beams, stamp))
        if recorded is not None:  # the writer of this bag knew the motion through each sweep
            return _add_recorded_motion(sweep, recorded(stamp))
        if motion is None or compensated or not sweep.n_beams:
            return sweep
        return replace(sweep, trajectory=_cut_motion(sweep.beam_time, motion))

    bare = Log(
        load,
        times[keep],
        poses,
        path.stem,
        labels=UNKNOWN_LABELS if has_label_field(field.name for field in first.fields) else NO_LABELS,
        poses_known=motion is not None,
        meta={"format": bag.format, "path": str(path), "topic": cloud, "unplaced": int((~keep).sum()), **origin},
    )
    return undo_writing(infer_empty_beams(bare, empty_beams, LidarRig(motion=motion if compensated else None)), path)


def _find_covered(path: Path, times: Array, motion: Trajectory | None) -> tuple[Array, Array]:
    """Which clouds lie within the poses, and their poses; identity for all where there is no motion."""
    if motion is None:
        return np.ones(len(times), bool), np.tile(np.eye(4), (len(times), 1, 1))
    keep = (times >= motion.start) & (times <= motion.end)
    if not keep.any():
        raise InputError(
            f"{path}: poses cover {motion.start:.3f} to {motion.end:.3f} s, clouds {times[0]:.3f} to "
            f"{times[-1]:.3f} s; choose another pose_topic="
        )
    left = int((~keep).sum())
    if left:
        warnings.warn(f"{path}: {left} of {len(keep)} clouds lie outside the poses and are left out", stacklevel=2)
    return keep, motion.at(times[keep])


def _add_recorded_motion(sweep: Sweep, motion: Trajectory | None) -> Sweep:
    """The sweep with the motion through it; times that a driver's units round to just outside are put inside."""
    if motion is None or not sweep.n_beams:
        return replace(sweep, trajectory=motion)
    first, last = float(sweep.beam_time.min()), float(sweep.beam_time.max())
    if motion.covers(first, last, _ROUNDING_S) and not motion.covers(first, last, 0.0):
        sweep = replace(sweep, beam_time=np.clip(sweep.beam_time, motion.start, motion.end))
    return replace(sweep, trajectory=motion)


def _cut_motion(times: Array, motion: Trajectory) -> Trajectory | None:
    """The motion through the points' times, or None where all points have one time."""
    first, last = float(times.min()), float(times.max())
    if first == last:
        return None
    reach = max(motion.start - first, last - motion.end, 0.0)
    return (motion.extended(reach + _REACH_S) if reach > 0 else motion).window(first, last)


def _find_motion(
    bag: _Bag, frame: str, pose_topic: str | None, world: str | None
) -> tuple[Trajectory | None, dict[str, Any]]:
    """``T_world_cloud`` over time, a little beyond its ends, and what the log notes about it."""
    frames = Frames.read(bag.every(bag.topics(TF_TYPES)), f"{bag.path}, TF")
    motion = None if pose_topic is not None else frames.motion(frame, world)
    if motion is not None:
        return motion.extended(_REACH_S), {"poses": "TF"}
    topics = bag.topics(POSE_TYPES)
    if pose_topic is None and not topics:
        return None, {"poses": "unknown"}
    source = bag.choose(pose_topic, POSE_TYPES, "pose_topic", "poses")
    motion, known = read_topic_motion(bag.every([source]), frames, frame, f"{bag.path}, {source}")
    return motion.extended(_REACH_S), {"poses": source, **({} if known else {"extrinsic": "assumed identity"})}


class _Bag:
    """An open bag: its topics, and its messages by time and rank."""

    def __init__(self, path: Path) -> None:
        highlevel = require("rosbags.highlevel", "reading ROS bags")
        typesys = require("rosbags.typesys", "reading ROS bags")
        self.path = path
        path = Path(os.fspath(path))  # of an object store a local copy: the library takes files by name
        paths = sorted(path.glob("*.bag")) if path.is_dir() and recognises_bag(path) else [path]
        self.is2 = paths[0].suffix.lower() != ".bag"
        self.format = "ros2" if self.is2 else "ros1"
        self._files = _list_files(path) if self.is2 else paths
        store = typesys.Stores.ROS2_HUMBLE if self.is2 else typesys.Stores.ROS1_NOETIC
        with self._errors():
            bound_decompression()
            bounded = [BoundedPath(item) for item in paths]
            self._reader = highlevel.AnyReader(bounded, default_typestore=typesys.get_typestore(store))
            self._reader.open()

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except ResweepError:
            raise
        except Exception as error:  # the library's errors share no base
            raise SweepError(
                f"{self.path}: truncated or not a ROS bag ({error}); fetch or reindex it", FaultKind.TRUNCATED
            ) from error

    def topics(self, types: Iterable[str]) -> list[str]:
        """The topics that have messages of these types, in order."""
        return sorted({c.topic for c in self._reader.connections if c.msgtype in set(types) and c.msgcount})

    def choose(self, given: str | None, types: tuple[str, ...], option: str, what: str) -> str:
        """The topic that is meant: the given one, or the only one with messages of these types."""
        known = self.topics(types)
        if given is not None and given not in known:
            raise InputError(f"{self.path}: no {what} on '{given}'; {nearest_names(given, known)}")
        if given is not None or len(known) == 1:
            return given or known[0]
        if not known:
            every = ", ".join(sorted({f"{c.topic} ({c.msgtype})" for c in self._reader.connections})) or "nothing"
            advice = explain_packets([c.msgtype for c in self._reader.connections])
            raise InputError(f"{self.path}: no topic with {what}; it holds {every}{advice}")
        raise InputError(f"{self.path}: {what} on several topics ({', '.join(known)}); choose with {option}=")

    def _connections(self, topics: Iterable[str]) -> list[Any]:
        return [c for c in self._reader.connections if c.topic in set(topics)]

    def every(self, topics: list[str]) -> Iterator[Any]:
        """All messages of some topics, decoded."""
        if not topics:
            return
        indexed = [(topic, bag_index.read_messages(self._files, topic, None)) for topic in topics]
        if all(found is not None for _, found in indexed):
            for topic, found in indexed:
                (kind, *_) = {c.msgtype for c in self._connections([topic])}
                for _, raw in found or ():
                    with self._errors():
                        message = self._reader.deserialize(raw, kind)
                    yield message
            return
        with self._errors():
            for connection, _, raw in self._reader.messages(connections=self._connections(topics)):
                yield self._reader.deserialize(raw, connection.msgtype)

    def index(self, topic: str) -> tuple[list[tuple[int, int]], Array]:
        """Each message's time of recording in ns and rank among its equals, and the header stamps in seconds."""
        places: list[tuple[int, int]] = []
        stamps: list[float] = []
        heads = bag_index.read_messages(self._files, topic, _HEAD_BYTES)
        with self._errors():
            if heads is None:
                through = self._reader.messages(connections=self._connections([topic]))
                heads = [(moment, bytes(raw[:_HEAD_BYTES])) for _, moment, raw in through]
            for moment, raw in heads:
                rank = places[-1][1] + 1 if places and places[-1][0] == moment else 0
                places.append((moment, rank))
                stamps.append(self._stamp(raw, moment))
        order = np.argsort(stamps, kind="stable")
        times = np.array(stamps)[order]
        repeated = np.flatnonzero(np.diff(times) <= 0)
        if len(repeated):
            raise InputError(
                f"{self.path}, {topic}: two clouds of one stamp ({float(times[repeated[0]]):.6f} s); "
                "do several sensors share the topic?"
            )
        return [places[at] for at in order.tolist()], times

    def _stamp(self, raw: bytes, moment: int) -> float:
        """The header stamp at a message's beginning; the time of recording where it was never set."""
        if self.is2:  # CDR: the second byte of the encapsulation is the byte order
            sec, nanosec = struct.unpack_from("<iI" if raw[1] & 1 else ">iI", raw, 4)
        else:
            sec, nanosec = struct.unpack_from("<II", raw, 4)
        return (sec * 10**9 + nanosec or moment) / 10**9

    def cloud(self, topic: str, place: tuple[int, int]) -> Any:
        """The message of an entry of `index`, decoded."""
        moment, rank = place
        with self._errors():
            found = self._reader.messages(connections=self._connections([topic]), start=moment, stop=moment + 1)
            for at, (connection, _, raw) in enumerate(found):
                if at == rank:
                    return self._reader.deserialize(raw, connection.msgtype)
        raise InputError(f"{self.path}, {topic}: the message recorded at {moment} ns is gone; did the bag change?")

    def motions(self) -> Callable[[float], Trajectory | None] | None:
        """What gives the motion through the sweep of a stamp, in bags that hold it, else None."""
        if not self._connections([MOTION]):
            return None
        places: dict[float, tuple[int, int]] = {}
        if self.topics(["nav_msgs/msg/Path"]):
            index, times = self.index(MOTION)
            places = dict(zip(times.tolist(), index, strict=True))

        def motion(stamp: float) -> Trajectory | None:
            if stamp not in places:
                return None
            knots = self.cloud(MOTION, places[stamp]).poses
            where = f"{self.path}, {MOTION}"
            poses = np.stack([pose_from_message(knot.pose, where) for knot in knots])
            return trajectory_from_rows(np.array([to_seconds(knot.header.stamp) for knot in knots]), poses, where)

        return motion


def _list_files(path: Path) -> list[Path]:
    """The files of a ROS 2 bag, or none where its messages or files are compressed."""
    if path.is_file():
        return [path]
    file = path / "metadata.yaml"
    information = parse_yaml(read_text(file, "the metadata of a ROS 2 bag"), str(file)).get(_INFORMATION)
    if not isinstance(information, dict):
        raise InputError(f"{file}: no '{_INFORMATION}' with keys; reindex the bag")
    if information.get("compression_mode"):
        return [file]  # of no storage that the index knows
    names = information.get("relative_file_paths")
    if not isinstance(names, list) or not all(isinstance(name, str) and is_inside(name) for name in names):
        raise InputError(f"{file}: 'relative_file_paths' must be a list of files in the bag's folder; reindex the bag")
    return [path / name for name in names]


BAG = Format("ros1", "ROS 1 bag", recognises=recognises_bag, open_log=open_log)
BAG2 = Format("ros2", "ROS 2 bag", recognises=recognises_bag2, open_log=open_log, write_log=write_log)
