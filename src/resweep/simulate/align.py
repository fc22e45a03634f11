"""A sweep's pose found again in a world of splats or volumes: point-to-plane registration."""

from __future__ import annotations

import numpy as np
from scipy.spatial import cKDTree
from scipy.spatial.transform import Rotation

from resweep.pose import Array, transform
from resweep.sweep import Sweep
from resweep.worlds import Splats, Volumes, World

_SAMPLES = 20_000
_REACH_M = 0.5
_HUBER_M = 0.03
_FLAT = 0.1  # variance across a volume that is a surface, of that along its short side


def align(world: World, sweep: Sweep, iterations: int = 10) -> Array:
    """``T_world_sensor`` (4, 4) at which the sweep's returns lie best in the world's surfaces.

    Starts from the sweep's own pose and moves it by centimetres; a world without surfaces leaves it.
    """
    solid = [layer for layer in world.layers if isinstance(layer, Splats)]
    planes = [_planes(layer) for layer in solid or world.layers if isinstance(layer, Splats | Volumes)]
    if sum(len(centre) for centre, _ in planes) == 0 or len(sweep) == 0:
        return sweep.pose
    centre = np.concatenate([centre for centre, _ in planes])
    normal = np.concatenate([normal for _, normal in planes])
    rows = np.random.default_rng(0).choice(len(sweep), min(_SAMPLES, len(sweep)), replace=False)
    local = sweep.deskewed()[rows].astype(np.float64)
    pose = sweep.pose.copy()
    pose[:3, 3] -= world.origin
    tree = cKDTree(centre)
    for _ in range(iterations):
        points = transform(pose, local)
        distance, nearest = tree.query(points, distance_upper_bound=_REACH_M, workers=-1)
        met = np.isfinite(distance)
        points, at = points[met], np.asarray(nearest)[met]
        error = ((points - centre[at]) * normal[at]).sum(axis=1)
        near = np.abs(error) < 5 * _HUBER_M
        points, at, error = points[near], at[near], error[near]
        if len(error) < 100:
            break
        slopes = np.concatenate([np.cross(points - pose[:3, 3], normal[at]), normal[at]], axis=1)
        weight = 1.0 / np.maximum(1.0, np.abs(error) / _HUBER_M)
        system = (slopes * weight[:, None]).T @ slopes + 1e-6 * len(error) * np.eye(6)
        change = np.linalg.solve(system, -(slopes * weight[:, None]).T @ error)
        pose[:3, :3] = Rotation.from_rotvec(change[:3]).as_matrix() @ pose[:3, :3]
        pose[:3, 3] += change[3:]
    pose[:3, 3] += world.origin
    return np.asarray(pose)


def _planes(layer: Splats | Volumes) -> tuple[Array, Array]:
    """Points (n, 3) on surfaces and their normals: discs, and volumes that are as flat as one."""
    if isinstance(layer, Splats):
        return layer.centre.astype(np.float64), layer.normal.astype(np.float64)
    values, vectors = np.linalg.eigh(layer.matrices)
    flat = values[:, 0] < _FLAT * values[:, 1]
    return layer.mean[flat].astype(np.float64), vectors[flat, :, 0]
