"""Range offsets of lasers that change with azimuth, found on the map itself.

The lasers of a spinning sensor do not read alike all around: on KITTI's HDL-64E, some are millimetres long towards two
sides and short towards the other two, and in part alike in other sequences. Where the map is locally a plane, a return
lies off it along its beam by that much. Two harmonics of azimuth for each laser take it out, by robust least squares;
what all lasers have in common is left to the map and the poses.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from resweep import portable
from resweep.calibrate.config import CalibrateConfig
from resweep.calibrate.local_planes import SHARED_ERRORS, match_again, match_parts
from resweep.calibrate.views import SweepView
from resweep.calibration import AZIMUTH_HARMONICS, Calibration, find_azimuth_harmonics
from resweep.pose import Array
from resweep.registration import huber_weight

# Chosen by hand where a line names no source.
_ROUNDS = 2  # the planes are made of the same lasers, so one is not enough
_SAMPLES = 4  # times as many returns as a step of the poses takes
_HEIGHT_M = 0.005  # spread of a plane along its normal; chosen by hand
_SEED = 3  # of the samples
_MIN_OF_LASER = 200  # returns, for its bias to be estimated


def estimate_azimuth_bias(
    parts: Sequence[Sequence[SweepView]],
    calibration: Calibration,
    config: CalibrateConfig,
    thickness_m: float,
) -> tuple[Array, Array] | None:
    """``azimuth_bias_m`` (k, 4) of a calibration, and the standard deviation (k,) of each ring's amplitudes.

    None where the biases are no larger than their errors.
    """
    views = [view for part in parts for view in part]
    ring = np.concatenate([view.ring for view in views])
    harmonics = find_azimuth_harmonics(np.concatenate([view.direction for view in views]))
    more = config.model_copy(update={"samples": _SAMPLES * config.samples})
    rng = np.random.default_rng(_SEED)  # of its own: without a bias, all is as if none were looked for
    found = np.zeros((len(calibration.range_m), AZIMUTH_HARMONICS))
    matched = match_parts(parts, calibration, more, rng, thickness_m)
    for number in range(_ROUNDS):
        if number > 0:
            matched = match_again(views, replace(calibration, azimuth_bias_m=found), config, matched, thickness_m)
        slant = matched.slant
        noise = np.sqrt((config.noise_m * slant) ** 2 + _HEIGHT_M**2)
        weight = huber_weight(matched.error / noise, config.huber_m / config.noise_m) / noise**2
        found, sigma = _solve(
            ring[matched.row], slant[:, None] * harmonics[matched.row], matched.error, weight, found, config
        )
    known = found.any(axis=1)
    if not known.any():
        return None
    found[known] -= found[known].mean(axis=0)
    if (found[known] ** 2).mean() < np.median(sigma[known]) ** 2:
        return None
    return found, sigma


def _solve(
    ring: Array, slope: Array, error: Array, weight: Array, so_far: Array, config: CalibrateConfig
) -> tuple[Array, Array]:
    """Amplitudes (k, 4) after a step from ``so_far``, and the standard deviation (k,) of those of each ring.

    A return of laser ``ring`` (n,) lies ``error`` (n,) off its plane, and further by ``slope`` (n, 4) for each metre of
    an amplitude.
    """
    prior = np.eye(AZIMUTH_HARMONICS) / config.azimuth_bias_prior_m**2
    found, sigma = np.zeros_like(so_far), np.full(len(so_far), config.azimuth_bias_prior_m)
    for laser in range(len(so_far)):
        own = ring == laser
        if np.count_nonzero(own) < _MIN_OF_LASER:
            continue
        rows, strength = slope[own], weight[own]
        spread = float((strength * error[own] ** 2).sum() / np.count_nonzero(own))
        variance = SHARED_ERRORS**2 * max(spread, 1.0)  # of residuals in units of their noise
        matrix = portable.matmul(rows.T, rows * strength[:, None]) / variance + prior
        pull = (rows * (strength * error[own])[:, None]).sum(axis=0) / variance
        found[laser] = so_far[laser] - portable.solve(matrix, pull + so_far[laser] / config.azimuth_bias_prior_m**2)
        sigma[laser] = np.sqrt(np.diagonal(portable.solve(matrix, np.eye(AZIMUTH_HARMONICS))).mean())
    return found, sigma
