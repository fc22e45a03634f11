"""The cost map of B, eq. 8: a square grid, the cost of a cell from the heights of the points in it."""

from __future__ import annotations

import numpy as np
from pydantic import Field

from resweep.config import Positive, Spec
from resweep.pose import Array
from resweep.quantities import CellSize

LETHAL = 100.0


class CostMapConfig(Spec):
    """The grid; the defaults are B's (3.5.3)."""

    cell_m: CellSize = 0.5
    """Side of a cell, metres."""
    cells: int = Field(default=400, ge=2, le=4000)
    """Cells along each side."""
    height_max_m: Positive = 1.5
    """Tallest vegetation that the vehicle passes (h_max), metres."""


def compute_point_costs(height_m: Array, height_max_m: float) -> Array:
    """Costs from 0 to 100 of points (n,) by their height above the ground.

    B, eq. 8 prints c = max(100 h / h_max, 100), which is 100 for all low points. It means min: costs grow with the
    height up to 100, where nothing passes.
    """
    return np.clip(LETHAL * np.asarray(height_m) / height_max_m, 0.0, LETHAL)


class CostMap:
    """A grid of costs around ``centre`` (x, y); a cell has the largest cost of its points. ``seen`` counts those."""

    def __init__(self, config: CostMapConfig, centre: tuple[float, float]) -> None:
        self.config = config
        self.low = np.array(centre) - 0.5 * config.cells * config.cell_m
        self.cost = np.zeros((config.cells, config.cells))
        self.seen = np.zeros((config.cells, config.cells), np.int64)

    def find_cells(self, places: Array) -> tuple[Array, Array]:
        """Cells (m, 2) of places (n, 2) that lie in the grid, and which (m,) of them these are."""
        cells = np.floor((np.asarray(places) - self.low) / self.config.cell_m).astype(np.int64)
        inside = np.flatnonzero(((cells >= 0) & (cells < self.config.cells)).all(axis=1))
        return cells[inside], inside

    def centre_of(self, cells: Array) -> Array:
        """Places (n, 2) of the centres of cells (n, 2)."""
        return np.asarray(self.low + (np.asarray(cells) + 0.5) * self.config.cell_m)

    def add(self, points: Array) -> None:
        """Take in points (n, 3): x, y in the world, z above the ground."""
        cells, rows = self.find_cells(points[:, :2])
        flat = cells[:, 0] * self.config.cells + cells[:, 1]
        np.maximum.at(self.cost.reshape(-1), flat, compute_point_costs(points[rows, 2], self.config.height_max_m))
        self.seen.reshape(-1)[:] += np.bincount(flat, minlength=self.seen.size)
