"""Points and normals on triangles."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from resweep.pose import Array

_BLOCK = 1_000_000  # points that are made at once
_PLANE_SPACING_M = 0.1  # between places that sweeps are registered to, on average
_MAX_PLANES = 1_000_000


def compute_unit_normals(corners: Array) -> Array:
    """Normals (f, 3) of triangles (f, 3, 3), on the side from which their corners run anticlockwise."""
    normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    length = np.linalg.norm(normal, axis=1, keepdims=True)
    return np.asarray(np.divide(normal, length, out=np.tile([0.0, 0.0, 1.0], (len(normal), 1)), where=length > 0))


def sample_faces(corners: Array, count: int) -> Array:
    """Points (count, 3) spread evenly over triangles (f, 3, 3), the same each time."""
    area = np.linalg.norm(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1)
    rng = np.random.default_rng(0)
    face = rng.choice(len(area), count, p=area / area.sum()) if area.sum() > 0 else np.zeros(count, np.int64)
    u, v = rng.random((2, count, 1))
    u, v = np.where(u + v > 1, 1 - u, u), np.where(u + v > 1, 1 - v, v)
    a, b, c = corners[face].transpose(1, 0, 2)
    return np.asarray(a + u * (b - a) + v * (c - a))


def sample_planes(corners: Array) -> tuple[Array, Array]:
    """Places (n, 3) on triangles (f, 3, 3), by their area, and the unit normals there."""
    area = np.linalg.norm(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1) / 2
    count = int(np.clip(area.sum() / _PLANE_SPACING_M**2, 1, _MAX_PLANES))
    rng = np.random.default_rng(0)
    face = np.searchsorted(np.cumsum(area), rng.uniform(0, area.sum(), count)).clip(max=len(area) - 1)
    share = rng.dirichlet((1, 1, 1), count)  # even over the triangle
    return np.einsum("nk,nki->ni", share, corners[face]), compute_unit_normals(corners[face])


def sample_squares(corners: Array, spacing_m: float) -> Iterator[tuple[Array, Array]]:
    """Points (n, 3) on triangles and the triangle of each (n,), in blocks: the same ones each time.

    One for each square of ``spacing_m`` on average, and at least one a triangle.
    """
    across = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    area = 0.5 * np.sqrt((across * across).sum(axis=1))
    counts = np.maximum(1, np.round(area / spacing_m**2)).astype(np.int64)
    ends = np.cumsum(counts)
    for first in range(0, int(ends[-1]), _BLOCK):
        number = np.arange(first, min(first + _BLOCK, int(ends[-1])))
        face = np.searchsorted(ends, number, side="right")
        rank = number - (ends[face] - counts[face])
        # R2, the sequence of the plastic number (Roberts 2018): even over the unit square, folded onto the triangle.
        u, v = (np.mod(0.5 + (rank + 1) * step, 1.0) for step in (0.7548776662466927, 0.5698402909980532))
        over = u + v > 1.0
        u, v = np.where(over, 1.0 - u, u), np.where(over, 1.0 - v, v)
        a, b, c = (corners[face, at] for at in range(3))
        yield a + u[:, None] * (b - a) + v[:, None] * (c - a), face
