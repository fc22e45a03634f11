"""The hybrid world: surfaces as splats, what lets beams through as permeable volumes (papers A and C in one)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from resweep.build.hybrid.evidence import Evidence, gather_evidence
from resweep.build.hybrid.flatness import find_flat
from resweep.build.settings.hybrid import HybridConfig
from resweep.build.splats import splats
from resweep.build.splats.lowest_ground import mark_ground
from resweep.build.splats.scan_lines import find_planes
from resweep.build.splats.splats import Scales
from resweep.build.volumes import volumes
from resweep.errors import NothingToFitError
from resweep.labels import Group
from resweep.map.descriptors import describe
from resweep.map.map import Map
from resweep.neighbours import Neighbours
from resweep.pose import Array
from resweep.progress import begin_stage
from resweep.voxels import number_voxels
from resweep.worlds import Layer

STAGES = ("finding what beams pass through", "covering surfaces with splats", "learning volumes from beams")
_FLAT_CELLS = 5.0  # of joined points, that neighbours may lie apart at least; chosen by hand
_MIN_UNKNOWN = 0.1  # share of points without a group from which on the beams decide as well; chosen by hand


def fit_classes(map: Map, permeable: Array, config: HybridConfig, scales: Scales | None = None) -> tuple[Layer, ...]:
    """Splats over the points that are not ``permeable`` (n,) bool, volumes in those that are.

    ``scales`` are those of the splats, where the map is a part of one.
    """
    if (~permeable).sum() <= config.splats.k:  # too few for a surface
        permeable = np.ones_like(permeable)
    layers: tuple[Layer, ...] = ()
    if not permeable.all():
        begin_stage(STAGES[1])
        with _allow_missing_kind(map):
            layers = splats.fit(map.select(np.flatnonzero(~permeable)), config.splat_config, scales)
    if permeable.any():
        begin_stage(STAGES[2])
        with _allow_missing_kind(map):
            layers += volumes.fit(map.select(np.flatnonzero(permeable)), config.volume_config, layers)
    return layers


@contextmanager
def _allow_missing_kind(map: Map) -> Iterator[None]:
    """Allow a part of a map, which has stored beams, to have points of one kind only."""
    try:
        yield
    except NothingToFitError:
        if map.stored is None:
            raise


def list_permeable(config: HybridConfig) -> list[Group]:
    """The groups whose points become volumes."""
    return [Group[name.upper()] for name in config.permeable]


def uses_beams(unknown_share: float, config: HybridConfig) -> bool:
    """Whether the beams decide as well what is permeable, where that share of a map's points has no group.

    A full refinement asks them of all points.
    """
    return unknown_share >= _MIN_UNKNOWN or config.refine == "full"


def find_permeable(
    map: Map, config: HybridConfig, scales: Scales | None = None, unknown_share: float | None = None
) -> Array:
    """Points (n,) bool that let beams through: by their label, or without one of use by ``config.evidence``.

    A few points without a label, as an annotator leaves them, are decided by the descriptors alone. With a full
    refinement, held-out likelihood overrules labels: it takes a gain of ``gain_min`` either way, and to become
    permeable also ``passed_min``. ``scales`` and ``unknown_share`` are those of the whole map where this is a part of
    one; by default they are measured on it.
    """
    permeable = np.isin(find_groups(map, config, scales), list_permeable(config))
    unknown = map.groups == Group.UNKNOWN
    if not uses_beams(float(unknown.mean()) if unknown_share is None else unknown_share, config):
        return permeable
    found = gather_evidence(map, config, scales)
    if found.passed is not None:
        permeable &= ~unknown | (found.passed >= config.passed_min)
    if found.gain is not None:
        permeable = np.where(unknown & found.gain_known, found.gain > config.gain_min, permeable)
        if config.refine == "full":
            permeable = _overrule_labels(permeable, ~unknown & found.gain_known, found, config)
    return permeable


def _overrule_labels(permeable: Array, known: Array, found: Evidence, config: HybridConfig) -> Array:
    """Which points (n,) are permeable, changed where that is ``known`` (n,) and contradicts the held-out likelihood."""
    assert found.gain is not None
    loose = found.gain > config.gain_min
    if found.passed is not None:
        loose &= found.passed >= config.passed_min
    return np.asarray((permeable | (known & loose)) & ~(known & (found.gain < -config.gain_min)))


def find_side(config: HybridConfig) -> float:
    """Side of the cells, metres, in which points are joined before their surroundings are looked at; 0 for none.

    Points nearer than the noise of ranges show no plane.
    """
    thin_m = config.splats.thin_m or 0.0
    return max(thin_m, config.volumes.noise_m) if "flatness" in config.evidence else thin_m


def find_groups(map: Map, config: HybridConfig, scales: Scales | None = None) -> Array:
    """The `Group` (n,) of each point: by its label, or without one of use by the shape of its surroundings.

    A described group is that of most of a point's neighbours: alone, it changes from point to point.
    """
    side = find_side(config)
    if side:
        cell = number_voxels(map.cloud.points, side, map.cloud.label)
        return np.asarray(_vote_groups(map.with_cloud(map.cloud.merged(cell)), config, scales)[cell])
    return _vote_groups(map, config, scales)


def _vote_groups(map: Map, config: HybridConfig, scales: Scales | None) -> Array:
    group = map.groups
    unknown = np.flatnonzero(group == Group.UNKNOWN)
    if len(unknown) == 0:
        return group
    points, k = map.cloud.points, config.splats.k
    near = Neighbours(points)
    radius = near.mean_radius(k) if scales is None else scales.radius_m
    around = near.knn(points[unknown], config.vote_k).index
    asked = np.zeros(len(points), np.int32)
    asked[around[around >= 0]] = k  # only the shapes of those that vote
    eigenvalues = near.pca(asked, radius, only=("eigenvalues",)).eigenvalues
    described = describe(eigenvalues)
    if "flatness" in config.evidence:
        described = find_flat(near, asked, described, max(radius, _FLAT_CELLS * find_side(config)))
    described[find_planes(map.cloud, near, eigenvalues, config.splats.close, radius)[0]] = Group.SURFACE
    votes = described.astype(np.int8)[around]
    votes[around < 0] = -1
    count = np.stack([np.count_nonzero(votes == kind, axis=1) for kind in Group if kind != Group.UNKNOWN])
    group[unknown] = count.argmax(axis=0)
    if "flatness" in config.evidence and config.splats.close.only == "ground":
        asked_of = np.zeros(len(points), bool)
        asked_of[unknown] = True
        mark_ground(group, asked_of, points, config.splats.close.cell_m)
    return group
