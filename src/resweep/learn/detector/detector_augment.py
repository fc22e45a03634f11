"""Changes of training sweeps: other objects put in, turned, mirrored, scaled, returns and intensities left out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from resweep import portable
from resweep.learn.detector.detector_config import DetectorAugment
from resweep.learn.detector.detector_samples import DetectorSample, PastedObject, measure_polar
from resweep.perception.detection.truth import is_in_sector
from resweep.pose import Array

_SECTORS = 720  # of a full turn, in which an object hides what is behind it
_LEVEL_M = 0.25  # ground at a place may be higher or lower than where an object was
_GROUND_REACH_M = 2.0
_CLEAR_M = 0.3  # between an object that is put in and others
_TRIES = 10  # directions in which room is looked for


def augment(
    sample: DetectorSample, objects: Sequence[PastedObject], config: DetectorAugment, rng: np.random.Generator
) -> DetectorSample:
    """A sweep as another drive could have recorded it."""
    count = int(rng.integers(config.paste + 1)) if objects else 0
    sample = paste(sample, [objects[int(row)] for row in rng.integers(len(objects), size=count)] if count else [], rng)
    kept = rng.random(len(sample.points)) >= rng.uniform(0, config.drop)
    yaw = math.radians(config.turn_deg) * rng.uniform(-1, 1)
    size, lift = rng.uniform(1 - config.scale, 1 + config.scale), rng.normal(0, config.height_m)
    mirror = rng.choice([-1.0, 1.0], 2)
    points, boxes = sample.points[kept], sample.boxes.copy()
    turn = portable.matmul(np.array([[math.cos(yaw), -math.sin(yaw)], [math.sin(yaw), math.cos(yaw)]]), np.diag(mirror))
    points[:, :2] = portable.matmul(points[:, :2], turn.T.astype(np.float32) * np.float32(size))
    points[:, 2] = points[:, 2] * np.float32(size) + np.float32(lift)
    boxes[:, :2] = portable.matmul(boxes[:, :2], turn.T * size)
    boxes[:, 2] = boxes[:, 2] * size + lift
    boxes[:, 3:6] *= size
    boxes[:, 6] = _turn_angle(boxes[:, 6], mirror, yaw)
    sector = sample.sector
    if sector is not None:
        sector = (float(_turn_angle(np.array([sector[0]]), mirror, yaw)[0]), sector[1])
    if rng.random() < config.forget_intensity:
        points[:, 3] = 0
    return replace(sample, points=points, boxes=boxes, sector=sector)


def _turn_angle(angle: Array, mirror: Array, yaw: float) -> Array:
    """Headings (n,) after a mirror (2,) of x and y, and a turn."""
    x, y = portable.cos(angle) * mirror[0], portable.sin(angle) * mirror[1]
    return portable.arctan2(y, x) + yaw


def paste(sample: DetectorSample, objects: Sequence[PastedObject], rng: np.random.Generator) -> DetectorSample:
    """The sweep with objects at their own range in other directions, each if there is room for it on level ground.

    What was recorded in their boxes, and behind them, is no longer seen.
    """
    kept, added = np.ones(len(sample.points), bool), []
    changed = sample
    for item in objects:
        turns = rng.uniform(-math.pi, math.pi, _TRIES).tolist()
        turn = next((angle for angle in turns if _has_room(changed, _turn_box(item.box, angle))), None)
        if turn is None:
            continue
        box, points = _turn_box(item.box, turn), _turn_points(item.points, turn)
        kept[_find_hidden(sample, points, box)] = False
        added.append(points)
        inside = bool(is_in_sector(box[None], sample.sector)[0])
        changed = replace(
            changed,
            boxes=np.concatenate([changed.boxes, box[None]]),
            number=np.append(changed.number, item.number if inside else -1),
        )
    if not added:
        return sample
    points = np.concatenate([sample.points[kept], *added])
    return replace(changed, points=points, polar=measure_polar(points[:0]))


def _turn_points(points: Array, angle: float) -> Array:
    """Returns (n, 4) turned about the sensor."""
    c, s = math.cos(angle), math.sin(angle)
    turned = points.copy()
    turned[:, 0], turned[:, 1] = c * points[:, 0] - s * points[:, 1], s * points[:, 0] + c * points[:, 1]
    return turned


def _turn_box(box: Array, angle: float) -> Array:
    """A box (7,) turned about the sensor."""
    c, s = math.cos(angle), math.sin(angle)
    return np.array([c * box[0] - s * box[1], s * box[0] + c * box[1], *box[2:6], box[6] + angle])


def _has_room(sample: DetectorSample, box: Array) -> bool:
    """Whether a box would stand on level ground, apart from other boxes and from what else is there."""
    if len(sample.boxes):
        apart = portable.norm(sample.boxes[:, :2] - box[:2])
        reach = (portable.norm(sample.boxes[:, 3:5]) + portable.norm(box[3:5])) / 2
        if (apart < reach + _CLEAR_M).any():
            return False
    near = _find_near(sample.points, box)
    height, bottom = sample.points[near, 2], float(box[2] - box[5] / 2)
    if len(near) < 3 or abs(float(np.quantile(height, 0.1)) - bottom) > _LEVEL_M:
        return False
    return bool((height > bottom + _LEVEL_M).sum() <= len(near) // 2)


def _find_near(points: Array, box: Array) -> Array:
    """The returns around a box."""
    rows = np.flatnonzero(np.abs(points[:, 0] - np.float32(box[0])) <= _GROUND_REACH_M)
    return np.asarray(rows[np.abs(points[rows, 1] - np.float32(box[1])) <= _GROUND_REACH_M])


def _find_hidden(sample: DetectorSample, on_object: Array, box: Array) -> Array:
    """The rows of returns that an object with returns (m, 4) hides, or takes the place of.

    Hidden is what is farther than the object's nearest return in a sector of half a degree, at heights between its own.
    """
    polar = measure_polar(on_object)
    middle = np.float32(math.atan2(box[1], box[0]) / (2 * math.pi))
    theirs = _turn_near(polar[:, 0] - middle)
    away = _turn_near(sample.polar[:, 0] - middle)
    rows = np.flatnonzero(np.abs(away) <= np.abs(theirs).max() + 1 / _SECTORS)
    points, flat = sample.points[rows], sample.polar[rows, 1]
    first = int(np.floor(away[rows].min(initial=theirs.min()) * _SECTORS))
    sector, their_sector = (np.floor(item * _SECTORS).astype(np.int64) - first for item in (away[rows], theirs))
    count = int(max(sector.max(initial=0), their_sector.max())) + 1
    slope, their_slope = points[:, 2] / np.maximum(flat, 0.1), on_object[:, 2] / np.maximum(polar[:, 1], 0.1)
    near, low, high = (np.full(count, value) for value in (np.inf, np.inf, -np.inf))
    np.minimum.at(near, their_sector, polar[:, 1])
    np.minimum.at(low, their_sector, their_slope)
    np.maximum.at(high, their_sector, their_slope)
    behind = (flat > near[sector]) & (slope >= low[sector]) & (slope <= high[sector])
    c, s = math.cos(box[6]), math.sin(box[6])
    x, y = points[:, 0] - box[0], points[:, 1] - box[1]
    inside = (np.abs(c * x + s * y) <= box[3] / 2) & (np.abs(c * y - s * x) <= box[4] / 2)
    return np.asarray(rows[behind | (inside & (points[:, 2] > box[2] - box[5] / 2 + _LEVEL_M))])


def _turn_near(turns: Array) -> Array:
    """Angles (n,) in turns, from minus a half to a half."""
    return np.asarray(turns - np.round(turns))
