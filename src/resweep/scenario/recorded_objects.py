"""Recorded objects: the boxes of a log followed over time, as motions for actors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from resweep import portable
from resweep.boxes import Boxes
from resweep.categories import Category, find_category
from resweep.errors import ResweepError
from resweep.log import Log
from resweep.pose import Array, Trajectory, from_xyz_rpy
from resweep.sweep import Sweep

_MARGIN_S = 0.15  # by which a motion reaches beyond its first and last box: a sweep begins before its stamp
_GAP_S = 1.1  # between two boxes of a track; with a longer gap it was out of sight: nuScenes annotates 2 a second


@dataclass
class RecordedObject:
    """One annotated object of a log: its class, its boxes' sizes, and its poses ``T_world_object`` over time.

    The object's frame lies on the middle of its box's floor with x along the heading.
    """

    number: int
    name: str
    sizes: list[Array] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    poses: list[Array] = field(default_factory=list)

    def add(self, time: float, pose: Array, size: Array) -> None:
        """Another box: when the object was there, where (``T_world_object``), and its size."""
        self.times.append(time)
        self.poses.append(pose)
        self.sizes.append(size)

    @property
    def category(self) -> Category:
        """The class under its common name."""
        return find_category(self.name)

    @property
    def size_m(self) -> tuple[float, float, float]:
        """Length, width and height, metres: the median over its boxes."""
        length, width, height = np.median(self.sizes, axis=0).tolist()
        return length, width, height

    def motions(self) -> list[Trajectory]:
        """Its motion ``T_world_object``, one for each time that it was in sight, a little longer at both ends."""
        times, first = np.unique(self.times, return_index=True)
        poses = np.stack(self.poses)[first]
        breaks = np.flatnonzero(np.diff(times) > _GAP_S) + 1
        pieces = zip(np.split(times, breaks), np.split(poses, breaks), strict=True)
        return [Trajectory(when, where).extended(_MARGIN_S) for when, where in pieces]


def find_recorded_objects(log: Log, sweeps: Sequence[int] | None = None) -> list[RecordedObject]:
    """The annotated objects of a log, in the order of their first box; boxes without a track are left out."""
    found: dict[int, RecordedObject] = {}
    untracked = 0
    for at in range(len(log)) if sweeps is None else sweeps:
        sweep = log[at]
        boxes = sweep.boxes
        if boxes is None or not len(boxes):
            continue
        poses, times = portable.matmul(sweep.pose, box_poses(boxes)), estimate_box_times(sweep, boxes)
        for row, number in enumerate(boxes.track.tolist()):
            if number < 0:
                untracked += 1
                continue
            track = found.setdefault(number, RecordedObject(number, boxes.name[row]))
            track.add(float(times[row]), poses[row], boxes.size[row])
    if not found:
        why = f"its {untracked} boxes have no tracks" if untracked else "no sweep has annotated boxes"
        raise ResweepError(f"log '{log.name}': {why}; give a log with tracked boxes, such as KITTI raw or nuScenes")
    return list(found.values())


def box_poses(boxes: Boxes) -> Array:
    """``T_sweep_object`` (k, 4, 4) of boxes: the middle of the floor, x along the heading."""
    floor = boxes.centre - boxes.size * [0.0, 0.0, 0.5]
    return np.stack([from_xyz_rpy(x, y, z, yaw=yaw) for (x, y, z), yaw in zip(floor, boxes.yaw, strict=True)])


def estimate_box_times(sweep: Sweep, boxes: Boxes, grow_m: float = 0.1) -> Array:
    """The time (k,) at which each object was where its box is, seconds: the median of the returns in the box.

    Annotators draw boxes around returns, at whatever time of the sweep those were measured. A box without returns
    has the timestamp of the sweep.
    """
    times = np.full(len(boxes), sweep.timestamp)
    points = sweep.deskewed()
    reach = np.linalg.norm(boxes.size, axis=1) / 2 + grow_m
    for row, rows in enumerate(find_points_near(points, boxes.centre, reach)):
        one = Boxes(boxes.centre[row], boxes.size[row], boxes.yaw[row : row + 1], boxes.name[row : row + 1])
        inside = rows[one.contains(points[rows], grow_m)[0]]
        if len(inside):
            times[row] = np.median(sweep.time[inside])
    return times


def find_points_near(points: Array, centres: Array, reach: Array) -> Iterator[Array]:
    """For each centre (k, 3), the rows of the points (n, 3) within ``reach`` (k,) of it, seen from above."""
    for centre, radius in zip(centres, reach, strict=True):
        yield np.flatnonzero(((points[:, :2] - centre[:2]) ** 2).sum(axis=1) <= radius**2)
