"""Boxes seen from above: whether two overlap, and how far apart they are."""

from __future__ import annotations

import numpy as np

from resweep import portable
from resweep.pose import Array


def distance(one: Array, box_one: Array, two: Array, box_two: Array) -> Array:
    """Distances (n,) in the plane between boxes (2, 3) at poses (n, 4, 4); of boxes that overlap it means nothing.

    The distance of two rectangles that are apart is that of a corner of one from the other.
    """
    a, b = _corners(one, box_one), _corners(two, box_two)
    return np.minimum(_from_box(a, two, box_two), _from_box(b, one, box_one))


def overlap(one: Array, box_one: Array, two: Array, box_two: Array) -> Array:
    """Whether boxes (2, 3) at poses (n, 4, 4) overlap: no axis of either separates them, nor does their height."""
    corners = (_corners(one, box_one), _corners(two, box_two))
    joined = np.ones(len(one), bool)
    for poses in (one, two):
        heading = poses[:, :2, 0] / portable.norm(poses[:, :2, 0])[:, None]
        for axis in (heading, np.stack([-heading[:, 1], heading[:, 0]], axis=1)):
            (low, high), (lower, higher) = (
                (values.min(axis=1), values.max(axis=1))
                for values in (np.einsum("nki,ni->nk", points, axis) for points in corners)
            )
            joined &= (low <= higher) & (lower <= high)
    bottom, top = one[:, 2, 3] + box_one[0, 2], one[:, 2, 3] + box_one[1, 2]
    return np.asarray(joined & (bottom <= two[:, 2, 3] + box_two[1, 2]) & (two[:, 2, 3] + box_two[0, 2] <= top))


def _corners(poses: Array, box: Array) -> Array:
    """The four corners (n, 4, 2) of boxes seen from above; tilt is left out."""
    heading = poses[:, :2, 0] / portable.norm(poses[:, :2, 0])[:, None]
    across = np.stack([-heading[:, 1], heading[:, 0]], axis=1)
    x = box[[0, 1, 1, 0], 0][None, :, None] * heading[:, None]
    y = box[[0, 0, 1, 1], 1][None, :, None] * across[:, None]
    return np.asarray(poses[:, None, :2, 3] + x + y)


def _from_box(points: Array, poses: Array, box: Array) -> Array:
    """The least distance (n,) of points (n, k, 2) from boxes seen from above; zero within."""
    heading = poses[:, :2, 0] / portable.norm(poses[:, :2, 0])[:, None]
    arm = points - poses[:, None, :2, 3]
    x = (arm * heading[:, None]).sum(axis=-1)
    y = arm[..., 1] * heading[:, None, 0] - arm[..., 0] * heading[:, None, 1]
    beyond_x = np.maximum(np.maximum(box[0, 0] - x, x - box[1, 0]), 0.0)
    beyond_y = np.maximum(np.maximum(box[0, 1] - y, y - box[1, 1]), 0.0)
    return np.asarray(np.sqrt(beyond_x * beyond_x + beyond_y * beyond_y).min(axis=-1))
