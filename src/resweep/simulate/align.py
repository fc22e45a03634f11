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


class Surfaces:
    """The surfaces of a world as sweeps are registered to them; made once for many sweeps.

    A volume counts as a surface across its shortest axis; otherwise returns from leaves would be matched with the
    walls and the ground beside them. A world of instances only has none.
    """

    def __init__(self, world: World) -> None:
        parts = [_planes(layer) for layer in world.layers if isinstance(layer, Splats | Mesh | Volumes)]
        self.origin = world.origin
        self.empty = not parts
        if parts:
            self.centre, self.normal = (np.concatenate(columns) for columns in zip(*parts, strict=True))
            self.near = Neighbours(self.centre)

    def align(self, sweep: Sweep, iterations: int = 10) -> Array:
        """``T_world_sensor`` (4, 4) at which the returns of a sweep fit the surfaces best.

        The search starts from the sweep's own pose and moves it by centimetres. Without surfaces or returns, the pose
        stays as it is.
        """
        if self.empty or len(sweep) == 0:
            return sweep.pose
        rows = np.random.default_rng(0).choice(len(sweep), min(_SAMPLES, len(sweep)), replace=False)
        local = sweep.deskewed()[rows].astype(np.float64)
        pose = sweep.pose.copy()
        pose[:3, 3] -= self.origin
        for _ in range(iterations):
            points = transform(pose, local)
            nearest = self.near.knn(points, 1, _REACH_M).index[:, 0]
            points, at = points[nearest >= 0], nearest[nearest >= 0]
            error = plane_distances(points, self.centre[at], self.normal[at])
            near = np.abs(error) < 5 * _HUBER_M
            points, at, error = points[near], at[near], error[near]
            if len(error) < 100:
                break
            change = rigid_step(points, pose[:3, 3], self.normal[at], error, huber_weight(error, _HUBER_M))
            pose = move_pose(pose, change)
        pose[:3, 3] += self.origin
        return np.asarray(pose)


def align(world: World, sweep: Sweep, iterations: int = 10) -> Array:
    """``T_world_sensor`` (4, 4) at which the returns of one sweep fit the surfaces of a world best (`Surfaces`)."""
    return Surfaces(world).align(sweep, iterations)


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
