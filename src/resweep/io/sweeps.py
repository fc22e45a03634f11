"""One sweep, one file: the suffix gives the format."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from resweep.errors import ResweepError
from resweep.io.format import check_frame, check_options, list_options, read_as
from resweep.io.registry import FORMATS, find_format, list_sweep_suffixes
from resweep.remote import find_path, recover_output, write_output
from resweep.sweep import Sweep


@list_options(entry.read for entry in FORMATS.values())
def load_sweep(path: str | Path, **options: Any) -> Sweep:
    """The sweep in a file; ``options`` are those of its format's ``read``, such as ``drop_nan=True``.

    Formats other than ``.sweep`` hold only returns: the sweep has one beam a point, and none without return.

    Example: ``points = rs.load_sweep("scan.pcd", drop_nan=True).points``
    """
    path = find_path(path)
    recover_output(path)
    entry = find_format(path)
    return read_as(entry, path, **options)


@list_options(entry.write for entry in FORMATS.values())
def write_sweep(sweep: Sweep, path: str | Path, frame: str | None = None, **options: Any) -> None:
    """Write ``sweep`` in the format of the suffix; an old file is replaced only once the new one is whole.

    ``frame`` is ``sensor`` (each point in the sensor's frame when it fired), ``deskewed`` (all in that of
    ``sweep.pose``) or ``world`` (float64); ``options`` are those of the format's ``write``.

    Example: ``rs.write_sweep(sweep, "sweep.laz", frame="world")``
    """
    path = find_path(path)
    entry = find_format(path)
    if entry.write is None:
        if entry.elsewhere:
            raise ResweepError(f"{path}: {entry.title} is written by {entry.elsewhere}")
        writable = [suffix for suffix, other in list_sweep_suffixes().items() if other.write]
        raise ResweepError(f"{path}: {entry.title} can only be read; write one of {', '.join(writable)}")
    check_options(entry.write, options, f"writing {entry.title}")
    with write_output(path) as temporary:
        entry.write(sweep, temporary, frame=check_frame(frame or entry.frame), **options)
