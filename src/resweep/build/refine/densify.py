"""New volumes where recorded beams end and no primitive explains it."""

from __future__ import annotations

import numpy as np

from resweep.build.settings.volumes import VolumeConfig
from resweep.build.volumes.gaussians import fit_neighbours
from resweep.map.cloud import Cloud
from resweep.map.reflectance import compensate_range, smooth_reflectance
from resweep.neighbours import Neighbours
from resweep.pose import Array
from resweep.voxels import number_voxels
from resweep.worlds import Volumes

# Chosen by hand.
PERMEABILITY = 0.7  # of a new volume, before its beams are shared
_SAME_POINT_M = 0.01  # an end and the point of the cloud that it is: they differ by rounding
_DIAGONAL = [0, 3, 5]  # of a packed covariance: xx, yy and zz


def add_volumes(volumes: Volumes, cloud: Cloud, ends: Array, config: VolumeConfig) -> Volumes:
    """The volumes and new ones at ``ends`` (m, 3) of beams that nothing explains, around the cloud's origin.

    There is one for each voxel of the cloud that holds such an end, as wide as the cloud's nearest points lie apart:
    thin things that splats missed, edges, and what a splat hides from some of the beams.
    """
    if len(ends) == 0 or len(cloud) == 0:
        return volumes
    cluster = number_voxels(cloud.points, config.voxel_m, cloud.label if config.split_labels else None)
    found = Neighbours(cloud.points).knn(np.ascontiguousarray(ends, np.float32), 1, _SAME_POINT_M).index[:, 0]
    added = np.unique(cluster[found[found >= 0]])
    if len(added) == 0:
        return volumes
    shape = fit_neighbours(cloud.points, cluster, config, added, cloud.range_m)
    number = np.bincount(cluster)
    first = np.zeros(len(number), np.int64)
    first[cluster[::-1]] = np.arange(len(cluster))[::-1]
    bright = np.bincount(cluster, compensate_range(cloud.intensity, cloud.range_m, config.reflectance))[added]
    own = Volumes(
        shape.mean,
        shape.covariance,
        PERMEABILITY,
        None if volumes.exposure_m is None else np.sqrt(shape.covariance[:, _DIAGONAL].mean(axis=1)),
        cloud.label[first[added]],
        (bright / number[added]).astype(np.float32),
        extra={name: _start(name, number[added]).astype(values.dtype) for name, values in volumes.extra.items()},
        tau=volumes.tau,
        element_m=volumes.element_m,
    )
    columns = ("mean", "covariance", "permeability", "label", "reflectance", "instance")
    joined = {name: np.concatenate([getattr(volumes, name), getattr(own, name)]) for name in columns}
    if volumes.exposure_m is not None and own.exposure_m is not None:
        joined["exposure_m"] = np.concatenate([volumes.exposure_m, own.exposure_m])
    extra = {name: np.concatenate([values, own.extra[name]]) for name, values in volumes.extra.items()}
    weight = np.concatenate([volumes.extra.get("count", np.ones(len(volumes))), number[added]])
    joined["reflectance"][len(volumes) :] = smooth_reflectance(
        Neighbours(joined["mean"]), own.mean, joined["reflectance"], weight
    )
    return volumes.with_(**joined, extra=extra)


def _start(name: str, count: Array) -> Array:
    """The first value of a further column: points are counted, beams are not yet."""
    return count if name == "count" else np.zeros_like(count)
