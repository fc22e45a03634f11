"""The ground in squares: cells that points are stored by, and units of cells that are built by themselves."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from resweep import _core
from resweep.pose import Array

CELLS = 8  # along the side of a tile


@dataclass(frozen=True, order=True)
class Square:
    """A square of side ``size_m``, metres from the map's origin: number ``x``, ``y`` of a grid with a corner at 0."""

    x: int
    y: int
    size_m: float

    @property
    def low(self) -> Array:
        """The lowest corner (2,)."""
        return np.array([self.x, self.y]) * self.size_m

    @property
    def high(self) -> Array:
        """The highest corner (2,), which belongs to the next square."""
        return np.array([self.x + 1, self.y + 1]) * self.size_m

    def contains(self, points: Array) -> Array:
        """Points (n, 2 or 3) that lie in the square (n,) bool; each point lies in one square of a grid."""
        return np.asarray((find_squares(points, self.size_m) == (self.x, self.y)).all(axis=1))

    def reaches(self, points: Array, margin_m: float) -> Array:
        """Points (n, 2 or 3) within ``margin_m`` of the square along both axes (n,) bool."""
        at = np.asarray(points[:, :2], np.float64)
        return np.asarray(((at >= self.low - margin_m) & (at < self.high + margin_m)).all(axis=1))

    def find_beams(self, origin: Array, direction: Array, length: Array, margin_m: float) -> Array:
        """Rows (m,) of the beams that come within ``margin_m`` of the square along both axes."""
        return _core.beams_over(origin, direction, length, tuple(self.low - margin_m), tuple(self.high + margin_m))

    def quarters(self) -> list[Square]:
        """The four squares of half the side that it consists of."""
        half = self.size_m / 2
        return [Square(2 * self.x + i, 2 * self.y + j, half) for i in (0, 1) for j in (0, 1)]

    def cells(self, cell_m: float, margin_m: float = 0.0) -> Iterator[tuple[int, int]]:
        """The cells of a finer grid that lie in the square or within ``margin_m`` of it."""
        low = np.floor((self.low - margin_m) / cell_m).astype(int)
        high = np.ceil((self.high + margin_m) / cell_m).astype(int)
        for x in range(low[0], high[0]):
            for y in range(low[1], high[1]):
                yield x, y


def find_squares(points: Array, size_m: float) -> Array:
    """The number (n, 2) int64 of the square of side ``size_m`` that each point (n, 2 or 3) lies in."""
    return np.floor(np.asarray(points[:, :2], np.float64) / size_m).astype(np.int64)
