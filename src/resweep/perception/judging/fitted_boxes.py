"""Boxes around points: what a modeller who builds with boxes would make of a place."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.spatial import ConvexHull, QhullError

from resweep.pose import Array

_THICK_M, _LONG_M = 1.5, 8.0  # of a box: larger ones are divided, so that façades are walls and yards stay empty
_MIN_POINTS = 4
_TALL = (0.02, 0.98)  # quantiles of the heights that a box spans
_MIN_SIDE_M = 0.1


@dataclass(frozen=True)
class FittedBox:
    """An upright box: ``centre`` (x, y), ``size`` (length, width), ``yaw_rad`` of its length, and its heights."""

    centre: Array
    size: Array
    yaw_rad: float
    bottom_m: float
    top_m: float


def fit_box(points: Array) -> FittedBox:
    """The upright box of least area around points (n, 3); its length is its longer side."""
    flat = points[:, :2]
    directions = _list_edges(flat)
    best: tuple[float, Array, Array, float] | None = None
    for yaw in directions:
        turn = np.array([[np.cos(yaw), -np.sin(yaw)], [np.sin(yaw), np.cos(yaw)]])
        local = flat @ turn
        low, high = local.min(axis=0), local.max(axis=0)
        area = float(np.prod(np.maximum(high - low, _MIN_SIDE_M)))
        if best is None or area < best[0]:
            best = area, turn @ ((low + high) / 2), high - low, float(yaw)
    assert best is not None
    _, centre, size, yaw = best
    if size[1] > size[0]:
        size, yaw = size[::-1], yaw + np.pi / 2
    bottom, top = np.quantile(points[:, 2], _TALL)
    return FittedBox(centre, np.maximum(size, _MIN_SIDE_M), yaw, float(bottom), float(max(top, bottom + _MIN_SIDE_M)))


def _list_edges(flat: Array) -> Array:
    """The directions of the sides of the convex hull: a rectangle of least area has a side along one of them."""
    try:
        corners = flat[ConvexHull(flat).vertices]
    except QhullError:  # on a line, or too few
        spread = flat - flat.mean(axis=0)
        along = spread[np.argmax((spread**2).sum(axis=1))]
        return np.array([np.arctan2(along[1], along[0])])
    edges = np.roll(corners, -1, axis=0) - corners
    return np.unique(np.round(np.arctan2(edges[:, 1], edges[:, 0]) % (np.pi / 2), 6))


def fit_boxes(points: Array) -> list[FittedBox]:
    """Boxes around points (n, 3): one, or two around the halves of what is too large for one, and so on."""
    found, waiting = [], [points]
    while waiting:
        part = waiting.pop()
        if len(part) < _MIN_POINTS:
            continue
        axis, size = _find_axis(part[:, :2])
        if size[1] <= _THICK_M and size[0] <= _LONG_M:
            found.append(fit_box(part))
            continue
        along = part[:, :2] @ axis
        middle = (along.min() + along.max()) / 2
        waiting += [part[along <= middle], part[along > middle]]
    return found


def _find_axis(flat: Array) -> tuple[Array, Array]:
    """The direction along which points spread most, and how long they are along it and across."""
    centred = flat - flat.mean(axis=0)
    _, vectors = np.linalg.eigh(centred.T @ centred)
    axis, across = vectors[:, 1], vectors[:, 0]
    return axis, np.array([np.ptp(centred @ axis), np.ptp(centred @ across)])
