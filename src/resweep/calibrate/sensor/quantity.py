"""One figure of a sensor: its value and uncertainty, or why the log does not show it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from resweep.pose import Array

_MAD_TO_SIGMA = 1.4826  # 1 / Φ⁻¹(3/4): standard deviations of a Gaussian in its median absolute deviation


@dataclass(frozen=True, eq=False)
class Quantity:
    """What a log shows of one figure.

    ``value`` and ``sigma`` are numbers or lists of them, in ``unit``; both are None where the log cannot tell, and
    ``note`` says why not, or else what the figure rests on and what it does not include. ``at`` are the places of a
    list's values: signals of a curve, rings of lasers. Values of a list with an infinite sigma are unknown. A ``bound``
    is what the figure is at most.
    """

    name: str
    unit: str
    value: Any = None
    sigma: Any = None
    note: str = ""
    at: Array | None = None
    bound: float | None = None

    @property
    def known(self) -> bool:
        """Whether the log tells it."""
        return self.value is not None

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        fields = {"value": self.value, "sigma": self.sigma, "at": self.at, "at_most": self.bound}
        return {
            "known": self.known,
            "unit": self.unit,
            **{name: _to_plain(value) for name, value in fields.items() if value is not None},
            "note": self.note,
        }

    def describe(self) -> str:
        """The value and its uncertainty in a few words; of a list its extremes."""
        unit = f" {self.unit}" if self.unit else ""
        if not self.known:
            return "unknown" if self.bound is None else f"at most {self.bound:.4g}{unit}"
        if np.ndim(self.value) == 0:
            return f"{self.value:.4g} ± {self.sigma:.2g}{unit}"
        values, sigma = np.asarray(self.value), np.asarray(self.sigma)
        sure = np.isfinite(sigma)
        values, sigma = values[sure], sigma[sure]
        return f"{values.min():.3g} to {values.max():.3g} ± {np.median(sigma):.2g}{unit}, {len(values)} values"


def _to_plain(value: Any) -> Any:
    if isinstance(value, np.ndarray | Sequence):
        return [_to_plain(each) for each in value]
    return float(f"{value:.6g}") if np.isfinite(value) else None


def robust_sigma(values: Array) -> float:
    """Standard deviation of (n,) values from the median of their distances to their median."""
    return float(_MAD_TO_SIGMA * np.median(np.abs(values - np.median(values)))) if len(values) else 0.0
