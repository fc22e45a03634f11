"""Moving objects by their annotated boxes: which tracks moved, and where they were when they had no box."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from resweep import portable
from resweep.boxes import Boxes
from resweep.pose import Array, inverse, transform
from resweep.sweep import Sweep

# Chosen by hand.
BOX_MARGIN_M = 0.1  # annotated boxes are drawn tight
MOVED_M = 0.5  # a track whose box centres stay within this stood still: annotations jitter by decimetres
FOLLOWED_S = 1.0  # beyond its annotations a moving object is expected for this long

_UNTRACKED = -1
_PACKED = ("centre", "size", "yaw", "track")  # of boxes
_VELOCITY_S = 0.3  # between the boxes that give a velocity
_ROOM_M = 0.2  # around a box that is only expected


def find_tracks(boxes: Boxes | None, points: Array) -> Array:
    """The box that each point (n, 3) lies in: its track + 1, -1 in a box without a track, 0 in none."""
    found = np.zeros(len(points), np.int64)
    if boxes is None or len(boxes) == 0:
        return found
    for at in range(len(boxes)):
        box = Boxes(boxes.centre[at], boxes.size[at], boxes.yaw[at : at + 1], boxes.name[at : at + 1])
        near = np.flatnonzero(np.abs(points - boxes.centre[at]).max(axis=1) <= portable.norm(boxes.size[at]))
        inside = near[box.contains(points[near], BOX_MARGIN_M)[0]]
        found[inside] = boxes.track[at] + 1 if boxes.track[at] >= 0 else _UNTRACKED
    return found


@dataclass(frozen=True, eq=False)
class _Placed:
    """One box of a track in the world: when, where its centre (3,) is, its heading and its size (3,)."""

    time: float
    centre: Array
    yaw: float
    size: Array


@dataclass
class BoxHistory:
    """The boxes of a log's sweeps, with when and where each sweep was; `add` takes the sweeps in order."""

    times: list[float] = field(default_factory=list)
    poses: list[Array] = field(default_factory=list)
    boxes: list[Boxes | None] = field(default_factory=list)

    def add(self, sweep: Sweep) -> None:
        """Keep the boxes of the next sweep."""
        self.times.append(sweep.timestamp)
        self.poses.append(sweep.pose)
        self.boxes.append(sweep.boxes)

    def pack(self) -> list[list[Any]]:
        """One row a sweep, as JSON can hold it: time, pose, and what of its boxes tells where objects were."""
        rows: list[list[Any]] = []
        for stamp, pose, boxes in zip(self.times, self.poses, self.boxes, strict=True):
            columns = None if boxes is None else [getattr(boxes, name).tolist() for name in _PACKED]
            rows.append([float(stamp), pose.tolist(), columns])
        return rows

    @classmethod
    def unpack(cls, rows: list[list[Any]]) -> BoxHistory:
        """The history that was packed."""
        history = cls()
        for stamp, pose, columns in rows:
            history.times.append(stamp)
            history.poses.append(np.array(pose))
            if columns is None:
                history.boxes.append(None)
                continue
            of = dict(zip(_PACKED, map(np.array, columns), strict=True))
            history.boxes.append(Boxes(**of, name=[""] * len(of["yaw"])))
        return history

    def extend(self, later: BoxHistory) -> None:
        """Keep the boxes of the sweeps that follow."""
        self.times += later.times
        self.poses += later.poses
        self.boxes += later.boxes

    def moved_tracks(self, all_of_them: bool = False) -> Array:
        """The values of `find_tracks` that moved during the log, or all that were annotated.

        A box without a track cannot be followed and counts as moving.
        """
        low: dict[int, Array] = {}
        high: dict[int, Array] = {}
        for pose, boxes in zip(self.poses, self.boxes, strict=True):
            if boxes is None:
                continue
            for track, centre in zip(boxes.track, transform(pose, boxes.centre), strict=True):
                key = int(track) + 1 if track >= 0 else _UNTRACKED
                low[key] = np.minimum(low.get(key, centre), centre)
                high[key] = np.maximum(high.get(key, centre), centre)
        moved = [
            key for key in low if all_of_them or key == _UNTRACKED or portable.norm(high[key] - low[key]) > MOVED_M
        ]
        return np.array(moved, np.int64)

    def extrapolate(self, moved: Array) -> dict[int, Boxes]:
        """Boxes of the tracks ``moved`` where they are not annotated, but must be: by sweep, in its pose's frame.

        Annotations end where an object leaves a camera's view or is far off, but the object goes on. It is followed
        for ``FOLLOWED_S`` before its first and after its last box, at the velocity of the nearest boxes; its box is
        given a little more room.
        """
        expected: dict[int, list[tuple[Array, Array, float]]] = {}
        times = np.array(self.times)
        for known in self._placed_tracks(moved).values():
            away_s = np.maximum(known[0].time - times, times - known[-1].time)
            for at in np.flatnonzero((away_s > 0.0) & (away_s <= FOLLOWED_S)).tolist():
                pose = self.poses[at]
                box = _expect_box(known, self.times[at])
                if box is not None:
                    turn = math.atan2(pose[1, 0], pose[0, 0])
                    centre = transform(inverse(pose), box.centre[None])[0]
                    expected.setdefault(at, []).append((centre, box.size, box.yaw - turn))
        return {
            at: Boxes(
                np.stack([item[0] for item in rows]),
                np.stack([item[1] for item in rows]),
                np.array([item[2] for item in rows]),
                [""] * len(rows),
            )
            for at, rows in expected.items()
        }

    def _placed_tracks(self, moved: Array) -> dict[int, list[_Placed]]:
        """The boxes of the tracks ``moved`` in the world, in the order of the sweeps."""
        found: dict[int, list[_Placed]] = {}
        followed = set(moved.tolist())
        for stamp, pose, boxes in zip(self.times, self.poses, self.boxes, strict=True):
            if boxes is None:
                continue
            centres, turn = transform(pose, boxes.centre), math.atan2(pose[1, 0], pose[0, 0])
            for row, track in enumerate(boxes.track.tolist()):
                if track >= 0 and track + 1 in followed:
                    placed = _Placed(stamp, centres[row], boxes.yaw[row] + turn, boxes.size[row])
                    found.setdefault(track, []).append(placed)
        return found


def _expect_box(known: list[_Placed], stamp: float) -> _Placed | None:
    """The box of a track at ``stamp``, shortly before or after those known; None otherwise."""
    times = np.array([box.time for box in known])
    early, late = times[0] - stamp, stamp - times[-1]
    if len(known) < 2 or not 0.0 < max(early, late) <= FOLLOWED_S:
        return None
    end = 0 if early > 0 else len(known) - 1
    other = int(np.argmin(np.abs(np.abs(times - times[end]) - _VELOCITY_S)))
    if other == end:
        return None
    velocity = (known[end].centre - known[other].centre) / (times[end] - times[other])
    centre = known[end].centre + velocity * (stamp - times[end])
    room = known[end].size + 2 * _ROOM_M * np.array([1.0, 1.0, 0.0])
    return _Placed(stamp, centre, known[end].yaw, room)
