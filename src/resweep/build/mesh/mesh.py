"""Meshes over a map: the surface reconstructions that splats and volumes are compared with.

C (6.1.1) compares its splats with IMLS and screened Poisson, A (V-C) its volumes with RIMLS.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from resweep.build.mesh.implicit import SignedDistance
from resweep.build.mesh.marching_cubes import polygonise
from resweep.build.settings.mesh import MeshConfig
from resweep.build.splats.splats import MIN_POINTS, face_sensor
from resweep.errors import ResweepError
from resweep.map.cloud import Cloud
from resweep.map.map import Map
from resweep.map.reflectance import observe_points
from resweep.neighbours import Neighbours
from resweep.optional import require
from resweep.pose import Array
from resweep.worlds import Layer
from resweep.worlds.layers.mesh import MAX_REFLECTANCE, Mesh
from resweep.worlds.layers.triangles import compute_unit_normals

# Chosen by hand where a line names no source.
_MIN_POINTS = 10  # with normals, of a place that has a surface
_REFLECTANCE_POINTS = 8  # nearest points whose mean is the reflectance of a face
_SPACING_K = 7  # nearest points, a point itself among them, whose distances are the spacing of points
_UNIT_TOLERANCE = 1e-3  # by which the length of a normal may differ from 1
_BLOCK = 1 << 18  # faces whose points are looked for at once: bounds memory
_POISSON_SCALE = 1.1  # of the octree's cube to the extent of the points, MeshLab's default
_MIN_DEPTH = 5  # of the octree
_MIN_MESHLAB_CUBES, _MAX_MESHLAB_CUBES = 20, 700  # along the longest side of the box


def fit(map: Map, config: MeshConfig) -> tuple[Layer, ...]:
    """The map as triangles by ``config.method``, each with label, instance and reflectance of the nearest points."""
    cloud = map.cloud
    rows, normals = estimate_normals(cloud, config.k)
    vertices, faces = reconstruct(cloud.points[rows], normals, config)
    corners = vertices[faces]
    centre = corners.mean(axis=1).astype(np.float32)
    normal = compute_unit_normals(corners).astype(np.float32)
    label, instance, reflectance = _observe_faces(cloud, centre, normal, config)
    return (Mesh(vertices, faces, label, reflectance, instance=instance, name=config.method),)


def estimate_normals(cloud: Cloud, k: int) -> tuple[Array, Array]:
    """Rows (m,) of the points that have a normal, and those normals (m, 3), towards where each was seen from."""
    near = Neighbours(cloud.points)
    shape = near.pca(k, near.mean_radius(k))
    rows = np.flatnonzero(shape.count >= MIN_POINTS)
    return rows, face_sensor(shape.normal[rows], cloud.points[rows], cloud.sensor[rows])


def reconstruct(points: Array, normals: Array, config: MeshConfig) -> tuple[Array, Array]:
    """Vertices (v, 3) float64 and faces (f, 3) int64 of the surface behind points with normals.

    ``points`` (n, 3) in metres, anywhere; ``normals`` (n, 3) unit vectors towards the sensor; faces
    point to the same side. Only ``config.method`` and its parameters are read.
    """
    places, directions = np.asarray(points, np.float64), np.asarray(normals, np.float64)
    if places.ndim != 2 or places.shape[1] != 3 or directions.shape != places.shape:
        raise ResweepError(f"surface: points and normals must be (n, 3), got {places.shape} and {directions.shape}")
    if len(places) < _MIN_POINTS:
        raise ResweepError(f"surface: {len(places)} points with a normal are too few; accumulate more sweeps")
    if not (np.isfinite(places).all() and np.isfinite(directions).all()):
        raise ResweepError("surface: points or normals hold NaN or infinity; remove such rows first")
    if (np.abs(np.linalg.norm(directions, axis=1) - 1) > _UNIT_TOLERANCE).any():
        raise ResweepError("surface: normals must be unit vectors; leave out points without one")
    origin = places.min(axis=0)
    if config.method == "poisson":
        vertices, faces = _reconstruct_poisson(places - origin, directions, config)
    elif config.method == "rimls-meshlab":
        vertices, faces = _reconstruct_meshlab_rimls(places - origin, directions, config)
    else:
        require("skimage", f"method: {config.method}")
        vertices, faces = polygonise(SignedDistance(places - origin, directions, config), config.voxel_m)
    if len(faces) == 0:
        raise ResweepError(f"surface: {config.method} found none; accumulate more sweeps or take larger voxels")
    return vertices + origin, faces


def _reconstruct_poisson(points: Array, normals: Array, config: MeshConfig) -> tuple[Array, Array]:
    """Screened Poisson reconstruction, without what lies far from every point."""
    meshlab, work = _open_meshlab(points, normals, config)
    extent = _POISSON_SCALE * float(np.ptp(points, axis=0).max())
    depth = int(np.clip(math.ceil(math.log2(max(extent / config.cell_m, 1.0))), _MIN_DEPTH, config.depth_max))
    try:
        work.generate_surface_reconstruction_screened_poisson(
            depth=depth,
            samplespernode=config.samples_per_node,
            scale=_POISSON_SCALE,
            threads=1,  # so that the result is the same on every machine
        )
    except meshlab.PyMeshLabException as error:
        raise ResweepError(f"surface: MeshLab's Poisson reconstruction failed ({str(error).strip()})") from error
    surface = work.current_mesh()
    vertices, faces = surface.vertex_matrix(), surface.face_matrix().astype(np.int64)
    near = Neighbours(points)
    distance = [near.knn(block, 1).distance2[:, 0] for block in _split_blocks(vertices[faces].mean(axis=1))]
    kept = faces[np.concatenate(distance) <= config.trim_m**2] if distance else faces
    return _drop_unused(vertices, kept)


def _reconstruct_meshlab_rimls(points: Array, normals: Array, config: MeshConfig) -> tuple[Array, Array]:
    """RIMLS and marching cubes as MeshLab has them, on a grid over the whole box of the points."""
    meshlab, work = _open_meshlab(points, normals, config)
    cubes = int(np.ceil(np.ptp(points, axis=0).max() / config.voxel_m))
    if cubes > _MAX_MESHLAB_CUBES:
        raise ResweepError(
            f"method: rimls-meshlab fills the whole box of the points, here {cubes:,} voxels long (at most "
            f"{_MAX_MESHLAB_CUBES:,}); take larger voxels, or rimls, which fills only what is near them"
        )
    # MeshLab's kernel is a multiple of each point's spacing; this multiple makes the typical one kernel_m.
    spacing = float(np.sqrt(np.median(Neighbours(points).knn(points, _SPACING_K).distance2[:, 1:])))
    try:
        work.generate_marching_cubes_rimls(
            resolution=max(cubes, _MIN_MESHLAB_CUBES),
            filterscale=config.kernel_m / spacing,
            sigman=config.sigma_normal,
            maxrefittingiters=config.refits,
        )
    except meshlab.PyMeshLabException as error:
        raise ResweepError(f"surface: MeshLab's RIMLS failed ({str(error).strip()})") from error
    surface = work.current_mesh()
    vertices, faces = surface.vertex_matrix(), surface.face_matrix().astype(np.int64)
    known = np.isfinite(vertices).all(axis=1)  # where the surface is unknown, vertices are NaN
    return _drop_unused(vertices, faces[known[faces].all(axis=1)])


def _open_meshlab(points: Array, normals: Array, config: MeshConfig) -> tuple[Any, Any]:
    """MeshLab, and a set of meshes with the points in it."""
    meshlab = require("pymeshlab", f"method: {config.method}")
    work = meshlab.MeshSet(verbose=False)
    work.add_mesh(meshlab.Mesh(vertex_matrix=points, v_normals_matrix=normals))
    return meshlab, work


def _drop_unused(vertices: Array, faces: Array) -> tuple[Array, Array]:
    """The vertices that faces use, and the faces over them."""
    used, number = np.unique(faces, return_inverse=True)
    return vertices[used], number.reshape(-1, 3)


def _observe_faces(cloud: Cloud, centre: Array, normal: Array, config: MeshConfig) -> tuple[Array, Array, Array]:
    """Label and instance (f,) of the point nearest to each face, and the mean reflectance (f,) of the nearest few."""
    near = Neighbours(cloud.points)
    nearest, bright = [], []
    few = min(_REFLECTANCE_POINTS, len(cloud))
    for begin in range(0, len(centre), _BLOCK):
        turned = np.repeat(normal[begin : begin + _BLOCK], few, axis=0)
        index = near.knn(centre[begin : begin + _BLOCK], few).index
        reflectance = observe_points(cloud, index.reshape(-1), turned, config.reflectance)[3]
        nearest.append(index[:, 0])
        bright.append(reflectance.reshape(-1, few).mean(axis=1))
    row = np.concatenate(nearest)
    return cloud.label[row], cloud.instance[row], np.clip(np.concatenate(bright), 0.0, MAX_REFLECTANCE)


def _split_blocks(rows: Array) -> list[Array]:
    """The rows in pieces that are searched at once."""
    return [rows[begin : begin + _BLOCK] for begin in range(0, len(rows), _BLOCK)]
