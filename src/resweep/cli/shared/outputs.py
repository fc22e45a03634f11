"""What a command has written: a table at its end, or one JSON object with ``--json``."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import typer

from resweep.files.strict_json import format_json
from resweep.memory import format_memory
from resweep.remote import is_remote

Row = tuple[str, Path]


def print_outputs(rows: Iterable[Row], as_json: bool = False, **facts: Any) -> None:
    """Print each output with its kind, path and size; with ``as_json`` one line of JSON with ``facts`` too."""
    outputs = [(what, path, *_measure(path)) for what, path in rows]
    if as_json:
        listed = [{"what": what, "path": str(path), "bytes": size} for what, path, size, _ in outputs]
        typer.echo(format_json({**facts, "outputs": listed}))
        return
    kinds = max(6, *(len(what) for what, *_ in outputs))
    paths = max(4, *(len(str(path)) for _, path, *_ in outputs))
    typer.echo(f"{'output':{kinds}}  {'path':{paths}}  size")
    for what, path, size, files in outputs:
        many = f" in {files:,} files" if files > 1 else ""
        typer.echo(f"{what:{kinds}}  {path!s:{paths}}  {'-' if size is None else format_memory(size)}{many}")


def print_table(
    left: Sequence[str], right: Sequence[str], rows: Iterable[Sequence[str]], end: str = "", note: str = ""
) -> None:
    """Print a table whose columns are aligned ``left`` and then ``right``, with a last one and a note below."""
    from rich.table import Table

    from resweep.terminal import make_console

    table = Table(box=None, pad_edge=False, header_style="bold", caption=note or None, caption_justify="left")
    for title in left:
        table.add_column(title, no_wrap=True)
    for title in right:
        table.add_column(title, justify="right", no_wrap=True)
    if end:
        table.add_column(end, no_wrap=True)
    for row in rows:
        table.add_row(*row)
    make_console().print(table)


def _measure(path: Path) -> tuple[int | None, int]:
    """Bytes and number of files of an output; those of an object store are not counted."""
    if is_remote(path):
        return None, 0
    files = [path] if path.is_file() else [file for file in path.rglob("*") if file.is_file()]
    return sum(file.stat().st_size for file in files), len(files)


def name_command() -> str:
    """What to type for this program: its path, as it was called by, where the shell does not find it by name."""
    called, found = Path(sys.argv[0]), shutil.which("resweep")
    if called.name != "resweep" or (found is not None and Path(found).resolve() == called.resolve()):
        return "resweep"
    return sys.argv[0]
