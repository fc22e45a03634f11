"""Moving least squares on a sparse grid: a signed distance to the surface behind points with normals.

Values are computed at the corners of cubes near the points only, tile by tile, so that memory does not grow with the
extent: C fills its grid in the same way (6.1.1). A corner has the same bytes in every tile that holds it, so that
neighbouring tiles join without a crack.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from resweep import _core
from resweep.build.settings.mesh import MeshConfig
from resweep.errors import ResweepError
from resweep.pose import Array
from resweep.voxels import pack_cells

TILE = 64  # cubes along a side of a tile
REACH_SIGMAS = 2.0  # of IMLS: beyond, a point has less than 2 % of the weight at distance 0 (C, eq. 3)
MIN_KERNEL_POINTS = 4  # points in the kernel for a value of RIMLS, as in MeshLab
_MAX_CUBES = 1 << 19  # along a side of the place


@dataclass(frozen=True, eq=False)
class Tile:
    """Signed distances ``value`` (n, n, n) float32, in voxels, positive on the side of the normals.

    ``known`` (n, n, n) marks the corners that have one. ``start`` (3,) is the index of the first corner: corner i
    lies at voxel_m · i.
    """

    start: Array
    value: Array
    known: Array


class SignedDistance:
    """The field of ``config.method`` around ``points`` (n, 3), metres, with unit ``normals`` (n, 3).

    ``places`` are the tiles (``tile`` cubes wide) that hold a part of it; calling it with one gives its `Tile`.
    """

    def __init__(self, points: Array, normals: Array, config: MeshConfig, tile: int = TILE) -> None:
        places = np.asarray(points, np.float64) / config.voxel_m
        cube = np.floor(places)
        if (np.ptp(cube, axis=0) >= _MAX_CUBES).any():
            raise ResweepError(f"voxel_m: {config.voxel_m:g} m is too small for a place of this size; take larger ones")
        self._cube = cube.astype(np.int64)
        self._part = places - cube
        self._normal = np.asarray(normals, np.float64)
        self._tile = tile
        self._parameters = _native_parameters(config)
        reach = int(np.ceil(self._parameters["reach"])) + 1
        self.places = list(_group_by_tile(self._cube, reach, tile))

    def __call__(self, place: tuple[Array, Array]) -> Tile:
        index, rows = place
        start = index * self._tile
        side = self._tile + 1
        value, known = _core.signed_distances(
            cube=(self._cube[rows] - start).astype(np.int32),
            part=self._part[rows],
            normal=self._normal[rows],
            side=side,
            **self._parameters,
        )
        shape = (side, side, side)
        return Tile(start, value.reshape(shape), known.reshape(shape).astype(bool))


def _native_parameters(config: MeshConfig) -> dict[str, Any]:
    """The parameters of a method, lengths in voxels."""
    robust = config.method == "rimls"
    reach = max(config.truncation_voxels, REACH_SIGMAS * config.sigma_voxels)
    return {
        "method": _core.ImplicitMethod.RIMLS if robust else _core.ImplicitMethod.IMLS,
        "reach": config.kernel_m / config.voxel_m if robust else reach,
        "sigma": config.sigma_voxels,
        "truncation": config.truncation_voxels,
        "sigma_normal": config.sigma_normal,
        "refits": config.refits,
        "min_points": MIN_KERNEL_POINTS,
    }


def _group_by_tile(cube: Array, reach: int, tile: int) -> Iterator[tuple[Array, Array]]:
    """Each tile (3,) that a point can reach, and the rows of those points in their order."""
    low = (cube - reach - 1) // tile  # a tile's last corners are the next one's first
    high = (cube + reach) // tile
    first = low.min(axis=0)
    extent = [int(length) + 1 for length in np.ptp(np.concatenate([low, high]), axis=0)]
    keys, rows = [], []
    spans = [range(int((high - low)[:, axis].max()) + 1) for axis in range(3)]
    for step in np.stack(np.meshgrid(*spans, indexing="ij"), axis=-1).reshape(-1, 3):
        place = low + step
        held = np.flatnonzero((place <= high).all(axis=1))
        keys.append(pack_cells(tuple((place[held] - first).T), extent))
        rows.append(held)
    key, row = np.concatenate(keys), np.concatenate(rows)
    order = np.lexsort((row, key))
    ends = np.flatnonzero(np.diff(key[order])) + 1
    for group in np.split(order, ends):
        yield np.array(np.unravel_index(key[group[0]], extent)) + first, row[group]
