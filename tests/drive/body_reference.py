"""NumPy twins of the native kernels of a vehicle's body: short, slow, and what tests hold the kernels to."""

from __future__ import annotations

import numpy as np

from resweep import portable
from resweep.pose import Array
from resweep.scenario.ground import Ground


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


def strike(ground: Ground, rays: tuple[Array, Array, Array], side_on: float, poses: Array) -> tuple[int, Array] | None:
    """The first of poses (n, 4, 4) at which a ray hits what is no ground, and where (3,); None if none does."""
    begin, along, length = rays
    for at, pose in enumerate(poses):
        origins = portable.matmul(begin, pose[:3, :3].T) + pose[:3, 3]
        directions = portable.matmul(along, pose[:3, :3].T)
        found = ground.hits(origins, directions, float(length.max()))
        grazed = ~ground.labels.is_labelled(found["label"]) & (np.abs(found["cosine"]) < side_on)
        hit = np.flatnonzero((found["range"] <= length) & ~grazed & ~ground.is_ground(found["label"]))
        if len(hit):
            return at, origins[hit[0]] + directions[hit[0]] * float(found["range"][hit[0]])
    return None


def heights(
    ground: Ground, places: Array, near_m: Array, step: float, drop: float, skip: float, upward: float, deepest: int,
    labelled: bool,
) -> Array:  # fmt: skip
    """Height (n,) of the ground below places (n, 2), near heights (n,); NaN where there is none."""
    count = len(places)
    z, best, other = near_m + step, np.full(count, np.nan), np.full(count, np.nan)
    active, down = np.arange(count), np.tile([0.0, 0.0, -1.0], (count, 1))
    for _ in range(deepest):
        found = ground.hits(np.column_stack([places[active], z[active]]), down[: len(active)], step + drop)
        height = z[active] - found["range"].astype(np.float64)
        hit = np.isfinite(found["range"]) & (height >= near_m[active] - drop)
        level = hit & (np.abs(found["cosine"]) >= upward)
        known = ground.is_ground(found["label"]) | ~ground.labels.is_labelled(found["label"])
        stands = level & (known if labelled else True)
        best[active[stands]] = height[stands]
        again = hit & ~stands
        other[active[level & again]] = height[level & again]
        z[active[again]] = height[again] - skip
        active = active[again]
    return np.where(np.isnan(best), other, best)
