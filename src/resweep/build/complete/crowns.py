"""Crowns of trees completed on their occluded side: a drive records only the half that faces it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components

from resweep.build.complete.patches import is_observed
from resweep.map.cloud import Cloud
from resweep.pose import Array
from resweep.voxels import find_cells, find_touching_cells, number_voxels
from resweep.worlds import Volumes
from resweep.worlds.layers.seen import COLUMN, COMPLETED
from resweep.worlds.observed import ObservedSpace

# Chosen by hand where a line names no source.
MIN_HEIGHT_M = 2.0  # above the lowest return around: lower volumes are grass, shrubs and hedges
MAX_DEPTH_M = 8.0  # of a crown
_CELL_M = 1.0  # volumes in neighbouring cells belong to one crown
_GROUND_M = 4.0  # cells in which the lowest return counts as ground
_MIN_VOLUMES = 30  # of a crown
_EDGE = 0.05  # of a crown's volumes on either side: single twigs do not tell its width
_OCCUPIED_M = 0.4  # cells in which a recorded return leaves nothing to be completed
_UPPER = [0, 1, 2, 4, 5, 8]  # of the nine entries of a matrix: xx, xy, xz, yy, yz and zz


@dataclass(frozen=True, eq=False)
class _Crown:
    """The volumes ``rows`` of one crown, and the level unit direction ``away`` (2,) from the sensor."""

    rows: Array
    away: Array


def close_crowns(volumes: Volumes, cloud: Cloud, observed: ObservedSpace, name: str) -> Volumes | None:
    """Volumes on the unseen side of crowns, each marked `COMPLETED`; None if there is nothing to close.

    A crown is a connected component of cells of 1 m, at least 2 m above the ground. It is taken to be as deep as it is
    wide, or as high if that is less, at most `MAX_DEPTH_M`: its near half is mirrored in the upright plane through its
    middle. Nothing is completed where recorded beams passed or returned.
    """
    mean = volumes.mean.astype(np.float64)
    high = np.flatnonzero(_estimate_height_above_ground(mean, cloud.points) >= MIN_HEIGHT_M)
    parts = [_mirror(mean, crown) for crown in _find_crowns(mean, high, cloud)]
    if not parts:
        return None
    place, like, away = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    free = ~is_observed(observed, place) & ~_has_points(place, cloud.points)
    place, like, away = place[free], like[free], away[free]
    if len(like) == 0:
        return None
    return Volumes(
        place,
        _mirror_covariance(volumes.covariance[like].astype(np.float64), away),
        volumes.permeability[like],
        None if volumes.exposure_m is None else volumes.exposure_m[like],
        volumes.label[like],
        volumes.reflectance[like],
        extra={COLUMN: np.full(len(like), COMPLETED, np.uint32)},
        name=name,
        tau=volumes.tau,
        element_m=volumes.element_m,
    )


def _estimate_height_above_ground(places: Array, points: Array) -> Array:
    """Height (n,) above the lowest of ``points`` in the cell of each place and those beside it; infinite for none."""
    both = np.concatenate([points[:, :2], places[:, :2]]).astype(np.float64)
    cell = np.floor(both / _GROUND_M).astype(np.int64)
    cell -= cell.min(axis=0) - 1
    width = int(cell[:, 1].max()) + 2
    number = cell[:, 0] * width + cell[:, 1]
    own, inverse = np.unique(number[: len(points)], return_inverse=True)
    lowest_z = np.full(len(own), np.inf)
    np.minimum.at(lowest_z, inverse, points[:, 2])
    lowest = dict(zip(own.tolist(), lowest_z.tolist(), strict=True))
    asked, back = np.unique(number[len(points) :], return_inverse=True)
    around = [x * width + y for x in (-1, 0, 1) for y in (-1, 0, 1)]
    ground = np.array([min(lowest.get(at + step, np.inf) for step in around) for at in asked.tolist()])
    with np.errstate(invalid="ignore"):
        return np.asarray(places[:, 2] - ground[back])


def _find_crowns(mean: Array, high: Array, cloud: Cloud) -> list[_Crown]:
    """The crowns among the volumes ``high`` that have enough volumes and were looked at from somewhere."""
    if len(high) < _MIN_VOLUMES:
        return []
    cell = find_cells(mean[high], _CELL_M)
    cells, of_cell = np.unique(cell, axis=0, return_inverse=True)
    component = _join(cells)[of_cell.reshape(-1)]
    seen = {tuple(at): place for at, place in _average_sensors(cells, cloud)}
    crowns = []
    for number in range(int(component.max()) + 1):
        inside = component == number
        sensors = [seen[key] for key in map(tuple, np.unique(cell[inside], axis=0).tolist()) if key in seen]
        if np.count_nonzero(inside) < _MIN_VOLUMES or not sensors:
            continue
        rows = high[inside]
        away = mean[rows, :2].mean(axis=0) - np.mean(sensors, axis=0)
        distance = float(np.sqrt((away * away).sum()))
        if distance > _CELL_M:  # a sensor below the crown looks in no level direction
            crowns.append(_Crown(rows, away / distance))
    return crowns


def _join(cells: Array) -> Array:
    """The number (n,) of the component of each cell (n, 3), cells that touch being joined."""
    first, second = find_touching_cells(cells).T
    graph = coo_matrix((np.ones(len(first), np.int8), (first, second)), shape=(len(cells), len(cells)))
    return np.asarray(connected_components(graph, directed=False)[1])


def _average_sensors(cells: Array, cloud: Cloud) -> list[tuple[list[int], Array]]:
    """For each cell (n, 3) with returns, the mean place (2,) of the sensor that measured them."""
    at = find_cells(cloud.points, _CELL_M)
    both, inverse = np.unique(np.concatenate([cells, at]), axis=0, return_inverse=True)
    inverse = inverse.reshape(-1)[len(cells) :]
    count = np.bincount(inverse, minlength=len(both))
    total = np.stack([np.bincount(inverse, cloud.sensor[:, axis], len(both)) for axis in range(2)], axis=1)
    rows = np.flatnonzero(count)
    return list(zip(both[rows].tolist(), total[rows] / count[rows, None], strict=True))


def _mirror(mean: Array, crown: _Crown) -> tuple[Array, Array, Array]:
    """Places (m, 3) behind a crown, the volumes that they mirror, and the direction (m, 2) that was turned round."""
    own = mean[crown.rows]
    depth = _project(own[:, :2], crown.away)
    across = _project(own[:, :2], np.array([-crown.away[1], crown.away[0]]))
    sizes = [np.quantile(values, 1 - _EDGE) - np.quantile(values, _EDGE) for values in (across, own[:, 2])]
    middle = float(np.quantile(depth, _EDGE)) + 0.5 * min(*map(float, sizes), MAX_DEPTH_M)
    near = depth < middle
    place = own[near].copy()
    place[:, :2] += 2 * (middle - depth[near])[:, None] * crown.away
    return place, crown.rows[near], np.broadcast_to(crown.away, (len(place), 2))


def _project(rows: Array, axis: Array) -> Array:
    """Products (n,) of level vectors (n, 2) with one (2,)."""
    return np.asarray(rows[:, 0] * axis[0] + rows[:, 1] * axis[1])


def _mirror_covariance(covariance: Array, away: Array) -> Array:
    """Covariances (n, 6) mirrored in the upright planes across ``away`` (n, 2)."""
    xx, xy, xz, yy, yz, zz = covariance.T
    full = np.stack([xx, xy, xz, xy, yy, yz, xz, yz, zz], axis=1).reshape(-1, 3, 3)
    flip = np.tile(np.eye(3), (len(away), 1, 1))
    flip[:, :2, :2] -= 2 * away[:, :, None] * away[:, None, :]
    turned = np.einsum("nij,njk,nlk->nil", flip, full, flip)
    return np.asarray(turned.reshape(-1, 9)[:, _UPPER])


def _has_points(places: Array, points: Array) -> Array:
    """Whether a recorded return lies in the cell of each place (n,)."""
    number = number_voxels(np.concatenate([points, places.astype(points.dtype)]), _OCCUPIED_M)
    taken = np.zeros(int(number.max()) + 1, bool)
    taken[number[: len(points)]] = True
    return np.asarray(taken[number[len(points) :]])
