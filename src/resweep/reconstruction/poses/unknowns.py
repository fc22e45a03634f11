"""What is estimated of lasers and poses: the order of the unknowns, what is expected of them, how well they are known.

Unknowns are an elevation for each ring, then a range offset for each, then a slope of that offset over range; then for
each sweep a turn and a shift, and where firing times are known a turn and a shift a second.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from resweep import portable
from resweep.calibration import Calibration, LaserSigma, PoseRefinement
from resweep.pose import Array
from resweep.reconstruction.poses.config import CalibrateConfig
from resweep.reconstruction.poses.views import View

_FIXED = 1e-9


@dataclass(frozen=True)
class Layout:
    """How many lasers and sweeps there are, and whether the motion within sweeps is estimated too (``rates``)."""

    rings: int
    sweeps: int
    rates: bool

    @property
    def width(self) -> int:
        """Unknowns of a sweep."""
        return 12 if self.rates else 6

    @property
    def count(self) -> int:
        """All unknowns."""
        return 3 * self.rings + self.width * self.sweeps

    def split(self, values: Array) -> tuple[Array, Array]:
        """The unknowns (n,) of the lasers (3, rings), and those of the sweeps (sweeps, 12)."""
        motion = np.zeros((self.sweeps, 12))
        motion[:, : self.width] = values[3 * self.rings :].reshape(self.sweeps, self.width)
        return values[: 3 * self.rings].reshape(3, self.rings), motion

    def join(self, calibration: Calibration, views: Sequence[View]) -> Array:
        """The unknowns (n,) as they are."""
        lasers = (calibration.elevation_rad, calibration.range_m, calibration.slope)
        return np.concatenate([*lasers, *(view.change[: self.width] for view in views)])

    def precision(self, config: CalibrateConfig) -> Array:
        """Inverse covariance (n, n) of the unknowns before anything was measured.

        Lasers of one sensor share a part of their errors: a mount that is off, a clock that is late.
        """
        turn, shift = config.turn_prior_rad, config.shift_prior_m
        sweep = np.array(
            [turn] * 3 + [shift] * 3 + [config.turn_rate_prior_rad_s] * 3 + [config.shift_rate_prior_m_s] * 3
        )
        found = np.zeros((self.count, self.count))
        at = np.arange(3 * self.rings, self.count)
        found[at, at] = np.tile(1.0 / sweep[: self.width] ** 2, self.sweeps)
        for kind, (own, shared) in enumerate(_laser_priors(config)):
            block = slice(kind * self.rings, (kind + 1) * self.rings)
            common = shared**2 / (own**2 + self.rings * shared**2)  # Sherman and Morrison, of own² I + shared² 11ᵀ
            found[block, block] = (np.eye(self.rings) - common) / own**2
        return found


def _laser_priors(config: CalibrateConfig) -> list[tuple[float, float]]:
    """How far lasers differ, and what they may all have in common: elevation, range, slope."""
    return [
        (config.elevation_prior_rad, config.elevation_bias_prior_rad),
        (config.range_prior_m, config.range_bias_prior_m),
        (config.range_slope_prior, config.range_slope_prior if config.range_bias_prior_m > _FIXED else _FIXED),
    ]


def fix_lasers(config: CalibrateConfig) -> CalibrateConfig:
    """The settings with which a step leaves the lasers as they are."""
    own = dict.fromkeys(("elevation_prior_rad", "range_prior_m", "range_slope_prior"), _FIXED)
    return fix_biases(config).model_copy(update=own)


def fix_biases(config: CalibrateConfig) -> CalibrateConfig:
    """The settings with which lasers are expected to have nothing in common."""
    return config.model_copy(update=dict.fromkeys(("elevation_bias_prior_rad", "range_bias_prior_m"), _FIXED))


@dataclass(frozen=True, eq=False)
class Estimate:
    """Standard deviations: of ``lasers`` (3, rings) and ``sweeps`` (n, 12), and of the mean elevation."""

    lasers: Array
    sweeps: Array
    elevation_bias_rad: float

    @classmethod
    def from_precision(cls, layout: Layout, precision: Array) -> Estimate:
        """Of unknowns whose inverse covariance is ``precision`` (n, n)."""
        covariance = portable.solve(precision, np.eye(layout.count))
        lasers, sweeps = layout.split(np.sqrt(np.maximum(np.diagonal(covariance), 0.0)))
        shared = float(covariance[: layout.rings, : layout.rings].sum())
        return cls(lasers, sweeps, float(np.sqrt(max(shared, 0.0))) / layout.rings)

    def of_lasers(self) -> LaserSigma:
        """As a calibration keeps it."""
        elevation, range_m, slope = self.lasers
        return LaserSigma(elevation, range_m, slope, self.elevation_bias_rad)


def summarise_poses(changes: Array, sigmas: Array) -> PoseRefinement:
    """How the poses of sweeps were corrected: ``changes`` and ``sigmas`` (n, 12)."""
    groups = [slice(0, 3), slice(3, 6), slice(6, 9), slice(9, 12)]
    size = [float(np.sqrt((changes[:, group] ** 2).sum(axis=1).mean())) for group in groups]
    known = [float(np.median(sigmas[:, group])) for group in groups]
    return PoseRefinement(len(changes), *size, *known)
