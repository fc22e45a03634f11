"""Range noise against range and incidence, from what beams measured beyond the surfaces that others saw."""

from __future__ import annotations

import numpy as np
from scipy.optimize import nnls

from resweep import portable
from resweep.calibrate.local_planes import SHARED_ERRORS
from resweep.calibrate.sensor.quantity import Quantity, robust_sigma
from resweep.calibrate.sensor.surfaces import Expected, K
from resweep.pose import Array
from resweep.voxels import UNIFORM_VARIANCE_DIVISOR

# Chosen by hand where a line names no source.
GATE_M = 0.5  # beams that measured farther from the surface hit something else
# Cells of range and of incidence; the last tangent is that of 77°.
_RANGES_M = (0.0, 3.0, 6.0, 10.0, 15.0, 22.0, 32.0, 45.0, 65.0, 100.0, 200.0)
_TANGENTS = (0.0, 0.2, 0.4, 0.7, 1.0, 1.5, 2.2, 3.2, 4.5)
_MIN_RETURNS = 60  # of a cell of ranges and incidences
_MIN_CELLS = 3  # for a line through them and an error of it
_MIN_OF_RING = 15  # returns, for its median; chosen by hand
_ERROR = 1.17  # standard error of a robust sigma, times σ/√n: 1 / √(2 · 0.37), as its efficiency is 37 %
_MIN_VARIANCE_M2 = 1e-8  # of a cell: a sigma of 0.1 mm
_MIN_SIGMA_M = 1e-3  # that the error of a cell is reckoned with
_MIN_SPAN = 2.0  # farthest over nearest mean range, for a slope over range to show
_MIN_STEEPNESS = 0.8  # of tangents, for a slope over them to show
_PLANE = np.sqrt(1.0 + 2.0 / K)  # planes of K returns have errors of their own
_STRIDE = 100  # between the numbers of cells of one range and the next: more than there are tangents
NAMES = ("range_noise_sigma_m", "range_noise_per_m", "range_noise_per_tan_m")


def fit_noise(expected: Expected, quantum_m: float) -> list[Quantity]:
    """The three figures of a receiver's range noise: constant, per metre of range, and per tangent of incidence.

    Returns are sorted into cells of range and incidence; a line through the cells' robust sigmas, with no negative
    slope, has the three figures. What ranges are rounded to (``quantum_m``) is taken out.
    """
    cells = _gather(expected, quantum_m)
    if len(cells) < _MIN_CELLS:
        why = f"only {len(cells)} cells of range and incidence have {_MIN_RETURNS} returns on flat surfaces"
        return [Quantity(name, _unit(name), note=why) for name in NAMES]
    range_m, tangent, sigma, error = cells.T
    seen = [True, range_m.max() / range_m.min() >= _MIN_SPAN, bool(np.ptp(tangent) >= _MIN_STEEPNESS)]
    design = np.stack([np.ones(len(cells)), range_m, tangent], axis=1)[:, seen]
    scaled = design / error[:, None]
    found, _ = nnls(scaled, sigma / error)
    left = (sigma - portable.matmul(design, found)) / error
    misfit = float((left**2).sum()) / max(len(cells) - design.shape[1], 1)
    normal = portable.matmul(scaled.T, scaled)
    spread = np.sqrt(np.diag(portable.solve(normal, np.eye(len(normal)))) * max(misfit, 1.0))
    basis = f"{len(cells)} cells of range and incidence; holds errors of directions and roughness of surfaces too"
    reasons = ("", "ranges do not span enough", "incidences do not span enough")
    known = dict(zip(np.flatnonzero(seen).tolist(), zip(found.tolist(), spread.tolist(), strict=True), strict=True))
    return [
        Quantity(name, _unit(name), *known.get(at, (None, None)), note=basis if at in known else reasons[at])
        for at, name in enumerate(NAMES)
    ]


def _unit(name: str) -> str:
    return "m/m" if name.endswith("per_m") else "m"


def _gather(expected: Expected, quantum_m: float) -> Array:
    """Mean range, mean tangent, sigma and its standard error (m, 4) of cells of range and incidence."""
    near = expected[np.abs(expected.error_m) < GATE_M]
    of_range, of_tangent = np.digitize(near.range_m, _RANGES_M), np.digitize(near.tangent, _TANGENTS)
    rows = []
    for cell in np.unique(of_range * _STRIDE + of_tangent):
        chosen = near[(of_range == cell // _STRIDE) & (of_tangent == cell % _STRIDE)]
        if len(chosen) < _MIN_RETURNS or cell % _STRIDE == len(_TANGENTS):  # beyond the last: grazing
            continue
        # Of each ring by itself: lasers that differ, and what a calibration leaves of it, are no noise.
        spread2 = (robust_sigma(_centre(chosen)) / _PLANE) ** 2 - quantum_m**2 / UNIFORM_VARIANCE_DIVISOR
        sigma = float(np.sqrt(max(spread2, _MIN_VARIANCE_M2)))
        error = SHARED_ERRORS * _ERROR * max(sigma, _MIN_SIGMA_M) / np.sqrt(len(chosen))
        rows.append((chosen.range_m.mean(), chosen.tangent.mean(), sigma, error))
    return np.array(rows).reshape(-1, 4)


def _centre(beams: Expected) -> Array:
    """Errors (n,) from the median of their ring, for rings with enough beams to have one."""
    error = beams.error_m - np.median(beams.error_m)
    for ring in np.unique(beams.ring):
        own = beams.ring == ring
        if np.count_nonzero(own) >= _MIN_OF_RING:
            error[own] = beams.error_m[own] - np.median(beams.error_m[own])
    return np.asarray(error)
