"""How much of an object is known from each side: it decides which of two similar objects to place."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from resweep import portable
from resweep.pose import Array
from resweep.worlds import Instances, Layer, Mesh, Splats

DIRECTIONS = 12  # around the object, the first from its front, then counter-clockwise
_FACING = 0.05  # cosine from which a surface is seen from a direction
_CELLS = 40  # along the longest side of the object's outline
_SAMPLES = 20_000  # points on the meshes of an object


def estimate_coverage(layers: Sequence[Layer], size_m: Sequence[float]) -> tuple[float, ...]:
    """Share of the box's outline that the surface fills as seen level from each of the `DIRECTIONS`.

    A surface that faces away does not count. A whole car fills about three quarters of its box.
    """
    length, width, height = (float(value) for value in size_m)
    points, normals, reach = (np.concatenate(parts) for parts in zip(*map(_surface, layers), strict=True))
    cell = max(length, width, height) / _CELLS
    shares = []
    for angle in 2 * np.pi * np.arange(DIRECTIONS) / DIRECTIONS:
        towards = np.array([math.cos(angle), math.sin(angle), 0.0])
        seen = (portable.matmul(normals, towards) > _FACING) | ~normals.any(axis=1)
        half = (length * abs(towards[1]) + width * abs(towards[0])) / 2
        across = points[seen, 1] * towards[0] - points[seen, 0] * towards[1]
        shares.append(_filled(across + half, points[seen, 2], reach[seen], 2 * half, height, cell))
    return tuple(shares)


def known_share(shares: Sequence[float]) -> float:
    """The share of its surroundings from which an object's shape is known, from its `coverage`: 1 all around.

    From opposite sides an object has the same outline, so the fuller of the two says how much there is to know. An
    object recorded from one side, with nothing on its far side, has about 0.5; a mirrored far side counts as known.
    What is missing from both of two opposite sides is not noticed. NaN where nothing is known at all.
    """
    given = np.asarray(shares, np.float64)
    whole = np.maximum(given, np.roll(given, len(given) // 2))
    return float(given.sum() / whole.sum()) if whole.sum() > 0 else float("nan")


def interpolate_coverage(shares: Sequence[float], heading_rad: float) -> float:
    """The coverage at any angle from the object's front, between those of `coverage`."""
    at = (heading_rad / (2 * np.pi) * len(shares)) % len(shares)
    low = int(at) % len(shares)
    return float((1 - at % 1) * shares[low] + (at % 1) * shares[(low + 1) % len(shares)])


def _filled(across: Array, up: Array, reach: Array, width: float, height: float, cell: float) -> float:
    """Share of the cells of a ``width`` × ``height`` outline that discs of radius ``reach`` touch."""
    columns, rows = max(1, round(width / cell)), max(1, round(height / cell))
    grid = np.zeros((columns, rows), bool)
    for x, z in ((0, 0), (0.7, 0.7), (-0.7, 0.7), (0.7, -0.7), (-0.7, -0.7)):
        column = np.floor((across + x * reach) / width * columns).astype(np.int64)
        row = np.floor((up + z * reach) / height * rows).astype(np.int64)
        inside = (column >= 0) & (column < columns) & (row >= 0) & (row < rows)
        grid[column[inside], row[inside]] = True
    return float(grid.mean())


def _surface(layer: Layer) -> tuple[Array, Array, Array]:
    """Points (n, 3) of a layer with outward normals (zero: seen from both sides) and the radius around each."""
    if isinstance(layer, Splats):
        return layer.centre.astype(np.float64), layer.normal.astype(np.float64), layer.radius.astype(np.float64)
    if isinstance(layer, Instances):
        points = sample_points(layer.mesh, max(100, _SAMPLES // len(layer.transforms)))
        copies = layer.transforms.astype(np.float64)
        points = (np.einsum("kij,nj->kni", copies[:, :, :3], points) + copies[:, None, :, 3]).reshape(-1, 3)
    else:
        assert isinstance(layer, Mesh)  # assets have no volumes
        points = sample_points(layer, _SAMPLES)
    return points, np.zeros_like(points), np.zeros(len(points))


def sample_points(mesh: Mesh, count: int) -> Array:
    """Points (count, 3) spread evenly over the faces of a mesh, the same each time."""
    corners = mesh.vertices[mesh.faces].astype(np.float64)
    area = np.linalg.norm(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1)
    rng = np.random.default_rng(0)
    face = rng.choice(len(area), count, p=area / area.sum()) if area.sum() > 0 else np.zeros(count, np.int64)
    u, v = rng.random((2, count, 1))
    u, v = np.where(u + v > 1, 1 - u, u), np.where(u + v > 1, 1 - v, v)
    a, b, c = corners[face].transpose(1, 0, 2)
    return np.asarray(a + u * (b - a) + v * (c - a))
