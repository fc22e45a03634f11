"""Surfels: one point a voxel and a disc of one size on each (D, section 3.1)."""

from __future__ import annotations

import numpy as np

from resweep.errors import ResweepError
from resweep.neighbours import Neighbours
from resweep.reconstruction.config import SurfelConfig
from resweep.reconstruction.map.accumulate import Cloud
from resweep.reconstruction.map.reflectance import observed
from resweep.reconstruction.splats.splats import MIN_POINTS, facing
from resweep.voxels import first_in_voxels
from resweep.worlds.splats import Splats


def build_surfels(cloud: Cloud, config: SurfelConfig) -> Splats:
    """The map as discs of ``config.radius_m``, centred on the first point of every voxel.

    Normals come from the neighbours, among the sampled points, within ``normal_radius_m``; a point with
    fewer than two of them has none and is left out.
    """
    chosen = first_in_voxels(cloud.points, config.voxel_m)
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
