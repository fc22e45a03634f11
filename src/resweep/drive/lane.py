"""Places along a line: how far along it, and how far to its left."""

from __future__ import annotations

import math

import numpy as np

from resweep import portable
from resweep.errors import ResweepError
from resweep.pose import Array

_SPACING_M = 1.0
_STRAIGHT = 1e-4  # sine of a turn that is none


class Lane:
    """A line to drive along; it goes on straight beyond both of its ends."""

    def __init__(self, route: Array) -> None:
        steps = portable.norm(np.diff(route, axis=0)) if len(route) > 1 else np.zeros(0)
        length = float(steps.sum())
        if length < _SPACING_M:
            raise ResweepError("route: shorter than a metre; give the scenario's ego a lane to follow")
        along = np.concatenate([[0.0], np.cumsum(steps)])
        at = np.linspace(0.0, length, max(2, round(length / _SPACING_M) + 1))
        self.points = _simplify(np.column_stack([np.interp(at, along, route[:, 0]), np.interp(at, along, route[:, 1])]))
        self.along = np.concatenate([[0.0], np.cumsum(portable.norm(np.diff(self.points, axis=0)))])
        self.length_m = float(self.along[-1])
        segments = np.diff(self.points, axis=0)
        self._direction = segments / portable.norm(segments)[:, None]

    def project(self, places: Array) -> tuple[Array, Array]:
        """Metres along the line and to its left of places (n, 2)."""
        arm = places[:, None] - self.points[None, :-1]
        s = np.einsum("nki,ki->nk", arm, self._direction)
        limit = np.diff(self.along)
        low, high = np.zeros(len(limit)), limit.copy()
        low[0], high[-1] = -np.inf, np.inf
        s = np.clip(s, low, high)
        gap = arm - s[..., None] * self._direction[None]
        nearest = (gap * gap).sum(axis=-1).argmin(axis=1)
        rows = np.arange(len(places))
        direction, rest = self._direction[nearest], gap[rows, nearest]
        d = direction[:, 0] * rest[:, 1] - direction[:, 1] * rest[:, 0]
        return self.along[nearest] + s[rows, nearest], d

    def place(self, s: float, d: float) -> tuple[float, float]:
        """x and y of a place given along the line and to its left."""
        at = self._find_segment(s)
        direction, rest = self._direction[at], s - float(self.along[at])
        x = float(self.points[at, 0] + rest * direction[0] - d * direction[1])
        y = float(self.points[at, 1] + rest * direction[1] + d * direction[0])
        return x, y

    def _find_segment(self, s: float) -> int:
        return min(max(int(np.searchsorted(self.along, s, side="right")) - 1, 0), len(self._direction) - 1)

    def heading(self, s: float) -> float:
        """Direction of the line, radians."""
        at = self._find_segment(s)
        return math.atan2(float(self._direction[at, 1]), float(self._direction[at, 0]))


def _simplify(points: Array) -> Array:
    """The points (m, 2) of a line at which it turns, and its ends: straight parts need no points between."""
    step = np.diff(points, axis=0)
    direction = step / portable.norm(step)[:, None]
    turn = direction[:-1, 0] * direction[1:, 1] - direction[:-1, 1] * direction[1:, 0]
    keep = np.concatenate([[True], np.abs(turn) > _STRAIGHT, [True]])
    return np.asarray(points[keep])
