"""Marching cubes over the tiles of a signed distance, stitched into one mesh."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np

from resweep import _core
from resweep.build.mesh.implicit import SignedDistance, Tile
from resweep.optional import require
from resweep.pose import Array

# Corners are kept at least this far from the surface, in voxels. Every vertex then lies inside its edge, farther from
# the ends than float32 coordinates round within a tile, and the edge identifies it.
_MIN_DISTANCE = 1e-3
_MIN_OFFSET = 1e-4  # voxels along two axes, from which on a vertex lies inside a cube and not on an edge
_BITS = 20  # of a corner's index along an axis


def polygonise(field: SignedDistance, voxel_m: float, threads: int = 0) -> tuple[Array, Array]:
    """Vertices (n, 3) float64 in metres and faces (m, 3) int64 where the distance is 0, facing the positive side.

    A cube is meshed only if all its corners are known. A vertex on an edge that several tiles share is made once.
    """
    places, keys, faces = [np.zeros((0, 3))], [np.zeros(0, np.int64)], [np.zeros((0, 3), np.int64)]
    count = inner_count = 0
    with ThreadPoolExecutor(_core.thread_count(threads)) as pool:
        for place, key, triangles in pool.map(lambda at: _mesh_tile(field(at)), field.places):
            free = np.flatnonzero(key < 0)
            key[free] = -1 - inner_count - np.arange(len(free))  # inside a cube: no other tile has it
            inner_count += len(free)
            places.append(place)
            keys.append(key)
            faces.append(triangles + count)
            count += len(place)
    _, first, number = np.unique(np.concatenate(keys), return_index=True, return_inverse=True)
    return np.concatenate(places)[first] * voxel_m, number.reshape(-1)[np.concatenate(faces)]


def _mesh_tile(tile: Tile) -> tuple[Array, Array, Array]:
    """Vertices in voxels of the whole grid, the edge of each, and the triangles of one tile."""
    vertices, triangles = _march(tile)
    return *_put_on_edges(tile, vertices), triangles


def _march(tile: Tile) -> tuple[Array, Array]:
    """Vertices in voxels from the tile's first corner, and triangles; none of either if no surface crosses it."""
    measure = require("skimage.measure", "a mesh over a map")
    nothing = np.zeros((0, 3)), np.zeros((0, 3), np.int64)
    known = tile.known
    whole = known[:-1, :-1, :-1].copy()
    for x, y, z in np.ndindex(2, 2, 2):
        n = len(known) - 1
        whole &= known[x : n + x, y : n + y, z : n + z]
    value = _push_from_zero(tile)
    if not whole.any() or not (value < 0).any() or not (value > 0).any():
        return nothing
    mask = np.zeros(known.shape, bool)
    mask[1:, 1:, 1:] = whole  # scikit-image looks at the last corner of each cube
    try:
        vertices, triangles, _, _ = measure.marching_cubes(value, 0.0, mask=mask)
    except RuntimeError:  # scikit-image raises it where there is no surface
        return nothing
    return vertices.astype(np.float64), triangles.astype(np.int64)


def _push_from_zero(tile: Tile) -> Array:
    """The distances, moved away from 0 where they are too near to it."""
    value = np.where(tile.known, tile.value, 1.0).astype(np.float32)
    return np.where(np.abs(value) < _MIN_DISTANCE, np.where(value < 0, -_MIN_DISTANCE, _MIN_DISTANCE), value).astype(
        np.float32
    )


def _put_on_edges(tile: Tile, vertices: Array) -> tuple[Array, Array]:
    """The vertices in voxels of the whole grid and a number (n,) for the edge of each, −1 inside a cube.

    They are interpolated again between the edge's corners: the same in every tile that has the edge.
    """
    nearest = np.rint(vertices)
    off = np.abs(vertices - nearest)
    axis = off.argmax(axis=1)
    inner = (off > _MIN_OFFSET).sum(axis=1) > 1
    row = np.arange(len(vertices))
    low = nearest.astype(np.int64)
    low[row, axis] = np.floor(vertices[row, axis]).astype(np.int64)
    high = low.copy()
    high[row, axis] += 1
    value = _push_from_zero(tile).astype(np.float64)
    at_low, at_high = value[tuple(low.T)], value[tuple(np.minimum(high, len(value) - 1).T)]
    place = low.astype(np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        place[row, axis] += at_low / (at_low - at_high)
    place[inner] = vertices[inner]
    corner = low + tile.start + (1 << (_BITS - 1))
    key = ((corner[:, 0] << (2 * _BITS)) | (corner[:, 1] << _BITS) | corner[:, 2]) * 3 + axis
    return place + tile.start, np.where(inner, -1, key)
