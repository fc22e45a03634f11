"""Positions over an area, and the transforms that put copies there."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from resweep import portable
from resweep.errors import ResweepError
from resweep.pose import Array

HeightAt = Callable[[Array, Array], Array]


def poisson_positions(rng: np.random.Generator, bounds: Sequence[float], density_per_m2: float) -> Array:
    """Positions (k, 2) of a homogeneous Poisson process in ``bounds`` (x0, y0, x1, y1), metres."""
    x0, y0, x1, y1 = bounds
    count = int(rng.poisson(density_per_m2 * (x1 - x0) * (y1 - y0)))
    return np.asarray(rng.uniform((x0, y0), (x1, y1), (count, 2)))


def jittered_positions(
    rng: np.random.Generator, bounds: Sequence[float], spacing_m: float, jitter: float = 1.0
) -> Array:
    """One position (k, 2) in each cell of a square grid, at its centre (``jitter`` 0) or anywhere in it (1)."""
    x0, y0, x1, y1 = bounds
    nx, ny = int((x1 - x0) / spacing_m + 1e-9), int((y1 - y0) / spacing_m + 1e-9)
    cell = np.stack(np.meshgrid(np.arange(nx), np.arange(ny), indexing="ij"), axis=-1).reshape(-1, 2)
    return np.asarray((x0, y0) + spacing_m * (cell + 0.5 + jitter * rng.uniform(-0.5, 0.5, cell.shape)))


def spaced_positions(
    rng: np.random.Generator,
    bounds: Sequence[float],
    count: int,
    gap_m: float,
    *,
    keep: Callable[[Array], Array] | None = None,
) -> Array:
    """``count`` uniform random positions (count, 2), no two nearer than ``gap_m``.

    ``keep`` says which of the candidates (n, 2) may be used, (n,) bool.
    """
    x0, y0, x1, y1 = bounds
    chosen = np.empty((0, 2))
    for _ in range(200):
        candidates = rng.uniform((x0, y0), (x1, y1), (4 * count, 2))
        if keep is not None:
            candidates = candidates[keep(candidates)]
        for candidate in candidates:
            if len(chosen) == count:
                return chosen
            if len(chosen) == 0 or np.hypot(*(chosen - candidate).T).min() >= gap_m:
                chosen = np.vstack([chosen, candidate])
    raise ResweepError(
        f"scatter: only {len(chosen)} of {count} positions fit at {gap_m} m apart; lower the count or the gap"
    )


def placements(
    rng: np.random.Generator,
    positions: Array,
    *,
    scale: tuple[float, float] = (1.0, 1.0),
    height_at: HeightAt | None = None,
) -> Array:
    """Transforms (k, 3, 4) float32: a random turn about z, a random size, and a place on the ground.

    ``positions`` (k, 2) metres; ``scale`` the bounds of a uniform random factor; ``height_at(x, y)``
    gives the ground's height (k,), zero if it is left out.
    """
    count = len(positions)
    yaw = rng.uniform(0, 2 * np.pi, count)
    factor = rng.uniform(*scale, count)
    transforms = np.zeros((count, 3, 4), dtype=np.float32)
    transforms[:, 0, 0] = transforms[:, 1, 1] = factor * portable.cos(yaw)
    transforms[:, 1, 0] = factor * portable.sin(yaw)
    transforms[:, 0, 1] = -transforms[:, 1, 0]
    transforms[:, 2, 2] = factor
    transforms[:, :2, 3] = positions
    if height_at is not None:
        transforms[:, 2, 3] = height_at(positions[:, 0], positions[:, 1])
    return transforms


def tilings(rng: np.random.Generator, centres: Array, *, height_at: HeightAt | None = None) -> Array:
    """Transforms (k, 3, 4) float32 that place a square tile on ``centres`` (k, 2) of a grid.

    Each copy is turned by a random quarter turn and mirrored at random: eight poses that hide the
    repetition, and none of them leaves the grid's cell, so the copies' boxes never overlap.
    """
    count = len(centres)
    quarter = rng.integers(0, 4, count)
    mirror = np.where(rng.integers(0, 2, count) == 1, -1.0, 1.0)
    cosine, sine = np.array([1.0, 0, -1, 0])[quarter], np.array([0.0, 1, 0, -1])[quarter]
    transforms = np.zeros((count, 3, 4), dtype=np.float32)
    transforms[:, 0, 0], transforms[:, 0, 1] = cosine, -sine * mirror
    transforms[:, 1, 0], transforms[:, 1, 1] = sine, cosine * mirror
    transforms[:, 2, 2] = 1.0
    transforms[:, :2, 3] = centres
    if height_at is not None:
        transforms[:, 2, 3] = height_at(centres[:, 0], centres[:, 1])
    return transforms
