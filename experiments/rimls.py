"""A's comparison: a surface by Robust Implicit Moving Least Squares and marching cubes (A, V-C)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from resweep import Mesh, Sweep, World
from resweep.build.neighbours import Neighbours

Array = NDArray[Any]

VOXEL_M, KERNEL_M = 0.01, 0.04  # A, VI-A
THIN_M = 0.02  # repeated shots become one point, as neighbours of one beam tell no surface


def rimls_world(sweep: Sweep, voxel_m: float = VOXEL_M, kernel_m: float = KERNEL_M) -> World | None:
    """The surface through a sweep's returns; None if pymeshlab, which reconstructs it, is not installed."""
    try:
        import pymeshlab
    except ImportError:
        return None
    points = _thinned(sweep.world_points(), max(THIN_M, 0.5 * voxel_m))
    near = Neighbours(points.astype(np.float32))
    shape = near.pca(24, 4 * kernel_m)
    normal = np.where(shape.count[:, None] >= 3, shape.normal, 0.0)
    towards = sweep.pose[:3, 3] - points
    normal = normal * np.where((normal * towards).sum(axis=1) < 0, -1.0, 1.0)[:, None]
    told = np.linalg.norm(normal, axis=1) > 0.5
    meshes = pymeshlab.MeshSet(verbose=False)
    meshes.add_mesh(pymeshlab.Mesh(vertex_matrix=points[told], v_normals_matrix=normal[told].astype(np.float64)))
    spacing = float(np.sqrt(np.median(near.knn(points.astype(np.float32), 7).distance2[:, 1:])))
    try:
        meshes.generate_marching_cubes_rimls(
            resolution=int(np.clip(np.ptp(points, axis=0).max() / voxel_m, 20, 600)), filterscale=kernel_m / spacing
        )
    except pymeshlab.PyMeshLabException:
        return None
    mesh = meshes.current_mesh()
    vertices, faces = mesh.vertex_matrix(), mesh.face_matrix()
    whole = np.isfinite(vertices).all(axis=1)
    faces = faces[whole[faces].all(axis=1)]  # where the surface was not told, vertices are NaN
    if len(faces) == 0:
        return None
    return World([Mesh(np.where(whole[:, None], vertices, 0.0), faces, name="surface")])


def _thinned(points: Array, cell_m: float) -> Array:
    """The mean (m, 3) of the points in each cell."""
    cell = np.floor(points / cell_m).astype(np.int64)
    cluster = np.unique(cell, axis=0, return_inverse=True)[1].reshape(-1)
    return np.stack([np.bincount(cluster, points[:, i]) for i in range(3)], axis=1) / np.bincount(cluster)[:, None]
