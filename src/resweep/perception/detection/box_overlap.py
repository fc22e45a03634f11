"""How much boxes overlap: intersection over union seen from above, and in space, for boxes of any heading.

Intersections of rectangles are exact: one is cut by the edges of the other (Sutherland and Hodgman), for all pairs at
once.
"""

from __future__ import annotations

import numpy as np

from resweep import portable
from resweep.boxes import Boxes
from resweep.pose import Array

_TINY_M = 1e-9


def find_corners(boxes: Boxes) -> Array:
    """The corners (k, 4, 2) of boxes seen from above, counter-clockwise."""
    half = boxes.size[:, None, :2] / 2 * np.array([[1.0, 1.0], [-1.0, 1.0], [-1.0, -1.0], [1.0, -1.0]])
    c, s = portable.cos(boxes.yaw)[:, None], portable.sin(boxes.yaw)[:, None]
    x = c * half[..., 0] - s * half[..., 1] + boxes.centre[:, None, 0]
    y = s * half[..., 0] + c * half[..., 1] + boxes.centre[:, None, 1]
    return np.stack([x, y], axis=-1)


def find_intersections(a: Boxes, b: Boxes) -> Array:
    """Areas (k, m) that boxes (k,) and (m,) share, seen from above, in square metres."""
    shared = np.zeros((len(a), len(b)))
    if not len(a) or not len(b):
        return shared
    apart = portable.norm(a.centre[:, None, :2] - b.centre[None, :, :2])
    reach = (portable.norm(a.size[:, :2]) / 2)[:, None] + (portable.norm(b.size[:, :2]) / 2)[None]
    rows, columns = np.nonzero(apart <= reach)
    one, other = find_corners(a)[rows], find_corners(b)[columns]
    middle = b.centre[columns, None, :2]
    shared[rows, columns] = _clip_areas(one - middle, other - middle)
    return shared


def iou_bev(a: Boxes, b: Boxes) -> Array:
    """Intersection over union (k, m) of boxes (k,) and (m,), seen from above."""
    return _divide(find_intersections(a, b), a.size[:, 0] * a.size[:, 1], b.size[:, 0] * b.size[:, 1])


def iou_3d(a: Boxes, b: Boxes) -> Array:
    """Intersection over union (k, m) of boxes (k,) and (m,), in space."""
    low = np.maximum((a.centre[:, 2] - a.size[:, 2] / 2)[:, None], (b.centre[:, 2] - b.size[:, 2] / 2)[None])
    high = np.minimum((a.centre[:, 2] + a.size[:, 2] / 2)[:, None], (b.centre[:, 2] + b.size[:, 2] / 2)[None])
    shared = find_intersections(a, b) * np.maximum(high - low, 0.0)
    return _divide(shared, a.size.prod(axis=1), b.size.prod(axis=1))


def _divide(shared: Array, one: Array, other: Array) -> Array:
    union = one[:, None] + other[None] - shared
    share = np.divide(shared, union, out=np.zeros_like(shared), where=union > _TINY_M**2)
    return np.asarray(np.clip(share, 0.0, 1.0))


def _clip_areas(one: Array, other: Array) -> Array:
    """Areas (p,) of convex polygons (p, 4, 2), both counter-clockwise, that pairs share.

    A polygon has at most one corner more after each cut; unused places repeat its last corner, which adds no area.
    """
    polygon = one
    for edge in range(4):
        start, end = other[:, edge], other[:, (edge + 1) % 4]
        polygon = _cut(polygon, start, end - start)
    following = np.roll(polygon, -1, axis=1)
    twice = (polygon[..., 0] * following[..., 1] - polygon[..., 1] * following[..., 0]).sum(axis=1)
    return np.asarray(np.maximum(twice / 2, 0.0))


def _cut(polygon: Array, start: Array, along: Array) -> Array:
    """What lies to the left of lines (p, 2) of polygons (p, c, 2): (p, c + 1, 2)."""
    offset = polygon - start[:, None]
    side = along[:, None, 0] * offset[..., 1] - along[:, None, 1] * offset[..., 0]
    following, side_there = np.roll(polygon, -1, axis=1), np.roll(side, -1, axis=1)
    crosses = (side >= 0) != (side_there >= 0)
    share = np.divide(side, side - side_there, out=np.zeros_like(side), where=crosses)
    crossing = polygon + share[..., None] * (following - polygon)
    corners, count = polygon.shape[1], len(polygon)
    # Each corner may give itself, and the crossing behind it, in this order.
    given = np.stack([polygon, crossing], axis=2).reshape(count, 2 * corners, 2)
    kept = np.stack([side >= 0, crosses], axis=2).reshape(count, 2 * corners)
    order = np.argsort(~kept, axis=1, kind="stable")[:, : corners + 1]
    number = kept.sum(axis=1)
    last = np.minimum(np.arange(corners + 1)[None], np.maximum(number - 1, 0)[:, None])
    place = np.take_along_axis(order, last, axis=1)
    cut = np.take_along_axis(given, place[..., None], axis=1)
    cut[number == 0] = 0.0
    return cut
