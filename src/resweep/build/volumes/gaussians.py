"""Gaussians fitted to the points of volumes (A, III-C)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from resweep import portable
from resweep.build.settings.volumes import VolumeSettings
from resweep.neighbours import Neighbours
from resweep.pose import Array
from resweep.voxels import UNIFORM_VARIANCE_DIVISOR
from resweep.worlds.layers.volumes import pack_symmetric, unpack_symmetric

_BLOCK = 1 << 17  # volumes whose neighbours are looked for at once: bounds memory
_POINTS = 1 << 22  # points that are summed at once
MAX_REACH_M = 1.5  # of the points that make a volume, however far it is; chosen by hand
_PAIRS = ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))


@dataclass(frozen=True, eq=False)
class FittedGaussians:
    """Fitted Gaussians: ``mean`` (v, 3), ``covariance`` (v, 6) packed, ``count`` (v,) of points."""

    mean: Array
    covariance: Array
    count: Array


def fit_gaussians(points: Array, cluster: Array, config: VolumeSettings) -> FittedGaussians:
    """Maximum-likelihood Gaussians of the points of each cluster.

    Too few points: a cluster of n < ``min_points`` is mixed with a ball as wide as a uniform voxel (standard
    deviation voxel_m / √12), which counts as the points that are missing. Near-singular: no standard deviation is
    below ``noise_m``, which a sensor cannot resolve.
    """
    count = np.bincount(cluster)
    mean = _cluster_means(points, cluster, count)
    sums = np.zeros((len(count), len(_PAIRS)))
    for begin in range(0, len(points), _POINTS):  # in blocks, as all points in double precision would take much memory
        own = cluster[begin : begin + _POINTS]
        off = points[begin : begin + _POINTS] - mean[own]
        for column, (i, j) in enumerate(_PAIRS):
            sums[:, column] += np.bincount(own, off[:, i] * off[:, j], len(count))
    missing = np.maximum(config.min_points - count, 0)
    ball = config.voxel_m**2 / UNIFORM_VARIANCE_DIVISOR * np.array([1.0, 0, 0, 1, 0, 1])
    covariance = (sums + missing[:, None] * ball) / (count + missing)[:, None]
    return FittedGaussians(mean, widen(unpack_symmetric(covariance), config.noise_m), count)


def fit_neighbours(
    points: Array, cluster: Array, config: VolumeSettings, only: Array | None = None, range_m: Array | None = None
) -> FittedGaussians:
    """Gaussians at the mean of each cluster, as wide as its ``neighbours`` nearest points lie around that.

    The map of a drive is dense near it and sparse farther off: so are these, where voxels of one size are too
    wide or leave gaps. Only points within `find_reach` count; no volume is thinner than ``noise_m``.
    ``only`` are the numbers of the clusters that are wanted, by default all. ``range_m`` (n,) are the distances from
    which the points were seen.
    """
    count = np.bincount(cluster)
    mean = _cluster_means(points, cluster, count)
    reach = find_reach(cluster, count, config, range_m)
    if only is not None:
        mean, count, reach = mean[only], count[only], reach[only]
    near = Neighbours(points)
    covariance = np.empty((len(mean), 3, 3))
    for begin in range(0, len(mean), _BLOCK):
        middle = mean[begin : begin + _BLOCK]
        limit = reach[begin : begin + _BLOCK]
        nearest = near.knn(middle.astype(np.float32), config.neighbours, float(limit.max()))
        found = nearest.index
        there = (found >= 0) & (nearest.distance2 <= (limit**2)[:, None])
        off = np.where(there[..., None], points[np.maximum(found, 0)] - middle[:, None], 0.0)
        number = np.maximum(there.sum(axis=1), 1)
        covariance[begin : begin + _BLOCK] = np.einsum("nki,nkj->nij", off, off) / number[:, None, None]
    return FittedGaussians(mean, widen(covariance, config.noise_m), count)


def find_reach(cluster: Array, count: Array, config: VolumeSettings, range_m: Array | None) -> Array:
    """How far (v,) the points that make each volume may lie from it, metres.

    That is ``neighbour_radius_m``, or ``neighbour_slope`` times the mean distance from which its own points were seen,
    if that is more, up to `MAX_REACH_M`: beams spread, and points of far things lie farther apart.
    """
    min_reach_m = config.neighbour_radius_m
    if range_m is None or not config.neighbour_slope:
        return np.full(len(count), min_reach_m)
    seen_from = np.bincount(cluster, range_m) / count
    return np.asarray(np.clip(config.neighbour_slope * seen_from, min_reach_m, max(min_reach_m, MAX_REACH_M)))


def _cluster_means(points: Array, cluster: Array, count: Array) -> Array:
    """The mean (v, 3) of the points of each cluster."""
    return np.stack([np.bincount(cluster, points[:, axis]) for axis in range(3)], axis=1) / count[:, None]


def widen(covariance: Array, noise_m: float) -> Array:
    """Covariances (v, 6) packed of (v, 3, 3), none thinner than ``noise_m``."""
    values, vectors = portable.eigh3(covariance)
    values = np.maximum(values, noise_m**2)
    return pack_symmetric(np.einsum("vik,vk,vjk->vij", vectors, values, vectors))
