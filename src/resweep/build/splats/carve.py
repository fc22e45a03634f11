"""Splats cut back by the beams that passed through them.

Neither C nor D does this. A splat grows over the gap between two points as readily as over a true surface, but
every recorded beam also shows that its path up to its return was free. Each round looks at what the map's own beams
meet first among the splats, and cuts back those that stop a beam well before it returned. All of it runs natively.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from resweep import _core
from resweep.build.settings.splats import CarveConfig
from resweep.embree_library import open_embree
from resweep.labels import Group
from resweep.map.cloud import Returns

if TYPE_CHECKING:
    from resweep.build.splats.splats import GrowthResult


def carve(grown: GrowthResult, beams: Returns, config: CarveConfig, threads: int = 0) -> GrowthResult:
    """The splats cut back where beams passed through them, without those of which nothing is left.

    Takes about 400 bytes a splat and 8 a beam while it runs.
    """
    if config.rounds == 0:
        return grown
    open_embree()
    ratio = np.where(grown.group == Group.LINEAR, np.float32(config.ratio_linear), np.float32(config.ratio))
    radius = _core.carve(
        grown.centre,
        grown.normal,
        grown.radius,
        ratio,
        beams.origin,
        beams.point,
        beams.measured,
        config.rounds,
        config.margin_m,
        config.margin_per_m,
        config.radius_min_m,
        threads,
    )
    keep = radius > 0
    columns = {name: getattr(grown, name)[keep] for name in ("centre", "normal", "seed", "group", "kind")}
    return replace(grown, radius=radius[keep], **columns)
