"""The ground of a cloud without labels, found from its lowest points, and the discs that close its gaps.

Under a canopy the ground is rough, covered with plants and seen through gaps, so that the neighbours of its points are
often no plane. The lowest point of each cell of a raster is taken for ground unless it rises from the cells around it
(a progressive morphological filter, Zhang 2003, eqs. 1 to 7). Points near the planes through these are ground as well.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import ndimage

from resweep.labels import Group
from resweep.map.cloud import Cloud
from resweep.neighbours import Neighbours
from resweep.pose import Array
from resweep.voxels import find_cells

# Chosen by hand.
WINDOWS_M = (0.5, 1.0, 2.0, 4.0)  # half the sides of the windows of the filter
_SLOPE = 0.7  # of the steepest ground, 35 degrees
_STEP_M = 0.15  # by which cells of one ground differ besides
_MAX_RISE_M = 2.5  # of ground above the window around it
_MAX_CELLS = 50_000_000  # of the raster: bounds memory
_PLANE_K = 9  # lowest points that make a plane
_PLANE_CELLS = 3.0  # that they lie apart at most
_MIN_PLANE = 4  # of them, for a plane
_ROUGH = 0.2  # standard deviation of ground off its plane, in cells: more is the underside of a crown
_LEVEL = 0.7  # cosine of the steepest plane, 45 degrees
_ABOVE_CELLS, _BELOW_CELLS = 0.4, 0.8  # from the plane of lowest points, of a point of the ground
_DISC_CELLS = 0.75  # radius of a disc: a square cell is covered from 0.71, √2 / 2, on
_BETWEEN_CELLS = 0.5  # from the middle of a cell to that of the points around it, or the cell is at a border


@dataclass(frozen=True, eq=False)
class GroundDiscs:
    """Discs (d,) on ground: ``centre`` and ``normal`` (d, 3), ``radius`` (d,), and the ``like`` (d,) row of a point."""

    centre: Array
    normal: Array
    radius: Array
    like: Array


def find_lowest_ground(points: Array, cell_m: float) -> Array:
    """Points (n,) bool of the ground, by a raster with cells of ``cell_m``. None where the lowest points are rough."""
    ground = np.zeros(len(points), bool)
    low = points[_find_lowest(points, cell_m)]
    if len(low) < _MIN_PLANE:
        return ground
    shape = Neighbours(low).pca(_PLANE_K, np.float32(_PLANE_CELLS * cell_m), only=("normal", "eigenvalues", "count"))
    smooth = (shape.count >= _MIN_PLANE) & (shape.eigenvalues[:, 2] < (_ROUGH * cell_m) ** 2)
    smooth &= np.abs(shape.normal[:, 2]) > _LEVEL
    if not smooth.any():
        return ground
    low, normal = low[smooth], shape.normal[smooth]
    normal = np.where(normal[:, 2:] < 0, -normal, normal)
    nearest = Neighbours(_flatten(low)).knn(_flatten(points), 1, _PLANE_CELLS * cell_m).index[:, 0]
    rows = np.flatnonzero(nearest >= 0)
    plane = nearest[rows]
    above = np.einsum("ni,ni->n", points[rows] - low[plane], normal[plane])
    ground[rows] = (above > -_BELOW_CELLS * cell_m) & (above < _ABOVE_CELLS * cell_m)
    return ground


def mark_ground(group: Array, unknown: Array, points: Array, cell_m: float) -> None:
    """Set ``group`` (n,) to ground at those of the ``unknown`` (n,) bool points that are, unless labels name some."""
    if unknown.any() and not (group == Group.GROUND).any():
        group[unknown & find_lowest_ground(points, cell_m)] = Group.GROUND


def _flatten(points: Array) -> Array:
    return np.column_stack([points[:, :2], np.zeros(len(points), np.float32)]).astype(np.float32)


def _find_lowest(points: Array, cell_m: float) -> Array:
    """Rows (m,) of the lowest points of those cells that do not rise from the cells around them."""
    cell = find_cells(points[:, :2], cell_m)
    first = cell.min(axis=0, initial=0)
    size = cell.max(axis=0, initial=0) - first + 1
    if float(size[0]) * float(size[1]) > _MAX_CELLS:  # an outlier far away
        return np.zeros(0, np.int64)
    number = np.ravel_multi_index(tuple((cell - first).T), tuple(size))
    order = np.lexsort((points[:, 2], number))
    rows = order[np.r_[True, number[order][1:] != number[order][:-1]]]
    height = np.full(int(size[0] * size[1]), np.inf)
    height[number[rows]] = points[rows, 2]
    return np.asarray(rows[_are_low(height.reshape(tuple(size)), cell_m).ravel()[number[rows]]])


def _are_low(height: Array, cell_m: float) -> Array:
    """Cells bool that no window shows to rise from what is around them; ``height`` is infinite where there is none."""
    low = np.isfinite(height)
    before, half_before = height, 0
    for window in WINDOWS_M:
        half = max(1, round(window / cell_m))
        if half == half_before:
            continue
        side = 2 * half + 1
        eroded = ndimage.minimum_filter(before, side, mode="constant", cval=np.inf)
        opened = ndimage.maximum_filter(
            np.where(np.isfinite(eroded), eroded, -np.inf), side, mode="constant", cval=-np.inf
        )
        rise = min(_SLOPE * (half - half_before) * cell_m + _STEP_M, _MAX_RISE_M)
        with np.errstate(invalid="ignore"):  # infinity less infinity: cells without points
            low &= before - opened <= rise
        before, half_before = np.where(np.isfinite(height), opened, np.inf), half
    return low


def make_ground_discs(cloud: Cloud, rows: Array, cell_m: float) -> GroundDiscs:
    """A disc on each cell of a raster that holds ground, the points ``rows`` (m,) of a cloud, and lies between some."""
    points = cloud.points[rows]
    cell, number = np.unique(find_cells(points[:, :2], cell_m), axis=0, return_inverse=True)
    number = number.reshape(-1)
    count = np.bincount(number)
    mean = np.column_stack([np.bincount(number, points[:, axis]) / count for axis in range(3)]).astype(np.float32)
    reach = np.float32(_PLANE_CELLS / 2 * cell_m)
    near = Neighbours(mean)
    shape = near.pca(_PLANE_K, reach, only=("normal", "count"))
    around = near.knn(mean, _PLANE_K, float(reach)).index
    there = around >= 0
    means = mean[np.where(there, around, np.arange(len(mean))[:, None])]  # its own instead of those that are missing
    centroid = np.where(there[..., None], means, 0.0).sum(axis=1) / there.sum(axis=1)[:, None]
    normal = np.where(shape.normal[:, 2:] < 0, -shape.normal, shape.normal).astype(np.float32)
    middle = np.clip(
        (cell + 0.5) * cell_m, means[..., :2].min(axis=1), means[..., :2].max(axis=1)
    )  # not beyond a border
    away = middle - centroid[:, :2]
    keep = (shape.count >= _MIN_PLANE) & (normal[:, 2] > _LEVEL)
    keep &= (away**2).sum(axis=1) < (_BETWEEN_CELLS * cell_m) ** 2
    fall = -np.einsum("ni,ni->n", normal[:, :2], away) / np.maximum(normal[:, 2], _LEVEL)
    centre = np.column_stack([middle, centroid[:, 2] + fall]).astype(np.float32)[keep]
    first = np.zeros(len(cell), np.int64)
    first[number[::-1]] = rows[::-1]
    normal, like = normal[keep], first[keep]
    radius = (_DISC_CELLS * cell_m / normal[:, 2]).astype(np.float32)
    away_from = np.einsum("ni,ni->n", normal, cloud.sensor[like] - centre) < 0  # of a cave's roof, seen from below
    return GroundDiscs(centre, np.where(away_from[:, None], -normal, normal), radius, like)
