"""Firing times of scans that were stored without: a spinning LiDAR's azimuth is its clock."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from resweep import portable
from resweep.errors import InputError
from resweep.files.untrusted import read_plain_text
from resweep.pose import Array
from resweep.sweep import Sweep

# HDL-64E at 10 Hz: 0.1728 degrees from one firing to the next (HDL-64E S2 manual, table of rotation speeds).
_STEPS_PER_TURN = 2083
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def set_times_by_azimuth(sweep: Sweep, start: float, end: float) -> Sweep:
    """The sweep with times and columns from its azimuths.

    KITTI's scanners turn clockwise seen from above and cut their scans at the back: a scan begins behind the
    car, passes its left side, faces forward in the middle and ends behind. Lasers point up to 9 degrees away
    from the head's azimuth, which the scans do not store; times are off by up to 2.5 ms.
    """
    points = sweep.points
    share = 0.5 * (1.0 - portable.arctan2(points[:, 1], points[:, 0]) / np.pi)
    column = np.minimum((share * _STEPS_PER_TURN).astype(np.int32), _STEPS_PER_TURN - 1)
    return replace(sweep, beam_time=start + (column + 0.5) / _STEPS_PER_TURN * (end - start), beam_column=column)


def read_stamps(file: Path, index: Array) -> Array | None:
    """Seconds (n,) of the lines ``index`` of a KITTI timestamps file, or None where there is no file."""
    if not file.is_file():
        return None
    lines = read_plain_text(file).splitlines()
    if len(index) and index.max() >= len(lines):
        raise InputError(f"{file}: {len(lines)} lines, but there is a scan {int(index.max())}; it belongs elsewhere")
    stamps = np.empty(len(index))
    for at, number in enumerate(index.tolist()):
        try:
            stamps[at] = parse_utc(lines[number])
        except ValueError as error:
            raise InputError(f"{file}, line {number + 1}: no date and time ({error})") from error
    return stamps


def read_scan_times(
    folder: Path, index: Array, rate_hz: float | None, default_hz: float
) -> tuple[Array, Array, Array, bool]:
    """Start, reference (facing forward) and end (n,) in seconds of the scans ``index``; whether recorded.

    ``folder`` holds ``timestamps.txt`` and, in KITTI raw, ``timestamps_start.txt`` and ``timestamps_end.txt``.
    """
    middle = None if rate_hz is not None else read_stamps(folder / "timestamps.txt", index)
    recorded = middle is not None
    if middle is None:
        middle = index / (rate_hz or default_hz)
    half = 0.5 / (rate_hz or default_hz)
    starts = read_stamps(folder / "timestamps_start.txt", index) if recorded else None
    ends = read_stamps(folder / "timestamps_end.txt", index) if recorded else None
    if starts is None or ends is None or (ends <= starts).any():
        starts, ends = middle - half, middle + half
    return starts, middle, ends, recorded


def parse_utc(text: str) -> float:
    """Seconds since 1970 of ``2011-09-26 13:02:25.951199337``; digits below the microsecond count too."""
    whole, _, fraction = text.strip().partition(".")
    if fraction and not fraction.isdecimal():
        raise ValueError(f"'{fraction:.40}' is no fraction of a second")
    moment = datetime.strptime(whole, "%Y-%m-%d %H:%M:%S").replace(tzinfo=UTC)
    return (moment - _EPOCH).total_seconds() + (float(f"0.{fraction}") if fraction else 0.0)
