"""What is done for each part of a map by itself: what its points are, what covers them, and how that is refined.

A part is the whole map, or a square of it with what lies around. The functions here do not know which.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Protocol

import numpy as np

from resweep.build import surfels
from resweep.build.complete.complete import complete
from resweep.build.hybrid import hybrid
from resweep.build.mesh import mesh
from resweep.build.plan import Plan
from resweep.build.refine import refine
from resweep.build.settings.base import BuildConfig
from resweep.build.settings.hybrid import HybridConfig
from resweep.build.settings.mesh import MeshConfig
from resweep.build.settings.splats import SplatConfig, SurfelConfig
from resweep.build.settings.volumes import VolumeConfig
from resweep.build.splats import splats
from resweep.build.splats.splats import Scales
from resweep.build.stationary import fit as stationary
from resweep.build.volumes import volumes
from resweep.errors import NothingToFitError
from resweep.map.map import Map
from resweep.map.seen_records import record_seen
from resweep.map.store.part import PERMEABLE
from resweep.pose import Array
from resweep.progress import begin_stage
from resweep.worlds import Layer
from resweep.worlds.observed import ObservedSpace

Layers = Sequence[Layer]

# What an estimator does after the map is there, as progress names it.
STAGES: dict[str, tuple[str, ...]] = {
    "HybridConfig": hybrid.STAGES,
    "SplatConfig": ("covering surfaces with splats",),
    "SurfelConfig": ("covering surfaces with surfels",),
    "VolumeConfig": ("learning volumes from beams",),
    "MeshConfig": ("meshing surfaces",),
}


class MapPart(Protocol):
    """A map or a part of one: its points (n,), and their flags (n,) uint8 if they are known."""

    @property
    def flags(self) -> Array | None:
        """What was found of each point, as bits; None if nothing was yet."""
        ...

    @property
    def is_whole(self) -> bool:
        """Whether there is nothing around it."""
        ...

    @property
    def observed(self) -> ObservedSpace | None:
        """The space that the beams of the whole map crossed."""
        ...

    def map(self) -> Map:
        """The part as a map, with the beams that cross it."""
        ...


def find_kinds(part: MapPart, plan: Plan, scales: Scales | None, unknown_share: float | None) -> Array:
    """Points (n,) bool of a part around which there are volumes (A); the others make splats (C)."""
    assert isinstance(plan.config, HybridConfig)
    return hybrid.find_permeable(part.map(), plan.config, scales, unknown_share)


def fit_part(part: MapPart, layers: Layers, plan: Plan, scales: Scales | None) -> Layers:
    """The layers that cover a part; none where a part of a map has too little for them. ``layers`` before are none."""
    if plan.stationary:
        assert isinstance(plan.config, HybridConfig)
        assert plan.directions is not None
        return stationary.fit(part.map(), plan.config, plan.directions)
    return _fit(part.map(), part.flags, part.is_whole, plan.config, scales)


def refine_part(part: MapPart, layers: Layers, plan: Plan, scales: Scales | None) -> Layers:
    """The layers adjusted to the beams that cross the part."""
    if part.is_whole:
        begin_stage(refine.STAGE)
    fit_rest = partial(_fit_sweeps, part, plan, scales)
    return refine.refine(part.map(), layers, plan.config.refine, fit_rest, plan.config)


def record_part(part: MapPart, layers: Layers, plan: Plan) -> Layers:
    """The layers with how each primitive was seen and, if the plan says so, continued where nothing was recorded."""
    map = part.map()
    layers = record_seen(map.cloud, layers)
    return complete(map, layers, part.observed) if plan.config.complete and layers else layers


def fit_map(map: Map, config: BuildConfig) -> Layers:
    """The layers that cover a map, by the estimator that the type of ``config`` names."""
    flags = None
    if isinstance(config, HybridConfig):
        begin_stage(STAGES["HybridConfig"][0])
        flags = np.where(hybrid.find_permeable(map, config), PERMEABLE, 0)
    return _fit(map, flags, True, config, None)


def _fit(map: Map, flags: Array | None, is_whole: bool, config: BuildConfig, scales: Scales | None) -> Layers:
    begin_stage(STAGES[type(config).__name__][0])
    try:
        if isinstance(config, HybridConfig):
            return hybrid.fit_classes(map, _find_permeable(map, flags, config), config, scales)
        if isinstance(config, SplatConfig):
            too_few = not is_whole and len(map) <= config.k
            return () if too_few else splats.fit(map, config, scales)
        if isinstance(config, SurfelConfig):
            return surfels.fit(map, config)
        if isinstance(config, VolumeConfig):
            return volumes.fit(map, config)
        assert isinstance(config, MeshConfig)
        return mesh.fit(map, config)
    except NothingToFitError:
        if is_whole:
            raise
        return ()


def _find_permeable(map: Map, flags: Array | None, config: HybridConfig) -> Array:
    if flags is not None:
        return np.asarray((flags & PERMEABLE) > 0)
    return np.isin(map.groups, hybrid.list_permeable(config))


def _fit_sweeps(part: MapPart, plan: Plan, scales: Scales | None, sweeps: Array) -> Layers:
    """The layers that cover what some sweeps saw of a part; fewer points lie farther apart."""
    map = part.map()
    rows = np.flatnonzero(np.isin(map.cloud.sweep, sweeps))
    if len(rows) == 0:
        return ()
    if scales is not None:
        scales = Scales(scales.radius_m * math.sqrt(len(map) / len(rows)), scales.bound_m)
    flags = None if part.flags is None else part.flags[rows]
    return _fit(map.select_sweeps(sweeps.tolist()), flags, part.is_whole, plan.config, scales)
