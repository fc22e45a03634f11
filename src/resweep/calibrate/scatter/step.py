"""The step in which a sensor counts."""

from __future__ import annotations

import numpy as np

from resweep.pose import Array

_MAX_LEVELS = 70_000  # distinct values of a sensor that counts in steps
_STEP_TOLERANCE, _MIN_FITTING_SHARE = 0.02, 0.999


def find_step(values: Array) -> float:
    """The step in which values (n,) are counted, such as 0.01 or 1/65535; 0 if they are continuous.

    It is the step between neighbouring values that all are multiples of.
    """
    levels = np.unique(np.asarray(values, np.float64))
    if len(levels) < 3 or len(levels) > _MAX_LEVELS:
        return 0.0
    between = np.diff(levels)
    step = float(np.median(between[between < 1.5 * np.quantile(between, 0.1)]))
    counts = np.round(levels / step)
    step = float((counts * levels).sum() / max(float((counts**2).sum()), 1.0))  # all levels say how large it is
    apart = np.abs(levels / step - np.round(levels / step))
    # Continuous values that were rounded to float32 would pass by chance if steps are few times that.
    if step < 1e-6 * float(np.abs(levels).max()) or float(np.mean(apart < _STEP_TOLERANCE)) < _MIN_FITTING_SHARE:
        return 0.0
    return float(f"{step:.6g}")
