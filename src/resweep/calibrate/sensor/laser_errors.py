"""Range bias and intensity gain of each laser, with their uncertainties.

A beam is compared with a surface that other lasers saw, whose errors the surface has: what a beam shows is the error of
its own laser less the mean of theirs. All beams together tell all lasers, up to what they share.
"""

from __future__ import annotations

import numpy as np

from resweep import portable
from resweep.calibrate.local_planes import SHARED_ERRORS
from resweep.calibrate.sensor.quantity import Quantity, robust_sigma
from resweep.calibrate.sensor.range_noise import GATE_M
from resweep.calibrate.sensor.surfaces import Expected
from resweep.calibration import BLIND_BINS, Calibration
from resweep.pose import Array
from resweep.registration import huber_weight

# Chosen by hand where a line names no source.
_MIN_RETURNS = 100  # of a laser
_SECTORS = 24  # of azimuth: beams of one share errors of the map, in all sweeps
_HEAD_ON = 0.5  # cosine, above which errors of elevation hardly look like errors of range
_MAX_BIAS_SIGMA_M, _MAX_GAIN_SIGMA = 0.02, 0.2  # beyond which a laser counts as unknown
_GAIN_PRIOR = 0.5  # how far gains may differ, as logarithms
_MAX_RATIO = 4.0  # of intensity over what is expected: more is another surface
_MIN_SHADES = 3  # different intensities of a log that has any: 0 and 1 alone are none
_HUBER_SIGMAS = 2.0  # from which on values count less
_DIGITS = 4  # of a bias, metres, and of a gain
BIAS, GAIN = "lasers.range_bias_m", "lasers.intensity_gain"


def fit_bias(expected: Expected, calibration: Calibration) -> Quantity:
    """Metres (k,) by which each ring measures too much, from the median of all rings.

    ``calibration``, whose slopes are zero, corrected the beams of ``expected`` already: what is left is added to it.
    """
    count = len(calibration.range_m)
    if count < 2 or calibration.sigma is None:
        return Quantity(BIAS, "m", note="lasers cannot be distinguished: the log has no rings")
    few = expected[(np.abs(expected.error_m) < GATE_M) & (expected.cosine > _HEAD_ON)]
    rest, sigma = _solve(few.error_m, few, calibration.sigma.range_m)
    # The calibration knows that range and elevation of a laser that hits little but ground look alike.
    sigma = np.hypot(sigma, calibration.sigma.range_m)
    known = np.isfinite(sigma) & (sigma < _MAX_BIAS_SIGMA_M)
    if np.count_nonzero(known) < 2:
        return Quantity(
            BIAS, "m", note=f"fewer than two rings hit surfaces that determine it to {_MAX_BIAS_SIGMA_M:g} m"
        )
    bias = rest - calibration.range_m
    bias = np.where(known, bias - np.median(bias[known]), 0.0)
    note = (
        f"{np.count_nonzero(known)} of {count} rings, from their median: what all rings share cannot be separated from "
        "the map; rings that are unknown have 0"
    )
    return Quantity(BIAS, "m", np.round(bias, _DIGITS), np.where(known, sigma, np.inf), note, np.arange(count))


def fit_gain(expected: Expected, calibration: Calibration) -> Quantity:
    """How bright each ring (k,) reports what the median ring reports as 1, on surfaces that other rings saw too."""
    count = len(calibration.range_m)
    if count < 2:
        return Quantity(GAIN, "", note="lasers cannot be distinguished: the log has no rings")
    if len(np.unique(expected.intensity)) < _MIN_SHADES:
        return Quantity(GAIN, "", note="the log has no intensities")
    # Head-on, how intensity falls with incidence hardly matters: real surfaces do not follow the cosine.
    chosen = (np.abs(expected.error_m) < GATE_M) & (expected.cosine > _HEAD_ON)
    chosen &= (expected.brightness > 0) & (expected.intensity > 0)
    few = expected[chosen]
    ratio = few.intensity / (few.brightness * few.cosine)
    usual = (ratio < _MAX_RATIO) & (ratio > 1.0 / _MAX_RATIO)
    rest, sigma = _solve(portable.log(ratio[usual]), few[usual], np.full(count, _GAIN_PRIOR))
    known = np.isfinite(sigma) & (sigma < _MAX_GAIN_SIGMA)
    if np.count_nonzero(known) < 2:
        return Quantity(GAIN, "", note=f"fewer than two rings have {_MIN_RETURNS} returns on surfaces that others saw")
    gain = portable.exp(rest) * (np.ones(count) if calibration.gain is None else calibration.gain)
    gain = np.where(known, gain / np.median(gain[known]), 1.0)
    note = f"{np.count_nonzero(known)} of {count} rings, from their median; rings that are unknown have 1"
    return Quantity(GAIN, "", np.round(gain, _DIGITS), np.where(known, sigma * gain, np.inf), note, np.arange(count))


def _solve(values: Array, beams: Expected, prior: Array) -> tuple[Array, Array]:
    """What each ring (k,) adds to ``values`` (n,), each less the mean of the rings around, and its uncertainty.

    Rings are about zero, with standard deviations ``prior`` (k,); those with few returns have an infinite uncertainty.
    """
    count = len(prior)
    number = np.bincount(beams.ring.astype(np.int64), minlength=count)
    seen = number >= _MIN_RETURNS
    centred = values - (np.median(values) if len(values) else 0.0)
    weight = huber_weight(centred, max(_HUBER_SIGMAS * robust_sigma(values), 1e-6))
    matrices, slopes = _gather(centred, weight, beams, count)
    matrix, slope = matrices.sum(axis=0), slopes.sum(axis=0)
    spread = SHARED_ERRORS * float(np.sqrt((weight * centred**2).sum() / max(float(weight.sum()), 1.0)))
    variance = max(spread, 1e-9) ** 2
    covariance = portable.solve(matrix / variance + np.diag(1.0 / prior**2), np.eye(count))
    found = portable.matmul(covariance, slope / variance)
    # What each sector would move the lasers by: if its beams erred by themselves, all sectors would nearly cancel out.
    moved = np.stack(
        [
            portable.matmul(covariance, (slopes[at] - portable.matmul(matrices[at], found)) / variance)
            for at in range(_SECTORS)
        ]
    )
    blocks = np.sqrt((moved**2).sum(axis=0) * _SECTORS / (_SECTORS - 1))
    sigma = np.maximum(np.sqrt(np.maximum(np.diagonal(covariance), 0.0)), blocks)
    return found, np.where(seen, sigma, np.inf)


def _gather(values: Array, weight: Array, beams: Expected, count: int) -> tuple[Array, Array]:
    """Normal equations of the rings by sector of azimuth: matrices (s, k, k) and right sides (s, k)."""
    matrices, slopes = np.zeros((_SECTORS, count, count)), np.zeros((_SECTORS, count))
    sector = beams.azimuth.astype(np.int64) * _SECTORS // BLIND_BINS
    for at in range(_SECTORS):
        rows = np.flatnonzero(sector == at)
        ring, around = beams.ring[rows].astype(np.int64), beams.around[rows].astype(np.int64)
        row = np.arange(len(ring))
        design = np.zeros((len(ring), count))
        design[row, ring] = 1.0
        np.add.at(design, (np.repeat(row, around.shape[1]), around.reshape(-1)), -1.0 / around.shape[1])
        heavy = design * weight[rows, None]
        matrices[at] = portable.matmul(heavy.T, design)
        slopes[at] = portable.matmul(heavy.T, values[rows])
    return matrices, slopes
