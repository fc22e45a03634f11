"""Splats that grow over a map: basic, adapted by labels, or by local descriptors (C, section 3)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from resweep.build.settings.splats import GroupFactors, SplatConfig
from resweep.build.splats.carve import carve
from resweep.build.splats.close import ROUNDING, close_gaps, close_ground
from resweep.build.splats.denoise import DENOISE_COLUMNS, denoise
from resweep.build.splats.lowest_ground import mark_ground
from resweep.build.splats.resample import resample
from resweep.build.splats.scan_lines import find_planes
from resweep.errors import NothingToFitError, ResweepError
from resweep.labels import Group
from resweep.map.checkpoints import pack_fields
from resweep.map.cloud import Cloud
from resweep.map.descriptors import describe
from resweep.map.map import Map
from resweep.map.reflectance import observe_discs
from resweep.neighbours import Neighbours
from resweep.pose import Array
from resweep.worlds import Layer
from resweep.worlds.layers.splats import Splats

Method = Literal["basic", "labels", "descriptors"]

MIN_POINTS = 3  # of a neighbourhood that has a plane
_NO_BETA = -2.0  # below every cosine: growing never stops at a turn


@dataclass(frozen=True, eq=False)
class GrowthResult:
    """Splats (m,) as they grew: ``seed`` is the row in the cloud; ``group`` is that of the seed.

    ``centre`` and ``normal`` (m, 3) float32 and ``radius`` (m,) are metres from the cloud's origin;
    ``mean_radius`` is R̄ of C 3.1. Splats of another ``kind`` (m,) are never joined.
    """

    centre: Array
    normal: Array
    radius: Array
    seed: Array
    group: Array
    kind: Array
    mean_radius: float


@dataclass(frozen=True)
class Scales:
    """The lengths, metres, by which splats grow: R̄ (``radius_m``) and ε̄ (``bound_m``) of C 3.1, means over a map."""

    radius_m: float
    bound_m: float


def fit(map: Map, config: SplatConfig, scales: Scales | None = None) -> tuple[Layer, ...]:
    """The map covered with splats by ``config.method``; grown ones are kept as a checkpoint before they are carved.

    ``scales`` are those of the whole map where this is a part of one; by default they are measured on it.
    """
    method = choose_method(map, config)
    if config.thin_m:
        map = map.thinned(config.thin_m)
    grown, cloud = map.checkpoints.run(
        "grow", lambda: grow_splats(map, config, method, scales), _pack_grown, _unpack_grown
    )
    if config.carve.rounds > 0:
        grown = carve(grown, map.returns(), config.carve)
    if config.close.only == "ground" and method != "basic":
        group = map.with_cloud(cloud).groups
        mark_ground(group, group == Group.UNKNOWN, cloud.points, config.close.cell_m)
        grown = close_ground(grown, cloud, group, config.close, method == "labels")
    seen = observe_discs(cloud, grown.centre, grown.normal, grown.seed, config.reflectance)
    splats = Splats(
        grown.centre,
        grown.normal,
        grown.radius,
        cloud.label[grown.seed],
        seen.pop("reflectance"),
        cloud.instance[grown.seed],
        {**seen, "group": grown.group},
        depth=config.depth,
        gap_m=config.gap_m,
        incidence_exponent=config.reflectance.simulated_exponent,
    )
    return (splats,)


def choose_method(map: Map, config: SplatConfig) -> Method:
    """What splats adapt to. ``auto``, which a plan has decided, takes labels if the points bear any of known meaning.

    A part of a map may lack labels that others have: groups of its points are described.
    """
    if config.method == "auto":
        return "labels" if map.labelled else "descriptors"
    is_part = map.stored is not None or map.whole is not None
    if config.method == "labels" and not (map.labelled or (is_part and map.labels.known)):
        what = "no return of the log has a label" if map.labels.known else "the meaning of the log's labels is unknown"
        raise ResweepError(f"method: labels, but {what}; use descriptors or basic, or set map.labels to a vocabulary")
    return config.method


def grow_splats(
    map: Map, config: SplatConfig, method: Method, scales: Scales | None = None
) -> tuple[GrowthResult, Cloud]:
    """Splats and the cloud that they grew on, twice where the map is resampled by the first (C, 3.4).

    The second generation measures its own scales: its cloud is denser.
    """
    grown, cloud = _grow_generation(map, config, method, config.denoise, scales)
    if config.resample and method != "basic":
        points, like = resample(grown, config.beta)
        dense = map.with_cloud(cloud.with_points(points, grown.seed[like]))
        grown, cloud = _grow_generation(dense, config, method, False, None)
    return grown, cloud


def _grow_generation(
    map: Map, config: SplatConfig, method: Method, clean: bool, scales: Scales | None
) -> tuple[GrowthResult, Cloud]:
    """One generation of splats (C, 3.1), and the cloud that they grew on: that of the map without its noise."""
    near = Neighbours(map.cloud.points)
    radius = near.mean_radius(config.k) if scales is None else scales.radius_m
    if clean:
        keep = denoise(near.pca(config.k, radius, only=DENOISE_COLUMNS))
        if not keep.all():
            map = map.select(keep)
            near = Neighbours(map.cloud.points)
    cloud = map.cloud
    flatness = near.mean_plane_distance(config.k, radius) if scales is None else scales.bound_m
    bound = max(flatness, config.bound_min_m)
    group, on_line, plane = _find_groups(map, near, config, radius, method)
    factors = _group_factors(config, method)[group]
    k = np.maximum(MIN_POINTS, np.rint(config.k * factors[:, 0])).astype(np.int32)
    shape = near.pca(k, (radius * factors[:, 1]).astype(np.float32), only=("normal", "radius", "count"))
    shape.normal[on_line] = plane
    normal = face_sensor(shape.normal, cloud.points, cloud.sensor)
    # A class ends a splat (C, 3.2); a described group does not: on scan lines it changes from point to point.
    grown = near.grow(
        normal,
        k,
        shape.radius * ROUNDING,
        (bound * factors[:, 2]).astype(np.float32),
        cloud.label if method == "labels" else 0,
        config.alpha,
        _NO_BETA if method == "basic" else config.beta,
    )
    flat = (shape.count[grown.seed] >= MIN_POINTS) & (grown.radius > 0)
    seed = grown.seed[flat]
    if len(seed) == 0:
        raise NothingToFitError("splats: none grew; the log has too few returns, accumulate more sweeps")
    centre = cloud.points[seed] + grown.shift[flat, None] * normal[seed]  # C, eq. 5
    kind = cloud.label[seed] if method == "labels" else group[seed].astype(np.int32)
    splats = GrowthResult(centre, normal[seed], grown.radius[flat], seed, group[seed], kind, radius)
    if config.close.levels == 0 or config.close.only == "ground" or method == "basic":
        return splats, cloud
    widest = float(bound * factors[:, 2].max())
    return close_gaps(splats, cloud, group, widest, config.close, method == "labels"), cloud


def face_sensor(normal: Array, points: Array, sensor: Array) -> Array:
    """``normal`` (n, 3) float32, turned towards the sensor that saw each point."""
    away = np.einsum("ni,ni->n", normal, sensor - points) < 0
    return np.where(away[:, None], -normal, normal).astype(np.float32)


def _find_groups(
    map: Map, near: Neighbours, config: SplatConfig, radius: float, method: Method
) -> tuple[Array, Array, Array]:
    """The group (n,) of each point: by its label, else by the shape of its neighbourhood.

    Also the rows (m,) of points whose neighbourhoods are a line along a ring but which lie on a plane, and its normals.
    """
    nowhere = np.zeros(0, np.int64), np.zeros((0, 3), np.float32)
    if method == "basic":
        return np.full(len(map), Group.SURFACE, np.int8), *nowhere
    group = map.groups if method == "labels" else np.full(len(map), Group.UNKNOWN, np.int8)
    unknown = group == Group.UNKNOWN
    if not unknown.any():
        return group, *nowhere
    shape = near.pca(np.where(unknown, np.int32(config.k), np.int32(0)), radius, only=("eigenvalues",))
    group[unknown] = describe(shape.eigenvalues[unknown])
    on_line, plane = find_planes(map.cloud, near, shape.eigenvalues, config.close, radius)
    group[on_line] = Group.SURFACE
    if config.close.only == "ground":
        mark_ground(group, unknown, map.cloud.points, config.close.cell_m)
    return group, on_line, plane


def _group_factors(config: SplatConfig, method: Method) -> Array:
    """Factors (4, 3) on K, R̄ and ε̄ by group; without labels one set serves ground and surfaces (C, 3.3)."""
    if method == "basic":
        return np.ones((4, 3))
    surface = config.planar if method == "descriptors" else config.surface
    ground = config.planar if method == "descriptors" else config.ground
    rows: list[GroupFactors] = [ground, surface, config.linear, config.non_surface]
    return np.array([[row.k, row.radius, row.bound] for row in rows])


def _pack_grown(growth: tuple[GrowthResult, Cloud]) -> dict[str, Array]:
    grown, cloud = (pack_fields(part) for part in growth)
    return {**{f"grown.{name}": values for name, values in grown.items()}, **cloud}


def _unpack_grown(columns: dict[str, Array]) -> tuple[GrowthResult, Cloud]:
    parts: tuple[dict[str, Any], dict[str, Any]] = ({}, {})
    for name, values in columns.items():
        parts[0 if name.startswith("grown.") else 1][name.removeprefix("grown.")] = values
    parts[0]["mean_radius"] = float(parts[0]["mean_radius"])
    return GrowthResult(**parts[0]), Cloud(**parts[1])
