"""Ground continued under cars, into shadows and between rings: where recorded ground lies on opposite sides."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from resweep.build.complete.patches import NO_PATCHES, Patches, is_observed
from resweep.labels import Group, LabelSet
from resweep.pose import Array
from resweep.worlds import Splats
from resweep.worlds.observed import ObservedSpace

# Chosen by hand where a line names no source.
CELL_M = 0.4  # of the grid that is filled
REACH_M = 6.0  # to recorded ground on each side
STEP_M, STEP_PER_M = 0.15, 0.1  # most difference in height of opposite sides
_LEVEL = 0.94  # cosine of the steepest ground, 20 degrees, where labels do not say what ground is
_ABOVE_LOWEST_M, _LOWEST_AROUND_M = 0.5, 6.0  # without labels: height above the lowest splat in cells of that side
_BELOW_M = 0.3  # a return so far below shows that the ground does not go on
_BELOW_VOXELS = 1.5  # the same of observed space: below the voxel that holds the ground itself
_OVERLAP = 0.75  # radius of a disc in cells: a square is covered from 0.71, √2 / 2, on
_MAX_CELLS = 50_000_000  # of the grid: bounds memory
_PAIRS = ((1, 0), (0, 1), (1, 1), (1, -1))


@dataclass(frozen=True, eq=False)
class _Grid:
    """Cells of recorded ground: ``height`` (rows, columns), NaN where there is none, and a ``splat`` of each."""

    low: Array
    height: Array
    splat: Array


def continue_ground(splats: Splats, points: Array, labels: LabelSet, observed: ObservedSpace | None) -> Patches:
    """Patches of ground where none was recorded, in cells of `CELL_M`.

    A cell is filled if, along two of the four lines through it, ground of one label was recorded on both sides within
    `REACH_M`, at nearly the same height; it lies on the lines between them. Between a road and a sidewalk nothing is
    filled, as the kerb could be anywhere. It stays open if a return of ``points`` (n, 3) or observed space lies below.
    """
    ground = np.flatnonzero(find_ground(splats, labels))
    if len(ground) < 2:
        return NO_PATCHES
    grid = _make_grid(splats, ground)
    if grid is None:
        return NO_PATCHES
    height, slope, like = _interpolate(grid, splats.label)
    rows, columns = np.nonzero(np.isfinite(height))
    if len(rows) == 0:
        return NO_PATCHES
    place = grid.low + (np.stack([rows, columns], axis=1) + 0.5) * CELL_M
    centre = np.column_stack([place, height[rows, columns]])
    free = ~_has_returns_below(centre, points, grid)
    if observed is not None:
        free &= ~is_observed(observed, centre - [0, 0, _BELOW_VOXELS * observed.voxel_m])
    normal = np.column_stack([-slope[0][rows, columns], -slope[1][rows, columns], np.ones(len(rows))])
    normal /= np.linalg.norm(normal, axis=1, keepdims=True)
    radius = np.full(len(rows), _OVERLAP * CELL_M)
    return Patches(centre[free], normal[free], radius[free], like[rows, columns][free])


def find_ground(splats: Splats, labels: LabelSet) -> Array:
    """Splats (n,) bool on the ground: by their label, else level ones that are the lowest around."""
    if labels.known and splats.label.any():
        return np.asarray(labels.group(splats.label) == Group.GROUND)
    cell = np.floor(splats.centre[:, :2] / _LOWEST_AROUND_M).astype(np.int64)
    number = np.unique(cell, axis=0, return_inverse=True)[1].reshape(-1)
    lowest = np.full(number.max() + 1, np.inf)
    np.minimum.at(lowest, number, splats.centre[:, 2])
    near_lowest = splats.centre[:, 2] - lowest[number] < _ABOVE_LOWEST_M
    return np.asarray((np.abs(splats.normal[:, 2]) > _LEVEL) & near_lowest)


def _make_grid(splats: Splats, ground: Array) -> _Grid | None:
    at = np.floor(splats.centre[ground, :2].astype(np.float64) / CELL_M).astype(np.int64)
    low = at.min(axis=0)
    shape = tuple((at.max(axis=0) - low + 1).tolist())
    if shape[0] * shape[1] > _MAX_CELLS:  # an outlier far away: there is no ground between
        return None
    cell = np.ravel_multi_index((at - low).T, shape)
    count = np.bincount(cell, minlength=shape[0] * shape[1])
    total = np.bincount(cell, splats.centre[ground, 2], len(count))
    height = np.where(count > 0, total / np.maximum(count, 1), np.nan).reshape(shape)
    splat = np.full(len(count), -1)
    splat[cell[::-1]] = ground[::-1]
    return _Grid(low * CELL_M, height, splat.reshape(shape))


def _interpolate(grid: _Grid, label: Array) -> tuple[Array, tuple[Array, Array], Array]:
    """Height of cells without ground, NaN where it is unknown; slopes along both axes; the splat to look like."""
    open_cell = np.isnan(grid.height)
    weights, total = np.zeros(grid.height.shape), np.zeros(grid.height.shape)
    lines = np.zeros(grid.height.shape, int)
    slopes = (np.zeros(grid.height.shape), np.zeros(grid.height.shape))
    like, nearest = np.full(grid.height.shape, -1), np.full(grid.height.shape, np.inf)
    for axis, (x, y) in enumerate(_PAIRS):
        before, after = (_look(grid, sign * x, sign * y) for sign in (-1, 1))
        away = before[0] + after[0]
        with np.errstate(invalid="ignore"):
            fits = open_cell & (np.abs(after[1] - before[1]) <= STEP_M + STEP_PER_M * away)
            fits &= label[before[2]] == label[after[2]]
            between = (before[1] * after[0] + after[1] * before[0]) / away
        weight = np.where(fits, 1.0 / np.maximum(away, CELL_M), 0.0)
        weights += weight
        total += np.where(fits, weight * between, 0.0)
        lines += fits
        if axis < 2:
            slopes[axis][fits] = ((after[1] - before[1]) / away)[fits]
        for side in (before, after):
            closer = fits & (side[0] < nearest)
            nearest[closer], like[closer] = side[0][closer], side[2][closer]
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(lines >= 2, total / weights, np.nan), slopes, like


def _look(grid: _Grid, x: int, y: int) -> tuple[Array, Array, Array]:
    """Distance, height and splat of the nearest recorded ground along one direction; infinite and NaN for none."""
    step = CELL_M * math.hypot(x, y)
    distance, height = np.full(grid.height.shape, np.inf), np.full(grid.height.shape, np.nan)
    splat = np.full(grid.height.shape, -1)
    rows, columns = grid.height.shape
    for k in range(1, int(REACH_M / step) + 1):
        to = tuple(slice(max(0, -k * d), size - max(0, k * d)) for d, size in zip((x, y), (rows, columns), strict=True))
        of = tuple(slice(max(0, k * d), size - max(0, -k * d)) for d, size in zip((x, y), (rows, columns), strict=True))
        if grid.height[of].size == 0:
            break
        new = np.isinf(distance[to]) & np.isfinite(grid.height[of])
        distance[to] = np.where(new, k * step, distance[to])
        height[to] = np.where(new, grid.height[of], height[to])
        splat[to] = np.where(new, grid.splat[of], splat[to])
    return distance, height, splat


def _has_returns_below(centre: Array, points: Array, grid: _Grid) -> Array:
    """Cells (n,) bool in which a return lies below the ground that would fill them."""
    shape = grid.height.shape
    at = np.floor((points[:, :2].astype(np.float64) - grid.low) / CELL_M).astype(np.int64)
    inside = ((at >= 0) & (at < shape)).all(axis=1)
    lowest = np.full(shape, np.inf)
    np.minimum.at(lowest, tuple(at[inside].T), points[inside, 2])
    cell = np.floor((centre[:, :2] - grid.low) / CELL_M).astype(np.int64)
    return np.asarray(lowest[tuple(cell.T)] < centre[:, 2] - _BELOW_M)
