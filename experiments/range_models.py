"""The two laws of B, 3.4.1 for the range of a return from a stand of stems.

Ranges r and the distance D to the stand are metres, λ (``density``) is stems per m², d (``diameter``)
metres and γ (``divergence``) the full angle of the beam in radians. Each law is a frozen object with
``pdf``, ``cdf`` and ``mode``; all take ranges measured from the sensor.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import quad
from scipy.special import gammainc, gammaln

Array = NDArray[Any]


class RangeModel(Protocol):
    """A law of the range beyond the near edge of the stand."""

    @property
    def mode(self) -> float:
        """The most likely range."""

    def log_pdf(self, r: Array) -> Array:
        """Logarithm of the density per metre."""

    def cdf(self, r: Array) -> Array:
        """Share of returns nearer than r."""


@dataclass(frozen=True)
class Exponential:
    """B, eqs. 2 and 3: the nearest stem in the widening beam (Macedo, Manduchi and Matthies).

    The exponent is read as λd(r−D)(1 + a(r+D)/2). Its derivative is λd(1 + ar), the factor in front, so
    that the law integrates to one; with (r+D)² in its place, as the printed line can also be read, it
    does not (see `integral_with_square`).
    """

    distance: float
    density: float
    diameter: float
    divergence: float

    @property
    def spread(self) -> float:
        """a of B, eq. 3."""
        return 2.0 * float(np.tan(self.divergence / 2.0))

    @property
    def mode(self) -> float:
        """D itself, unless the beam widens faster than the stems stop it: a > λd(1 + aD)²."""
        rate, a = self.density * self.diameter, self.spread
        turning = (np.sqrt(a / rate) - 1.0) / a if a > 0 else -np.inf  # where the derivative vanishes
        return float(max(self.distance, turning))

    def _exponent(self, r: Array) -> Array:
        a = self.spread
        depth = r - self.distance
        return np.asarray(self.density * self.diameter * depth * (1 + a * (r + self.distance) / 2))

    def log_pdf(self, r: Array) -> Array:
        """Logarithm of the density per metre, −∞ before the stand."""
        r = np.asarray(r, dtype=np.float64)
        value = np.log(self.density * self.diameter * (1 + self.spread * r)) - self._exponent(r)
        return np.where(r >= self.distance, value, -np.inf)

    def cdf(self, r: Array) -> Array:
        """Share of returns nearer than r."""
        r = np.maximum(np.asarray(r, dtype=np.float64), self.distance)
        return -np.expm1(-self._exponent(r))

    def integral_with_square(self) -> float:
        """What eq. 2 integrates to if its exponent has (r+D)² in place of (r+D)."""
        rate, a, D = self.density * self.diameter, self.spread, self.distance
        value = quad(lambda r: rate * (1 + a * r) * np.exp(-rate * (r - D) * (1 + a * (r + D) ** 2 / 2)), D, D + 200)
        return float(value[0])


@dataclass(frozen=True)
class Gamma:
    """B, eqs. 4 and 5: the mean over the width of the beam, a gamma law of shape α = 1 + γD²."""

    distance: float
    density: float
    diameter: float
    divergence: float

    @property
    def shape(self) -> float:
        """α of B, eq. 4."""
        return 1.0 + self.divergence * self.distance**2

    @property
    def rate(self) -> float:
        """αλd per metre, so that the mean depth is 1/(λd) at every distance."""
        return self.shape * self.density * self.diameter

    @property
    def mode(self) -> float:
        """Where the density peaks: (α−1)/(αλd) behind the edge."""
        return self.distance + (self.shape - 1.0) / self.rate

    def log_pdf(self, r: Array) -> Array:
        """Logarithm of the density per metre, −∞ before the stand."""
        depth = np.asarray(r, dtype=np.float64) - self.distance
        safe = np.where(depth > 0, depth, 1.0)
        value = (self.shape - 1.0) * np.log(safe) + self.shape * np.log(self.rate) - self.rate * safe
        return np.where(depth > 0, value - gammaln(self.shape), -np.inf)

    def cdf(self, r: Array) -> Array:
        """Share of returns nearer than r."""
        depth = np.maximum(np.asarray(r, dtype=np.float64) - self.distance, 0.0)
        return np.asarray(gammainc(self.shape, self.rate * depth))


def integral(model: RangeModel, start: float, stop: float) -> float:
    """The density of a law integrated numerically from ``start`` to ``stop``."""
    return float(quad(lambda r: float(np.exp(model.log_pdf(np.array(r)))), start, stop, limit=200)[0])


def ks_distance(ranges: Array, model: RangeModel, low: float, high: float) -> float:
    """Largest gap between the ranges' distribution and the law conditioned on [low, high]."""
    ordered = np.sort(ranges)
    below, above = model.cdf(np.array([low, high]))
    law = (model.cdf(ordered) - below) / (above - below)
    steps = np.arange(len(ordered) + 1) / len(ordered)
    return float(np.maximum(np.abs(steps[1:] - law), np.abs(steps[:-1] - law)).max())


def log_likelihood(ranges: Array, model: RangeModel, low: float, high: float) -> Array:
    """Log-likelihood of each return under the law conditioned on [low, high]; whole line: −∞ to ∞."""
    below, above = model.cdf(np.array([low, high]))
    return np.asarray(model.log_pdf(ranges) - np.log(above - below))
