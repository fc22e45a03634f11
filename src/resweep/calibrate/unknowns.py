"""What is estimated of lasers and poses: the order of the unknowns, what is expected of them, how well they are known.

Unknowns are an elevation for each ring, then a range offset for each, then a slope of that offset over range; then for
each sweep a turn and a shift, and where firing times are known a turn and a shift a second.

Motion is continuous: what corrects the poses before and after a sweep also corrects the motion within it, where that
is known. A turn or shift a second is then expected near the slope of the corrections of the neighbouring poses, not
near zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from resweep import portable
from resweep.calibrate.config import CalibrateConfig
from resweep.calibrate.views import SweepView
from resweep.calibration import Calibration, LaserSigma, PoseRefinement
from resweep.pose import Array
from resweep.registration import POSE, RATES

_PER_LASER = 3  # unknowns of a laser: elevation, range and its slope
_FIXED = 1e-9  # a prior so narrow that the unknown stays as it is


@dataclass(frozen=True, eq=False)
class Unknowns:
    """How many lasers and sweeps there are, and whether the motion within sweeps is estimated too (``rates``).

    ``slopes`` (sweeps, sweeps) gives the slope over time, at each sweep, of what the poses of all are corrected by
    (`find_slopes`); None where sweeps do not constrain each other's motion.
    """

    rings: int
    sweeps: int
    rates: bool
    slopes: Array | None = None

    @property
    def width(self) -> int:
        """Unknowns of a sweep."""
        return POSE + RATES if self.rates else POSE

    @property
    def count(self) -> int:
        """All unknowns."""
        return _PER_LASER * self.rings + self.width * self.sweeps

    def split(self, values: Array) -> tuple[Array, Array]:
        """The unknowns (n,) of the lasers (3, rings), and those of the sweeps (sweeps, 12)."""
        motion = np.zeros((self.sweeps, POSE + RATES))
        motion[:, : self.width] = values[_PER_LASER * self.rings :].reshape(self.sweeps, self.width)
        return values[: _PER_LASER * self.rings].reshape(_PER_LASER, self.rings), motion

    def join(self, calibration: Calibration, views: Sequence[SweepView]) -> Array:
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
        at = np.arange(_PER_LASER * self.rings, self.count)
        found[at, at] = np.tile(1.0 / sweep[: self.width] ** 2, self.sweeps)
        if self.rates and self.slopes is not None:
            self._link_rates(found, sweep[POSE:])
        for kind, (own, shared) in enumerate(_laser_priors(config)):
            block = slice(kind * self.rings, (kind + 1) * self.rings)
            common = shared**2 / (own**2 + self.rings * shared**2)  # Sherman and Morrison, of own² I + shared² 11ᵀ
            found[block, block] = (np.eye(self.rings) - common) / own**2
        return found

    def _link_rates(self, found: Array, sigma: Array) -> None:
        """Expect rates within ``sigma`` (6,) of the slopes of the poses' corrections, where ``found`` says of zero."""
        assert self.slopes is not None
        square = portable.matmul(self.slopes.T, self.slopes)
        poses = _PER_LASER * self.rings + self.width * np.arange(self.sweeps)
        for axis, spread in enumerate(sigma.tolist()):
            turn, rate = poses + axis, poses + POSE + axis
            found[np.ix_(turn, turn)] += square / spread**2
            found[np.ix_(rate, turn)] -= self.slopes / spread**2
            found[np.ix_(turn, rate)] -= self.slopes.T / spread**2


def find_slopes(parts: Sequence[Sequence[SweepView]]) -> Array:
    """Differences over time (n, n): what makes of a value for each of n views its slope at each, by its neighbours.

    Neighbours are the views before and after in the same part; of the first and last it is one. A view has a slope of
    zero without neighbours at another time, or where its motion is not known: points that were compensated, by whatever
    motion, do not constrain the poses that they were given later.
    """
    count = sum(map(len, parts))
    found, first = np.zeros((count, count)), 0
    for part in parts:
        for at in range(len(part)):
            before, after = max(at - 1, 0), min(at + 1, len(part) - 1)
            times = [part[one].timestamp for one in (before, at, after)]
            known = [time for time in times if time is not None]
            lasts = known[-1] - known[0] if len(known) == len(times) else 0.0
            if lasts > 0:
                found[first + at, first + after] += 1.0 / lasts
                found[first + at, first + before] -= 1.0 / lasts
        first += len(part)
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
class Uncertainty:
    """Standard deviations: of ``lasers`` (3, rings) and ``sweeps`` (n, 12), and of the mean elevation."""

    lasers: Array
    sweeps: Array
    elevation_bias_rad: float

    @classmethod
    def from_precision(cls, layout: Unknowns, precision: Array) -> Uncertainty:
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
    groups = [slice(at, at + 3) for at in range(0, POSE + RATES, 3)]
    size = [float(np.sqrt((changes[:, group] ** 2).sum(axis=1).mean())) for group in groups]
    known = [float(np.median(sigmas[:, group])) for group in groups]
    return PoseRefinement(len(changes), *size, *known)
