"""The seam between the pipeline and where a map is kept: in memory as one tile, or on disk as many."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from resweep.build.parts import Layers, MapPart
from resweep.build.plan import Plan
from resweep.build.splats.splats import Scales
from resweep.calibration import Calibration
from resweep.map.moving import MovingRule
from resweep.pose import Array
from resweep.worlds import World
from resweep.worlds.observed import ObservedSpace

FindKinds = Callable[[MapPart], Array]
Step = Callable[[MapPart, Layers], Layers]

# How layers follow each other in a world, also where no tile has all of them.
LAYER_ORDER = (
    ("splats", "splats"),
    ("splats", "surfels"),
    ("volumes", "volumes"),
    ("splats", "completed"),
    ("volumes", "completed"),
)


class MapStore(Protocol):
    """A map in one or several tiles, which runs what is done for each part of it."""

    @property
    def origin(self) -> Array:
        """Where its coordinates are counted from (3,)."""
        ...

    @property
    def observed(self) -> ObservedSpace | None:
        """The space that its beams crossed."""
        ...

    @property
    def n_points(self) -> int:
        """Points of the map."""
        ...

    @property
    def unknown_share(self) -> float | None:
        """The share of points whose labels do not classify them; None where each part asks its own."""
        ...

    @property
    def moving(self) -> MovingRule | None:
        """What tells the points that moved, which are still in the map; None if they are out of it."""
        ...

    def measure(self, plan: Plan, *, surfaces: bool, flatness: bool = True) -> Scales | None:
        """R̄ and ε̄ of the map (C, 3.1), of its ``surfaces`` alone or all; None where estimators measure them."""
        ...

    def classify(self, find: FindKinds | None, plan: Plan, scales: Scales | None) -> MapStore:
        """The map with what ``find`` decides for the points of each part: whether they become volumes or splats."""
        ...

    def cover(self, step: Step, plan: Plan, scales: Scales | None) -> LayerStore:
        """The layers that ``step`` gives for each part, computed when they are asked for."""
        ...


class LayerStore(Protocol):
    """The layers of a map, part by part."""

    @property
    def scales(self) -> Scales | None:
        """The scales by which they were fitted."""
        ...

    def add_step(self, step: Step) -> LayerStore:
        """The layers after a further step for each part."""
        ...

    @property
    def whole(self) -> Layers | None:
        """All layers after all steps; None where no more than parts of them fit into memory."""
        ...

    def with_whole(self, layers: Layers) -> LayerStore:
        """The same map with other ``layers``, of a store that has the ``whole``."""
        ...

    def near(self, place: Array, radius_m: float) -> Layers:
        """The layers around a place (3,) in the world, to ``radius_m`` at least; all steps are done then."""
        ...

    def write(
        self,
        path: Path | None,
        *,
        plan: Plan,
        meta: Mapping[str, Any],
        calibration: Calibration | None,
        overwrite: bool,
    ) -> World | None:
        """The world of all layers, which is also written to ``path`` if that is given; None if it is only there."""
        ...


def order_layers(layers: Sequence[Any]) -> list[Any]:
    """Layers in the order of `LAYER_ORDER`, those of other names last."""
    rank = {key: at for at, key in enumerate(LAYER_ORDER)}
    return sorted(layers, key=lambda layer: rank.get((layer.kind, layer.name), len(rank)))
