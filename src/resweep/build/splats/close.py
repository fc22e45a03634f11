"""Gaps between the rings of a sparse sensor, closed by wider splats.

Along a ring points are close, across rings they lie far apart. The K nearest points of C then are those of one ring,
and splats leave the surface between two rings open. Here the cloud is thinned to one point a cell, so that it is
equally dense along rings and across them, and splats grow on it as they do on the points themselves. Cells double
from level to level. A splat of a level is kept where those of the levels before leave a part of it open. What beams
truly passed is cut out again (`splats.carve`).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from resweep.build.settings.splats import CloseConfig
from resweep.build.splats.lowest_ground import WINDOWS_M, make_ground_discs
from resweep.labels import Group
from resweep.map.cloud import Cloud
from resweep.neighbours import Neighbours, Pca
from resweep.pose import Array
from resweep.voxels import number_voxels

if TYPE_CHECKING:
    from resweep.build.splats.splats import GrowthResult

# Chosen by hand where a line names no source.
REACH = 4.0  # of a level's neighbourhoods, in its cells
_MIN_POINTS = 5  # of a neighbourhood that gets a splat; chosen by hand
LINE = 0.05  # variance across, over that along, below which neighbours are a line and have no plane
_THIN = 0.1  # variance off the plane, over that across, below which neighbours are a plane
_MIN_RADIUS = 0.75  # of a splat, in cells
_FIRST, _CANDIDATES = 4, 24  # nearest splats that are looked at first, and that may cover a place
_COVERED_M = 0.15  # from a splat's plane
_RIM = 0.6  # of the radius, where a splat is looked at for gaps
ROUNDING = np.float32(1 + 1e-6)  # so that the farthest neighbour is found again within its own distance
_MAX_UPRIGHT = 0.7  # |z| of a normal, above which z gives it no axis aside: any value well below 1 does
_RINGS = (0.2, 0.55, 0.9)  # of the radius, where a disc on ground is looked at for gaps
_LESS_THAN_ALL = 7  # of the eight places around a disc on ground
_HALF = 0.5**0.5  # cos 45°
_AROUND = ((1, 0), (_HALF, _HALF), (0, 1), (-_HALF, _HALF), (-1, 0), (-_HALF, -_HALF), (0, -1), (_HALF, -_HALF))


def list_cells(config: CloseConfig, radius_m: float) -> list[float]:
    """Side of the cells of each level, metres: as long as neighbourhoods reach ``config.radii`` times R̄ at most."""
    sizes = [config.cell_m * 2**level for level in range(config.levels)]
    return [size for size in sizes if REACH * size <= config.radii * radius_m]


def find_reach(config: CloseConfig, radius_m: float) -> float:
    """How far, metres, the splats that close gaps depend on points; ``radius_m`` is R̄."""
    if config.only == "ground":
        return 2 * WINDOWS_M[-1] if config.levels else 0.0
    return (REACH + 1) * max(list_cells(config, radius_m), default=0.0)


def close_gaps(
    grown: GrowthResult, cloud: Cloud, group: Array, bound_m: float, config: CloseConfig, labelled: bool
) -> GrowthResult:
    """``grown`` on ``cloud`` with wider splats where it leaves a plane open.

    ``group`` (n,) is that of each point; ``bound_m`` is the distance from a plane at which growing stops. With
    ``labelled`` only ground and surfaces are closed, each by its own label; else whatever is flat.
    """
    rows = np.arange(len(cloud))
    if labelled:
        rows = np.flatnonzero((group == Group.GROUND) | (group == Group.SURFACE))
    for size in list_cells(config, grown.mean_radius):
        if len(rows) == 0:
            break
        grown = _close_level(grown, cloud, group, rows, size, bound_m, config, labelled)
    return grown


def _close_level(
    grown: GrowthResult,
    cloud: Cloud,
    group: Array,
    rows: Array,
    size: float,
    bound_m: float,
    config: CloseConfig,
    labelled: bool,
) -> GrowthResult:
    cell = number_voxels(cloud.points[rows], size, cloud.label[rows])
    thin = cloud[rows].merged(cell)
    near = Neighbours(thin.points)
    shape = near.pca(config.k, np.float32(REACH * size), only=("normal", "eigenvalues", "radius", "count"))
    flat = are_flat(shape, config.flat_m)
    away = np.einsum("ni,ni->n", shape.normal, thin.sensor - thin.points) < 0
    normal = np.where(away[:, None], -shape.normal, shape.normal).astype(np.float32)
    growth = near.grow(
        normal,
        np.where(flat, np.int32(config.k), np.int32(1)),  # a point without neighbours is no seed
        shape.radius * ROUNDING,
        np.float32(bound_m),
        thin.label if labelled else 0,
        beta=config.beta,
    )
    wide = growth.radius > _MIN_RADIUS * size
    seed, radius = growth.seed[wide], growth.radius[wide]
    normal = normal[seed]
    centre = np.asarray(thin.points[seed] + growth.shift[wide, None] * normal, np.float32)
    fresh = _find_open(centre, normal, radius, grown, config.covered)
    first = np.zeros(len(thin), np.int64)
    first[cell[::-1]] = rows[::-1]
    like = first[seed[fresh]]
    kind = cloud.label[like] if labelled else np.full(len(fresh), Group.SURFACE, np.int32)
    groups = group[like] if labelled else np.full(len(fresh), Group.SURFACE, group.dtype)
    return _join(grown, centre[fresh], normal[fresh], radius[fresh], like, groups, kind)


def close_ground(grown: GrowthResult, cloud: Cloud, group: Array, config: CloseConfig, labelled: bool) -> GrowthResult:
    """``grown`` on ``cloud`` with discs on the ground that it leaves open, as `make_ground_discs` makes them."""
    rows = np.flatnonzero(group == Group.GROUND)
    for level in range(config.levels if len(rows) else 0):
        discs = make_ground_discs(cloud, rows, config.cell_m * 2**level)
        if len(discs.centre) == 0:
            continue
        level_splats = _keep_level(grown)
        found = [
            _find_open(discs.centre, discs.normal, discs.radius, level_splats, _LESS_THAN_ALL, rim) for rim in _RINGS
        ]
        fresh = np.unique(np.concatenate(found))
        like = discs.like[fresh]
        kind = cloud.label[like] if labelled else group[like]
        grown = _join(grown, discs.centre[fresh], discs.normal[fresh], discs.radius[fresh], like, group[like], kind)
    return grown


def _keep_level(grown: GrowthResult) -> GrowthResult:
    """The splats that can cover ground: a stem beside a place does not."""
    level = np.abs(grown.normal[:, 2]) > _MAX_UPRIGHT
    names = ("centre", "normal", "radius", "seed", "group", "kind")
    return replace(grown, **{name: getattr(grown, name)[level] for name in names})


def _join(
    grown: GrowthResult, centre: Array, normal: Array, radius: Array, seed: Array, group: Array, kind: Array
) -> GrowthResult:
    columns = {
        "centre": centre,
        "normal": normal,
        "radius": radius,
        "seed": seed.astype(grown.seed.dtype),
        "group": group,
        "kind": kind.astype(grown.kind.dtype),
    }
    joined: dict[str, Any] = {name: np.concatenate([getattr(grown, name), more]) for name, more in columns.items()}
    return replace(grown, **joined)


def are_flat(shape: Pca, flat_m: float) -> Array:
    """Neighbourhoods (n,) bool that are a plane, to ``flat_m`` in standard deviation, and more than one line."""
    values = shape.eigenvalues
    plane = (values[:, 1] > LINE * values[:, 0]) & (values[:, 2] < _THIN * values[:, 1])
    return np.asarray(plane & (shape.count >= _MIN_POINTS) & (values[:, 2] < flat_m**2))


def _find_open(
    centre: Array, normal: Array, radius: Array, grown: GrowthResult, max_covered: int, rim: float = _RIM
) -> Array:
    """Rows of the splats where splats of ``grown`` cover at most ``max_covered`` of eight places around the centre.

    The places lie ``rim`` radii from it.
    """
    near = Neighbours(grown.centre)
    side = np.where(np.abs(normal[:, 2:]) < _MAX_UPRIGHT, [0.0, 0.0, 1.0], [1.0, 0.0, 0.0])
    one = np.cross(normal, side)
    one /= np.maximum(np.linalg.norm(one, axis=1, keepdims=True), 1e-9)
    other = np.cross(normal, one)
    count = np.zeros(len(centre), np.int64)
    rows = np.arange(len(centre))
    for x, y in _AROUND:
        places = centre[rows] + (rim * radius[rows, None]) * (x * one[rows] + y * other[rows])
        count[rows] += _are_covered(places, near, grown)
        rows = rows[count[rows] <= max_covered]
    return rows


def _are_covered(places: Array, near: Neighbours, grown: GrowthResult) -> Array:
    """Places (m, 3) on which one of the nearest splats of ``grown`` lies (m,) bool."""
    covered = np.zeros(len(places), bool)
    begin = 0
    for end in (_FIRST, _CANDIDATES):  # most places are covered by the nearest splats
        rows = np.flatnonzero(~covered)
        if len(rows) == 0:
            break
        found = near.knn(places[rows], min(end, len(near))).index[:, begin:]
        for number in range(found.shape[1]):
            splat = found[:, number]
            at = np.maximum(splat, 0)
            away = places[rows] - grown.centre[at]
            off = np.einsum("ni,ni->n", away, grown.normal[at])
            beside2 = np.einsum("ni,ni->n", away, away) - off**2
            hit = (splat >= 0) & (np.abs(off) < _COVERED_M) & (beside2 < grown.radius[at] ** 2)
            covered[rows[hit]] = True
            rows, found = rows[~hit], found[~hit]
        begin = end
    return covered
