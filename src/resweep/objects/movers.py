"""What moves through a labelled drive, followed by its instance ids: each rigid object as one actor.

No map holds what moves. Where labels tell one moving vehicle from another, its returns of all sweeps are brought into
one frame: first by a smooth path through the middles of what was seen, then by aligning the sweeps with each other (D,
3.2). The object is covered with surfels and moves along that path, also at times at which no sweep saw it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from resweep import portable
from resweep.errors import ResweepError
from resweep.labels import LabelSet, list_broader_categories
from resweep.log import Log
from resweep.map.cloud import Cloud
from resweep.objects.config import ObjectConfig
from resweep.objects.joint_icp import align_sweeps
from resweep.objects.object_surfels import cover_object
from resweep.pose import Array, Trajectory, inverse, transform
from resweep.progress import track as track_progress
from resweep.scenario import Actor
from resweep.sensors.infer.inferred_drive import prepare_drive

# Chosen by hand.
_MIN_POINTS = 30  # of an object over all sweeps
_MIN_OF_SWEEP = 8  # returns, below which a sweep says nothing of where an object was
_REACH_S = 0.12  # beyond its first and last sweep for which an object is there: a turn of usual sensors
_MIN_STEP_M = 0.3  # of the whole path, below which its direction says nothing of the heading
_ID_BITS = 16  # of an instance id as SemanticKITTI has it, below those of the label
_DEGREE = 2  # of the path of the middles in time: constant acceleration


@dataclass(frozen=True, eq=False)
class _MoverView:
    """The returns (n,) of one sweep on one object, in the world, and when they were measured."""

    sweep: int
    time: float
    points: Array
    sensor: Array
    intensity: Array


def follow_movers(log: Log, config: ObjectConfig | None = None, progress: bool = False) -> list[Actor]:
    """The moving vehicles of a labelled log with instance ids as actors, each there from its first to its last sweep.

    Give them to a `Simulator` or a `Retracer` of a world that was built from the log, or to `rs.resimulate`. An object
    that one sweep alone saw is left out, as are those of fewer than 30 returns.

    Example: ``rs.resimulate(log, world, actors=follow_movers(log))``
    """
    config = config or ObjectConfig()
    moving = [label for label in log.labels.moving if _is_vehicle(log.labels, label)]
    if not moving:
        what = f"vocabulary '{log.labels.name}' has no moving vehicles" if log.labels.known else "labels are unknown"
        raise ResweepError(f"log '{log.name}': {what}; set labels to a vocabulary that has moving classes")
    log.require_poses("its objects have no place in a world")
    found: dict[tuple[int, int], list[_MoverView]] = {}
    for at, sweep in enumerate(track_progress(prepare_drive(log), "following what moves", show=progress)):
        rows = np.flatnonzero(np.isin(sweep.label, moving) & (sweep.instance > 0))
        rows = rows[sweep.range[rows] <= config.range_max_m]
        if len(rows) == 0:
            continue
        part = sweep.select(np.isin(np.arange(len(sweep)), rows))
        points, origin = part.world_points(), part.deskewed_beams()[0][part.beam].astype(np.float64)
        keys = part.label.astype(np.int64) << 32 | part.instance
        for key in np.unique(keys).tolist():
            own = keys == key
            if np.count_nonzero(own) < _MIN_OF_SWEEP:
                continue
            moment = float(np.median(part.time[own]))
            view = _MoverView(at, moment, points[own], transform(part.pose, origin[own]), part.intensity[own])
            found.setdefault((key >> 32, key & 0xFFFFFFFF), []).append(view)
    actors = [_make_actor(views, *key, log.labels, config) for key, views in sorted(found.items())]
    return [actor for actor in actors if actor is not None]


def _is_vehicle(labels: LabelSet, label: int) -> bool:
    return "vehicle" in list_broader_categories(labels.category(label))


def _make_actor(
    views: Sequence[_MoverView], label: int, instance: int, labels: LabelSet, config: ObjectConfig
) -> Actor | None:
    if len(views) < 2 or sum(len(view.points) for view in views) < _MIN_POINTS:
        return None
    times = np.array([view.time for view in views])
    order = np.argsort(times, kind="stable")
    views, times = [views[at] for at in order], times[order]
    poses = _fit_path(times, [view.points for view in views])
    local = [transform(inverse(pose), view.points) for pose, view in zip(poses, views, strict=True)]
    if config.icp is not None:
        shade = [np.asarray(view.intensity, np.float64) for view in views]
        moved, residual = align_sweeps(local, shade, config.icp)
        if residual[1] < residual[0]:
            # A correction that brings a sweep into the common frame moves the pose of its moment the other way.
            poses = np.stack([portable.matmul(pose, inverse(own)) for pose, own in zip(poses, moved, strict=True)])
            local = [transform(own, points) for own, points in zip(moved, local, strict=True)]
    splats = cover_object(_join(views, poses, local, label), config)
    if splats is None:
        return None
    motion = Trajectory(times, poses).extended(_REACH_S)
    name = f"{labels.class_name(label)} {instance}"
    # Ids of labels may count each class from 1, and those of actors must differ from all that stands.
    return Actor((splats,), motion, (label << _ID_BITS) | (instance & ((1 << _ID_BITS) - 1)), label, name, labels)


def _fit_path(times: Array, clouds: Sequence[Array]) -> Array:
    """``T_world_object`` (k, 4, 4) at ``times`` (k,): a smooth path through the middles of clouds, heading along it."""
    middle = np.stack([(points.min(axis=0) + points.max(axis=0)) / 2 for points in clouds])
    since = times - times.mean()
    powers = [np.ones_like(since), since, since * since][: min(_DEGREE, len(times) - 1) + 1]
    design = np.stack(powers, axis=1)
    weighted = design * np.array([len(points) for points in clouds], float)[:, None]
    path = portable.matmul(
        design, portable.solve(portable.matmul(weighted.T, design), portable.matmul(weighted.T, middle))
    )
    along = path[-1] - path[0]
    yaw = math.atan2(along[1], along[0]) if math.hypot(along[0], along[1]) >= _MIN_STEP_M else 0.0
    poses = np.tile(np.eye(4), (len(times), 1, 1))
    poses[:, :2, :2] = [[math.cos(yaw), -math.sin(yaw)], [math.sin(yaw), math.cos(yaw)]]
    poses[:, :3, 3] = path
    return poses


def _join(views: Sequence[_MoverView], poses: Array, local: Sequence[Array], label: int) -> Cloud:
    """The returns of all sweeps in the frame of the object."""
    count = sum(len(points) for points in local)
    sensor = [transform(inverse(pose), view.sensor) for pose, view in zip(poses, views, strict=True)]
    return Cloud(
        origin=np.zeros(3),
        points=np.concatenate(local).astype(np.float32),
        sensor=np.concatenate(sensor).astype(np.float32),
        label=np.full(count, label, np.int32),
        instance=np.zeros(count, np.int32),
        intensity=np.concatenate([view.intensity for view in views]).astype(np.float32),
        sweep=np.repeat([view.sweep for view in views], [len(points) for points in local]).astype(np.int32),
        seen=np.ones(count, bool),
    )
