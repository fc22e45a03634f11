"""The detection curve: how often beams return from a surface, by the signal that it should send back."""

from __future__ import annotations

import numpy as np
from scipy.optimize import isotonic_regression

from resweep.calibrate.sensor.quantity import Quantity
from resweep.calibrate.sensor.range_noise import GATE_M
from resweep.calibrate.sensor.surfaces import Expected
from resweep.calibration import BLIND_BINS
from resweep.log import Log
from resweep.pose import Array

NAME = "receiver.detection"
# Chosen by hand where a line names no source.
_CELLS = 24  # of signals, with as many beams each; chosen by hand
_MIN_TRIALS = 200  # of a cell
_MIN_LOST = 50  # beams without return, for a curve to show
_SHARED = 2.0  # neighbours share the error of their signal
_BEYOND_M = 0.3  # from the nearest return: nearer beams may be lost for being near
_MIN_RISE = 0.005  # of a curve, else it does not depend on signals
_SURE_SIGMAS = 3  # standard errors by which it must rise
_BLIND, _EXPECTED = 0.8, 0.5  # share lost of a blind sector at least, and of returns that its signals have elsewhere
_MIN_OF_SECTOR = 5  # beams that show it
_SAME = 0.004  # rows of a curve that differ less are one


def fit_detection(expected: Expected, log: Log, falls: bool, reference_m: float) -> Quantity:
    """The chance of a return (m,) at signals ``at`` (m,): relative intensities at ``reference_m``.

    ``falls`` says that reported intensities fall with the square of the range. Beams that hit something else than the
    surface do not count, nor do those of blind sectors: the vehicle and mounts take most of the returns that are lost.
    """
    why = _find_obstacle(expected, log)
    if why:
        return Quantity(NAME, "", note=why)
    scale = log.intensity_scale or 1.0
    returned = np.abs(expected.error_m) < GATE_M
    lost = np.isinf(expected.measured_m)
    near = float(expected.measured_m.min(initial=np.inf)) + _BEYOND_M
    trials = expected[(returned | lost) & (expected.brightness > 0) & (expected.range_m > near)]
    signal = trials.brightness * trials.cosine / scale
    if not falls:
        signal = signal * (reference_m / trials.range_m) ** 2
    blind = find_blind(signal, trials)
    trials, signal = trials[~blind], signal[~blind]
    found = _fit_curve(signal, np.isfinite(trials.measured_m))
    if found is None:
        return Quantity(NAME, "", note=f"fewer than {2 * _MIN_TRIALS} beams hit flat surfaces of known brightness")
    at, chance, sigma = found
    count = np.count_nonzero(np.isinf(trials.measured_m))
    if count < _MIN_LOST:
        return Quantity(
            NAME, "", note=f"only {count} of {len(trials)} beams to flat surfaces were lost: no curve shows"
        )
    if not (chance[-1] - chance > np.maximum(_MIN_RISE, _SURE_SIGMAS * np.hypot(sigma, sigma[-1]))).any():
        why = (
            f"{100 * count / len(trials):.1f} % of {len(trials)} beams to flat surfaces were lost, whatever the signal"
        )
        return Quantity(NAME, "", note=f"{why}: for other reasons")
    beams = "" if log.empty_beams.source in ("fired", "stored") else "; empty beams were inferred from the grid"
    unit = "" if log.intensity_scale else "; intensities, up to 1, are taken as relative ones"
    sectors = f"; {np.count_nonzero(blind)} beams of blind sectors left out" if blind.any() else ""
    note = f"{len(trials)} beams to flat surfaces, {count} lost{sectors}; below the first signal nothing is known"
    note += beams + unit
    return Quantity(NAME, "", chance, sigma, note, at)


def find_blind(signal: Array, trials: Expected) -> Array:
    """Which beams (n,) look where their ring hardly ever returns, though beams of like signals do elsewhere.

    The azimuths beside such a sector count as part of it: its edges move with the vehicle's springs.
    """
    lost = np.isinf(trials.measured_m)
    rank = np.argsort(np.argsort(signal, kind="stable"), kind="stable") * _CELLS // max(len(signal), 1)
    usual = 1.0 - np.bincount(rank, lost, _CELLS) / np.maximum(np.bincount(rank, minlength=_CELLS), 1)
    sector = trials.ring.astype(np.int64) * BLIND_BINS + trials.azimuth.astype(np.int64)
    size = (int(trials.ring.max(initial=0)) + 1) * BLIND_BINS
    count = np.bincount(sector, minlength=size)
    shares = [np.bincount(sector, values, size) / np.maximum(count, 1) for values in (lost, usual[rank])]
    blind = ((count >= _MIN_OF_SECTOR) & (shares[0] > _BLIND) & (shares[1] > _EXPECTED)).reshape(-1, BLIND_BINS)
    wide = blind | np.roll(blind, 1, axis=1) | np.roll(blind, -1, axis=1)
    return np.asarray(wide.reshape(-1)[sector])


def _find_obstacle(expected: Expected, log: Log) -> str:
    if log.empty_beams.source == "unknown":
        return f"beams without return are unknown ({log.empty_beams.detail})"
    if not expected.intensity.any():
        return "the log has no intensities: the signal is unknown"
    if log.intensity_scale is None and expected.intensity.max() > 1.0:
        return "the intensity at full scale is unknown, and exceeds 1: the signal has no unit"
    return ""


def _fit_curve(signal: Array, returned: Array) -> tuple[Array, Array, Array] | None:
    """Signals (m,), rising chances and their uncertainties, from cells with about as many beams each.

    The cell of the weakest signals is halved again and again, as curves bend there.
    """
    cells = min(_CELLS, len(signal) // _MIN_TRIALS)
    if cells < 2:
        return None
    order = np.argsort(signal, kind="stable")
    weakest, *parts = np.array_split(order, cells)
    while len(weakest) >= 2 * _MIN_TRIALS:
        weakest, stronger = np.array_split(weakest, 2)
        parts.insert(0, stronger)
    parts.insert(0, weakest)
    at = np.array([np.median(signal[part]) for part in parts])
    share = np.array([returned[part].mean() for part in parts])
    number = np.array([len(part) for part in parts], np.float64)
    chance = np.asarray(isotonic_regression(share, weights=number).x)
    block = np.cumsum(np.diff(chance, prepend=chance[0]) != 0)  # cells that would fall are taken together
    count = np.bincount(block, number)[block]
    sigma = _SHARED * np.sqrt(np.maximum(chance * (1.0 - chance), 1.0 / count) / count)
    rows = [0]
    for row in range(1, len(parts)):  # of rows that are alike the first and the last say all
        inner = row + 1 < len(parts) and chance[row + 1] - chance[rows[-1]] < _SAME
        if at[row] > at[rows[-1]] and not inner:
            rows.append(row)
    return at[rows], chance[rows], sigma[rows]
