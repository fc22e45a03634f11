"""Errors of a sweep against another one of the same beams, return by return."""

from __future__ import annotations

import numpy as np

from resweep.pose import Array, transform
from resweep.sweep import Sweep

_SAME_RAD = 1e-3


def find_errors(one: Sweep, other: Sweep) -> Array:
    """How far (n,) metres each return of ``one`` lies from what ``other`` returned; NaN where there is no pair.

    Sweeps of the same beams are compared beam by beam, along the beam, positive where ``one`` reads longer. Other
    sweeps by the nearest return, always positive.
    """
    if len(one) == 0 or len(other) == 0:
        return np.full(len(one), np.nan)
    if fired_same_beams(one, other):
        nearest = np.full(other.n_beams, np.nan)
        far_first = np.argsort(-other.range, kind="stable")
        nearest[other.beam[far_first]] = other.range[far_first]
        return np.asarray(one.range - nearest[one.beam])
    from resweep.neighbours import Neighbours

    shift = other.pose[:3, 3]
    points = other.world_points() - shift
    found = Neighbours(points.astype(np.float32)).knn((one.world_points() - shift).astype(np.float64), 1)
    return np.sqrt(np.asarray(found.distance2[:, 0], np.float64))


def fired_same_beams(one: Sweep, other: Sweep) -> bool:
    """Whether both fired the same beams from the same place."""
    if one.n_beams != other.n_beams or not np.allclose(one.pose, other.pose, atol=1e-3):
        return False
    few = np.linspace(0, one.n_beams - 1, min(one.n_beams, 500)).astype(np.int64)
    return bool(np.abs(one.beam_direction[few] - other.beam_direction[few]).max() < _SAME_RAD)


def find_nearest_sweep(pose: Array, poses: Array) -> int:
    """The row of ``poses`` (n, 4, 4) that stands nearest to ``pose``."""
    return int(np.argmin(np.linalg.norm(poses[:, :3, 3] - transform(pose, np.zeros((1, 3)))[0], axis=1)))
