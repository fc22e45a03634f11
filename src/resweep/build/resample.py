"""New points between sparse splats, so that a second generation closes small holes (C, 3.4)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from resweep.build.groups import Group
from resweep.build.neighbours import Neighbours
from resweep.pose import Array

if TYPE_CHECKING:
    from resweep.build.splats import Grown

_BLOCK = 1 << 16


def resample(grown: Grown, beta: float) -> tuple[Array, Array]:
    """New points (m, 3) and the row of the splat (m,) that each was made for.

    A splat with fewer neighbours within R̄ than the average δ̄ is joined with its farthest neighbours of the
    same kind and a normal within ``beta``: a point halfway to each, until the density is reached. Splats of
    the non-surface group neither count for δ̄ nor are joined: nothing lies between two leaves.
    """
    firm = np.flatnonzero(grown.group != Group.NON_SURFACE)
    if len(firm) < 2:
        return np.zeros((0, 3), np.float32), np.zeros(0, np.int64)
    centre, normal, kind = grown.centre[firm], grown.normal[firm], grown.kind[firm]
    near = Neighbours(centre)
    density = near.radius_count(grown.mean_radius)
    wanted = float(density.mean())
    sparse = np.flatnonzero(density < wanted)
    missing = np.ceil(wanted - density[sparse]).astype(np.int64)
    made: list[Array] = [np.zeros((0, 3), np.float32)]
    owner: list[Array] = [np.zeros(0, np.int64)]
    for begin in range(0, len(sparse), _BLOCK):
        rows, want = sparse[begin : begin + _BLOCK], missing[begin : begin + _BLOCK]
        index = near.knn(centre[rows], int(np.ceil(wanted)), grown.mean_radius).index[:, ::-1]
        same = (index >= 0) & (index != rows[:, None]) & (kind[index] == kind[rows][:, None])
        smooth = np.einsum("nki,ni->nk", normal[index], normal[rows]) > beta
        fit = same & smooth
        pick = fit & (np.cumsum(fit, axis=1) <= want[:, None])
        first, place = np.nonzero(pick)
        made.append((centre[rows[first]] + centre[index[first, place]]) / 2)
        owner.append(firm[rows[first]])
    points, splat = np.concatenate(made), np.concatenate(owner)
    apart = grown.mean_radius * np.sqrt(np.pi / max(wanted, 1.0))  # of splats at the average density
    fresh = _in_free_cells(points, centre, apart)
    return points[fresh], splat[fresh]


def _in_free_cells(points: Array, taken: Array, size_m: float) -> Array:
    """Rows of ``points``, the first of each cell of side ``size_m`` that holds none of ``taken``.

    Two sparse splats each ask for the point between them, and many pairs cross at one place.
    """
    everything = np.concatenate([taken, points]).astype(np.float64)
    cell = np.floor((everything - everything.min(axis=0)) / size_m).astype(np.int64)
    extent = cell.max(axis=0) + 1
    key = (cell[:, 0] * extent[1] + cell[:, 1]) * extent[2] + cell[:, 2]
    first = np.unique(key, return_index=True)[1]
    return np.sort(first[first >= len(taken)] - len(taken))
