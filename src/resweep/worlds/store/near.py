"""Which boxes lie near a path: what of a world a moving sensor can reach."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from resweep.errors import ResweepError
from resweep.log import Log
from resweep.pose import Array, Trajectory, check_rigid
from resweep.worlds.layers.square_tiles import TileTable

_BLOCK = 1 << 20  # pairs of box and stretch that are compared at a time


def read_path(near: Trajectory | Log | ArrayLike) -> Array:
    """Positions (n, 3) in the world along a trajectory, a log's poses, or an array of poses (n, 4, 4)."""
    if isinstance(near, Log):
        near.require_poses("it has no path in the world")
        poses = near.poses
    elif isinstance(near, Trajectory):
        poses = near.poses
    else:
        poses = check_rigid(near, "near")
    path: Array = np.asarray(poses).reshape(-1, 4, 4)[:, :3, 3]
    if not len(path):
        raise ResweepError("near: holds no pose; give at least one")
    return path


def find_near(boxes: Array, path: Array, reach_m: float) -> Array:
    """Which boxes (n, 2, 3) come within ``reach_m`` of a path (k, 3), (n,) bool; some that do not may be among them.

    Between two of its points the path is anywhere in the box around the two.
    """
    ends = path[1:] if len(path) > 1 else path
    low, high = np.minimum(path[: len(ends)], ends), np.maximum(path[: len(ends)], ends)
    found = np.zeros(len(boxes), bool)
    step = max(1, _BLOCK // max(1, len(boxes)))
    for first in range(0, len(low), step):
        rows = np.flatnonzero(~found)
        if not len(rows):
            break
        gap = np.maximum(
            boxes[rows, None, 0] - high[None, first : first + step],
            low[None, first : first + step] - boxes[rows, None, 1],
        )
        distance2 = (np.maximum(gap, 0.0) ** 2).sum(axis=2).min(axis=1)
        found[rows] = distance2 <= reach_m**2
    return found


def choose_near_tiles(near: Any, range_m: float, origin: Array) -> Callable[[TileTable], Array]:
    """What chooses the tiles of a layer that come within ``range_m`` of a path in the world."""
    if not 0 < range_m < np.inf:
        raise ResweepError(f"range_m: expected a number of metres above zero, got {range_m}")
    return partial(_choose, path=read_path(near) - origin, reach_m=range_m)


def _choose(table: TileTable, path: Array, reach_m: float) -> Array:
    return find_near(table.bounds, path, reach_m)
