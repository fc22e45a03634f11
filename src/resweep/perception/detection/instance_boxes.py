"""Boxes around labelled instances: what a log with instances and no boxes says of its cars.

The returns of an instance over all sweeps are one cloud, in which a rectangle is found as L-shape fitting does (Zhang
et al. 2017, "Efficient L-Shape Fitting for Vehicle Detection", criterion of closeness): the sides of a car are near the
sides of its box. What no sweep saw is completed: the corner that faces the sensor stays, and a side that is shorter
than a car has the size that cars usually have, away from the sensor. Instances that move are followed at constant
velocity within half a second, and head where they go. Boxes stand on the ground that the labels show around them.
Those that cannot be told, such as few returns or a side that no car has, do not count.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from resweep import portable
from resweep.boxes import Boxes
from resweep.labels import Group, LabelSet
from resweep.pose import Array, inverse, transform
from resweep.sweep import Sweep

_CATEGORIES = ("car", "van", "truck", "bus", "trailer", "other vehicle")
# Means over the cars of KITTI's object labels, metres: length, width, height (AVOD's cluster of class "Car").
CAR_SIZE_M = (3.9, 1.63, 1.53)
_LONGEST_M, _WIDEST_M, _HIGHEST_M = 6.0, 2.3, 2.6  # of a car, with room for labels that reach beyond it
_WHOLE_LENGTH_M, _WHOLE_WIDTH_M, _WHOLE_HEIGHT_M = 3.3, 1.45, 1.25  # from which a side was seen from end to end
_TELLS_LENGTH_M = 2.2  # the longer side is the length: no car is as wide
_TELLS_WIDTH_M = 1.3  # below, a side may be part of either
_MIN_POINTS = 30  # of the cloud of an instance
_THIN_M = 0.05
_STRAY_SHARE = 0.01  # of the cloud, beyond each side: labels bleed to what is behind
_STEP_RAD = math.radians(1.0)
_NEAREST_M = 0.1  # distances to a side below this are as good as none (d0 of the criterion)
_GROUND_CELL_M, _GROUND_AROUND_M = 1.0, 3.0
_WINDOW = 5  # sweeps before and after, through which a moving instance is followed
_ENOUGH_POINTS = 200  # of a moving instance: what it has in fewer sweeps is less smeared
_TURN_RAD = math.radians(15.0)  # of a side from where the middle of the returns goes, as more of the object is seen


@dataclass(frozen=True, eq=False)
class InstanceReturns:
    """The returns (n,) of a sweep on instances of vehicles: ``points`` (n, 3), in the frame of its ``pose``.

    ``instance`` and ``label`` (n,) say of which: datasets count the instances of each class. ``ground`` (g, 3) are the
    cells of the ground, at its height.
    """

    pose: Array
    time: float
    points: Array
    instance: Array
    label: Array
    ground: Array


def gather_instances(sweep: Sweep, labels: LabelSet) -> InstanceReturns:
    """The returns of a sweep on instances of vehicles, and its ground; none where labels are unknown."""
    vehicles = [label for label in labels.classes if labels.category(label) in _CATEGORIES]
    rows = np.flatnonzero(np.isin(sweep.label, vehicles) & (sweep.instance > 0))
    points = sweep.deskewed().astype(np.float64) if len(rows) else np.zeros((len(sweep), 3))
    ground = np.isin(sweep.label, labels.in_group(Group.GROUND)) if len(rows) else np.zeros(len(sweep), bool)
    return InstanceReturns(
        sweep.pose,
        sweep.timestamp,
        points[rows],
        sweep.instance[rows].astype(np.int64),
        sweep.label[rows].astype(np.int64),
        _thin_ground(points[ground]),
    )


def _thin_ground(points: Array) -> Array:
    """A point (g, 3) for each cell of 1 m: its middle, at the mean height."""
    if not len(points):
        return points
    cell, at = np.unique(np.floor(points[:, :2] / _GROUND_CELL_M), axis=0, return_inverse=True)
    at = at.reshape(-1)
    height = np.bincount(at, points[:, 2]) / np.bincount(at)
    return np.column_stack([(cell + 0.5) * _GROUND_CELL_M, height])


def box_instances(sweeps: Sequence[InstanceReturns], labels: LabelSet) -> list[tuple[Boxes, Array]]:
    """For each sweep, a box around each instance that it saw, in its frame, and whether the box (k,) counts."""
    T_ref_world = inverse(sweeps[len(sweeps) // 2].pose)
    placed = [portable.matmul(T_ref_world, sweep.pose) for sweep in sweeps]
    found: list[list[_InstanceBox]] = [[] for _ in sweeps]
    pairs = [np.column_stack([sweep.label, sweep.instance]) for sweep in sweeps]
    known = np.unique(np.concatenate(pairs), axis=0)
    for number, (label, instance) in enumerate(known.tolist()):
        rows = [np.flatnonzero((pair == [label, instance]).all(axis=1)) for pair in pairs]
        cloud = _InstanceCloud.gather(sweeps, placed, rows)
        name = labels.category(label)
        whole = None if label in labels.moving else _fit(cloud, cloud.points, name, None)
        for at in np.unique(cloud.sweep).tolist():
            fit = _follow(cloud, name, at) if whole is None else whole
            found[at].append(_InstanceBox(fit, number, len(rows[at])))
    return [_express(rows, pose) for rows, pose in zip(found, placed, strict=True)]


@dataclass(frozen=True, eq=False)
class _InstanceCloud:
    """The returns (n, 3) of an instance in one frame, the number of their sweep and its time, and what is around."""

    points: Array
    sweep: Array
    time: Array
    sensors: Array
    ground: Array

    @classmethod
    def gather(
        cls, sweeps: Sequence[InstanceReturns], placed: Sequence[Array], rows: Sequence[Array]
    ) -> _InstanceCloud:
        parts: list[tuple[Array, ...]] = []
        for at, (item, pose, chosen) in enumerate(zip(sweeps, placed, rows, strict=True)):
            if not len(chosen):
                continue
            points, floor = transform(pose, item.points[chosen]), transform(pose, item.ground)
            near = np.abs(floor[:, :2] - np.median(points[:, :2], axis=0)).max(axis=1) <= _GROUND_AROUND_M
            sensors = np.broadcast_to(pose[:3, 3], points.shape)
            parts.append((points, np.full(len(points), at), np.full(len(points), item.time), sensors, floor[near]))
        return cls(*(np.concatenate(column) for column in zip(*parts, strict=True)))


@dataclass(frozen=True, eq=False)
class _InstanceFit:
    centre: Array
    size: Array
    yaw: float
    name: str
    counts: bool


@dataclass(frozen=True, eq=False)
class _InstanceBox:
    """The box of an instance in a sweep, and how many of the sweep's returns are on it."""

    fit: _InstanceFit
    track: int
    n_points: int


def _follow(cloud: _InstanceCloud, name: str, at: int) -> _InstanceFit:
    """The box of a moving instance in sweep ``at``, from what sweeps around it saw, taken to where it is there."""
    near = np.abs(cloud.sweep - at) <= _WINDOW
    now = float(cloud.time[cloud.sweep == at][0])
    numbers = np.unique(cloud.sweep[near])
    middles = np.stack([np.median(cloud.points[cloud.sweep == item], axis=0) for item in numbers])
    times = np.array([cloud.time[cloud.sweep == item][0] for item in numbers]) - now
    spread = times - times.mean()
    square = float((spread**2).sum())
    velocity = (spread[:, None] * (middles - middles.mean(axis=0))).sum(axis=0) / square if square > 0 else np.zeros(3)
    moved = math.hypot(velocity[0], velocity[1]) * float(np.ptp(times)) > 1.0
    heading = math.atan2(velocity[1], velocity[0]) if moved else None
    away = np.abs(cloud.sweep - at)
    reach = next((reach for reach in range(_WINDOW) if (away <= reach).sum() >= _ENOUGH_POINTS), _WINDOW)
    near = away <= reach
    return _fit(cloud, cloud.points[near] - velocity * (cloud.time[near] - now)[:, None], name, heading)


def _fit(cloud: _InstanceCloud, points: Array, name: str, heading: float | None) -> _InstanceFit:
    """The box of a cloud (n, 3); ``heading`` is where it goes, None for what stands."""
    flat = _thin_flat(points)
    if heading is None:
        yaw = _find_heading(flat, 0.0, math.pi / 2)
    elif len(points) >= _ENOUGH_POINTS:
        yaw = _find_heading(flat, heading - _TURN_RAD, 2 * _TURN_RAD)
    else:
        yaw = heading
    low, high = _find_extent(flat, yaw)
    if heading is None and high[1] - low[1] > high[0] - low[0]:
        yaw += math.pi / 2
        low, high = _find_extent(flat, yaw)
    seen = high - low
    tells = seen[0] >= _TELLS_LENGTH_M or heading is not None
    if not tells and seen[0] >= _TELLS_WIDTH_M and seen[1] < _WHOLE_WIDTH_M:  # the back or front alone
        yaw += math.pi / 2
        low, high = _find_extent(flat, yaw)
        seen, tells = high - low, True
    c, s = math.cos(yaw), math.sin(yaw)
    turn = np.array([[c, s], [-s, c]])
    sensor = portable.matmul(turn, cloud.sensors[:, :2].mean(axis=0))
    low, high = _complete(low, high, sensor)
    bottom, top = _find_heights(cloud, points)
    size = np.array([*(high - low), top - bottom])
    counts = bool(
        tells and name == "car" and len(points) >= _MIN_POINTS and (size <= [_LONGEST_M, _WIDEST_M, _HIGHEST_M]).all()
    )
    middle = portable.matmul(turn.T, (low + high) / 2)
    return _InstanceFit(np.array([*middle, (bottom + top) / 2]), np.maximum(size, 0.1), yaw, name, counts)


def _thin_flat(points: Array) -> Array:
    """The cells (m, 2) of 5 cm that points (n, 3) are in, seen from above: near sides have most of the returns."""
    return np.asarray((np.unique(np.floor(points[:, :2] / _THIN_M), axis=0) + 0.5) * _THIN_M)


def _find_extent(flat: Array, yaw: float) -> tuple[Array, Array]:
    """Lowest and highest place (2,) along a heading and across it, without strays."""
    c, s = math.cos(yaw), math.sin(yaw)
    local = np.column_stack([c * flat[:, 0] + s * flat[:, 1], c * flat[:, 1] - s * flat[:, 0]])
    local.sort(axis=0)
    skip = int(len(local) * _STRAY_SHARE)
    return local[skip], local[len(local) - 1 - skip]


def _find_heading(flat: Array, first: float, span: float) -> float:
    """The heading, ``first`` or up to ``span`` more, of the rectangle to whose sides the cells (m, 2) are closest."""
    best, closest = first, -math.inf
    for step in range(round(span / _STEP_RAD)):
        yaw = first + step * _STEP_RAD
        c, s = math.cos(yaw), math.sin(yaw)
        local = np.column_stack([c * flat[:, 0] + s * flat[:, 1], c * flat[:, 1] - s * flat[:, 0]])
        low, high = _find_extent(flat, yaw)
        away = np.minimum(np.abs(local - low), np.abs(high - local)).min(axis=1)
        score = float((1.0 / np.maximum(away, _NEAREST_M)).mean())
        if score > closest + 1e-9:
            best, closest = yaw, score
    return best


def _complete(low: Array, high: Array, sensor: Array) -> tuple[Array, Array]:
    """The extent with the usual size where a side was not seen whole; the part that faces the sensor stays."""
    low, high = low.copy(), high.copy()
    for axis, whole in ((0, _WHOLE_LENGTH_M), (1, _WHOLE_WIDTH_M)):
        missing = CAR_SIZE_M[axis] - (high[axis] - low[axis])
        if high[axis] - low[axis] >= whole or missing <= 0:
            continue
        if sensor[axis] > high[axis]:
            low[axis] -= missing
        elif sensor[axis] < low[axis]:
            high[axis] += missing
        else:  # beside it, so that both ends may be hidden
            low[axis], high[axis] = low[axis] - missing / 2, high[axis] + missing / 2
    return low, high


def _find_heights(cloud: _InstanceCloud, points: Array) -> tuple[float, float]:
    """Bottom and top: the ground around, and the highest returns; the usual height where the roof was not seen."""
    top = float(np.quantile(points[:, 2], 1 - _STRAY_SHARE / 2))
    near = cloud.ground[:, 2]
    bottom = float(np.median(near)) if len(near) else float(points[:, 2].min())
    bottom = min(bottom, float(np.quantile(points[:, 2], 0.05)))
    return bottom, top if top - bottom >= _WHOLE_HEIGHT_M else bottom + CAR_SIZE_M[2]


def _express(rows: Sequence[_InstanceBox], pose: Array) -> tuple[Boxes, Array]:
    """Boxes in the frame of a sweep, ``pose`` being where it is in the frame of the fits."""
    if not rows:
        return Boxes(np.zeros((0, 3)), np.zeros((0, 3)), np.zeros(0), ()), np.zeros(0, bool)
    there = inverse(pose)
    turn = math.atan2(there[1, 0], there[0, 0])
    fits = [row.fit for row in rows]
    boxes = Boxes(
        transform(there, np.stack([fit.centre for fit in fits])),
        np.stack([fit.size for fit in fits]),
        np.array([fit.yaw + turn for fit in fits]),
        [fit.name for fit in fits],
        track=np.array([row.track for row in rows]),
        n_points=np.array([row.n_points for row in rows]),
    )
    return boxes, np.array([fit.counts for fit in fits])
