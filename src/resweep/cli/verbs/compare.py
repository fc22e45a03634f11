"""``resweep compare``: several reports side by side."""

from __future__ import annotations

import typer

from resweep.cli.options import building, outputs
from resweep.cli.shared.outputs import print_outputs


def compare(
    reports: building.Reports,
    output: outputs.Comparison = None,
    as_json: outputs.Json = False,
) -> None:
    """Put reports of several worlds, sensors or settings side by side, and mark the best of each figure.

    Examples:
      resweep evaluate kitti/sequences/00 --holdout 5 -o hybrid.json
      resweep evaluate kitti/sequences/00 --holdout 5 --method surfels -o surfels.json
      resweep compare hybrid.json surfels.json -o both.html
    """
    from resweep.cli.shared.targets import check_page
    from resweep.evaluation.report.side_by_side import SideBySide
    from resweep.terminal import make_console

    check_page(output, "a comparison")
    both = SideBySide.load(reports)
    if output is not None:
        both.save(output)
    for line in both.warnings():
        typer.echo(f"resweep: warning: {line}", err=True)
    if as_json:
        typer.echo(both.to_json())
        return
    console = make_console()
    console.print(both.table())
    console.print("* the best of a row", style="dim")
    if output is not None:
        print_outputs([("comparison", output)])
