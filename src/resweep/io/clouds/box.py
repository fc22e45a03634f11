"""Which points of a cloud are asked for: a box in the cloud's own coordinates, and how fine."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from resweep.errors import ResweepError
from resweep.pose import Array


@dataclass(frozen=True, eq=False)
class Box:
    """Lowest and highest corner (3,) in metres, both inside; a box on the ground has no bottom and no top."""

    low: Array
    high: Array

    @classmethod
    def of(cls, bounds: Sequence[float] | None) -> Box:
        """The box of ``x0, y0, x1, y1`` or ``x0, y0, x1, y1, z0, z1``; all there is for None."""
        if bounds is None:
            return cls(np.full(3, -np.inf), np.full(3, np.inf))
        try:
            values = [float(value) for value in bounds]
        except (TypeError, ValueError):
            values = []
        if len(values) not in (4, 6) or any(map(math.isnan, values)):
            raise ResweepError(
                f"bounds: expected x0, y0, x1, y1 or x0, y0, x1, y1, z0, z1 in metres, got {bounds!r:.80}"
            )
        x0, y0, x1, y1, z0, z1 = (*values, -math.inf, math.inf)[:6]
        if x0 > x1 or y0 > y1 or z0 > z1:
            raise ResweepError(f"bounds: the lower corner comes first (x0, y0, x1, y1, z0, z1), got {tuple(values)}")
        return cls(np.array([x0, y0, z0]), np.array([x1, y1, z1]))

    def intersects(self, low: Array, high: Array) -> bool:
        """Whether another box shares a point with this one."""
        return bool((self.low <= high).all() and (low <= self.high).all())

    def contains(self, low: Array, high: Array) -> bool:
        """Whether another box lies inside this one."""
        return bool((self.low <= low).all() and (high <= self.high).all())

    def inside(self, points: Array) -> Array:
        """Which of the points (n, 3) lie inside: (n,) bool."""
        return np.asarray(((points >= self.low) & (points <= self.high)).all(axis=1))


def check_resolution(resolution: float | None) -> float | None:
    """Return ``resolution``, or raise if it is no distance between points."""
    if resolution is not None and not (math.isfinite(resolution) and resolution > 0):
        raise ResweepError(f"resolution: expected metres between points above zero, got {resolution}")
    return resolution
