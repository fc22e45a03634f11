"""Façades continued upwards through unobserved space: a sensor that looks down records only their lower part."""

from __future__ import annotations

import numpy as np

from resweep.build.complete.patches import NO_PATCHES, Patches, is_observed
from resweep.labels import LabelSet
from resweep.pose import Array
from resweep.worlds import Splats
from resweep.worlds.observed import ObservedSpace

# Chosen by hand.
CELL_M = 0.4  # of the columns, and from patch to patch
MAX_STOREY_M = 3.0  # a storey
_MIN_HEIGHT_M = 2.0  # of what was recorded: lower things are walls and hedges, which end
_UPRIGHT = 0.3  # cosine between a façade's normal and the vertical, at most
_RADIUS_M = 0.75 * CELL_M  # of a patch: a square is covered from 0.71, √2 / 2, on
_CATEGORY = "building"


def continue_facades(splats: Splats, labels: LabelSet, observed: ObservedSpace) -> Patches:
    """Patches above façades, up to `MAX_STOREY_M`, that end where recorded beams passed.

    Façades are upright splats of buildings, by their label, in columns of `CELL_M` at least 2 m high. Without labels
    nothing is continued: a hedge looks the same.
    """
    rows = np.flatnonzero(find_facades(splats, labels))
    if len(rows) == 0:
        return NO_PATCHES
    cell = np.floor(splats.centre[rows, :2] / CELL_M).astype(np.int64)
    column = np.unique(cell, axis=0, return_inverse=True)[1].reshape(-1)
    order = np.lexsort((splats.centre[rows, 2], column))
    ends = np.flatnonzero(np.diff(column[order], append=-1))
    begins = np.r_[0, ends[:-1] + 1]
    top, bottom = rows[order[ends]], rows[order[begins]]
    top = top[splats.centre[top, 2] - splats.centre[bottom, 2] >= _MIN_HEIGHT_M]
    centre, like = _extend_upwards(splats.centre[top].astype(np.float64), top, observed)
    return Patches(centre, splats.normal[like], np.full(len(like), _RADIUS_M), like)


def _extend_upwards(start: Array, top: Array, observed: ObservedSpace) -> tuple[Array, Array]:
    """Centres above ``start`` (n, 3) step by step until space that was observed begins, and what each continues."""
    centres, likes = [np.zeros((0, 3))], [np.zeros(0, np.int64)]
    for height_m in np.arange(1, int(MAX_STOREY_M / CELL_M) + 1) * CELL_M:
        place = start + np.array([0.0, 0.0, height_m])
        unseen = ~is_observed(observed, place)
        start, top, place = start[unseen], top[unseen], place[unseen]
        centres.append(place)
        likes.append(top)
    return np.concatenate(centres), np.concatenate(likes)


def find_facades(splats: Splats, labels: LabelSet) -> Array:
    """Splats (n,) bool on façades."""
    if not labels.known or not splats.label.any():
        return np.zeros(len(splats), bool)
    ids = [label for label in labels.classes if labels.category(label) == _CATEGORY]
    return np.isin(splats.label, ids) & (np.abs(splats.normal[:, 2]) <= _UPRIGHT)
