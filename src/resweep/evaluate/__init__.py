"""Simulated against real: metrics that are what their names say, and a report of them.

The module is itself the function: ``rs.evaluate(sim, real)`` and ``resweep.evaluate.METRICS`` both work.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from resweep.evaluate.classes import THIN_LABELS
from resweep.evaluate.compare import evaluate
from resweep.evaluate.histograms import (
    NO_RETURN,
    Shots,
    bhattacharyya,
    direction_distances,
    histogram_distance,
    noise_floor,
    shots_of,
)
from resweep.evaluate.metrics import METRICS, Metric, cloud_to_cloud, psnr, ssim
from resweep.evaluate.report import Report

__all__ = [
    "METRICS",
    "NO_RETURN",
    "THIN_LABELS",
    "Metric",
    "Report",
    "Shots",
    "bhattacharyya",
    "cloud_to_cloud",
    "direction_distances",
    "evaluate",
    "histogram_distance",
    "noise_floor",
    "psnr",
    "shots_of",
    "ssim",
]


class _Callable(ModuleType):
    """A module that is called like the function of its name.

    Importing a submodule binds its name in the package, so ``resweep.evaluate`` is always the module; only
    a module that can be called lets ``rs.evaluate(...)`` work whatever was imported before.
    """

    def __call__(self, *arguments: Any, **options: Any) -> Report:
        return evaluate(*arguments, **options)


sys.modules[__name__].__class__ = _Callable
