"""Permeable volumes learned from a map and its beams (A, section III-C): voxels, top-down, bottom-up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from resweep.errors import ResweepError
from resweep.labels import LabelSet
from resweep.log import Log
from resweep.neighbours import Neighbours
from resweep.pose import Array
from resweep.reconstruction.config import VolumeConfig
from resweep.reconstruction.map.accumulate import Cloud, mappable, tracked
from resweep.reconstruction.volumes.clusters import bottom_up, top_down
from resweep.reconstruction.volumes.permeability import (
    Beams,
    Counts,
    OwnVolumes,
    count_beams,
    log_slope,
    matched,
    sweep_beams,
)
from resweep.sweep import Sweep
from resweep.voxels import number_voxels
from resweep.worlds import Layer
from resweep.worlds.volumes import Volumes, packed, symmetric

_BLOCK = 1 << 17  # volumes whose neighbours are looked for at once
_POINTS = 1 << 22  # points that are summed at once
_PAIRS = ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))


def build_volumes(
    cloud: Cloud,
    log: Log,
    config: VolumeConfig,
    labels: LabelSet,
    progress: bool = False,
    others: Sequence[Layer] = (),
) -> Volumes:
    """The map as permeable volumes, by ``config.method``, with the permeability that the log's beams show.

    ``others`` are further layers of the world, on which beams end too.
    """
    size = np.ptp(cloud.points, axis=0)
    if config.method == "voxels" and config.voxel_m > size.max():
        raise ResweepError(
            f"voxel_m: {config.voxel_m:g} m is larger than the scene ({size.max():.2f} m); give smaller voxels"
        )
    if config.voxel_m < config.noise_m:
        raise ResweepError(
            f"voxel_m: {config.voxel_m:g} m is less than the noise of ranges ({config.noise_m:g} m); give larger voxels"
        )
    cluster = _clusters(cloud, config)
    fit = fit_neighbours if config.method == "neighbours" else fit_gaussians
    shape = fit(cloud.points, cluster, config)
    volumes, counts = follow_beams(cloud, cluster, shape, log, config, labels, progress)
    learned, kept = _learned(volumes, counts, cloud, cluster, config)
    goal = Counts(counts.passed[kept], counts.stopped[kept], counts.exposure_m[kept])
    beams = partial(_beams, origin=cloud.origin, config=config, labels=labels)
    slope = log_slope(log)
    return matched(learned, others, cloud.origin, log, beams, goal, slope, config.empty_range_m, config.rounds)


def follow_beams(
    cloud: Cloud,
    cluster: Array,
    shape: Gaussians,
    log: Log,
    config: VolumeConfig,
    labels: LabelSet,
    progress: bool = False,
) -> tuple[Volumes, Counts]:
    """The fitted volumes, not yet permeable, and the log's beams that passed each of them or were stopped."""
    volumes = Volumes(shape.mean, shape.covariance, 0.5, tau=config.tau, element_m=config.element_m)
    own = OwnVolumes(cloud.points, cluster, volumes)
    sweeps = (sweep for _, sweep in tracked(log, "following beams", progress))
    ended = (own.ended(_beams(sweep, cloud.origin, config, labels)) for sweep in sweeps)
    return volumes, count_beams(volumes, ended, log_slope(log))


def _beams(sweep: Sweep, origin: Array, config: VolumeConfig, labels: LabelSet) -> Beams:
    return sweep_beams(sweep, origin, mappable(sweep, config.map, labels), config.empty_range_m)


def _clusters(cloud: Cloud, config: VolumeConfig) -> Array:
    """The volume (n,) that each point belongs to, numbered from 0 without gaps; labels are kept apart."""
    kind = cloud.label if config.split_labels else np.zeros(len(cloud), np.int32)
    if config.method == "top-down":
        return top_down(cloud.points, kind, config.leaf_points, config.gaussian_z, config.noise_m)
    if config.method == "bottom-up":
        return bottom_up(cloud.points, kind, config.seed_m, config.density_ratio, config.size_max_m, config.noise_m)
    return number_voxels(cloud.points, config.voxel_m, kind)


@dataclass(frozen=True, eq=False)
class Gaussians:
    """Fitted Gaussians: ``mean`` (v, 3), ``covariance`` (v, 6) packed, ``count`` (v,) of points."""

    mean: Array
    covariance: Array
    count: Array


def fit_gaussians(points: Array, cluster: Array, config: VolumeConfig) -> Gaussians:
    """Maximum-likelihood Gaussians of the points of each cluster.

    Too few points: a cluster of n < ``min_points`` is mixed with a ball as wide as a uniform voxel (standard
    deviation voxel_m / √12), which counts as the points that are missing. Near-singular: no standard deviation is
    below ``noise_m``, as the sensor would not tell.
    """
    count = np.bincount(cluster)
    mean = _means(points, cluster, count)
    sums = np.zeros((len(count), 6))
    for begin in range(0, len(points), _POINTS):  # in blocks, as all points in double precision would take much memory
        own = cluster[begin : begin + _POINTS]
        off = points[begin : begin + _POINTS] - mean[own]
        for column, (i, j) in enumerate(_PAIRS):
            sums[:, column] += np.bincount(own, off[:, i] * off[:, j], len(count))
    missing = np.maximum(config.min_points - count, 0)
    ball = config.voxel_m**2 / 12 * np.array([1.0, 0, 0, 1, 0, 1])
    covariance = (sums + missing[:, None] * ball) / (count + missing)[:, None]
    return Gaussians(mean, _not_thinner(symmetric(covariance), config.noise_m), count)


def _means(points: Array, cluster: Array, count: Array) -> Array:
    """The mean (v, 3) of the points of each cluster."""
    return np.stack([np.bincount(cluster, points[:, axis]) for axis in range(3)], axis=1) / count[:, None]


def _not_thinner(covariance: Array, noise_m: float) -> Array:
    """Covariances (v, 6) packed of (v, 3, 3), none thinner than ``noise_m``."""
    values, vectors = np.linalg.eigh(covariance)
    values = np.maximum(values, noise_m**2)
    return packed(np.einsum("vik,vk,vjk->vij", vectors, values, vectors))


def fit_neighbours(points: Array, cluster: Array, config: VolumeConfig) -> Gaussians:
    """Gaussians at the mean of each cluster, as wide as its ``neighbours`` nearest points lie around that.

    The map of a drive is dense near it and sparse farther off: so are these, where voxels of one size are too
    wide or leave gaps. Only points within ``neighbour_radius_m`` count; no volume is thinner than ``noise_m``.
    """
    count = np.bincount(cluster)
    mean = _means(points, cluster, count)
    near = Neighbours(points)
    covariance = np.empty((len(mean), 3, 3))
    for begin in range(0, len(mean), _BLOCK):
        middle = mean[begin : begin + _BLOCK]
        found = near.knn(middle.astype(np.float32), config.neighbours, config.neighbour_radius_m).index
        met = found >= 0
        off = np.where(met[..., None], points[np.maximum(found, 0)] - middle[:, None], 0.0)
        number = np.maximum(met.sum(axis=1), 1)
        covariance[begin : begin + _BLOCK] = np.einsum("nki,nkj->nij", off, off) / number[:, None, None]
    return Gaussians(mean, _not_thinner(covariance, config.noise_m), count)


def _learned(
    volumes: Volumes, counts: Counts, cloud: Cloud, cluster: Array, config: VolumeConfig
) -> tuple[Volumes, Array]:
    """The volumes with the permeability of ``counts``, and which (v,) were kept: all that stopped a beam."""
    met = counts.passed + counts.stopped
    keep = counts.stopped > 0
    if not keep.any():
        raise ResweepError("volumes: no beam ends in any; the log's beams do not fit its points (poses, calibration)")
    prior = config.prior_beams
    permeability = (counts.passed + prior * config.prior_permeability) / np.maximum(met + prior, 1e-9)
    first = np.zeros(len(volumes), np.int64)
    first[cluster[::-1]] = np.arange(len(cluster))[::-1]
    number = np.bincount(cluster)
    intensity = np.bincount(cluster, cloud.intensity) / number
    extra = {
        "passed": counts.passed.astype(np.int32),
        "stopped": counts.stopped.astype(np.int32),
        "count": number.astype(np.int32),
    }
    exposure = None
    if config.permeability == "extinction":
        exposure = counts.exposure_m[keep]
    learned = Volumes(
        volumes.mean[keep],
        volumes.covariance[keep],
        permeability[keep],
        exposure,
        cloud.label[first][keep],
        intensity.astype(np.float32)[keep],
        extra={name: values[keep] for name, values in extra.items()},
        tau=config.tau,
        element_m=config.element_m,
    )
    return learned, keep
