"""Paths that options and arguments name: local, or by URL."""

from __future__ import annotations

from pathlib import Path

import typer

from resweep.errors import ResweepError
from resweep.remote import find_path, is_remote


def parse_path(word: str) -> Path:
    """The path that an argument names, local or by URL; for arguments that take either."""
    try:
        return find_path(word)
    except ResweepError as error:
        raise typer.BadParameter(str(error)) from error


def parse_local(word: str) -> Path:
    """The local path that an argument names; for outputs that are not written to object stores."""
    if is_remote(found := parse_path(word)):
        raise typer.BadParameter(f"{word}: is written to a local file or folder only; give a path, and copy it then")
    return found
