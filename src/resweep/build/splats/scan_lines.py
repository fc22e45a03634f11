"""Scan lines: neighbourhoods that are lines only because the rings of the sensor lie far apart.

A ring of a sparse sensor crosses a surface as a line of close points, and the next ring may be metres away. The nearest
points of a point are then all on its own ring: they show no plane, and descriptors take the line for a pole. Such
points are looked at again on a thinned cloud, level by level (`splats.close`), until their surroundings hold a second
ring. Lines across rings, as poles are, stay what they are.
"""

from __future__ import annotations

import numpy as np

from resweep.build.settings.splats import CloseConfig
from resweep.build.splats.close import LINE, REACH, are_flat, list_cells
from resweep.labels import Group
from resweep.map.cloud import Cloud
from resweep.map.descriptors import describe
from resweep.neighbours import Neighbours
from resweep.pose import Array
from resweep.voxels import number_voxels

# Chosen by hand.
_ALONG = 0.35  # sine of the angle between a line and its ring
_DIRECTION_K = 8  # nearest points, of which the farthest shows the direction of a line


def find_scan_lines(cloud: Cloud, near: Neighbours, eigenvalues: Array) -> Array:
    """Points (n,) bool whose neighbourhoods, of ``eigenvalues`` (n, 3), are a line along their ring.

    Along a ring the sensor sees all points at one elevation.
    """
    line = (eigenvalues[:, 1] < LINE * eigenvalues[:, 0]) & (eigenvalues[:, 0] > 0)
    rows = np.flatnonzero(line)
    if not len(rows):
        return line
    points = cloud.points[rows]
    found = near.knn(points, min(_DIRECTION_K, len(near))).index
    last = np.maximum((found >= 0).sum(axis=1) - 1, 0)
    along = cloud.points[found[np.arange(len(rows)), last]] - points
    view = points - cloud.sensor[rows]
    level = np.hypot(view[:, 0], view[:, 1])
    # Upwards as the sensor sees it, at a right angle to the view.
    upwards = np.stack([-view[:, 2] * view[:, 0], -view[:, 2] * view[:, 1], level**2], axis=1)
    length = np.linalg.norm(upwards, axis=1) * np.linalg.norm(along, axis=1)
    line[rows] = np.abs(np.einsum("ni,ni->n", along, upwards)) <= _ALONG * length
    return line


def find_planes(
    cloud: Cloud, near: Neighbours, eigenvalues: Array, config: CloseConfig, radius_m: float
) -> tuple[Array, Array]:
    """Rows (m,) of the points on scan lines that lie on a plane, and its normals (m, 3) float32.

    ``eigenvalues`` (n, 3) are those of the neighbourhoods of the points; ``radius_m`` is R̄.
    """
    rows = np.zeros(0, np.int64)
    if config.only == "surfaces":  # else the cloud has no rings
        rows = np.flatnonzero(find_scan_lines(cloud, near, eigenvalues))
    found, normals = [np.zeros(0, np.int64)], [np.zeros((0, 3), np.float32)]
    for size in list_cells(config, radius_m):
        if not len(rows):
            break
        cell = number_voxels(cloud.points, size, cloud.label)
        thin = cloud.merged(cell)
        asked = np.zeros(len(thin), np.int32)
        asked[cell[rows]] = config.k
        coarse = Neighbours(thin.points)
        shape = coarse.pca(asked, np.float32(REACH * size), only=("normal", "eigenvalues", "count"))
        flat = are_flat(shape, config.flat_m)[cell[rows]]
        found.append(rows[flat])
        normals.append(shape.normal[cell[rows[flat]]])
        # What is neither a plane nor a line here is no surface.
        rows = rows[~flat & (describe(shape.eigenvalues) == Group.LINEAR)[cell[rows]]]
    return np.concatenate(found), np.concatenate(normals)
