"""One sweep, one file: the format is what the suffix says."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path
from typing import Any

from resweep.errors import ResweepError
from resweep.io.atomic import atomic_file
from resweep.io.format import Format, check_frame
from resweep.io.table import format_of
from resweep.sweep import Sweep


def read_sweep(path: str | Path, **options: Any) -> Sweep:
    """The sweep in a file; ``options`` are those of its format's ``read``, such as ``drop_nan=True``.

    Formats other than ``.sweep`` hold only returns: the sweep has one beam a point, and none without return.
    """
    path = Path(path)
    entry = format_of(path)
    return read_as(entry, path, **options)


def read_as(entry: Format, path: Path, **options: Any) -> Sweep:
    """The sweep in ``path``, read as ``entry`` whatever the suffix."""
    if entry.read is None:
        raise ResweepError(f"{path}: {entry.title} is a format of whole logs; use open_log")
    if not path.is_file():
        raise ResweepError(f"{path}: is a folder; use open_log" if path.is_dir() else f"{path}: no such file")
    try:
        return entry.read(path, **options)
    except OSError as error:
        raise ResweepError(f"{path}: cannot be read ({error.strerror or error}); check its permissions") from error
    except ResweepError as error:
        # Errors of the nouns (a pose that is not rigid, say) do not know the file they came from.
        if str(path.stem) in str(error):
            raise
        raise ResweepError(f"{path}: {error}") from error
    except (ValueError, ArithmeticError, LookupError, EOFError, MemoryError, struct.error, zlib.error) as error:
        raise ResweepError(f"{path}: damaged or not a {entry.title} ({error}); fetch or write it again") from error


def write_sweep(sweep: Sweep, path: str | Path, frame: str | None = None, **options: Any) -> None:
    """Write ``sweep`` in the format of the suffix; an old file is replaced only once the new one is whole.

    ``frame`` is ``sensor`` (each point in the sensor's frame when it fired), ``deskewed`` (all in that of
    ``sweep.pose``) or ``world`` (float64); ``options`` are those of the format's ``write``.
    """
    path = Path(path)
    entry = format_of(path)
    assert entry.write is not None
    with atomic_file(path) as temporary:
        entry.write(sweep, temporary, frame=check_frame(frame or entry.frame), **options)
