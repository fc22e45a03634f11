"""Annotated objects through a log: where each one was at any time, and the returns on it in its own frame."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from resweep import portable
from resweep.log import Log
from resweep.objects.config import ObjectConfig
from resweep.pose import Array, Trajectory, inverse, transform
from resweep.progress import track as track_progress
from resweep.scenario.recorded_objects import RecordedObject, box_poses, estimate_box_times, find_points_near
from resweep.sweep import Sweep

# Chosen by hand where a line names no source.
AROUND_M = 1.0  # how far around an object its ground is looked for
_REACH_S = 0.3  # how far beyond its first and last box a track is followed
_GAP_S = 1.1  # between boxes, within which a sweep without annotations is bridged: nuScenes has 2 a second
_SEARCH_S = 0.11  # how long before or after its box an object may be hit within one sweep


@dataclass
class ObjectTrack(RecordedObject):
    """An annotated object of a log, with the indices of the ``sweeps`` at which it has a box.

    ``number`` is -1 for a box without a track, which is an object alone.
    """

    sweeps: set[int] = field(default_factory=set)

    @property
    def size(self) -> Array:
        """Length, width and height (3,) of the box, metres: the median over the sweeps."""
        return np.array(self.size_m)

    @property
    def motion(self) -> Trajectory:
        """``T_world_object`` over time, a little beyond both ends."""
        times, first = np.unique(self.times, return_index=True)
        return Trajectory(times, np.stack(self.poses)[first]).extended(_REACH_S)


@dataclass(frozen=True, eq=False)
class ObjectView:
    """The returns (n,) of one sweep around one object, in the object's frame.

    ``points`` and ``sensor`` (n, 3) float64: the return and where it was measured from. ``inside`` marks those
    in the box, a little grown; the others are around it, as the ground is.
    """

    sweep: int
    time: float
    points: Array
    sensor: Array
    intensity: Array
    label: Array
    inside: Array


def find_objects(log: Log, config: ObjectConfig, progress: bool = False) -> list[ObjectTrack]:
    """The annotated objects of a log, in the order of their first box; a box without a track is an object alone."""
    found: dict[tuple[int, int, int], ObjectTrack] = {}
    for at, sweep in enumerate(track_progress(log, "following boxes", show=progress)):
        boxes = sweep.boxes
        if boxes is None or len(boxes) == 0:
            continue
        poses = portable.matmul(sweep.pose, box_poses(boxes))
        by_returns = config.box_time == "returns"
        times = estimate_box_times(sweep, boxes, config.grow_m) if by_returns else np.full(len(boxes), sweep.timestamp)
        for row, number in enumerate(boxes.track.tolist()):
            key = (number, 0, 0) if number >= 0 else (-1, at, row)
            track = found.setdefault(key, ObjectTrack(number, boxes.name[row]))
            track.add(float(times[row]), poses[row], boxes.size[row])
            track.sweeps.add(at)
    wanted = set(config.categories)
    return [track for track in found.values() if not wanted or track.category.name in wanted]


def collect_views(
    log: Log, tracks: list[ObjectTrack], config: ObjectConfig, progress: bool = False
) -> list[list[ObjectView]]:
    """The returns around each track in every sweep it is followed through, its motion within the sweep undone."""
    motions = [track.motion for track in tracks]
    views: list[list[ObjectView]] = [[] for _ in tracks]
    for at, sweep in enumerate(track_progress(log, "gathering objects", show=progress)):
        if len(sweep) == 0:
            continue
        points = sweep.world_points()
        for track, motion, gathered in zip(tracks, motions, views, strict=True):
            if at in track.sweeps or (sweep.boxes is None and _is_bridged(track, sweep.timestamp)):
                view = _cut_view(at, sweep, points, track, motion, config)
                if view is not None:
                    gathered.append(view)
    return views


def _find_beam_origins(sweep: Sweep, rows: Array) -> Array:
    """Where the returns ``rows`` (n,) were measured from (n, 3), in the world."""
    origin = sweep.beam_origin[sweep.beam[rows]].astype(np.float64)
    if sweep.trajectory is None:
        return transform(sweep.pose, origin)
    return transform(sweep.trajectory.at(sweep.time[rows]), origin)


def _is_bridged(track: ObjectTrack, time: float) -> bool:
    """Whether a sweep without annotations lies between two boxes of a track that are near in time."""
    times = np.sort(track.times)
    after = int(np.searchsorted(times, time))
    return 0 < after < len(times) and bool(times[after] - times[after - 1] <= _GAP_S)


def _cut_view(
    at: int, sweep: Sweep, points: Array, track: ObjectTrack, motion: Trajectory, config: ObjectConfig
) -> ObjectView | None:
    """The returns of a sweep around a track, each seen from where the object was when it was hit."""
    middle = motion.at(np.clip(sweep.timestamp, motion.start, motion.end))
    step = motion.at(np.clip(sweep.timestamp + np.array([-_SEARCH_S, _SEARCH_S]), motion.start, motion.end))
    drift = float(np.linalg.norm(step[:, :3, 3] - middle[:3, 3], axis=1).max())
    reach = float(portable.norm(track.size[:2])) / 2 + AROUND_M + drift
    rows = next(find_points_near(points, middle[None, :3, 3], np.array([reach])))
    rows = rows[sweep.range[rows] <= config.range_max_m]
    if len(rows) == 0:
        return None
    moments, which = np.unique(np.clip(sweep.time[rows], motion.start, motion.end), return_inverse=True)
    T_object_world = inverse(motion.at(moments))[which]
    local = transform(T_object_world, points[rows])
    length, width, height = track.size
    beside = np.abs(local[:, :2]) - np.array([length, width]) / 2
    level = (local[:, 2] >= -AROUND_M) & (local[:, 2] <= height + config.grow_m)
    kept = (beside <= AROUND_M).all(axis=1) & level & np.isfinite(local).all(axis=1)
    inside = (beside <= config.grow_m).all(axis=1) & (local[:, 2] >= -config.grow_m)
    if not (kept & inside).any():
        return None
    chosen = rows[kept]
    return ObjectView(
        sweep=at,
        time=float(np.median(sweep.time[rows[kept & inside]])),
        points=local[kept],
        sensor=transform(T_object_world[kept], _find_beam_origins(sweep, chosen)),
        intensity=sweep.intensity[chosen].astype(np.float64),
        label=sweep.label[chosen],
        inside=inside[kept],
    )
