"""``resweep evaluate``: simulated sweeps against real ones."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from resweep.errors import ResweepError


def evaluate(
    sim: Annotated[Path, typer.Argument(metavar="SIM", help="Simulated sweep file, or the folder of a log.")],
    real: Annotated[Path, typer.Argument(metavar="REAL", help="Real sweep file, or the folder of a log.")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Also write the report, as .html or .json.")
    ] = None,
    per_class: Annotated[bool, typer.Option("--per-class", help="Also give the figures of each class.")] = False,
    accumulate: Annotated[
        bool, typer.Option("--accumulate", help="Also compare all sweeps as one cloud (C2C as published).")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object as the last line.")] = False,
) -> None:
    """Compare simulated sweeps with real ones, in true metres.

    Logs of equal length are compared sweep by sweep, others by nearest time.

    Examples: resweep evaluate out kitti/sequences/00 -o report.html;
    resweep evaluate out/000000.pcd real.pcd --per-class --json
    """
    from rich.console import Console

    from resweep.cli.inputs import check_writable
    from resweep.cli.progress import Meter
    from resweep.evaluate import evaluate as compare
    from resweep.io import open_log

    if output is not None:
        if output.suffix.lower() not in (".html", ".json"):
            raise ResweepError(f"--output '{output}': a report is .html or .json; choose one of them")
        check_writable(output)
    simulated, recorded = open_log(sim), open_log(real)
    with Meter() as meter:
        period_s = float(recorded.times[-1] - recorded.times[0]) / max(len(recorded) - 1, 1)
        recorded = meter.tracked(recorded, period_s, "comparing")
        report = compare(simulated, recorded, accumulate=accumulate)
        if output is not None:
            meter.stage(f"writing {output.name}")
            report.save(output)
    if as_json:
        facts = {"sweeps": len(report.per_sweep), **report.metrics}
        typer.echo(json.dumps({**facts, "per_class": report.per_class} if per_class else facts, allow_nan=False))
        return
    console = Console()
    console.print(report)
    if per_class:
        console.print(report.class_table())
    if output is not None:
        console.print(f"report: {output}", highlight=False, markup=False, soft_wrap=True)
