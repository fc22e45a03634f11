"""What a file format is to Resweep: one entry in the table, made at the foot of its module."""

from __future__ import annotations

import inspect
import struct
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from resweep.errors import FaultKind, ResweepError, SweepError, nearest_names
from resweep.io.files.header import Header
from resweep.io.record import Facts
from resweep.labels import LabelSet
from resweep.log import Log
from resweep.sweep import Sweep

FRAMES = ("sensor", "deskewed", "world")
_POSITIONAL = ("sweep", "log", "sweeps", "path", "folder", "frame", "rate_hz", "empty_beams", "keep_going")


@dataclass(frozen=True)
class Format:
    """One format: how a sweep, or a whole log, is read and written in it.

    A format of single sweeps gives ``suffixes``, ``read(path, **options)`` and ``write(sweep, path,
    frame=..., **options)``; a folder of such files is then a log without further code. ``peek(path)``
    gives the `Header` without reading the points, or None where the file says nothing of its pose;
    ``fields(path)`` the names of the points' fields, where files of one format may differ in them; ``labels(path)``
    what the label ids in a file mean, and ``facts(path)`` what is known of the log that it is of.

    A format of whole logs gives ``recognises(path)``, ``open_log(path, **options)`` and, if it can be
    written, ``write_log(log, sweeps, folder, frame=..., **options)``, which fills an empty folder from
    the sweeps it is handed in order. It may return the log with facts that writing changed, such as its labels.
    ``frame`` is the frame points are written in unless asked otherwise.
    Every ``open_log`` takes ``rate_hz`` and ``empty_beams``. One that takes ``keep_going`` gives, if it is true, all
    sweeps, and names in ``skipped`` those without a good pose. Of a folder of sweep files, the beams without return
    are inferred if the format ``spins``: its files come from drivers of spinning LiDARs and keep only returns. A
    format that ``keeps_beams`` stores beams without return as they were. ``find_part(path)``, for a path that does not
    exist, gives the dataset of which it names a part, as DATAROOT/SCENE does, and the options that open it.
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
    write_log: Callable[..., Log | None] | None = None
    spins: bool = False
    keeps_beams: bool = False
    fields: Callable[[Path], tuple[str, ...]] | None = None
    labels: Callable[[Path], LabelSet] | None = None
    facts: Callable[[Path], Facts | None] | None = None
    find_part: Callable[[Path], tuple[Path, dict[str, str]] | None] | None = None


def check_options(function: Callable[..., object], options: Iterable[str], what: str) -> None:
    """Raise if ``function``, a reader or writer of ``what``, does not take every one of ``options``."""
    known = [name for name in inspect.signature(function).parameters if name not in _POSITIONAL]
    for option in options:
        if option not in known:
            raise ResweepError(f"{what} takes no option '{option}'; {nearest_names(option, known)}")


def check_frame(frame: str) -> str:
    """Return ``frame``, or raise if it is not one of `FRAMES`."""
    if frame not in FRAMES:
        raise ResweepError(f"frame '{frame}': {nearest_names(frame, FRAMES)}")
    return frame


def read_as(entry: Format, path: Path, **options: Any) -> Sweep:
    """The sweep in ``path``, read as ``entry`` whatever the suffix."""
    if entry.read is None:
        raise ResweepError(f"{path}: {entry.title} is a format of whole logs; use open_log")
    check_options(entry.read, options, f"reading {entry.title}")
    if not path.is_file():
        if path.is_dir():
            raise ResweepError(f"{path}: is a folder; use open_log")
        raise SweepError(f"{path}: no such file", FaultKind.MISSING)
    with explain_errors(entry, path):
        return entry.read(path, **options)


def peek_as(entry: Format, path: Path) -> Header | None:
    """What the file says of its pose and time, or None if nothing."""
    if entry.peek is None:
        return None
    with explain_errors(entry, path):
        return entry.peek(path)


@contextmanager
def explain_errors(entry: Format, path: Path) -> Iterator[None]:
    """Turn whatever a damaged file causes into one error that names the file."""
    try:
        yield
    except OSError as error:
        raise ResweepError(
            f"{error.filename or path}: cannot be read ({error.strerror or error}); check its permissions"
        ) from error
    except ResweepError as error:
        # Errors of the nouns (a pose that is not rigid, say) do not know the file they came from.
        if path.stem in str(error):
            raise
        if isinstance(error, SweepError):
            raise SweepError(f"{path}: {error}", error.kind) from error
        raise ResweepError(f"{path}: {error}") from error
    except (ValueError, ArithmeticError, LookupError, EOFError, MemoryError, struct.error, zlib.error) as error:
        raise ResweepError(f"{path}: damaged or not a {entry.title} ({error}); fetch or write it again") from error
