"""What sweeps, poses, boxes and worlds may hold: finite numbers within bounds, each with its reason.

The one place that decides it. Poses, trajectories, boxes and layers are checked when they are made; sweeps, whose
columns are long, when they are read from files (`check_sweep`). What lies beyond the bounds was not measured: it is
damage or a wrong unit, and would overflow or take any amount of memory in what works on it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from resweep.errors import FaultKind, SweepError

if TYPE_CHECKING:
    from resweep.boxes import Boxes
    from resweep.sweep import Sweep

MAX_POSITION_M = 5e7
MAX_RANGE_M = 1e5
MAX_SPAN_M = 1e7
MAX_TIME_S = 1e11
MAX_INTENSITY = 2.0**32
MAX_OBJECT_M = 1e4
MAX_SPEED_M_S = 1e4
MAX_ANGLE_RAD = 1e3
UNIT_TOLERANCE = 1e-3  # of the length of a direction

_POSITION = "national grids with the zone before the easting reach 46,000 km, and no place in metres is farther"
_RANGE = "a float32 of metres beyond is off by a centimetre; check the unit, or cut the cloud into tiles"
_SPAN = "a cloud in metres spans a quarter of the Earth at most; cut off the points that lie farther"
_TIME = "a double of seconds beyond does not resolve the firing of a laser; check the unit"
_INTENSITY = "no field of points has more than 32 bits"
_SHAPE = "no part of a world is larger than what a sensor can see, in metres"
_OBJECT = "no object is longer, in metres"
_SPEED = "nothing near the ground is faster, in metres a second"
_ANGLE = "angles are radians"


def find_outside(values: ArrayLike, least: float, most: float) -> int | None:
    """The first row of ``values`` (n, ...) with a number that is NaN or not from ``least`` to ``most``; None if none.

    0 for a single number.
    """
    array = np.asarray(values)
    # A NaN is the least and the greatest of what it is among, and is not in any bounds.
    if not array.size or (array.min() >= least and array.max() <= most):
        return None
    bad = ~((array >= least) & (array <= most))
    return int(np.argmax(bad.reshape(len(array), -1).any(axis=1))) if array.ndim else 0


def check_within(what: str, values: ArrayLike, least: float, most: float, reason: str) -> None:
    """Raise `SweepError` unless all numbers are finite and from ``least`` to ``most``; ``reason`` says why these."""
    at = find_outside(values, least, most)
    if at is None:
        return
    row = np.asarray(values)[at : at + 1].reshape(-1) if np.ndim(values) else np.asarray(values).reshape(1)
    value = float(row[~((row >= least) & (row <= most))][0])
    where = f"{what} {at}" if np.ndim(values) else what
    span = f"{least:g} to {most:g}" if least != -most else f"up to {most:g}"
    shown = "NaN" if np.isnan(value) else f"{value:g}"
    _refuse(f"{where} is {shown}, but can be {span}: {reason}", value)


def _refuse(problem: str, value: float) -> None:
    kind = FaultKind.OUT_OF_BOUNDS if np.isfinite(value) else FaultKind.NOT_FINITE
    raise SweepError(problem, kind)


def check_positions(what: str, positions: ArrayLike) -> None:
    """Raise unless all positions (n, 3), metres in a world, are within reach of its zero."""
    check_within(f"{what}: position", positions, -MAX_POSITION_M, MAX_POSITION_M, _POSITION)


def check_shapes(what: str, places: ArrayLike, sizes: ArrayLike = ()) -> None:
    """Raise unless primitives of a world are at ``places`` (n, ...) about its origin and have ``sizes``, metres."""
    check_within(f"{what}: coordinate", places, -MAX_POSITION_M, MAX_POSITION_M, _POSITION)
    check_within(f"{what}: size", sizes, 0.0, MAX_RANGE_M, _SHAPE)


def check_reflectance(what: str, reflectance: NDArray[Any]) -> None:
    """Raise unless the reflectance (n,) of each primitive is a number that intensities lead to."""
    check_within(f"{what}: reflectance", _take_shared(reflectance), -MAX_INTENSITY, MAX_INTENSITY, _INTENSITY)


def check_times(what: str, times: ArrayLike) -> None:
    """Raise unless all times (n,) are seconds of some clock."""
    check_within(f"{what}: time", times, -MAX_TIME_S, MAX_TIME_S, _TIME)


def check_sweep(sweep: Sweep, placed: bool = True) -> Sweep:
    """``sweep`` if it can have been measured; else `SweepError` says which row of which column cannot.

    Where the position of its sensor is unknown (not ``placed``), ranges are distances from the zero of its coordinates.
    Its pose, motion and boxes were checked when they were made, but not that boxes are near. Columns of ``extra`` and
    ``beam_extra`` may hold anything, as nobody knows what they mean.
    """
    check_times("sweep", sweep.timestamp)
    check_within("sweep: origin of beam", _take_shared(sweep.beam_origin), -MAX_RANGE_M, MAX_RANGE_M, _RANGE)
    _check_directions("sweep: direction of beam", _take_shared(sweep.beam_direction))
    check_times("sweep: beam", sweep.beam_time)
    reach, reason = (MAX_RANGE_M, _RANGE) if placed else (MAX_SPAN_M, _SPAN)
    check_within("sweep: range", sweep.range, 0.0, reach, reason)
    check_within("sweep: intensity", sweep.intensity, -MAX_INTENSITY, MAX_INTENSITY, _INTENSITY)
    if sweep.boxes is not None:
        check_within("sweep: centre of box", sweep.boxes.centre, -MAX_RANGE_M, MAX_RANGE_M, _RANGE)
    return sweep


def _take_shared(rows: NDArray[Any]) -> NDArray[Any]:
    """The one row that all rows share, or all of them."""
    return rows if not rows.ndim or rows.strides[0] else rows[:1]


def _check_directions(what: str, directions: NDArray[Any]) -> None:
    with np.errstate(over="ignore", invalid="ignore"):
        square = np.einsum("ij,ij->i", directions, directions)
    at = find_outside(square, (1.0 - UNIT_TOLERANCE) ** 2, (1.0 + UNIT_TOLERANCE) ** 2)
    if at is not None:
        length = float(np.sqrt(square[at]))
        _refuse(f"{what} {at} has the length {length:g}; directions are unit vectors", length)


def check_boxes(boxes: Boxes) -> None:
    """Raise unless boxes are those of objects on Earth; a velocity or ``known`` share of NaN is unknown."""
    check_within("boxes: centre", boxes.centre, -MAX_POSITION_M, MAX_POSITION_M, _POSITION)
    check_within("boxes: size", boxes.size, 0.0, MAX_OBJECT_M, _OBJECT)
    check_within("boxes: yaw", boxes.yaw, -MAX_ANGLE_RAD, MAX_ANGLE_RAD, _ANGLE)
    speed = np.where(np.isnan(boxes.velocity), 0.0, boxes.velocity)
    check_within("boxes: velocity", speed, -MAX_SPEED_M_S, MAX_SPEED_M_S, _SPEED)
    check_within("boxes: known share", np.where(np.isnan(boxes.known), 0.0, boxes.known), 0.0, 1.0, "it is a share")
