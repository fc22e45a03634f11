"""Moving objects by visibility: points that beams of other sweeps pass through."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from resweep import _core, portable
from resweep.errors import ResweepError
from resweep.map.cloud import Cloud
from resweep.map.config import VisibilityConfig
from resweep.pose import RIGID_TOLERANCE, Array, inverse
from resweep.sweep import Sweep

_SLACK = 10 * RIGID_TOLERANCE  # of distances: that of a pose that just passes as rigid is off by less


@dataclass(frozen=True, eq=False)
class RangeImage:
    """What one sweep measured in each direction, as seen from its ``pose``.

    ``near`` and ``far`` (rows, columns) float32 are the least and the largest range in a cell and its eight neighbours;
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
        cell, distance = find_cells(sweep.deskewed().astype(np.float64), cell_deg)
        near = np.full(image_shape(cell_deg), np.inf)
        far = np.full(image_shape(cell_deg), -np.inf)
        np.minimum.at(near, cell, distance)
        np.maximum.at(far, cell, distance)
        near, far = _dilate(near, np.minimum), _dilate(far, np.maximum)
        used = np.flatnonzero(np.isfinite(near).any(axis=1))
        first, last = (int(used[0]), int(used[-1]) + 1) if len(used) else (0, 0)
        return cls(sweep.pose, near[first:last].astype(np.float32), far[first:last].astype(np.float32), first)

    @property
    def reach_m(self) -> float:
        """The largest range, in metres; minus infinity for a sweep without returns."""
        return float(self.far.max(initial=-np.inf))


def reaches(position: Array, reach_m: float, low: Array, high: Array, config: VisibilityConfig) -> bool:
    """Whether an image at ``position`` (3,) constrains points in a box of the world, from its largest range.

    An image does not constrain points that lie beyond all of its ranges by more than the margin. ``low`` and ``high``
    (3,) are the corners of the box, metres.
    """
    away = np.maximum(np.maximum(low - position, position - high), 0.0)
    min_range_m = float(portable.norm(away)) * (1.0 - _SLACK) - _SLACK
    return min_range_m * (1.0 - config.margin_per_m) - config.margin_m <= reach_m


def find_seen_through(
    cloud: Cloud, images: Iterable[tuple[int, RangeImage]], config: VisibilityConfig, threads: int = 0
) -> Array:
    """Points (n,) bool of a map, or of a part of it, that were seen through often enough.

    ``images`` are those of sweeps, each with the number of its sweep. Those that do not reach the points may be missing
    and change nothing. The sweep that measured a point does not count for it.
    """
    passed, confirmed = count_seen_through(cloud, images, config, threads)
    return np.asarray((passed >= config.passes) & (passed > config.ratio * confirmed))


def count_seen_through(
    cloud: Cloud, images: Iterable[tuple[int, RangeImage]], config: VisibilityConfig, threads: int = 0
) -> tuple[Array, Array]:
    """How many of the numbered ``images`` see through each point, and how many confirm it: (n,) uint32 each."""
    passed, confirmed = np.zeros(len(cloud), np.uint32), np.zeros(len(cloud), np.uint32)
    points, sweep = np.ascontiguousarray(cloud.points, np.float32), np.ascontiguousarray(cloud.sweep, np.int32)
    rows, columns = image_shape(config.cell_deg)
    for number, image in images:
        if image.near.shape[1] != columns:
            raise ResweepError(
                f"range image of sweep {number}: has {image.near.shape[1]} columns, but cells of {config.cell_deg}° "
                f"make {columns}; make the images with the same cell_deg"
            )
        T_sensor_map = inverse(image.pose)
        T_sensor_map[:3, 3] = portable.matmul(T_sensor_map[:3, :3], cloud.origin) + T_sensor_map[:3, 3]
        _core.count_seen_through(
            points=points,
            sweep=sweep,
            passed=passed,
            confirmed=confirmed,
            number=number,
            pose=T_sensor_map,
            near=image.near,
            far=image.far,
            first_row=image.row,
            all_rows=rows,
            cell=float(np.deg2rad(config.cell_deg)),
            reach=image.reach_m,
            margin=config.margin_m,
            margin_per_m=config.margin_per_m,
            threads=threads,
        )
    return passed, confirmed


def image_shape(cell_deg: float) -> tuple[int, int]:
    """Rows of elevation and columns of azimuth of a whole image."""
    cell = np.deg2rad(cell_deg)
    return round(np.pi / cell), round(2 * np.pi / cell)


def find_cells(local: Array, cell_deg: float) -> tuple[tuple[Array, Array], Array]:
    """Row and column of the cell, and distance (n,), of points (n, 3) in the sensor's frame."""
    cell = np.deg2rad(cell_deg)
    rows, columns = image_shape(cell_deg)
    distance = np.linalg.norm(local, axis=1)
    elevation = portable.arcsin(np.clip(local[:, 2] / np.maximum(distance, 1e-9), -1, 1))
    row = np.clip(((elevation + np.pi / 2) / cell).astype(np.int64), 0, rows - 1)
    column = ((portable.arctan2(local[:, 1], local[:, 0]) + np.pi) / cell).astype(np.int64) % columns
    return (row, column), distance


def _dilate(image: Array, pick: np.ufunc) -> Array:
    """``pick`` over each cell and its eight neighbours; columns wrap around, rows do not."""
    wide = pick(image, pick(np.roll(image, 1, axis=1), np.roll(image, -1, axis=1)))
    tall = wide.copy()
    tall[1:] = pick(tall[1:], wide[:-1])
    tall[:-1] = pick(tall[:-1], wide[1:])
    return np.asarray(tall)
