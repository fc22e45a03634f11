"""Splats that grow over a map: basic, adapted by labels, or by local descriptors (C, section 3)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from resweep.errors import ResweepError
from resweep.labels import Group, LabelSet
from resweep.neighbours import Neighbours
from resweep.pose import Array
from resweep.reconstruction.checkpoints import Stages, pack_fields
from resweep.reconstruction.config import GroupFactors, SplatConfig
from resweep.reconstruction.map.accumulate import Cloud
from resweep.reconstruction.map.reflectance import observed
from resweep.reconstruction.splats.carve import carve
from resweep.reconstruction.splats.denoise import DENOISE_COLUMNS, denoise
from resweep.reconstruction.splats.descriptors import describe
from resweep.reconstruction.splats.resample import resample
from resweep.voxels import number_voxels
from resweep.worlds.splats import Splats

MIN_POINTS = 3  # of a neighbourhood for a plane to be told
_ROUNDING = np.float32(1 + 1e-6)  # so that the farthest neighbour is found again within its own distance


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


def build_splats(cloud: Cloud, config: SplatConfig, labels: LabelSet, stages: Stages | None = None) -> Splats:
    """The map covered with splats by ``config.method``; ``stages`` keep the grown ones, before they are carved."""
    method = config.method
    if method == "auto":
        method = "labels" if cloud.has_labels else "descriptors"
    if method == "labels" and not cloud.has_labels:
        raise ResweepError("method: labels, but no return of the log has a label; use descriptors or basic")
    if config.thin_m > 0:
        cloud = cloud.merged(number_voxels(cloud.points, config.thin_m, cloud.label))
    grown, cloud = (stages or Stages()).run(
        "grow", lambda: _grown(cloud, config, labels, method), _pack_grown, _unpack_grown
    )
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


def _grown(cloud: Cloud, config: SplatConfig, labels: LabelSet, method: str) -> tuple[Grown, Cloud]:
    """Splats and the cloud that they grew on, twice where the map is resampled by the first (C, 3.4)."""
    grown, cloud = _generate(cloud, config, labels, method, clean=config.denoise)
    if config.resample and method != "basic":
        points, like = resample(grown, config.beta)
        cloud = cloud.with_points(points, grown.seed[like])
        grown, cloud = _generate(cloud, config, labels, method, clean=False)
    return grown, cloud


def _pack_grown(made: tuple[Grown, Cloud]) -> dict[str, Array]:
    grown, cloud = (pack_fields(part) for part in made)
    return {**{f"grown.{name}": values for name, values in grown.items()}, **cloud}


def _unpack_grown(columns: dict[str, Array]) -> tuple[Grown, Cloud]:
    parts: tuple[dict[str, Any], dict[str, Any]] = ({}, {})
    for name, values in columns.items():
        parts[0 if name.startswith("grown.") else 1][name.removeprefix("grown.")] = values
    parts[0]["mean_radius"] = float(parts[0]["mean_radius"])
    return Grown(**parts[0]), Cloud(**parts[1])


def _generate(cloud: Cloud, config: SplatConfig, labels: LabelSet, method: str, clean: bool) -> tuple[Grown, Cloud]:
    """One generation of splats, and the cloud that they grew on: the given one without its noise."""
    near = Neighbours(cloud.points)
    radius = near.mean_radius(config.k)
    if clean:
        keep = denoise(near.pca(config.k, radius, only=DENOISE_COLUMNS))
        if not keep.all():
            cloud = cloud[keep]
            near = Neighbours(cloud.points)
    bound = max(near.mean_plane_distance(config.k, radius), config.bound_min_m)
    group = _groups(cloud, near, config.k, radius, labels, method)
    factors = _factors(config, method)[group]
    k = np.maximum(MIN_POINTS, np.rint(config.k * factors[:, 0])).astype(np.int32)
    shape = near.pca(k, (radius * factors[:, 1]).astype(np.float32), only=("normal", "radius", "count"))
    normal = facing(shape.normal, cloud.points, cloud.sensor)
    # A class ends a splat (C, 3.2); a described group does not: on scan lines it changes from point to point.
    border = cloud.label if method == "labels" else 0
    kind = cloud.label if method == "labels" else group.astype(np.int32)
    grown = near.grow(
        normal,
        k,
        shape.radius * _ROUNDING,
        (bound * factors[:, 2]).astype(np.float32),
        border,
        config.alpha,
        -2.0 if method == "basic" else config.beta,
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


def _groups(cloud: Cloud, near: Neighbours, k: int, radius: float, labels: LabelSet, method: str) -> Array:
    """The group (n,) of each point: by its label, else by the shape of its neighbourhood."""
    if method == "basic":
        return np.full(len(cloud), Group.SURFACE, np.int8)
    group = labels.group(cloud.label) if method == "labels" else np.full(len(cloud), Group.UNKNOWN, np.int8)
    unknown = group == Group.UNKNOWN
    if unknown.any():
        shape = near.pca(np.where(unknown, np.int32(k), np.int32(0)), radius, only=("eigenvalues",))
        group[unknown] = describe(shape.eigenvalues[unknown])
    return group


def _factors(config: SplatConfig, method: str) -> Array:
    """Factors (4, 3) on K, R̄ and ε̄ by group; without labels one set serves ground and surfaces (C, 3.3)."""
    if method == "basic":
        return np.ones((4, 3))
    surface = config.planar if method == "descriptors" else config.surface
    rows: list[GroupFactors] = [config.ground, surface, config.linear, config.non_surface]
    return np.array([[row.k, row.radius, row.bound] for row in rows])
