"""Folders of files that are named by number."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from resweep.errors import InputError
from resweep.pose import Array


def list_numbered(folder: Path, suffixes: tuple[str, ...]) -> tuple[list[Path], Array]:
    """The files of a folder that are named by number, in order, and their numbers."""
    files = sorted(file for file in folder.iterdir() if file.suffix in suffixes)
    if not files:
        raise InputError(f"{folder}: no {' or '.join('*' + suffix for suffix in suffixes)} in it; fetch the scans")
    try:
        return files, np.array([int(file.stem) for file in files], np.int64)
    except (ValueError, OverflowError) as error:
        raise InputError(f"{folder}: files must be named by number, as 0000000000{suffixes[0]} ({error})") from error
