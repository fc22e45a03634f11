"""The points that a cloud of a world is written from: centres, means, and points on meshes."""

from __future__ import annotations

import numpy as np

from resweep.errors import ResweepError
from resweep.io.clouds.writing.sweep_points import PointWriter, check_classes
from resweep.io.files.las import FULL_SCALE, count_intensity
from resweep.worlds import World


def add_world(
    writer: PointWriter, world: World, intensity_scale: float = FULL_SCALE, mesh_spacing_m: float = 0.1
) -> dict[str, int]:
    """Give the primitives of a world to a writer; gives how many points of each kind of layer there are.

    These are the centres of splats, the means of volumes, and points on meshes: one for each square of
    ``mesh_spacing_m`` on average, and at least one a face. Reflectance is their intensity.
    """
    if not (np.isfinite(mesh_spacing_m) and mesh_spacing_m > 0):
        raise ResweepError(f"mesh_spacing_m: expected metres above zero, got {mesh_spacing_m}")
    counts: dict[str, int] = {}
    for layer in world.layers:
        for points, reflectance, label in layer.sample(mesh_spacing_m):
            columns = {
                "intensity": count_intensity(reflectance, intensity_scale),
                "classification": check_classes(label),
            }
            writer.add(points.astype(np.float64) + world.origin, columns)
            counts[layer.kind] = counts.get(layer.kind, 0) + len(points)
    return counts
