"""Where commands are to write: what is wrong with that raises before the work."""

from __future__ import annotations

import tempfile
from pathlib import Path

from resweep.errors import OutputError, ResweepError
from resweep.remote import is_remote, is_unfinished


def check_absent(path: Path, overwrite: bool, other: str = "name") -> None:
    """Raise if something is at ``path`` that may not be replaced; ``other`` is what to choose in place of it."""
    if path.exists() and not overwrite:
        raise OutputError(f"{path}: exists; choose another {other} or give --overwrite")


def check_picture(path: Path, overwrite: bool) -> None:
    """Raise if no PNG can be written at ``path``, which ``-o`` gave."""
    if path.suffix.lower() != ".png":
        raise ResweepError(f"{path}: pictures are PNG files; give a name that ends in .png")
    check_absent(path, overwrite, "-o")
    check_writable(path)


def check_page(path: Path | None, what: str) -> None:
    """Raise if ``what`` cannot be written at ``path``, which ``--output`` gave, as a page or as JSON."""
    if path is None:
        return
    if path.suffix.lower() not in (".html", ".json"):
        raise ResweepError(f"--output '{path}': {what} is .html or .json; choose one of them")
    check_writable(path)


def check_folder(path: Path, overwrite: bool) -> None:
    """Raise if a folder cannot be written at ``path``: something is there, or its parent is not writable."""
    if path.exists() and not path.is_dir():
        raise OutputError(f"{path}: is a file; the output is a folder, choose another name")
    if path.is_dir() and any(path.iterdir()) and not overwrite and not is_unfinished(path):
        raise OutputError(f"{path}: exists and is not empty; choose another name or give --overwrite")
    check_writable(path)


def check_writable(path: Path) -> None:
    """Raise if nothing can be written beside ``path``, by trying; folders that are missing do not count.

    Of an object store the lock, which is held from the start, has shown it.
    """
    if is_remote(path):
        return
    folder = next(parent for parent in path.absolute().parents if parent.exists())
    try:
        with tempfile.TemporaryDirectory(prefix=".resweep-", dir=folder):
            return
    except OSError as error:
        raise OutputError(
            f"{path}: cannot be written, {folder} refuses it ({error.strerror or error}); choose another folder"
        ) from error
