"""Where models are written: a folder that is free, or may be replaced."""

from __future__ import annotations

from pathlib import Path

from resweep.errors import OutputError
from resweep.remote import is_unfinished


def check_output(path: Path, overwrite: bool) -> None:
    """Raise if a model would take the place of anything that may not be replaced."""
    if path.exists() and not path.is_dir():
        raise OutputError(f"{path}: is a file; a model is written as a folder, choose another name")
    if path.is_dir() and any(path.iterdir()) and not overwrite and not is_unfinished(path):
        raise OutputError(f"{path}: exists and is not empty; choose another name or overwrite it (overwrite=True)")
