"""The full scale of intensities: what a sensor reports for a white target, where no format or driver says it."""

from __future__ import annotations

import numpy as np

from resweep.pose import Array

FULL_SCALES = (1.0, 255.0, 4095.0, 65535.0)  # relative ones, and counts of 8, 12 and 16 bits
_USUAL_SHARE = 0.99  # of intensities that are not of retroreflectors
_MOST_SHARE, _RELATIVE_MAX = 0.9, 2.0  # nine of ten relative intensities are below this, whatever reflects back
ENOUGH = 100  # intensities above zero that show a scale


def choose_full_scale(intensity: Array) -> float | None:
    """The full scale of intensities (n,), of those above zero; None where none is.

    It is 1 if nine of ten do not exceed 2, unless all are whole numbers and some above 1: these are counts. The scale
    of counts is the smallest of `FULL_SCALES` that 99 of 100 do not exceed.
    """
    known = intensity[np.isfinite(intensity) & (intensity > 0)]
    if not len(known):
        return None
    top = float(np.quantile(known, _USUAL_SHARE, method="lower"))
    counts = float(known.max()) > 1.0 and bool((known == np.floor(known)).all())
    if float(np.quantile(known, _MOST_SHARE, method="lower")) <= _RELATIVE_MAX and not counts:
        return FULL_SCALES[0]
    return next((scale for scale in FULL_SCALES[1:] if top <= scale), FULL_SCALES[-1])


def to_relative(intensity: Array, scale: float | None) -> Array:
    """Intensities (n,) as shares of their full scale; unchanged where that is 1 or unknown."""
    return intensity if scale in (None, 1.0) else np.asarray(intensity / np.float32(scale or 1.0))
