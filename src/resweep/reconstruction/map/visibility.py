"""Moving objects by visibility: points that beams of other sweeps pass through."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from resweep import portable
from resweep.pose import Array, inverse, transform
from resweep.reconstruction.map.cloud import Cloud
from resweep.reconstruction.map.config import VisibilityConfig
from resweep.sweep import Sweep

_BLOCK = 1 << 20


@dataclass(frozen=True, eq=False)
class RangeImage:
    """What one sweep measured in each direction, as seen from its ``pose``.

    ``near`` and ``far`` (rows, columns) are the least and the largest range in a cell and its eight neighbours;
    infinite and minus infinite where nothing was measured. Rows of elevation without any range are left out; the
    first one kept is ``row``.
    """

    pose: Array
    near: Array
    far: Array
    row: int

    @classmethod
    def from_sweep(cls, sweep: Sweep, cell_deg: float) -> RangeImage:
        """The image of a sweep, with cells of ``cell_deg``."""
        cell, distance = _find_cells(sweep.deskewed().astype(np.float64), cell_deg)
        near = np.full(_shape(cell_deg), np.inf)
        far = np.full(_shape(cell_deg), -np.inf)
        np.minimum.at(near, cell, distance)
        np.maximum.at(far, cell, distance)
        near, far = _spread(near, np.minimum), _spread(far, np.maximum)
        used = np.flatnonzero(np.isfinite(near).any(axis=1))
        first, last = (int(used[0]), int(used[-1]) + 1) if len(used) else (0, 0)
        return cls(sweep.pose, near[first:last].copy(), far[first:last].copy(), first)

    def look_up(self, row: Array, column: Array) -> tuple[Array, Array]:
        """Near and far range (n,) in cells of the whole image."""
        inside = (row >= self.row) & (row < self.row + len(self.near))
        near, far = np.full(len(row), np.inf), np.full(len(row), -np.inf)
        at = (row[inside] - self.row, column[inside])
        near[inside], far[inside] = self.near[at], self.far[at]
        return near, far


def find_seen_through(cloud: Cloud, images: Iterable[RangeImage], config: VisibilityConfig) -> Array:
    """Points (n,) bool of a map that were seen through often enough; ``images`` are those of its sweeps, in order.

    The sweep that measured a point says nothing about it.
    """
    passed = np.zeros(len(cloud), np.uint16)
    confirmed = np.zeros(len(cloud), np.uint16)
    for at, image in enumerate(images):
        T_sensor_map = inverse(image.pose)
        T_sensor_map[:3, 3] = portable.matmul(T_sensor_map[:3, :3], cloud.origin) + T_sensor_map[:3, 3]
        for begin in range(0, len(cloud), _BLOCK):
            rows = slice(begin, begin + _BLOCK)
            local = transform(T_sensor_map, cloud.points[rows].astype(np.float64))
            cell, distance = _find_cells(local, config.cell_deg)
            margin = config.margin_m + config.margin_per_m * distance
            other = cloud.sweep[rows] != at
            near, far = image.look_up(*cell)
            through = other & np.isfinite(near) & (near > distance + margin)
            seen = other & (near <= distance + margin) & (far >= distance - margin)
            passed[rows] += through.astype(np.uint16)
            confirmed[rows] += seen.astype(np.uint16)
    return np.asarray((passed >= config.passes) & (passed > config.ratio * confirmed))


def _shape(cell_deg: float) -> tuple[int, int]:
    """Rows of elevation and columns of azimuth of a whole image."""
    cell = np.deg2rad(cell_deg)
    return round(np.pi / cell), round(2 * np.pi / cell)


def _find_cells(local: Array, cell_deg: float) -> tuple[tuple[Array, Array], Array]:
    """Row and column of the cell, and distance (n,), of points (n, 3) in the sensor's frame."""
    cell = np.deg2rad(cell_deg)
    rows, columns = _shape(cell_deg)
    distance = np.linalg.norm(local, axis=1)
    elevation = portable.arcsin(np.clip(local[:, 2] / np.maximum(distance, 1e-9), -1, 1))
    row = np.clip(((elevation + np.pi / 2) / cell).astype(np.int64), 0, rows - 1)
    column = ((portable.arctan2(local[:, 1], local[:, 0]) + np.pi) / cell).astype(np.int64) % columns
    return (row, column), distance


def _spread(image: Array, pick: np.ufunc) -> Array:
    """``pick`` over each cell and its eight neighbours; columns wrap around, rows do not."""
    wide = pick(image, pick(np.roll(image, 1, axis=1), np.roll(image, -1, axis=1)))
    tall = wide.copy()
    tall[1:] = pick(tall[1:], wide[:-1])
    tall[:-1] = pick(tall[:-1], wide[1:])
    return np.asarray(tall)
