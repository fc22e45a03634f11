"""Range noise of a sensor, estimated from recorded and simulated ranges: how far ranges scatter about surfaces."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from resweep.calibrate.scatter.step import find_step
from resweep.pose import Array
from resweep.sensor_scatter import RangeNoise, find_bins

RANGE_EDGES_M = (6.0, 10.0, 15.0, 22.0, 32.0, 45.0)
INCIDENCE_EDGES_DEG = (35.0, 55.0, 70.0, 79.0, 84.0)
SAME_SURFACE_M = 0.3  # by which recorded and simulated ranges differ at most where both hit the same surface
_MIN_RESIDUALS = 60  # of a bin: a median of fewer is off by more than a tenth
_SIGMA_PER_MAD = 1.4826  # per median absolute deviation of a normal variable
_MAX_SPREADS = 3.0  # spreads of the residuals, in which roughness is looked for
_SPREAD_OF_SECOND = 1.5  # variance of a value less the mean of its two neighbours, of independent values of variance 1
_ERROR_OF_MAD = 1.1664  # standard error of a sigma from the MAD of one normal variable, over sigma
_INFLATION = 1.95  # second differences of independent noise overlap: 1 + 2 Σ ρ², of neighbours (2/3) and next (1/6)
_MAX_RANGES = 200_000  # that are looked at for the step of the sensor
_MAX_STEP_M = 0.1  # a larger step is none of a sensor
_MAX_SIGMA_M = 1.0
_DIGITS = 5  # of a sigma


class SecondDifferences(NamedTuple):
    """Beams (n,) on surfaces, and by how much they differ from the mean of both neighbours on their ring, metres.

    ``range_m`` and ``incidence_deg`` are where they hit, ``residual`` the difference of recorded less simulated ranges,
    ``simulated`` that of simulated ranges.
    """

    range_m: Array
    incidence_deg: Array
    residual: Array
    simulated: Array


def compare_neighbours(
    left: Array, middle: Array, right: Array, good: Array, recorded: Array, simulated: Array, incidence_deg: Array
) -> SecondDifferences:
    """The second differences of beams (m,) ``middle`` whose neighbours on the ring are ``left`` and ``right`` (m,).

    Of the beams (b,), ``recorded`` and ``simulated`` are ranges; only ``good`` ones count, those that returned from a
    surface in both.
    """
    used = good[left] & good[middle] & good[right]
    left, middle, right = left[used], middle[used], right[used]

    def differ(values: Array) -> Array:
        wide = values.astype(np.float64)
        return np.asarray(wide[middle] - (wide[left] + wide[right]) / 2)

    residual = recorded.astype(np.float64) - simulated
    return SecondDifferences(simulated[middle], incidence_deg[middle], differ(residual), differ(simulated))


def estimate_range_noise(parts: Sequence[SecondDifferences], ranges: Array) -> RangeNoise | None:
    """Range noise by bins of range and incidence, of beams that hit a surface; None if too few did.

    The residual of a beam is compared with those of both neighbours on its ring: an offset or a curve of the surface
    cancels out, and what changes from beam to beam is left. Part of that is how rough the map is by itself, which
    simulated ranges have already: it counts against the noise. ``ranges`` (n,) are recorded ones, which show the step.
    """
    range_m, incidence, residual, simulated = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    if len(residual) < _MIN_RESIDUALS:
        return None
    second = np.stack([residual, simulated], axis=1)
    row, column = find_bins(range_m, RANGE_EDGES_M), find_bins(incidence, INCIDENCE_EDGES_DEG)
    sigma = np.full((len(RANGE_EDGES_M) + 1, len(INCIDENCE_EDGES_DEG) + 1), np.nan)
    error = sigma.copy()
    for place in np.ndindex(*sigma.shape):
        own = second[(row == place[0]) & (column == place[1])]
        if len(own) >= _MIN_RESIDUALS:
            sigma[place], error[place] = _find_sigma(own)
    whole, own_error = _find_sigma(second)
    known = np.isfinite(sigma)
    # Bins of few have the sigma of all, and may differ from it as much as others do.
    error = np.where(known, error, np.sqrt(own_error**2 + np.var(sigma[known])) if known.any() else own_error)
    sigma = np.where(known, sigma, whole)
    step = find_step(ranges[:_MAX_RANGES])
    return RangeNoise(
        range_edges_m=RANGE_EDGES_M,
        incidence_edges_deg=INCIDENCE_EDGES_DEG,
        sigma_m=np.round(np.minimum(sigma, _MAX_SIGMA_M), _DIGITS).tolist(),
        step_m=step if step < _MAX_STEP_M else 0.0,
        error_m=np.round(np.minimum(error, _MAX_SIGMA_M), _DIGITS).tolist(),
    )


def _find_sigma(second: Array) -> tuple[float, float]:
    """Sigma of the noise to add, from second differences (n, 2) along rings: of residuals, and of simulated ranges.

    Residuals have the variance N + S of noise and roughness; as roughness is in the simulated ranges too, with the
    other sign, their covariance is -S. Simulated ranges with a variance of N - S on top scatter as recorded ones do.
    The second number is the standard error, of normal noise that is independent from beam to beam.
    """
    residual, simulated = second[:, 0] - np.median(second[:, 0]), second[:, 1]
    sigma = _SIGMA_PER_MAD * float(np.median(np.abs(residual)))
    flat = (np.abs(simulated) < _MAX_SPREADS * sigma) & (np.abs(residual) < _MAX_SPREADS * sigma)
    product = residual[flat] * simulated[flat]
    known = len(product) >= _MIN_RESIDUALS
    rough = -float(product.mean()) if known else 0.0
    found = float(np.sqrt(max(sigma**2 - 2.0 * max(rough, 0.0), 0.0) / _SPREAD_OF_SECOND))
    of_rough = float(product.std()) * np.sqrt(_INFLATION / len(product)) if known else 0.0
    of_square = 2.0 * np.hypot(sigma**2 * _ERROR_OF_MAD * np.sqrt(_INFLATION / len(second)), of_rough)
    of_square /= _SPREAD_OF_SECOND
    return found, float(min(of_square / (2.0 * found) if found > 0.0 else np.inf, np.sqrt(of_square)))
