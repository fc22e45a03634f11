"""A's comparison: a surface by Robust Implicit Moving Least Squares and marching cubes (A, V-C)."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from resweep import Mesh, Sweep, World
from resweep.build import MeshConfig
from resweep.build.mesh.mesh import reconstruct
from resweep.build.splats.splats import face_sensor
from resweep.errors import ResweepError
from resweep.neighbours import Neighbours

Array = NDArray[Any]

VOXEL_M, KERNEL_M = 0.01, 0.04  # A, VI-A
THIN_M = 0.02  # repeated shots become one point, as neighbours of one beam make no surface


def rimls_world(sweep: Sweep, voxel_m: float = VOXEL_M, kernel_m: float = KERNEL_M) -> World | None:
    """The surface through a sweep's returns; None if MeshLab, which reconstructs it, is not installed or finds none."""
    if find_spec("pymeshlab") is None:
        return None
    points = _thinned(sweep.world_points(), max(THIN_M, 0.5 * voxel_m))
    shape = Neighbours(points.astype(np.float32)).pca(24, 4 * kernel_m)
    flat = shape.count >= 3
    normal = face_sensor(shape.normal[flat], points[flat], sweep.pose[:3, 3][None])
    config = MeshConfig(method="rimls-meshlab", voxel_m=voxel_m, kernel_m=kernel_m)
    try:
        vertices, faces = reconstruct(points[flat], normal, config)
    except ResweepError:  # too few points on one plane, as a bare stem
        return None
    return World([Mesh(vertices, faces, name="surface")])


def _thinned(points: Array, cell_m: float) -> Array:
    """The mean (m, 3) of the points in each cell."""
    cell = np.floor(points / cell_m).astype(np.int64)
    cluster = np.unique(cell, axis=0, return_inverse=True)[1].reshape(-1)
    return np.stack([np.bincount(cluster, points[:, i]) for i in range(3)], axis=1) / np.bincount(cluster)[:, None]
