"""Splats that grow over a map: basic, adapted by labels, or by local descriptors (C, section 3)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from resweep.build.accumulate import Cloud
from resweep.build.carve import carve
from resweep.build.clusters import voxels
from resweep.build.config import GroupFactors, SplatConfig
from resweep.build.denoise import denoise
from resweep.build.groups import Group, LabelMap, describe
from resweep.build.neighbours import Neighbours
from resweep.build.observe import observed
from resweep.build.resample import resample
from resweep.errors import ResweepError
from resweep.pose import Array
from resweep.worlds.splats import Splats

MIN_POINTS = 3  # of a neighbourhood for a plane to be told


@dataclass(frozen=True, eq=False)
class Grown:
    """Splats (m,) as they grew: ``seed`` is the row in the cloud; ``group`` is that of the seed.

    ``centre`` and ``normal`` (m, 3) float32 and ``radius`` (m,) are metres from the cloud's origin;
    ``mean_radius`` is R̄ of C 3.1.
    """

    centre: Array
    normal: Array
    radius: Array
    seed: Array
    group: Array
    kind: Array
    mean_radius: float


def build_splats(cloud: Cloud, config: SplatConfig, labels: LabelMap) -> Splats:
    """The map covered with splats by ``config.method``."""
    method = config.method
    if method == "auto":
        method = "labels" if cloud.has_labels else "descriptors"
    if method == "labels" and not cloud.has_labels:
        raise ResweepError("method: labels, but no return of the log has a label; use descriptors or basic")
    if config.thin_m > 0:
        cloud = cloud.merged(voxels(cloud.points, cloud.label, config.thin_m))
    grown, cloud = _generate(cloud, config, labels, method, clean=config.denoise)
    if config.resample and method != "basic":
        points, like = resample(grown, config.beta)
        cloud = cloud.with_points(points, grown.seed[like])
        grown, cloud = _generate(cloud, config, labels, method, clean=False)
    grown = carve(grown, cloud, config.carve)
    label, instance = cloud.label[grown.seed], cloud.instance[grown.seed]
    seen = observed(cloud, grown.centre, grown.normal, grown.seed, config.reflectance)
    reflectance = seen.pop("reflectance")
    extra = {**seen, "group": grown.group}
    return Splats(
        grown.centre,
        grown.normal,
        grown.radius,
        label,
        reflectance,
        instance,
        extra,
        depth=config.depth,
        gap_m=config.gap_m,
    )


def _generate(cloud: Cloud, config: SplatConfig, labels: LabelMap, method: str, clean: bool) -> tuple[Grown, Cloud]:
    """One generation of splats, and the cloud that they grew on: the given one without its noise."""
    near = Neighbours(cloud.points)
    radius = near.mean_radius(config.k)
    shape = near.pca(config.k, radius)
    if clean:
        keep = denoise(shape)
        if not keep.all():
            cloud = cloud[keep]
            near = Neighbours(cloud.points)
            shape = near.pca(config.k, radius)
    told = shape.count >= MIN_POINTS
    weight = np.where(told, shape.count, 0)
    bound = float(np.average(shape.mean_abs_plane_distance, weights=weight)) if weight.any() else 0.0
    bound = max(bound, config.bound_min_m)
    group = _groups(cloud, shape.eigenvalues, labels, method)
    factors = _factors(config, method)[group]
    k = np.maximum(MIN_POINTS, np.rint(config.k * factors[:, 0])).astype(np.int32)
    if method != "basic":
        shape = near.pca(k, (radius * factors[:, 1]).astype(np.float32))
    normal = facing(shape.normal, cloud.points, cloud.sensor)
    # A class ends a splat (C, 3.2); a described group does not: on scan lines it changes from point to point.
    border = cloud.label if method == "labels" else np.zeros_like(cloud.label)
    kind = cloud.label if method == "labels" else group.astype(np.int32)
    grown = near.grow(
        normal,
        k,
        (radius * factors[:, 1]).astype(np.float32),
        (bound * factors[:, 2]).astype(np.float32),
        border,
        config.alpha,
        -2.0 if method == "basic" else config.beta,
        cloud.seen[:, None].astype(np.float32),
    )
    told = (shape.count[grown.seed] >= MIN_POINTS) & (grown.radius > 0)
    seed = grown.seed[told]
    if len(seed) == 0:
        raise ResweepError("splats: none grew; the log has too few returns, accumulate more sweeps")
    centre = cloud.points[seed] + grown.shift[told, None] * normal[seed]
    return Grown(centre, normal[seed], grown.radius[told], seed, group[seed], kind[seed], radius), cloud


def facing(normal: Array, points: Array, sensor: Array) -> Array:
    """``normal`` (n, 3) turned towards the sensor that saw each point."""
    away = np.einsum("ni,ni->n", normal, sensor - points) < 0
    return np.where(away[:, None], -normal, normal).astype(np.float32)


def _groups(cloud: Cloud, eigenvalues: Array, labels: LabelMap, method: str) -> Array:
    """The group (n,) of each point: by its label, else by the shape of its neighbourhood."""
    if method == "basic":
        return np.full(len(cloud), Group.SURFACE, np.int8)
    described = describe(eigenvalues)
    if method == "descriptors":
        return described
    group = labels.group(cloud.label)
    return np.where(group == Group.UNKNOWN, described, group).astype(np.int8)


def _factors(config: SplatConfig, method: str) -> Array:
    """Factors (4, 3) on K, R̄ and ε̄ by group; without labels one set serves ground and surfaces (C, 3.3)."""
    if method == "basic":
        return np.ones((4, 3))
    surface = config.planar if method == "descriptors" else config.surface
    rows: list[GroupFactors] = [config.ground, surface, config.linear, config.non_surface]
    return np.array([[row.k, row.radius, row.bound] for row in rows])
