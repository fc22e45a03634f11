"""The hybrid world: surfaces as splats, what lets beams through as permeable volumes (papers A and C in one)."""

from __future__ import annotations

import numpy as np

from resweep.labels import Group, LabelSet
from resweep.log import Log
from resweep.neighbours import Neighbours
from resweep.pose import Array
from resweep.reconstruction.checkpoints import Stages
from resweep.reconstruction.config import HybridConfig
from resweep.reconstruction.hybrid.evidence import share_passed, volumes_gain
from resweep.reconstruction.map.accumulate import Cloud
from resweep.reconstruction.splats.descriptors import describe
from resweep.reconstruction.splats.splats import build_splats
from resweep.reconstruction.volumes.volumes import build_volumes
from resweep.voxels import number_voxels
from resweep.worlds import Layer

_FEWEST_SWEEPS = 3  # of which one is held out
_ENOUGH_UNKNOWN = 0.1  # share of points without a group that is worth asking the beams for


def build_hybrid(
    cloud: Cloud,
    log: Log,
    config: HybridConfig,
    labels: LabelSet,
    progress: bool = False,
    stages: Stages | None = None,
) -> list[Layer]:
    """Splats over the map's surfaces and volumes in the rest of it. Each point makes one or the other, never both."""
    kept = stages or Stages()
    permeable = kept.run(
        "permeable",
        lambda: permeable_points(cloud, log, config, labels, progress),
        lambda told: {"permeable": told},
        lambda columns: columns["permeable"],
    ).copy()
    if (~permeable).sum() <= config.splats.k:  # too few for a surface to be told
        permeable[:] = True
    layers: list[Layer] = []
    if not permeable.all():
        layers.append(build_splats(cloud[np.flatnonzero(~permeable)], config.splat_config, labels, stages))
    if permeable.any():
        leaves = cloud[np.flatnonzero(permeable)]
        layers.append(build_volumes(leaves, log, config.volume_config, labels, progress, tuple(layers)))
    return layers


def permeable_points(cloud: Cloud, log: Log, config: HybridConfig, labels: LabelSet, progress: bool = False) -> Array:
    """Points (n,) that let beams through: by their label, and where that says nothing by ``config.evidence``.

    A few points without a label, as an annotator leaves them, are told by the descriptors alone.
    """
    permeable = np.isin(point_groups(cloud, config, labels), [Group[name.upper()] for name in config.permeable])
    unknown = labels.group(cloud.label) == Group.UNKNOWN if cloud.has_labels else np.ones(len(cloud), bool)
    if unknown.mean() < _ENOUGH_UNKNOWN:
        return permeable
    if "permeability" in config.evidence:
        permeable &= ~unknown | (share_passed(cloud, log, config, labels, progress) >= config.passed_min)
    if "likelihood" in config.evidence and len(log) >= _FEWEST_SWEEPS:
        gain, known = volumes_gain(cloud, log, config, labels, progress)
        permeable = np.where(unknown & known, gain > config.gain_min, permeable)
    return permeable


def point_groups(cloud: Cloud, config: HybridConfig, labels: LabelSet) -> Array:
    """The `Group` (n,) of each point: by its label, and where that says nothing by the shape of its surroundings.

    A described group is that of most of a point's neighbours: alone, it changes from point to point.
    """
    if config.splats.thin_m > 0:
        cell = number_voxels(cloud.points, config.splats.thin_m, cloud.label)
        thin = config.model_copy(update={"splats": config.splats.model_copy(update={"thin_m": 0.0})})
        return np.asarray(point_groups(cloud.merged(cell), thin, labels)[cell])
    group = labels.group(cloud.label) if cloud.has_labels else np.full(len(cloud), Group.UNKNOWN, np.int8)
    unknown = np.flatnonzero(group == Group.UNKNOWN)
    if len(unknown) == 0:
        return group
    near = Neighbours(cloud.points)
    k = config.splats.k
    described = describe(near.pca(k, near.mean_radius(k)).eigenvalues)
    around = near.knn(cloud.points[unknown], config.vote_k).index
    votes = np.where(around >= 0, described[np.maximum(around, 0)], -1)
    count = np.stack([(votes == kind).sum(axis=1) for kind in Group if kind != Group.UNKNOWN])
    group = group.copy()
    group[unknown] = count.argmax(axis=0)
    return np.asarray(group)
