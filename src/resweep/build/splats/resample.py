"""New points between sparse splats, so that a second generation closes small holes (C, 3.4)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from resweep import _core
from resweep.labels import Group
from resweep.neighbours import Neighbours
from resweep.pose import Array

if TYPE_CHECKING:
    from resweep.build.splats.splats import GrowthResult


def resample(grown: GrowthResult, beta: float) -> tuple[Array, Array]:
    """New points (m, 3) and the row of the splat (m,) that each was made for.

    A splat with fewer neighbours within R̄ than the average δ̄ is joined with its farthest neighbours of the
    same kind and a normal within ``beta``: a point halfway to each, until the density is reached. Splats of
    the non-surface group neither count for δ̄ nor are joined: nothing lies between two leaves.
    """
    firm = np.flatnonzero(grown.group != Group.NON_SURFACE)
    if len(firm) < 2:
        return np.zeros((0, 3), np.float32), np.zeros(0, np.int64)
    centre = grown.centre[firm]
    near = Neighbours(centre)
    density = near.radius_count(grown.mean_radius)
    wanted = float(density.mean())
    missing = np.ceil(wanted - density).astype(np.int32)
    k = int(np.ceil(wanted))
    first, second = near.join(grown.normal[firm], grown.kind[firm], missing, k, grown.mean_radius, beta)
    points = np.asarray((centre[first] + centre[second]) / 2, np.float32)
    # Both of two sparse splats make the point between them, and many pairs cross at one place.
    spacing = grown.mean_radius * np.sqrt(np.pi / max(wanted, 1.0))  # of splats at the average density
    fresh = _core.in_free_cells(centre, points, spacing)
    return points[fresh], firm[first[fresh]]
