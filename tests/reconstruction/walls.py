"""A wall of splats, beams to it, and the steps of a refinement on both."""

from __future__ import annotations

import numpy as np
from places import POLE, cloud_of

from resweep.pose import Array
from resweep.reconstruction import HybridConfig
from resweep.reconstruction.map.beams import Beams
from resweep.reconstruction.refine.config import REFINEMENTS, Refine
from resweep.reconstruction.refine.refine import Refinement
from resweep.worlds import Splats

WALL_M = 10.0


def wall(at_m: float, spacing: float = 0.1) -> Splats:
    """Splats of the plane x = ``at_m`` in front of the origin, which overlap."""
    axis = np.arange(-1.0, 1.0, spacing)
    y, z = (values.reshape(-1) for values in np.meshgrid(axis, axis))
    centre = np.column_stack([np.full(len(y), at_m), y, z])
    return Splats(centre, np.tile([-1.0, 0, 0], (len(y), 1)), np.full(len(y), spacing), depth=8, gap_m=0.2)


def beams_to(x_m: Array | float, count: int = 4000, seed: int = 0, noise_m: float = 0.01) -> Beams:
    """Beams from the origin at random through the wall, which end at ``x_m`` along x, or nowhere where that is inf."""
    rng = np.random.default_rng(seed)
    target = np.column_stack([np.full(count, WALL_M), rng.uniform(-0.9, 0.9, (count, 2))])
    direction = target / np.linalg.norm(target, axis=1)[:, None]
    length = np.broadcast_to(x_m, count) / direction[:, 0] + noise_m * rng.standard_normal(count)
    returned = np.isfinite(length)
    return Beams(
        np.zeros((count, 3), np.float32),
        direction.astype(np.float32),
        np.where(returned, length, 80.0).astype(np.float32),
        returned,
    )


def work(how: Refine = "full", threads: int = 0) -> Refinement:
    points = np.array([[WALL_M - 2.0, 0.5, 0.5], [WALL_M, 0.0, 0.0]])
    return Refinement(REFINEMENTS[how], cloud_of(points, POLE), 0.0, HybridConfig(), threads)
