"""How often beams come back empty from each splat: glass, dark paint, and what throws light elsewhere.

A beam without return has no range, so the likelihood of a world does not say which surface took it. But surfaces keep
doing so: the windows of a car send back hardly a beam of any sweep, its doors nearly all. Each empty beam counts where
it would have ended. Beams of blind sectors, which come back empty from everything, do not count.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from resweep.build.refine.blind_sectors import BlindSectors
from resweep.build.refine.refine_beams import find_splats
from resweep.neighbours import Neighbours
from resweep.pose import Array
from resweep.worlds import Layer
from resweep.worlds.layers.layer import LOST

# Chosen on held-out sweeps of SemanticKITTI 00 and 03.
_MAX_BLIND = 0.5  # chance that a blind sector takes a beam, above which it says nothing of what it hit
_BEAMS, _REACH_M = 16, 0.2  # that count for a splat: the nearest to its centre
_PRIOR_BEAMS = 1.0  # without loss, that count with them
_MIN_SHARE = 0.1  # smaller ones are left to the tables of the sensor
_NEAREST = 1


def learn_losses(layers: Sequence[Layer], seen: BlindSectors) -> tuple[Layer, ...]:
    """The layers with a column on their splats: the share of the beams ``seen`` there that come back empty."""
    splats = find_splats(layers)
    share = seen.find_shares()
    if splats is None or len(seen.empty) == 0:
        return tuple(layers)
    counted = np.ones(len(seen.empty), bool) if share is None else share.ravel()[seen.row] <= _MAX_BLIND
    place, empty = seen.place[counted], seen.empty[counted]
    lost = find_lost_shares(splats.centre, place, empty)
    extra = {**splats.extra, LOST: lost}
    return tuple(layer.with_(extra=extra) if layer is splats else layer for layer in layers)


def find_lost_shares(centre: Array, place: Array, empty: Array) -> Array:
    """The share (n,) float32 of lost beams around splats with ``centre`` (n, 3); 0 where it is small.

    ``place`` (m, 3) is where beams ended, or would have if they are ``empty`` (m,).
    """
    found: Array = np.zeros(len(centre), np.float32)
    if not empty.any():
        return found
    beside = Neighbours(place[empty]).knn(centre, _NEAREST, _REACH_M).index[:, 0] >= 0
    rows = np.flatnonzero(beside)
    if len(rows) == 0:
        return found
    near = Neighbours(place).knn(centre[rows], min(_BEAMS, len(place)), _REACH_M).index
    lost = (empty[np.maximum(near, 0)] & (near >= 0)).sum(axis=1)
    share = lost / ((near >= 0).sum(axis=1) + _PRIOR_BEAMS)
    found[rows] = np.where(share >= _MIN_SHARE, share, 0.0)
    return found
