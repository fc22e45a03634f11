"""What a file format is to Resweep: one entry in the table, made at the foot of its module."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from resweep.errors import ResweepError, nearest_names
from resweep.io.header import Header
from resweep.log import Log
from resweep.sweep import Sweep

FRAMES = ("sensor", "deskewed", "world")


@dataclass(frozen=True)
class Format:
    """One format: how a sweep, or a whole log, is read and written in it.

    A format of single sweeps gives ``suffixes``, ``read(path, **options)`` and ``write(sweep, path,
    frame=..., **options)``; a folder of such files is then a log without further code. ``peek(path)``
    gives the `Header` without reading the points, or None where the file says nothing of its pose.

    A format of whole logs gives ``recognises(path)``, ``open_log(path, **options)`` and, if it can be
    written, ``write_log(log, sweeps, folder, frame=..., **options)``, which fills an empty folder from
    the sweeps it is handed in order. ``frame`` is the frame points are written in unless asked otherwise.
    """

    name: str
    title: str
    suffixes: tuple[str, ...] = ()
    frame: str = "sensor"
    read: Callable[..., Sweep] | None = None
    write: Callable[..., None] | None = None
    peek: Callable[[Path], Header | None] | None = None
    recognises: Callable[[Path], bool] | None = None
    open_log: Callable[..., Log] | None = None
    write_log: Callable[..., None] | None = None


def check_frame(frame: str) -> str:
    """Return ``frame``, or raise if it is not one of `FRAMES`."""
    if frame not in FRAMES:
        raise ResweepError(f"frame '{frame}': {nearest_names(frame, FRAMES)}")
    return frame
