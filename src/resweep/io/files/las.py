"""LAS and LAZ, the survey formats: LAS 1.4, point format 6.

Coordinates are int32 steps of ``scale`` from ``offset``: the offset is the middle of the extent in whole
metres, the scale the finest power of ten from a micrometre up that spans it, so UTM coordinates keep
their digits. ``classification`` holds labels of 0 to 255, ``return_number`` counts from 1, ``gps_time`` is
the firing time, 0 throughout where a sweep has no point times. ``intensity`` counts from 0 to 65535, the sensor's
whole range (LAS 1.4 R15, table 7): ``intensity_scale`` counts are an intensity of 1, for reading and for writing. That
is 65535 unless given; a log whose full scale is not 1 is written by its own. What does not fit is in extra dimensions:
exact intensity, ring, column, instance, larger labels, ``sweep.extra``.
"""

from __future__ import annotations

import datetime
import math
import os
import struct
import warnings
from pathlib import Path
from typing import Any

import numpy as np

import resweep
from resweep.errors import FaultKind, InputError, OutputError, ResweepError, SweepError
from resweep.io.files.las_crs import read_crs
from resweep.io.files.las_layout import check_layout
from resweep.io.format import Format
from resweep.io.points.columns import columns_from_sweep, sweep_from_columns
from resweep.io.points.header import Header
from resweep.labels import UNKNOWN_LABELS, LabelSet, load_labels
from resweep.pose import Array
from resweep.sweep import Sweep

_FINEST_M = 1e-6
_INT32 = 2**31 - 2
RETURNS_MAX = 15
CLASSES_MAX = 255
_RECORD_BYTES = 60000  # a LAS record holds up to 65535
_USER, _RECORD = "resweep", 1
_EXACT = "intensity_exact"
FULL_SCALE = 65535.0  # of the 16-bit intensity
# Fixed, because the same sweep must give the same bytes on any day.
_DATE = datetime.date(2000, 1, 1)
_STANDARD = {"x": "X", "y": "Y", "z": "Z", "intensity": "intensity", "time": "gps_time", "label": "classification"}
# Dimensions of every point format that a plain sweep does not need, unless some point differs from zero.
_FLAGS = ("synthetic", "key_point", "withheld", "overlap", "scanner_channel", "scan_direction_flag")
# What laspy raises for contents that it does not expect.
DAMAGE = (ValueError, ArithmeticError, LookupError, EOFError, struct.error, TypeError, AttributeError, AssertionError)
_QUIET = (*_FLAGS, "edge_of_flight_line", "user_data", "scan_angle", "scan_angle_rank", "point_source_id")


def write(sweep: Sweep, path: Path, frame: str = "sensor", intensity_scale: float = FULL_SCALE) -> None:
    """Write the returns of ``sweep``, compressed where ``path`` ends in ``.laz``.

    ``intensity_scale`` counts are written for an intensity of 1: 65535 for intensities of 0 to 1, 257 for those of 0
    to 255. What is beyond 65535 counts is clipped there, with a warning; our own reader has the exact values.
    """
    import laspy

    columns = columns_from_sweep(sweep, frame, path.name)
    scale = check_scale(intensity_scale)
    header = laspy.LasHeader(point_format=6, version="1.4")
    header.creation_date = _DATE
    header.generating_software = f"resweep {resweep.__version__}"
    header.system_identifier = "resweep"
    header.global_encoding.wkt = True  # required of point format 6
    points = np.stack([columns.pop(axis) for axis in "xyz"], axis=1).astype(np.float64)
    header.offsets, header.scales = _choose_grid(points, path.name)
    text = Header.of(sweep, frame, scale).to_json().encode("ascii")
    for at in range(0, len(text), _RECORD_BYTES):
        header.vlrs.append(laspy.VLR(_USER, _RECORD, "sweep header", text[at : at + _RECORD_BYTES]))
    standard = _take_standard(columns, sweep, scale)
    for name, values in columns.items():
        if len(name) > 31:
            raise OutputError(f"{path.name}: extra column '{name}' has a name too long for LAS (31 letters at most)")
        header.add_extra_dim(laspy.ExtraBytesParams(name=name, type=values.dtype))
    las = laspy.LasData(header)
    las.points = laspy.ScaleAwarePointRecord.zeros(len(points), header=header)
    for axis, at in zip("XYZ", range(3), strict=True):
        steps = np.round((points[:, at] - header.offsets[at]) / header.scales[at])
        las[axis] = steps.astype(np.int32)
    for name, values in {**standard, **columns}.items():
        las[name] = values
    las.write(str(path))


def _take_standard(columns: dict[str, Array], sweep: Sweep, scale: float) -> dict[str, Array]:
    """LAS' own dimensions; what they hold whole is taken out of ``columns``, the rest stays an extra one."""
    columns[_EXACT] = columns.pop("intensity")
    counts = np.bincount(sweep.beam, minlength=1)[sweep.beam] if len(sweep) else np.zeros(0, int)
    number = sweep.return_index.astype(int) + 1
    fits = (sweep.label >= 0) & (sweep.label <= CLASSES_MAX)
    if fits.all():
        del columns["label"]
    if not len(number) or number.max() <= RETURNS_MAX:
        del columns["return_index"]
    return {
        "intensity": count_intensity(columns[_EXACT], scale),
        "gps_time": columns.pop("time", np.zeros(len(sweep))),  # every point of format 6 has the field
        "classification": np.where(fits, sweep.label, 0).astype(np.uint8),
        "return_number": np.minimum(number, RETURNS_MAX).astype(np.uint8),
        "number_of_returns": np.clip(np.maximum(counts, number), 1, RETURNS_MAX).astype(np.uint8),
    }


def check_scale(scale: float) -> float:
    """Return ``scale``, or raise if it is no number of counts."""
    if not (np.isfinite(scale) and scale > 0):
        raise ResweepError(f"intensity_scale: expected counts above zero for an intensity of 1, got {scale}")
    return float(scale)


def count_intensity(intensity: Array, scale: float) -> Array:
    """Intensities (n,) as counts of 16 bits, ``scale`` for 1; those that do not fit are clipped with a warning.

    The warning names no file, so that a log warns once.
    """
    counts = np.round(np.nan_to_num(intensity.astype(np.float64), nan=0.0, posinf=np.inf) * scale)
    if len(counts) and counts.max() > FULL_SCALE:
        warnings.warn(
            f"LAS: intensities above {FULL_SCALE / scale:g} are written as {FULL_SCALE:.0f}, the most that 16 bits "
            "hold; for intensities of 0 to 255 give intensity_scale=257",
            stacklevel=4,
        )
    return np.clip(counts, 0, FULL_SCALE).astype(np.uint16)


def _choose_grid(points: Array, where: str) -> tuple[Array, Array]:
    """Offsets and scales (3,) in metres such that every coordinate fits int32."""
    if not len(points):
        return np.zeros(3), np.full(3, _FINEST_M)
    low, high = points.min(axis=0), points.max(axis=0)
    offset = np.round((low + high) / 2)
    reach = float(max(np.abs(high - offset).max(), np.abs(low - offset).max()))
    exponent = max(-6, math.ceil(math.log10(max(reach, 1e-3) / _INT32)))
    if exponent > 0:
        raise InputError(f"{where}: points {reach:.3g} m apart do not fit LAS; check them for outliers")
    return offset, np.full(3, 10.0**exponent)


def read(path: Path, drop_nan: bool = False, intensity_scale: float = FULL_SCALE) -> Sweep:
    """The points of a LAS or LAZ file as a sweep; those of other programs become points about a near pose.

    ``intensity_scale`` counts of intensity are read as 1, for files that Resweep did not write. The standard asks
    for 65535; many programs write 8 or 12 bits as they are: then give 255 or 4095, or 1 for the bare counts.
    """
    las = _load(path)
    header = find_header(las.header.vlrs, str(path))
    scale = (header.intensity_scale if header is not None else None) or intensity_scale
    columns = columns_from_points(las, check_scale(scale), foreign=header is None)
    return sweep_from_columns(columns, str(path), header, drop_nan=drop_nan)


def columns_from_points(las: Any, scale: float, foreign: bool = True) -> dict[str, Array]:
    """The columns (n,) of laspy's points; ``scale`` counts are an intensity of 1.

    Dimensions that every point has are left out where all are zero. Points of other programs
    (``foreign``) keep their number of returns.
    """
    columns: dict[str, Array] = {axis: np.asarray(las[axis], dtype=np.float64) for axis in "xyz"}
    names = list(las.point_format.dimension_names)
    for ours, theirs in _STANDARD.items():
        if theirs in names and ours not in columns:
            columns[ours] = np.asarray(las[theirs])
    if "time" in columns and not columns["time"].any():
        del columns["time"]  # GPS time 0 throughout: the writer knew none
    columns["return_index"] = np.maximum(np.asarray(las["return_number"]).astype(int) - 1, 0).astype(np.uint8)
    extra = list(las.point_format.extra_dimension_names)
    taken = {*_STANDARD.values(), *extra, "return_number", "number_of_returns"}
    for name in (n for n in names if n not in taken):
        values = np.asarray(las[name])
        if name not in _QUIET or values.any():
            columns[name] = values
    if "intensity" in columns:
        columns["intensity"] = (columns["intensity"] / scale).astype(np.float32)
    if foreign:
        columns["number_of_returns"] = np.asarray(las["number_of_returns"])
    for name in extra:
        columns["intensity" if name == _EXACT else name] = np.asarray(las[name])
    return columns


def _load(path: Path) -> Any:
    import laspy
    from lazrs import LazrsError

    check_layout(path)
    try:
        with laspy.open(os.fspath(path)) as file:
            las = file.read()
    except (laspy.LaspyException, LazrsError, *DAMAGE) as error:
        raise SweepError(
            f"{path}: truncated or not a LAS file ({error}); fetch or write it again", FaultKind.TRUNCATED
        ) from error
    if len(las.points) != las.header.point_count:
        raise SweepError(
            f"{path}: truncated ({len(las.points)} of {las.header.point_count} points); fetch or write it again",
            FaultKind.TRUNCATED,
        )
    return las


def peek(path: Path) -> Header | None:
    """Pose and time from our record in the file, or None if it has none."""
    import laspy

    check_layout(path)
    try:
        with laspy.open(os.fspath(path)) as file:
            return find_header(file.header.vlrs, str(path))
    except ResweepError:
        raise
    except (laspy.LaspyException, *DAMAGE) as error:
        raise InputError(f"{path}: not a LAS file ({error}); fetch or write it again") from error


def find_header(vlrs: Any, where: str) -> Header | None:
    """Our own record of a sweep among laspy's records, or None."""
    ours = [vlr.record_data_bytes() for vlr in vlrs if (vlr.user_id, vlr.record_id) == (_USER, _RECORD)]
    return Header.from_json(b"".join(ours).decode("ascii", "replace"), where) if ours else None


def find_crs(path: Path) -> str:
    """The coordinate system of a file, as WKT or ``EPSG:code``; nothing where it names none."""
    import laspy

    with laspy.open(os.fspath(path)) as file:
        return read_crs([*file.header.vlrs, *(file.header.evlrs or ())])


def find_labels(path: Path) -> LabelSet:
    """The classes of the LAS specification; of a file that Resweep wrote, labels of unknown meaning."""
    return load_labels("asprs") if peek(path) is None else UNKNOWN_LABELS


_SHARED: dict[str, Any] = {
    "read": read,
    "write": write,
    "peek": peek,
    "labels": find_labels,
    "crs": find_crs,
    "full_scale": FULL_SCALE,
}
FORMAT = Format("las", "LAS point cloud", (".las",), **_SHARED)
COMPRESSED = Format("laz", "LAZ, compressed LAS", (".laz",), **_SHARED)
