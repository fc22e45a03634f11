"""How options and arguments are declared: paths, local or by URL, and what several declarations share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import typer

from resweep.errors import ResweepError
from resweep.remote import find_path, is_remote

Parser = Callable[[str], Path]


def parse_path(text: str) -> Path:
    """The path that an argument names, local or by URL; for arguments that take either."""
    try:
        return find_path(text)
    except ResweepError as error:
        raise typer.BadParameter(str(error)) from error


def parse_local(text: str) -> Path:
    """The local path that an argument names; for outputs that are not written to object stores."""
    if is_remote(found := parse_path(text)):
        raise typer.BadParameter(f"{text}: is written to a local file or folder only; give a path, and copy it then")
    return found


def output(metavar: str, help: str, parser: Parser = parse_local, **more: Any) -> Any:
    """The option that says where to; to a local path unless ``parser`` takes URLs too."""
    return typer.Option("--output", "-o", parser=parser, metavar=metavar, help=help, **more)


def option(names: str, metavar: str, help: str, **more: Any) -> Any:
    """An option whose help says what holds without it; ``names`` are separated by spaces."""
    return typer.Option(*names.split(), metavar=metavar, help=help, show_default=False, **more)


def setting(help: str) -> Any:
    """The option that changes a field, and may be repeated."""
    return typer.Option("--set", metavar="FIELD=VALUE", help=help)


def argument(metavar: str, help: str, **more: Any) -> Any:
    """A path that is read, or several, local or by URL."""
    return typer.Argument(parser=parse_path, metavar=metavar, help=help, **more)


def flag(names: str, help: str) -> Any:
    """An option without a value."""
    return typer.Option(*names.split(), help=help)
