"""Surfels: one point a voxel and a disc of one size on each (D, section 3.1)."""

from __future__ import annotations

import numpy as np

from resweep.build.settings.splats import SurfelConfig
from resweep.build.splats.splats import MIN_POINTS, face_sensor
from resweep.errors import NothingToFitError
from resweep.map.cloud import Cloud
from resweep.map.map import Map
from resweep.map.reflectance import observe_discs
from resweep.neighbours import Neighbours
from resweep.voxels import number_voxels
from resweep.worlds import Layer
from resweep.worlds.layers.splats import Splats


def fit(map: Map, config: SurfelConfig) -> tuple[Layer, ...]:
    """The map as discs of one size."""
    return (cover_cloud(map.cloud, config),)


def cover_cloud(cloud: Cloud, config: SurfelConfig) -> Splats:
    """Discs of ``config.radius_m``, centred on the first point of every voxel.

    Normals come from the neighbours, among the sampled points, within ``normal_radius_m``; a point with
    fewer than two of them has none and is left out.
    """
    chosen = np.sort(np.unique(number_voxels(cloud.points, config.voxel_m), return_index=True)[1])
    points = cloud.points[chosen]
    shape = Neighbours(points).pca(min(config.max_neighbours, len(points)), config.normal_radius_m)
    flat = shape.count >= MIN_POINTS
    if not flat.any():
        raise NothingToFitError("surfels: no point has neighbours within normal_radius_m; accumulate more sweeps")
    seed = chosen[flat]
    normal = face_sensor(shape.normal[flat], cloud.points[seed], cloud.sensor[seed])
    extra = observe_discs(cloud, cloud.points[seed], normal, seed, config.reflectance)
    reflectance = extra.pop("reflectance")
    radius = np.full(len(seed), config.radius_m, np.float32)
    columns = (cloud.label[seed], reflectance, cloud.instance[seed], extra, "surfels")
    simulated_exponent = config.reflectance.simulated_exponent
    return Splats(cloud.points[seed], normal, radius, *columns, incidence_exponent=simulated_exponent)
