"""Figures with their intervals."""

from __future__ import annotations

import numpy as np

from resweep.perception.judging.config import JudgingConfig
from resweep.perception.judging.judgement import Estimate
from resweep.pose import Array


def estimate(value: float | Array, draws: Array, config: JudgingConfig) -> Estimate:
    """A figure with the interval of its draws, of which those that measured nothing are left out."""
    if not np.isfinite(value):
        return Estimate()
    known = draws[np.isfinite(draws)]
    rest = (1.0 - config.confidence) / 2.0
    low, high = np.quantile(known, [rest, 1.0 - rest]) if len(known) else (np.nan, np.nan)
    return Estimate(value=float(value), low=make_plain(low), high=make_plain(high))


def make_plain(value: float | Array) -> float | None:
    """A number of Python's, None for what is not finite."""
    return float(value) if np.isfinite(value) else None
