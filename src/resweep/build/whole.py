"""A map in memory: one tile."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from resweep.build.parts import Layers
from resweep.build.plan import Plan
from resweep.build.splats.splats import Scales
from resweep.build.store import FindKinds, Step, order_layers
from resweep.calibration import Calibration
from resweep.map.map import Map
from resweep.map.store.part import PERMEABLE, STILL
from resweep.pose import Array
from resweep.worlds import World
from resweep.worlds.observed import ObservedSpace


@dataclass(frozen=True, eq=False)
class WholePart:
    """All points (n,) of a map, and their flags (n,) uint8 if they are known."""

    whole: Map
    flags: Array | None = None
    is_whole: bool = True

    def map(self) -> Map:
        """The map."""
        return self.whole

    @property
    def observed(self) -> ObservedSpace | None:
        """The space that its beams crossed."""
        return self.whole.observed


@dataclass(frozen=True, eq=False)
class WholeMap:
    """A map in memory, as a store of one part; what moved is out of it already."""

    part: WholePart
    moving: None = None
    unknown_share: None = None

    @property
    def origin(self) -> Array:
        """Where its coordinates are counted from (3,)."""
        return self.part.whole.origin

    @property
    def observed(self) -> ObservedSpace | None:
        """The space that its beams crossed."""
        return self.part.observed

    @property
    def n_points(self) -> int:
        """Points of the map."""
        return len(self.part.whole)

    def measure(self, plan: Plan, *, surfaces: bool, flatness: bool = True) -> Scales | None:
        """None: estimators measure the scales on all points."""
        return None

    def classify(self, find: FindKinds | None, plan: Plan, scales: Scales | None) -> WholeMap:
        """The map with the flags of its points; they are kept as a checkpoint."""
        if find is None:
            return self
        found = self.part.whole.checkpoints.run(
            "permeable",
            lambda: find(self.part),
            lambda permeable: {"permeable": permeable},
            lambda columns: columns["permeable"],
        )
        flags = np.where(found, STILL | PERMEABLE, STILL).astype(np.uint8)
        return WholeMap(replace(self.part, flags=flags))

    def cover(self, step: Step, plan: Plan, scales: Scales | None) -> WholeLayers:
        """The layers that ``step`` gives."""
        return WholeLayers(self, scales, (step,))


@dataclass(frozen=True, eq=False)
class WholeLayers:
    """The layers of a map in memory after some steps, which are done once."""

    store: WholeMap
    scales: Scales | None
    steps: tuple[Step, ...]

    @cached_property
    def layers(self) -> Layers:
        """What all steps gave."""
        layers: Layers = ()
        for step in self.steps:
            layers = step(self.store.part, layers)
        return order_layers(layers)

    def add_step(self, step: Step) -> WholeLayers:
        """The layers after a further step."""
        return WholeLayers(self.store, self.scales, (*self.steps, step))

    @property
    def whole(self) -> Layers:
        """All layers."""
        return self.layers

    def with_whole(self, layers: Layers) -> WholeLayers:
        """The same map with other layers."""
        return WholeLayers(self.store, self.scales, (lambda part, before: layers,))

    def near(self, place: Array, radius_m: float) -> Layers:
        """All layers."""
        return self.layers

    def write(
        self,
        path: Path | None,
        *,
        plan: Plan,
        meta: Mapping[str, Any],
        calibration: Calibration | None,
        overwrite: bool,
    ) -> World:
        """The world of the layers, also written to ``path`` if that is given."""
        store = self.store
        world = World(
            self.layers,
            store.origin,
            dict(meta),
            plan.labels,
            calibration=calibration,
            observed=store.observed,
            map_filter=plan.config.map.filter(plan.labels),
        )
        if path is not None:
            world.save(path, overwrite=overwrite)
        return world
