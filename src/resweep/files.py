"""Outputs that appear whole or not at all: written beside their place, then renamed into it."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from resweep.errors import ResweepError

if TYPE_CHECKING:
    from numpy.typing import NDArray

_BLOCK = 4096  # bytes, of most file systems


@contextmanager
def atomic_file(path: Path) -> Iterator[Path]:
    """Give a temporary path of the same name; on success it, and files beside it, move into place.

    On any error the temporary files go and an old file at ``path`` stays as it was.
    """
    if path.is_dir():
        raise ResweepError(f"{path}: is a folder; give the name of a file")
    with _temporary_folder(path, path) as folder:
        yield folder / path.name
        # The named file comes last: once it is new, what belongs to it is new as well.
        for made in sorted(folder.iterdir(), key=lambda item: item.name == path.name):
            os.replace(made, path.with_name(made.name))


@contextmanager
def atomic_folder(path: Path) -> Iterator[Path]:
    """Give a temporary folder that on success takes the place of ``path``, old contents included.

    A link is followed: the folder that it leads to is replaced. Whether an old folder may be replaced is for the
    caller to have checked. On any error, and if interrupted, the temporary folder goes and the old one stays.
    """
    target = path.resolve()
    with _temporary_folder(target, path) as folder:
        made, old = folder / "new", folder / "old"
        made.mkdir()
        yield made
        try:
            if target.exists():
                os.rename(target, old)
            os.rename(made, target)
        except BaseException:
            if old.exists() and not target.exists():
                os.rename(old, target)
            raise


def write_file(path: Path, data: bytes | NDArray[Any], *, sparse: bool = False) -> None:
    """Write bytes to a file, which appears whole or not at all; folders that are missing are made.

    The part that a killed process leaves has a fixed name, and the next call writes over it: work that resumes leaves
    nothing behind. With ``sparse`` blocks of zeros take no space on disks that can leave them out; the file reads the
    same.
    """
    part = path.with_name(f"{path.name}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with part.open("wb") as file:
            if sparse:
                _write_sparse(file, data)
            else:
                file.write(data)  # type: ignore[arg-type]  # an array is a buffer
        os.replace(part, path)
    except OSError as error:
        raise ResweepError(
            f"{path}: cannot be written ({error.strerror or error}); check the folder, its permissions and the disk"
        ) from error


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
def _temporary_folder(target: Path, named: Path) -> Iterator[Path]:
    """A hidden folder beside ``target``, on the same disk so that renaming out of it is atomic.

    Errors name ``named``. Folders that were made on the way go too if the work fails.
    """
    place = target.absolute().parent
    made = [parent for parent in target.absolute().parents if not parent.exists()]
    done = False
    folder: Path | None = None
    try:
        place.mkdir(parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(prefix=f".{target.name}.", suffix=".part", dir=place))
        yield folder
        done = True
    except OSError as error:
        raise ResweepError(
            f"{named}: cannot be written ({error.strerror or error}); check the folder, its permissions and the disk"
        ) from error
    finally:
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)
        if not done:
            for parent in made:
                if parent.is_dir() and not any(parent.iterdir()):
                    parent.rmdir()
