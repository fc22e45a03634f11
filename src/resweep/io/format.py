"""The table entry of a file format, at the foot of its module."""

from __future__ import annotations

import inspect
import re
import struct
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from resweep.bounds import check_sweep
from resweep.errors import FaultKind, InputError, ResweepError, SweepError, nearest_names, printable
from resweep.io.log_json import Facts
from resweep.io.points.header import Header
from resweep.labels import LabelSet
from resweep.log import Log
from resweep.sweep import Sweep

Function = TypeVar("Function", bound=Callable[..., object])
FRAMES = ("sensor", "deskewed", "world")
# What contents of the wrong kind cause, in our readers and in the libraries that they call.
_DAMAGE = (
    *(ValueError, ArithmeticError, LookupError, EOFError, TypeError, AttributeError),
    *(MemoryError, RecursionError, struct.error, zlib.error),
)
_POSITIONAL = ("sweep", "log", "sweeps", "path", "folder", "frame", "rate_hz", "empty_beams", "keep_going")


@dataclass(frozen=True)
class Format:
    """One format: how a sweep, or a whole log, is read and written in it.

    A format of single sweeps gives ``suffixes``, ``read(path, **options)`` and ``write(sweep, path,
    frame=..., **options)``; a folder of such files is then a log without further code. ``peek(path)``
    gives the `Header` without reading the points, or None where the file has no pose;
    ``fields(path)`` the names of the points' fields, where files of one format may differ in them; ``labels(path)``
    what the label ids in a file mean, and ``facts(path)`` what is known of the log that it is of. ``placed(path)`` is
    whether a file has the position of its sensor (default: if it has a `Header`); files of other clouds have no beams.
    ``crs(path)`` is the coordinate system that a file names, or nothing.

    A format of whole logs gives ``recognises(path)``, ``open_log(path, **options)`` and, if it can be
    written, ``write_log(log, sweeps, folder, frame=..., **options)``, which fills an empty folder from
    the sweeps it is handed in order. It may return the log with facts that writing changed, such as its labels.
    One that ``resumes`` may find sweeps in the folder that an earlier call finished, and asks only for those missing
    (`resweep.io.folders.pending.Pending`). ``frame`` is the frame points are written in unless asked otherwise.
    Every ``open_log`` takes ``rate_hz`` and ``empty_beams``. One that takes ``keep_going`` gives, if it is true, all
    sweeps, and names in ``skipped`` those without a good pose. Of a folder of sweep files, the beams without return
    are inferred if the format ``spins``: its files come from drivers of spinning LiDARs and keep only returns. A
    format that ``keeps_beams`` stores beams without return as they were. ``find_part(path)``, for a path that does not
    exist, gives the dataset of which it names a part, as DATAROOT/SCENE does, and the options that open it.
    ``full_scale`` is what it stores for a white target, where its ``write`` takes an ``intensity_scale``.
    ``elsewhere`` names the function that writes a format which is none of sweeps or of folders. ``parts`` are patterns
    of the files that a log of it has, below its folder: a folder that lacks some is explained by them.
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
    resumes: bool = False
    spins: bool = False
    keeps_beams: bool = False
    fields: Callable[[Path], tuple[str, ...]] | None = None
    labels: Callable[[Path], LabelSet] | None = None
    facts: Callable[[Path], Facts | None] | None = None
    placed: Callable[[Path], bool] | None = None
    crs: Callable[[Path], str] | None = None
    find_part: Callable[[Path], tuple[Path, dict[str, str]] | None] | None = None
    full_scale: float | None = None
    elsewhere: str = ""
    parts: tuple[str, ...] = ()


def check_options(function: Callable[..., object], options: Iterable[str], what: str) -> None:
    """Raise if ``function``, a reader or writer of ``what``, does not take every one of ``options``."""
    known = [name for name in inspect.signature(function).parameters if name not in _POSITIONAL]
    for option in options:
        if option not in known:
            raise ResweepError(f"{what} takes no option '{option}'; {nearest_names(option, known)}")


class _FormatDefault:
    """What signatures show as the default of an option that only some formats take."""

    def __repr__(self) -> str:
        return "<the format's own>"


def list_options(functions: Iterable[Callable[..., object] | None]) -> Callable[[Function], Function]:
    """A decorator: the signature names each option of the formats' ``functions`` in place of ``**options``.

    Only `inspect` and `help` see it; the function itself checks its options with `check_options`.
    """

    def decorate(function: Function) -> Function:
        own = [p for p in inspect.signature(function).parameters.values() if p.kind is not p.VAR_KEYWORD]
        taken = {parameter.name for parameter in own}
        found: dict[str, inspect.Parameter] = {}
        for other in functions:
            for name, parameter in inspect.signature(other).parameters.items() if other is not None else ():
                if name not in _POSITIONAL and name not in taken:
                    found.setdefault(name, parameter.replace(kind=parameter.KEYWORD_ONLY, default=_FormatDefault()))
        options = [found[name] for name in sorted(found)]
        signature = inspect.signature(function).replace(parameters=[*own, *options])
        function.__signature__ = signature  # type: ignore[attr-defined]  # functions take any attribute
        return function

    return decorate


def check_frame(frame: str) -> str:
    """Return ``frame``, or raise if it is not one of `FRAMES`."""
    if frame not in FRAMES:
        raise ResweepError(f"frame '{frame}': {nearest_names(frame, FRAMES)}")
    return frame


def read_as(entry: Format, path: Path, **options: Any) -> Sweep:
    """The sweep in ``path``, read as ``entry`` whatever the suffix."""
    if entry.read is None:
        raise InputError(f"{path}: {entry.title} is a format of whole logs; use open_log")
    check_options(entry.read, options, f"reading {entry.title}")
    if not path.is_file():
        if path.is_dir():
            raise InputError(f"{path}: is a folder; use open_log")
        raise SweepError(f"{path}: no such file; check the path", FaultKind.MISSING)
    with explain_errors(entry, path):
        return check_sweep(entry.read(path, **options), is_placed(entry, path))


def peek_as(entry: Format, path: Path) -> Header | None:
    """The pose and time in the file, or None if it has none."""
    if entry.peek is None:
        return None
    with explain_errors(entry, path):
        return entry.peek(path)


def is_placed(entry: Format, path: Path) -> bool:
    """Whether the file has the position of its sensor."""
    if entry.placed is None:
        return peek_as(entry, path) is not None
    with explain_errors(entry, path):
        return entry.placed(path)


def find_crs(entry: Format, path: Path) -> str:
    """The coordinate system that the file names, or nothing."""
    if entry.crs is None:
        return ""
    with explain_errors(entry, path):
        return entry.crs(path)


def _names(text: str, path: Path) -> bool:
    """Whether a message names a file or folder, or a file beside it of the same name, such as its labels."""
    whole, stem = re.escape(printable(path.name)), re.escape(printable(path.stem))
    return re.search(rf"(?<!\w){whole}(?!\w)|(?<!\w){stem}\.\w", text) is not None


@contextmanager
def explain_errors(entry: Format, path: Path) -> Iterator[None]:
    """Turn whatever a damaged file causes into one error that names the file."""
    try:
        yield
    except OSError as error:
        raise InputError(
            f"{error.filename or path}: cannot be read ({error.strerror or error}); check its permissions"
        ) from error
    except ResweepError as error:
        # Errors of the nouns (a pose that is not rigid, say) do not know the file they came from.
        if _names(str(error), path):
            raise
        if isinstance(error, SweepError):
            raise SweepError(f"{path}: {error}", error.kind) from error
        raise InputError(f"{path}: {error}") from error
    except _DAMAGE as error:
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        raise InputError(f"{path}: damaged or not a {entry.title} ({reason}); fetch or write it again") from error
