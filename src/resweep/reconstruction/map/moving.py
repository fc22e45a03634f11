"""Which points of a map belong to moving objects: by annotated boxes, or by beams that pass through them."""

from __future__ import annotations

import numpy as np

from resweep.boxes import Boxes
from resweep.log import Log
from resweep.pose import Array, inverse, transform
from resweep.reconstruction.config import VisibilityConfig
from resweep.sweep import Sweep

BOX_MARGIN_M = 0.1  # annotated boxes are drawn tight
MOVED_M = 0.5  # a track whose box centres stay within this stood still: annotations jitter by decimetres
FOLLOWED_S = 1.0  # beyond its annotations a moving object is expected for this long

_UNTRACKED = -1
_VELOCITY_S = 0.3  # between the boxes that give a velocity
_ROOM_M = 0.2  # around a box that is only expected
_BLOCK = 1 << 20


def tracks_of(boxes: Boxes | None, points: Array) -> Array:
    """The box that each point (n, 3) lies in: its track + 1, -1 in a box without a track, 0 in none."""
    found = np.zeros(len(points), np.int64)
    if boxes is None or len(boxes) == 0:
        return found
    for at in range(len(boxes)):
        box = Boxes(boxes.centre[at], boxes.size[at], boxes.yaw[at : at + 1], boxes.name[at : at + 1])
        near = np.flatnonzero(np.abs(points - boxes.centre[at]).max(axis=1) <= np.linalg.norm(boxes.size[at]))
        inside = near[box.contains(points[near], BOX_MARGIN_M)[0]]
        found[inside] = boxes.track[at] + 1 if boxes.track[at] >= 0 else _UNTRACKED
    return found


def moved_tracks(log: Log, all_of_them: bool = False) -> Array:
    """The values of `tracks_of` that moved during the log, or all that were annotated.

    A box without a track cannot be followed and counts as moving.
    """
    low: dict[int, Array] = {}
    high: dict[int, Array] = {}
    for sweep in log:
        if sweep.boxes is None:
            continue
        for track, centre in zip(sweep.boxes.track, transform(sweep.pose, sweep.boxes.centre), strict=True):
            key = int(track) + 1 if track >= 0 else _UNTRACKED
            low[key] = np.minimum(low.get(key, centre), centre)
            high[key] = np.maximum(high.get(key, centre), centre)
    moved = [key for key in low if all_of_them or key == _UNTRACKED or np.linalg.norm(high[key] - low[key]) > MOVED_M]
    return np.array(moved, np.int64)


def beyond_boxes(log: Log, moved: Array) -> dict[int, Boxes]:
    """Boxes of the tracks ``moved`` where they are not annotated, but must be: by sweep, in the frame of its pose.

    Annotations end where an object leaves a camera's view or is far off, but the object goes on. It is followed for
    ``FOLLOWED_S`` before its first and after its last box, at the velocity that those nearest show; its box is given
    a little more room.
    """
    found: dict[int, list[tuple[float, Array, float, Array]]] = {}
    stamps = []
    for sweep in log:
        stamps.append((sweep.timestamp, sweep.pose))
        boxes = sweep.boxes
        if boxes is None:
            continue
        centres, turn = transform(sweep.pose, boxes.centre), np.arctan2(sweep.pose[1, 0], sweep.pose[0, 0])
        for row, track in enumerate(boxes.track.tolist()):
            if track >= 0 and track + 1 in moved:
                found.setdefault(track, []).append(
                    (sweep.timestamp, centres[row], boxes.yaw[row] + turn, boxes.size[row])
                )
    made: dict[int, list[tuple[Array, Array, float]]] = {}
    for known in found.values():
        if len(known) < 2:
            continue
        times = np.array([item[0] for item in known])
        for at, (stamp, pose) in enumerate(stamps):
            early, late = times[0] - stamp, stamp - times[-1]
            if not 0.0 < max(early, late) <= FOLLOWED_S:
                continue
            end = 0 if early > 0 else len(known) - 1
            other = int(np.argmin(np.abs(np.abs(times - times[end]) - _VELOCITY_S)))
            if other == end:
                continue
            velocity = (known[end][1] - known[other][1]) / (times[end] - times[other])
            centre = known[end][1] + velocity * (stamp - times[end])
            turn = np.arctan2(pose[1, 0], pose[0, 0])
            room = known[end][3] + 2 * _ROOM_M * np.array([1.0, 1.0, 0.0])
            made.setdefault(at, []).append((transform(inverse(pose), centre[None])[0], room, known[end][2] - turn))
    return {
        at: Boxes(
            np.stack([item[0] for item in rows]),
            np.stack([item[1] for item in rows]),
            np.array([item[2] for item in rows]),
            [""] * len(rows),
        )
        for at, rows in made.items()
    }


class Visibility:
    """Counts, for every point of a map, the sweeps that saw it and those that saw through it.

    `add` takes the sweeps one by one, so that one range image is in memory at a time. The sweep that
    measured a point says nothing about it.
    """

    def __init__(self, points: Array, sweep: Array, origin: Array, config: VisibilityConfig) -> None:
        self._points, self._sweep, self._origin, self._config = points, sweep, origin, config
        self.passed = np.zeros(len(points), np.uint16)
        self.confirmed = np.zeros(len(points), np.uint16)

    @property
    def moving(self) -> Array:
        """Points (n,) bool that were seen through often enough."""
        enough = self.passed >= self._config.passes
        return np.asarray(enough & (self.passed > self._config.ratio * self.confirmed))

    def add(self, at: int, sweep: Sweep) -> None:
        """Look at the map from sweep number ``at``."""
        if len(sweep) == 0:
            return
        config = self._config
        nearest, farthest = self._image(sweep)
        T_sensor_map = inverse(sweep.pose)
        T_sensor_map[:3, 3] = T_sensor_map[:3, :3] @ self._origin + T_sensor_map[:3, 3]
        for begin in range(0, len(self._points), _BLOCK):
            rows = slice(begin, begin + _BLOCK)
            local = transform(T_sensor_map, self._points[rows].astype(np.float64))
            row, column, distance = self._cells(local)
            margin = config.margin_m + config.margin_per_m * distance
            other = self._sweep[rows] != at
            near, far = nearest[row, column], farthest[row, column]
            through = other & np.isfinite(near) & (near > distance + margin)
            seen = other & (near <= distance + margin) & (far >= distance - margin)
            self.passed[rows] += through.astype(np.uint16)
            self.confirmed[rows] += seen.astype(np.uint16)

    def _cells(self, local: Array) -> tuple[Array, Array, Array]:
        """Row, column and distance (n,) of points in the sensor's frame."""
        cell = np.deg2rad(self._config.cell_deg)
        rows, columns = round(np.pi / cell), round(2 * np.pi / cell)
        distance = np.linalg.norm(local, axis=1)
        elevation = np.arcsin(np.clip(local[:, 2] / np.maximum(distance, 1e-9), -1, 1))
        row = np.clip(((elevation + np.pi / 2) / cell).astype(np.int64), 0, rows - 1)
        column = ((np.arctan2(local[:, 1], local[:, 0]) + np.pi) / cell).astype(np.int64) % columns
        return row, column, distance

    def _image(self, sweep: Sweep) -> tuple[Array, Array]:
        """Nearest and farthest range measured in each cell and its neighbours; infinite where nothing was."""
        cell = np.deg2rad(self._config.cell_deg)
        row, column, distance = self._cells(sweep.deskewed().astype(np.float64))
        shape = (round(np.pi / cell), round(2 * np.pi / cell))
        near = np.full(shape, np.inf)
        far = np.full(shape, -np.inf)
        np.minimum.at(near, (row, column), distance)
        np.maximum.at(far, (row, column), distance)
        return _around(near, np.minimum), _around(far, np.maximum)


def _around(image: Array, pick: np.ufunc) -> Array:
    """``pick`` over each cell and its eight neighbours; columns wrap around, rows do not."""
    wide = pick(image, pick(np.roll(image, 1, axis=1), np.roll(image, -1, axis=1)))
    tall = wide.copy()
    tall[1:] = pick(tall[1:], wide[:-1])
    tall[:-1] = pick(tall[:-1], wide[1:])
    return np.asarray(tall)
