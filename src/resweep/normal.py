"""The normal distribution by tables, which give the same bytes on every processor."""

from __future__ import annotations

from functools import cache

import numpy as np
from scipy.special import ndtr

from resweep.pose import Array

_MAX_SPREAD, _COUNT = 5.0, 4001  # spreads that the tables reach to, and values they have


@cache
def _tabulate() -> tuple[Array, Array]:
    """Values of a normal variable, and the share that lies below each."""
    value = np.linspace(-_MAX_SPREAD, _MAX_SPREAD, _COUNT)
    share = np.round(ndtr(value), 12)
    share[0], share[-1] = 0.0, 1.0
    return value, share


def find_normal(share: Array) -> Array:
    """The value (n,) of a standard normal variable below which each share (n,) of it lies, within ± 5."""
    value, below = _tabulate()
    return np.asarray(np.interp(share, below, value))


def find_share(normal: Array) -> Array:
    """The share (n,) of a standard normal variable that lies below each value (n,), from 0 to 1."""
    _, below = _tabulate()
    # The values are evenly spaced, so that nothing need be searched.
    place = np.clip((np.asarray(normal) + _MAX_SPREAD) * ((_COUNT - 1) / (2.0 * _MAX_SPREAD)), 0.0, _COUNT - 1.0)
    low = np.minimum(place.astype(np.int64), _COUNT - 2)
    return np.asarray(below[low] + (place - low) * (below[low + 1] - below[low]))
