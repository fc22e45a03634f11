"""A sweep registered to the surfaces of a world, point to plane."""

from __future__ import annotations

import numpy as np

from resweep import portable
from resweep.neighbours import Neighbours
from resweep.pose import Array, transform
from resweep.registration import huber_weight, move_pose, plane_distances, rigid_step
from resweep.sweep import Sweep
from resweep.worlds import Mesh, Splats, Volumes, World
from resweep.worlds.mesh import unit_normals

_SAMPLES = 20_000
_REACH_M = 0.5
_HUBER_M = 0.03
_SPACING_M = 0.1  # between the places that stand for a mesh, unless it is so large that there would be too many
_MOST_PLACES = 1_000_000


def align(world: World, sweep: Sweep, iterations: int = 10) -> Array:
    """``T_world_sensor`` (4, 4) at which the returns of a sweep fit the surfaces of a world best.

    A volume counts as a surface across its shortest axis; otherwise returns from leaves would be matched with the
    walls and the ground beside them. The search starts from the sweep's own pose and moves it by centimetres. In a
    world of instances only, the pose stays as it is.
    """
    parts = [_planes(layer) for layer in world.layers if isinstance(layer, Splats | Mesh | Volumes)]
    if not parts or len(sweep) == 0:
        return sweep.pose
    centre, normal = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    rows = np.random.default_rng(0).choice(len(sweep), min(_SAMPLES, len(sweep)), replace=False)
    local = sweep.deskewed()[rows].astype(np.float64)
    pose = sweep.pose.copy()
    pose[:3, 3] -= world.origin
    surfaces = Neighbours(centre)
    for _ in range(iterations):
        points = transform(pose, local)
        nearest = surfaces.knn(points, 1, _REACH_M).index[:, 0]
        points, at = points[nearest >= 0], nearest[nearest >= 0]
        error = plane_distances(points, centre[at], normal[at])
        near = np.abs(error) < 5 * _HUBER_M
        points, at, error = points[near], at[near], error[near]
        if len(error) < 100:
            break
        change = rigid_step(points, pose[:3, 3], normal[at], error, huber_weight(error, _HUBER_M))
        pose = move_pose(pose, change)
    pose[:3, 3] += world.origin
    return np.asarray(pose)


def _planes(layer: Splats | Mesh | Volumes) -> tuple[Array, Array]:
    """Places on the surfaces of a layer and their normals (n, 3): splats, volumes, or a mesh's faces by their area."""
    if isinstance(layer, Splats):
        return layer.centre.astype(np.float64), layer.normal.astype(np.float64)
    if isinstance(layer, Volumes):
        return layer.mean.astype(np.float64), portable.eigh3(layer.matrices)[1][:, :, 0]
    corners = layer.vertices.astype(np.float64)[layer.faces]
    area = np.linalg.norm(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1) / 2
    count = int(np.clip(area.sum() / _SPACING_M**2, 1, _MOST_PLACES))
    rng = np.random.default_rng(0)
    face = np.searchsorted(np.cumsum(area), rng.uniform(0, area.sum(), count)).clip(max=len(area) - 1)
    share = rng.dirichlet((1, 1, 1), count)  # even over the triangle
    return np.einsum("nk,nki->ni", share, corners[face]), unit_normals(corners[face])
