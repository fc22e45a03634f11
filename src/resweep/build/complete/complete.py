"""Further layers where nothing was recorded, from what was recorded around."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from resweep.build.complete.crowns import close_crowns
from resweep.build.complete.facades import continue_facades
from resweep.build.complete.ground_continuation import continue_ground
from resweep.build.complete.patches import Patches
from resweep.map.map import Map
from resweep.pose import Array
from resweep.worlds import Layer, Splats, Volumes
from resweep.worlds.layers.layer import kinds_in
from resweep.worlds.layers.seen import COLUMN, COMPLETED
from resweep.worlds.observed import ObservedSpace

NAME = "completed"


def complete(map: Map, layers: Sequence[Layer], observed: ObservedSpace | None) -> tuple[Layer, ...]:
    """The layers, and up to two more, ``completed``, of splats and volumes that no beam hit, if there is room for any.

    Ground is continued between ground that was recorded on opposite sides (`continue_ground`), façades upwards where
    nothing was observed (`continue_facades`), and crowns on their far side (`close_crowns`); for the latter two the
    ``observed`` space must be known. Every primitive has the mark `COMPLETED`, so that returns from it say so.
    """
    splats = kinds_in(layers, Splats)
    volumes = kinds_in(layers, Volumes)
    completed: list[Layer] = []
    if splats:
        found = [continue_ground(splats[0], map.cloud.points, map.labels, observed)]
        if observed is not None:
            found.append(continue_facades(splats[0], map.labels, observed))
        patches = [part for part in found if len(part)]
        completed += [_cover(splats[0], patches)] if patches else []
    if volumes and observed is not None:
        crowns = close_crowns(volumes[0], map.cloud, observed, NAME)
        completed += [] if crowns is None else [crowns]
    return (*layers, *completed)


def _cover(source: Splats, patches: Sequence[Patches]) -> Splats:
    """Splats on the patches, which look like those of ``source`` that they continue."""

    def join(name: str) -> Array:
        return np.concatenate([getattr(part, name) for part in patches])

    like = join("like")
    count = len(like)
    return Splats(
        join("centre"),
        join("normal"),
        join("radius"),
        source.label[like],
        source.reflectance[like],
        extra={COLUMN: np.full(count, COMPLETED, np.uint32)},
        name=NAME,
        depth=source.depth,
        gap_m=source.gap_m,
        incidence_exponent=source.incidence_exponent,
    )
