"""One file written whole or not at all, where an output lies, and errors of the system that name it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from resweep.errors import OutputError, ResweepError
from resweep.files import disk

if TYPE_CHECKING:
    from numpy.typing import NDArray

_BLOCK = 4096  # bytes, of most file systems


def locate(path: Path) -> Path:
    """Where an output really lies: links of folders are followed, one that is itself a file stays."""
    path = Path(path)
    if path.name in ("", "..") or path.is_dir():
        return path.resolve()
    return path.parent.resolve() / path.name


def write_file(path: Path, data: bytes | NDArray[Any], *, sparse: bool = False) -> None:
    """Write bytes to a file, which appears whole or not at all; missing folders are created.

    The part that a killed process leaves has a fixed name, and the next call writes over it: work that resumes leaves
    nothing behind. With ``sparse`` blocks of zeros take no space on disks that can leave them out; the file reads the
    same.
    """
    part = path.with_name(f"{path.name}.part")
    with explain_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        with part.open("wb") as file:
            if sparse:
                _write_sparse(file, data)
            else:
                file.write(data)  # type: ignore[arg-type]  # an array is a buffer
        disk.sync(part)
        os.replace(part, path)
    noted = _noted.get()
    if noted is not None:
        noted.append(path)


_noted: ContextVar[list[Path] | None] = ContextVar("noted", default=None)


@contextmanager
def note_files() -> Iterator[list[Path]]:
    """A list of the files that `write_file` writes meanwhile, in this thread."""
    noted: list[Path] = []
    token = _noted.set(noted)
    try:
        yield noted
    finally:
        _noted.reset(token)


def _write_sparse(file: BinaryIO, data: bytes | NDArray[Any]) -> None:
    """Write bytes, seeking over blocks of zeros."""
    import numpy as np  # only here: most users of this module write text

    flat = np.frombuffer(data, np.uint8)
    end = len(flat) // _BLOCK * _BLOCK
    filled = flat[:end].reshape(-1, _BLOCK).view(np.uint64).any(axis=1)
    edges = np.flatnonzero(np.diff(filled, prepend=False, append=False))
    for first, last in edges.reshape(-1, 2) * _BLOCK:
        file.seek(first)
        file.write(flat[first:last].data)
    file.seek(end)
    file.write(flat[end:].data)
    file.truncate(len(flat))


@contextmanager
def explain_errors(named: Path) -> Iterator[None]:
    """Turn what the system refuses into one error that names the output, or the other file that it is about."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or error
        if isinstance(error.filename, str | Path) and not _belongs_to(Path(error.filename), named):
            raise ResweepError(f"{error.filename}: {reason}; check that it is there and may be used") from error
        raise OutputError(
            f"{named}: cannot be written ({reason}); check the folder, its permissions and the disk"
        ) from error


def _belongs_to(file: Path, named: Path) -> bool:
    """Whether a file lies in an output, in a folder in which it is written, or above it."""
    target, file = locate(named), Path(os.path.abspath(file))
    if target.is_relative_to(file):
        return True
    return file.is_relative_to(target.parent) and target.name in file.relative_to(target.parent).parts[0]
