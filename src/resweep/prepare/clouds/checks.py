"""What is wrong with a cloud, before anything is built from it: one error, or a warning that states the rule."""

from __future__ import annotations

import warnings

import numpy as np

from resweep import portable
from resweep.errors import ResweepError
from resweep.io.files.las_crs import check_metres, explain_reprojection
from resweep.log import Log
from resweep.pose import Array
from resweep.prepare.clouds.cloud_survey import Survey
from resweep.voxels import UNIFORM_VARIANCE_DIVISOR

# Chosen by hand where a line names no source.
MIN_POINTS = 100  # of a cloud that a surface shows in
_FLAT = 1e-3  # the second extent of points on one line, as a share of the first
_MIN_M = 1e-3  # of an extent that coordinates resolve
_DEGREES = (180.0, 90.0)  # largest longitude and latitude
_TAIL_SHARE = 0.01  # of the points, left out on each side of an extent
_DEGREES_WIDE = 1.0  # extent of a cloud in degrees that is not yet a country
_FAR_FROM_ZERO = 50.0  # largest coordinate over extent: longitudes and latitudes of one place share their first digits
_STEEP = 20.0  # height of a cloud over its width, from which on the width is no length


def check_units(log: Log) -> None:
    """Raise if the log names a coordinate system that is not in metres."""
    if log.crs:
        check_metres(log.crs, f"log '{log.name}'")


def check_survey(log: Log, survey: Survey) -> None:
    """Raise if no surface can be found in the cloud; warn of what is left out or changed."""
    where = f"log '{log.name}'"
    different = survey.count - survey.duplicates
    if different < MIN_POINTS:
        repeated = f" ({survey.duplicates} more are duplicates)" if survey.duplicates else ""
        raise ResweepError(
            f"{where}: has {different} points{repeated}; at least {MIN_POINTS} are needed to find surfaces"
        )
    _check_degrees(survey, where)
    extent = _find_extents(survey.points)
    if extent[0] < _MIN_M:
        raise ResweepError(f"{where}: all of its points lie within {extent[0]:.2g} m; check its unit and its scale")
    if extent[1] < _FLAT * extent[0]:
        raise ResweepError(
            f"{where}: all of its points lie on one line of {extent[0]:.3g} m, so no surface has a normal; give a "
            "cloud of an area"
        )
    if survey.outliers:
        warnings.warn(
            f"{where}: about {survey.outliers} points far from all others are left out: beyond {_describe_box(survey)}",
            stacklevel=5,
        )
    if survey.duplicates:
        warnings.warn(f"{where}: {survey.duplicates:,} points repeat another one and count once", stacklevel=5)
    if survey.colours is not None and survey.colours.wrong:
        warnings.warn(
            f"{where}: {survey.colours.wrong:,} colours lie outside 0 to {survey.colours.full:g} or are no numbers; "
            "they are clipped",
            stacklevel=5,
        )


def _find_extents(points: Array) -> Array:
    """Standard deviations (3,) along the main axes, descending, times √12: the lengths of an even box."""
    off = points - points.mean(axis=0)
    covariance = np.einsum("ni,nj->ij", off, off) / len(points)
    values, _ = portable.eigh3(covariance)
    return np.asarray(np.sqrt(UNIFORM_VARIANCE_DIVISOR * np.maximum(values[::-1], 0.0)))


def _check_degrees(survey: Survey, where: str) -> None:
    """Raise for longitudes and latitudes: much higher than wide, by numbers that are angles."""
    points = survey.points
    (wide, deep, high) = np.quantile(points, 1.0 - _TAIL_SHARE, axis=0) - np.quantile(points, _TAIL_SHARE, axis=0)
    angles = all(float(np.abs(points[:, axis]).max()) <= most for axis, most in enumerate(_DEGREES))
    flat = max(wide, deep)
    decimals = flat < _DEGREES_WIDE and float(np.abs(points[:, :2]).max()) > flat * _FAR_FROM_ZERO
    if angles and decimals and high > _STEEP * flat:
        raise ResweepError(
            f"{where}: x and y span {flat:.2g} and z {high:.3g}, as longitude and latitude in degrees with heights in "
            f"metres do; metres are needed: {explain_reprojection()}"
        )


def _describe_box(survey: Survey) -> str:
    pairs = zip("xyz", survey.low, survey.high, strict=True)
    return ", ".join(f"{axis} {low:.0f} to {high:.0f}" for axis, low, high in pairs)
