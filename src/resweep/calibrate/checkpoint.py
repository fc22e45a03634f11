"""A calibrated log as arrays, so that the step can be kept and read back."""

from __future__ import annotations

from dataclasses import astuple, fields

import numpy as np

from resweep.calibrate.calibrate import CalibrationResult, correct_log
from resweep.calibration import Calibration, LaserSigma, PoseRefinement
from resweep.log import Log
from resweep.pose import Array

_LASERS = ("elevation_rad", "range_m", "range_slope")
_SIGMA = "sigma."


def pack_calibration(found: CalibrationResult) -> dict[str, Array]:
    """What `unpack_calibration` needs beside the log as it was recorded."""
    lasers, sigma, poses = found.calibration, found.calibration.sigma, found.calibration.poses
    columns = {name: getattr(lasers, name) for name in _LASERS}
    if sigma is not None:
        known = {item.name: getattr(sigma, item.name) for item in fields(sigma)}
        columns |= {_SIGMA + name: np.asarray(value) for name, value in known.items() if value is not None}
    if poses is not None:
        columns["refined"] = np.array(astuple(poses))
    if lasers.gain is not None:
        columns["gain"] = lasers.gain
    if lasers.azimuth_bias_m is not None:
        columns["azimuth_bias_m"] = lasers.azimuth_bias_m
    if lasers.incidence_exponent is not None:
        columns["incidence_exponent"] = np.array(lasers.incidence_exponent)
    columns |= {"poses": found.log.poses, "rates": found.rates}
    return {**columns, "plane_residual_m": np.array(found.plane_residual_m)}


def unpack_calibration(log: Log, columns: dict[str, Array]) -> CalibrationResult:
    """The calibrated ``log``, from what `pack_calibration` kept."""
    sigma = poses = None
    if _SIGMA + "range_m" in columns:
        by_ring = [columns[_SIGMA + name] for name in _LASERS]
        bias, by_azimuth = float(columns[_SIGMA + "elevation_bias_rad"]), columns.get(_SIGMA + "azimuth_bias_m")
        sigma = LaserSigma(by_ring[0], by_ring[1], by_ring[2], bias, by_azimuth)
    if "refined" in columns:
        sweeps, *rest = columns["refined"].tolist()
        poses = PoseRefinement(int(sweeps), *rest)
    elevation, range_m, slope = (columns[name] for name in _LASERS)
    incidence_exponent = float(columns["incidence_exponent"]) if "incidence_exponent" in columns else None
    lasers = Calibration(
        elevation,
        range_m,
        range_slope=slope,
        sigma=sigma,
        poses=poses,
        gain=columns.get("gain"),
        incidence_exponent=incidence_exponent,
        azimuth_bias_m=columns.get("azimuth_bias_m"),
    )
    before, after = columns["plane_residual_m"].tolist()
    there = correct_log(log, lasers, columns["poses"], columns["rates"])
    return CalibrationResult(there, lasers, columns["rates"], (before, after))
