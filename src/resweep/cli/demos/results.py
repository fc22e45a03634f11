"""What the demo shows at its end: its figures, what it made, what to try next, and the report in a browser."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from resweep.cli.demos.main_job import AGAIN, BANK, PICTURE, RECORDING, REPORT, WORLD
from resweep.cli.shared.outputs import name_command, print_outputs

if TYPE_CHECKING:
    from resweep.cli.demos.main_job import DemoResults


def print_results(output: Path, results: DemoResults, log: Path | None, as_json: bool) -> None:
    """Print what the demo measured and made, and what to try next, with the user's own ``log`` or without."""
    for name, text in results.lines:
        typer.echo(f"{name + ':':13}{text}")
    recording = log if log is not None else output / RECORDING
    typer.echo(f"\nFinished in {results.figures['seconds']:.0f} s; look first at the picture and the report:")
    places = (PICTURE, REPORT, RECORDING, WORLD, BANK, AGAIN)
    kinds = ("picture", "report", "recording", "world", "objects", "swept again")
    rows = [(kind, output / name) for kind, name in zip(kinds, places, strict=True) if (output / name).exists()]
    if not as_json:
        print_outputs(rows)
    resweep = name_command()
    typer.echo("\nTry next:")
    typer.echo(f"  {resweep} view {recording} {output / AGAIN}   # side by side in the browser")
    typer.echo(f"  {resweep} view {output / WORLD}   # drag a sensor through the world")
    if log is None:
        typer.echo(f"  {resweep} demo --log YOUR/LOG -o my-demo   # the same with your own recording")
    else:
        typer.echo(f"  {resweep} build {log} -o my.world   # the world of the whole recording")
    if as_json:
        print_outputs(rows, True, **results.figures)


def open_report(output: Path) -> None:
    """Open the report in a browser, where one could be shown."""
    import webbrowser

    from resweep.cli.shared.viewing import has_display

    if has_display():
        webbrowser.open((output / REPORT).absolute().as_uri())
