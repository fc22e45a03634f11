"""Levels of detail: which primitives of a large world are shown, more of them near the eye."""

from __future__ import annotations

import numpy as np

from resweep.pose import Array

BUDGET = 600_000  # primitives that a browser draws at ease
_NEAR_M = 2.0


def draw_priorities(count: int, seed: int = 0) -> Array:
    """Numbers (n,) float32 from 0 to 1, equally spaced and in random order: the same primitives show at each level."""
    order = np.random.Generator(np.random.Philox(seed)).permutation(count)
    return np.asarray((order + 0.5) / max(count, 1), np.float32)


def choose_level(centre: Array, priority: Array, eye: Array, budget: int = BUDGET) -> tuple[Array, Array]:
    """Rows (k,) of at most ``budget`` primitives at ``centre`` (n, 3), and by how much (k,) to widen each.

    The share that is shown falls with the square of the distance to ``eye``, so that the picture has as many of them
    everywhere; all are shown within some distance. Those that are left widen so that they cover as much.
    """
    count = len(centre)
    if count <= budget:
        return np.arange(count), np.ones(count, np.float32)
    offset = np.asarray(centre, np.float32) - np.asarray(eye, np.float32)
    squared = np.maximum(np.einsum("ij,ij->i", offset, offset), np.float32(_NEAR_M**2))
    inverse = 1.0 / squared
    reach = _find_reach(inverse, int(0.98 * budget))  # the draw may give a few more than expected
    share = np.minimum(1.0, reach * inverse)
    rows = np.flatnonzero(priority < share)
    if len(rows) > budget:
        rows = np.sort(rows[np.argsort(squared[rows], kind="stable")[:budget]])
    return rows, np.asarray(1.0 / np.sqrt(share[rows]), np.float32)


def _find_reach(inverse: Array, budget: int) -> float:
    """The squared distance within which all are shown, so that ``budget`` are shown in all."""
    sample = inverse if len(inverse) <= 200_000 else inverse[:: len(inverse) // 200_000]
    wanted = budget * len(sample) / len(inverse)
    low, high = 0.0, float(1.0 / sample.min())
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if np.minimum(1.0, middle * sample).sum() < wanted else (low, middle)
    return low
