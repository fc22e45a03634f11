"""Bird's-eye images of sweeps: height, intensity and density on a grid in the sensor's frame (as SFA3D and PIXOR have).

Rows go along x, forward, and columns along y, to the left. A detector answers on a coarser grid of `STRIDE` cells each.
"""

from __future__ import annotations

from typing import Annotated

import numpy as np
from pydantic import Field, model_validator

from resweep import portable
from resweep.config import Spec
from resweep.errors import SettingsError
from resweep.pose import Array

CHANNELS = ("height", "intensity", "density")
STRIDE = 4  # cells of the image, along each side, that share one answer
BLOCK = 16  # cells: what the coarsest map of the network sees as one
MAX_CELLS = 4096  # along a side
_FULL_DENSITY = 64  # returns in a cell from which its density is 1 (SFA3D, kitti_bev_utils.py)
_BITS = 19  # of a share: steps of 8 micrometres of height; the number of a cell has 24 bits at most

Extent = Annotated[float, Field(gt=0.0, le=500.0)]
Height = Annotated[float, Field(ge=-100.0, le=100.0)]


class BirdsEyeGrid(Spec):
    """The cells of a bird's-eye image, in the frame of a sweep's ``pose``."""

    reach_x_m: Extent = 51.2
    """How far it reaches forward and back, in metres."""
    reach_y_m: Extent = 38.4
    """How far it reaches to each side, in metres."""
    cell_m: Annotated[float, Field(ge=0.02, le=5.0)] = 0.2
    """Side of its cells, in metres."""
    bottom_m: Height = -2.7
    """Lowest returns that it shows, metres above the sensor."""
    top_m: Height = 1.3
    """Highest returns that it shows, metres above the sensor."""

    @model_validator(mode="after")
    def _check(self) -> BirdsEyeGrid:
        if self.top_m <= self.bottom_m:
            raise SettingsError("top_m", f"{self.top_m:g} is not above bottom_m, {self.bottom_m:g}")
        for name in ("reach_x_m", "reach_y_m"):
            count = 2 * getattr(self, name) / self.cell_m
            if abs(count - round(count)) > 1e-6 or round(count) % BLOCK or round(count) > MAX_CELLS:
                raise SettingsError(
                    name,
                    f"twice {getattr(self, name):g} m are {count:g} cells of {self.cell_m:g} m; "
                    f"give a multiple of {BLOCK} cells, at most {MAX_CELLS}",
                )
        return self

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of the image."""
        return round(2 * self.reach_x_m / self.cell_m), round(2 * self.reach_y_m / self.cell_m)

    @property
    def answer_shape(self) -> tuple[int, int]:
        """Rows and columns of the grid of answers."""
        rows, columns = self.shape
        return rows // STRIDE, columns // STRIDE

    @property
    def answer_m(self) -> float:
        """Side of the cells of the grid of answers, in metres."""
        return self.cell_m * STRIDE

    def is_inside(self, centres: Array) -> Array:
        """Whether positions (n, 2 or 3) are on the grid."""
        return np.asarray(
            (np.abs(centres[:, 0]) < self.reach_x_m) & (np.abs(centres[:, 1]) < self.reach_y_m), dtype=bool
        )

    def find_answers(self, centres: Array) -> Array:
        """Where positions (n, 2) are on the grid of answers: (n, 2), 0.5 being the middle of the first cell."""
        return np.asarray((centres[:, :2] + [self.reach_x_m, self.reach_y_m]) / self.answer_m)


def draw_birds_eye(points: Array, intensity: Array, grid: BirdsEyeGrid) -> Array:
    """The image (3, rows, columns) float32 of returns (n, 3): `CHANNELS`, each from 0 to 1, and 0 in empty cells.

    Height and intensity are those of the highest return of a cell, density the logarithm of their number. Intensities
    (n,) are shares of full scale and are cut off at 1; those of a recording without any are 0.
    """
    rows, columns = grid.shape
    x, y, z = np.ascontiguousarray(points.T, np.float32)
    row = np.floor((x + np.float32(grid.reach_x_m)) / np.float32(grid.cell_m))
    column = np.floor((y + np.float32(grid.reach_y_m)) / np.float32(grid.cell_m))
    inside = (row >= 0) & (row < rows) & (column >= 0) & (column < columns) & (z >= grid.bottom_m) & (z <= grid.top_m)
    bright = np.clip(intensity[inside], 0, 1)
    height = (z[inside] - np.float32(grid.bottom_m)) / np.float32(grid.top_m - grid.bottom_m)
    cell = row[inside].astype(np.int64) * columns + column[inside].astype(np.int64)
    # One number to sort by: the cell, the height in it, and of equal ones the brighter, whatever the order of returns.
    key = (cell << 2 * _BITS) | (_count_steps(height) << _BITS) | _count_steps(bright)
    order = np.argsort(key, kind="stable")
    cell = cell[order]
    last = np.flatnonzero(np.append(cell[1:] != cell[:-1], True)) if len(cell) else np.zeros(0, np.int64)
    count = np.diff(last, prepend=-1)
    image = np.zeros((len(CHANNELS), rows * columns), np.float32)
    at = cell[last]
    image[0, at] = height[order[last]]
    image[1, at] = bright[order[last]]
    image[2, at] = np.minimum(1.0, portable.log(count + 1.0) / portable.log(float(_FULL_DENSITY)))
    return np.asarray(image.reshape(len(CHANNELS), rows, columns))


def _count_steps(share: Array) -> Array:
    """Shares (n,) from 0 to 1 in whole steps of `_BITS` bits."""
    steps: Array = (share * float(2**_BITS - 1)).astype(np.int64)
    return steps
