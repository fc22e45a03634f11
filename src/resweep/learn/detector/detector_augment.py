"""Changes of training sweeps: other objects put in, turned, mirrored, scaled, returns and intensities left out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from resweep import portable
from resweep.learn.detector.detector_config import DetectorAugment
from resweep.learn.detector.detector_samples import DetectorSample, PastedObject
from resweep.pose import Array

_SHADOW_BINS = 720  # of azimuth
_LEVEL_M = 0.25  # ground at a place may be higher or lower than where an object was
_GROUND_REACH_M = 2.0
_CLEAR_M = 0.3  # between an object that is put in and others


def augment(
    sample: DetectorSample, objects: Sequence[PastedObject], config: DetectorAugment, rng: np.random.Generator
) -> DetectorSample:
    """A sweep as another drive could have recorded it."""
    for _ in range(int(rng.integers(config.paste + 1)) if objects else 0):
        sample = paste(sample, objects[int(rng.integers(len(objects)))], rng)
    kept = rng.random(len(sample.points)) >= rng.uniform(0, config.drop)
    yaw = math.radians(config.turn_deg) * rng.uniform(-1, 1)
    size, lift = rng.uniform(1 - config.scale, 1 + config.scale), rng.normal(0, config.height_m)
    mirror = rng.choice([-1.0, 1.0], 2)
    points, boxes = sample.points[kept].copy(), sample.boxes.copy()
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


def paste(sample: DetectorSample, item: PastedObject, rng: np.random.Generator) -> DetectorSample:
    """The sweep with an object at its own range in another direction, if there is room on level ground.

    What was recorded in its box, and behind it, is no longer seen.
    """
    turn = rng.uniform(-math.pi, math.pi)
    c, s = math.cos(turn), math.sin(turn)
    box, points = item.box.copy(), item.points.copy()
    box[:2] = c * box[0] - s * box[1], s * box[0] + c * box[1]
    box[6] += turn
    points[:, :2] = np.column_stack([c * points[:, 0] - s * points[:, 1], s * points[:, 0] + c * points[:, 1]])
    if len(sample.boxes):
        apart = portable.norm(sample.boxes[:, :2] - box[:2])
        reach = (portable.norm(sample.boxes[:, 3:5]) + portable.norm(box[3:5])) / 2
        if (apart < reach + _CLEAR_M).any():
            return sample
    away = sample.points[:, :3] - box[:3].astype(np.float32)
    near = (np.abs(away[:, :2]) <= _GROUND_REACH_M).all(axis=1)
    bottom = -box[5] / 2
    if near.sum() < 3 or abs(float(np.quantile(away[near, 2], 0.1)) - bottom) > _LEVEL_M:
        return sample
    if (near & (away[:, 2] > bottom + _LEVEL_M)).sum() > near.sum() // 2:  # something else is there
        return sample
    hidden = _find_hidden(sample.points, points, box)
    sector = sample.sector
    bearing = math.atan2(box[1], box[0])
    inside = sector is None or abs((bearing - sector[0] + math.pi) % (2 * math.pi) - math.pi) <= sector[1]
    return replace(
        sample,
        points=np.concatenate([sample.points[~hidden], points]),
        boxes=np.concatenate([sample.boxes, box[None]]),
        number=np.append(sample.number, item.number if inside else -1),
    )


def _find_hidden(points: Array, on_object: Array, box: Array) -> Array:
    """Which returns (n,) an object with returns (m, 4) hides, or takes the place of."""
    azimuth = np.floor((portable.arctan2(points[:, 1], points[:, 0]) / (2 * math.pi) + 0.5) * _SHADOW_BINS)
    azimuth = azimuth.astype(np.int64) % _SHADOW_BINS
    flat = portable.norm(points[:, :2])
    slope = points[:, 2] / np.maximum(flat, 0.1)
    theirs = np.floor((portable.arctan2(on_object[:, 1], on_object[:, 0]) / (2 * math.pi) + 0.5) * _SHADOW_BINS)
    theirs = theirs.astype(np.int64) % _SHADOW_BINS
    their_flat = portable.norm(on_object[:, :2])
    their_slope = on_object[:, 2] / np.maximum(their_flat, 0.1)
    near, low, high = (np.full(_SHADOW_BINS, value) for value in (np.inf, np.inf, -np.inf))
    np.minimum.at(near, theirs, their_flat)
    np.minimum.at(low, theirs, their_slope)
    np.maximum.at(high, theirs, their_slope)
    behind = (flat > near[azimuth]) & (slope >= low[azimuth]) & (slope <= high[azimuth])
    c, s = math.cos(box[6]), math.sin(box[6])
    away = points[:, :2] - box[:2]
    local = np.abs(np.column_stack([c * away[:, 0] + s * away[:, 1], c * away[:, 1] - s * away[:, 0]]))
    above = points[:, 2] > box[2] - box[5] / 2 + _LEVEL_M
    return np.asarray(behind | ((local <= box[3:5] / 2).all(axis=1) & above))
