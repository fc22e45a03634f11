"""A calibrated log as arrays, so that the step can be kept and read back."""

from __future__ import annotations

from dataclasses import astuple, fields

import numpy as np

from resweep.calibrate.calibrate import Calibrated, correct_log
from resweep.calibration import Calibration, LaserSigma, PoseRefinement
from resweep.log import Log
from resweep.pose import Array

_LASERS = ("elevation_rad", "range_m", "range_slope")
_SIGMA = "sigma."


def pack_calibrated(found: Calibrated) -> dict[str, Array]:
    """What `unpack_calibrated` needs beside the log as it was recorded."""
    lasers, sigma, poses = found.calibration, found.calibration.sigma, found.calibration.poses
    columns = {name: getattr(lasers, name) for name in _LASERS}
    if sigma is not None:
        known = {item.name: getattr(sigma, item.name) for item in fields(sigma)}
        columns |= {_SIGMA + name: np.asarray(value) for name, value in known.items() if value is not None}
    if poses is not None:
        columns["refined"] = np.array(astuple(poses))
    if lasers.gain is not None:
        columns["gain"] = lasers.gain
    if lasers.range_wave_m is not None:
        columns["range_wave_m"] = lasers.range_wave_m
    if lasers.incidence_exponent is not None:
        columns["incidence_exponent"] = np.array(lasers.incidence_exponent)
    return {**columns, "poses": found.log.poses, "rates": found.rates, "misfit_m": np.array(found.misfit_m)}


def unpack_calibrated(log: Log, columns: dict[str, Array]) -> Calibrated:
    """The calibrated ``log``, from what `pack_calibrated` kept."""
    sigma = poses = None
    if _SIGMA + "range_m" in columns:
        by_ring = [columns[_SIGMA + name] for name in _LASERS]
        bias, wave = float(columns[_SIGMA + "elevation_bias_rad"]), columns.get(_SIGMA + "range_wave_m")
        sigma = LaserSigma(by_ring[0], by_ring[1], by_ring[2], bias, wave)
    if "refined" in columns:
        sweeps, *rest = columns["refined"].tolist()
        poses = PoseRefinement(int(sweeps), *rest)
    elevation, range_m, slope = (columns[name] for name in _LASERS)
    falls_by = float(columns["incidence_exponent"]) if "incidence_exponent" in columns else None
    lasers = Calibration(
        elevation,
        range_m,
        range_slope=slope,
        sigma=sigma,
        poses=poses,
        gain=columns.get("gain"),
        incidence_exponent=falls_by,
        range_wave_m=columns.get("range_wave_m"),
    )
    before, after = columns["misfit_m"].tolist()
    there = correct_log(log, lasers, columns["poses"], columns["rates"])
    return Calibrated(there, lasers, columns["rates"], (before, after))
