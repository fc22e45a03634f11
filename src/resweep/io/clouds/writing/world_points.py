"""The points that a cloud of a world is written from: centres, means, and points on meshes."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from resweep import portable
from resweep.errors import ResweepError
from resweep.io.clouds.writing.sweep_points import Writer, check_classes
from resweep.io.files.las import FULL_SCALE, count_intensity
from resweep.pose import Array
from resweep.worlds import Instances, Mesh, Splats, Volumes, World

_BLOCK = 1_000_000  # points on a mesh that are made at once


def add_world(
    writer: Writer, world: World, intensity_scale: float = FULL_SCALE, mesh_spacing_m: float = 0.1
) -> dict[str, int]:
    """Give the primitives of a world to a writer; gives how many points of each kind of layer there are.

    These are the centres of splats, the means of volumes, and points on meshes: one for each square of
    ``mesh_spacing_m`` on average, and at least one a face. Reflectance is their intensity.
    """
    if not (np.isfinite(mesh_spacing_m) and mesh_spacing_m > 0):
        raise ResweepError(f"mesh_spacing_m: expected metres above zero, got {mesh_spacing_m}")
    counts: dict[str, int] = {}
    for layer in world.layers:
        for points, reflectance, label in _sample(layer, mesh_spacing_m):
            columns = {
                "intensity": count_intensity(reflectance, intensity_scale),
                "classification": check_classes(label),
            }
            writer.add(points.astype(np.float64) + world.origin, columns)
            counts[layer.kind] = counts.get(layer.kind, 0) + len(points)
    return counts


def _sample(layer: Splats | Volumes | Mesh | Instances, spacing_m: float) -> Iterator[tuple[Array, Array, Array]]:
    """Points (n, 3) from the world's origin, reflectance and label (n,) of a layer, in blocks."""
    if isinstance(layer, Splats):
        yield layer.centre, layer.reflectance, layer.label
    elif isinstance(layer, Volumes):
        yield layer.mean, layer.reflectance, layer.label
    elif isinstance(layer, Mesh):
        yield from _sample_mesh(layer, spacing_m)
    else:
        blocks = list(_sample_mesh(layer.mesh, spacing_m))  # of one copy
        for transform, label in zip(layer.transforms.astype(np.float64), layer.label, strict=True):
            for points, reflectance, own in blocks:
                moved = portable.matmul(points, transform[:, :3].T) + transform[:, 3]
                yield moved, reflectance, own if label < 0 else np.full(len(own), label, np.int32)


def _sample_mesh(mesh: Mesh, spacing_m: float) -> Iterator[tuple[Array, Array, Array]]:
    """Points spread evenly over the faces: the same ones each time."""
    corners = mesh.vertices.astype(np.float64)[mesh.faces]
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
        yield a + u[:, None] * (b - a) + v[:, None] * (c - a), mesh.reflectance[face], mesh.label[face]
