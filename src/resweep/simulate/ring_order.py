"""Beams in the order in which each ring fires them."""

from __future__ import annotations

import numpy as np

from resweep.pose import Array


def order_along_rings(ring: Array, turn: Array) -> Array:
    """The beams (b,) by ``ring`` (b,), and of each ring by ``turn`` (b,); sweeps often list them in one of both orders.

    Beams of one ring and turn stay as they are listed.
    """
    step = np.diff(turn.astype(np.float64))
    same = ring[1:] == ring[:-1]
    if not (step[same] < 0).any() and not (ring[1:] < ring[:-1]).any():
        return np.arange(len(ring))
    if not (step < 0).any():
        return np.argsort(ring.astype(np.uint16), kind="stable")  # of so small numbers it is no sort by comparing
    return np.lexsort((turn, ring))
