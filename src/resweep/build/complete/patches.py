"""Patches: places for splats that continue recorded ones."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from resweep.pose import Array
from resweep.worlds.observed import ObservedSpace


@dataclass(frozen=True, eq=False)
class Patches:
    """Discs (n,): ``centre`` and unit ``normal`` (n, 3), ``radius``; ``like`` are the splats that they continue."""

    centre: Array
    normal: Array
    radius: Array
    like: Array

    def __len__(self) -> int:
        return len(self.like)


_PROBE_M = 1e-3  # length of the ray that asks for the voxel of a point: far below the side of one

NO_PATCHES = Patches(np.zeros((0, 3)), np.zeros((0, 3)), np.zeros(0), np.zeros(0, np.int64))


def is_observed(observed: ObservedSpace, points: Array) -> Array:
    """Whether a recorded beam crossed the voxel of each of ``points`` (n, 3); (n,) bool."""
    origin = np.ascontiguousarray(points, np.float32)
    step = np.full(len(points), _PROBE_M, np.float32)
    up = np.tile(np.array([0, 0, 1], np.float32), (len(points), 1))
    unknown, _ = observed.native.follow(origin, up, step, 1.0)
    return np.asarray(unknown < _PROBE_M / 2)
