"""Surfels: one point a voxel and a disc of one size on each (D, section 3.1)."""

from __future__ import annotations

import numpy as np

from resweep.errors import ResweepError
from resweep.neighbours import Neighbours
from resweep.pose import Array
from resweep.reconstruction.config import SurfelConfig
from resweep.reconstruction.map.accumulate import Cloud
from resweep.reconstruction.map.reflectance import observed
from resweep.reconstruction.splats.splats import MIN_POINTS, facing
from resweep.worlds.splats import Splats


def build_surfels(cloud: Cloud, config: SurfelConfig) -> Splats:
    """The map as discs of ``config.radius_m``, centred on the first point of every voxel.

    Normals come from the neighbours, among the sampled points, within ``normal_radius_m``; a point with
    fewer than two of them has none and is left out.
    """
    chosen = one_per_voxel(cloud.points, config.voxel_m)
    points = cloud.points[chosen]
    shape = Neighbours(points).pca(min(config.max_neighbours, len(points)), config.normal_radius_m)
    told = shape.count >= MIN_POINTS
    if not told.any():
        raise ResweepError("surfels: no point has neighbours within normal_radius_m; accumulate more sweeps")
    seed = chosen[told]
    normal = facing(shape.normal[told], cloud.points[seed], cloud.sensor[seed])
    extra = observed(cloud, cloud.points[seed], normal, seed, config.reflectance)
    reflectance = extra.pop("reflectance")
    radius = np.full(len(seed), config.radius_m, np.float32)
    return Splats(
        cloud.points[seed], normal, radius, cloud.label[seed], reflectance, cloud.instance[seed], extra, "surfels"
    )


def one_per_voxel(points: Array, size_m: float) -> Array:
    """Rows (m,) of the first point in each occupied voxel of side ``size_m``, in the order of the points."""
    cell = np.floor((points - points.min(axis=0)).astype(np.float64) / size_m).astype(np.int64)
    extent = cell.max(axis=0) + 1
    key = (cell[:, 0] * extent[1] + cell[:, 1]) * extent[2] + cell[:, 2]
    return np.sort(np.unique(key, return_index=True)[1])
