"""The full scale of intensities: what a sensor reports for a white target, where no format or driver says it."""

from __future__ import annotations

import numpy as np

from resweep.pose import Array

FULL_SCALES = (1.0, 255.0, 4095.0, 65535.0)  # relative ones, and counts of 8, 12 and 16 bits
_USUAL_SHARE = 0.99  # of intensities that are not of retroreflectors
_RELATIVE_MAX = 2.0  # which relative intensities of white targets do not exceed
ENOUGH = 100  # intensities above zero that show a scale


def choose_full_scale(intensity: Array) -> float | None:
    """The full scale of intensities (n,): the smallest of `FULL_SCALES` that 99 of 100 above zero do not exceed.

    Relative intensities may reach 2, but whole numbers above 1 are counts. None where none is above zero.
    """
    known = intensity[np.isfinite(intensity) & (intensity > 0)]
    if not len(known):
        return None
    top = float(np.quantile(known, _USUAL_SHARE))
    counts = float(known.max()) > 1.0 and bool((known == np.floor(known)).all())
    if top <= _RELATIVE_MAX and not counts:
        return FULL_SCALES[0]
    return next((scale for scale in FULL_SCALES[1:] if top <= scale), FULL_SCALES[-1])


def to_relative(intensity: Array, scale: float | None) -> Array:
    """Intensities (n,) as shares of their full scale; unchanged where that is 1 or unknown."""
    return intensity if scale in (None, 1.0) else np.asarray(intensity / np.float32(scale or 1.0))
