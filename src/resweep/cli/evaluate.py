"""``resweep evaluate``: simulated sweeps against real ones."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from resweep.errors import ResweepError

if TYPE_CHECKING:
    from resweep.evaluation import Report


def evaluate(
    sim: Annotated[
        Path, typer.Argument(metavar="SIM|LOG", help="Simulated sweep file or log; with --holdout, the real log.")
    ],
    real: Annotated[
        Path | None, typer.Argument(metavar="[REAL]", help="Real sweep file, or the folder of a log.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Also write the report, as .html or .json.")
    ] = None,
    per_class: Annotated[bool, typer.Option("--per-class", help="Also give the figures of each class.")] = False,
    accumulate: Annotated[
        bool, typer.Option("--accumulate", help="Also compare all sweeps as one cloud (C2C as published).")
    ] = False,
    holdout: Annotated[
        str | None, typer.Option("--holdout", help="Sweeps to hold out, such as 5 or 3,7: build from the rest.")
    ] = None,
    every: Annotated[int | None, typer.Option("--holdout-every", min=2, help="Hold out every N-th sweep.")] = None,
    kind: Annotated[
        str, typer.Option("--world-kind", help="With --holdout: hybrid, splats, surfels, volumes or mesh.")
    ] = "hybrid",
    set_: Annotated[
        list[str] | None, typer.Option("--set", help="With --holdout: a build option, such as method=basic.")
    ] = None,
    odometry: Annotated[
        bool, typer.Option("--odometry", help="With --holdout: find the log's poses from its sweeps (KISS-ICP).")
    ] = False,
    keep_going: Annotated[
        bool, typer.Option("--keep-going", help="Skip sweeps that cannot be read, and say so.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object as the last line.")] = False,
) -> None:
    """Compare simulated sweeps with real ones, in true metres.

    Logs of equal length are compared sweep by sweep, others by nearest time. With --holdout a world is
    built from the other sweeps of one real log, and the held-out beams are traced again in it.

    Examples: resweep evaluate out kitti/sequences/00 -o report.html;
    resweep evaluate out/000000.pcd real.pcd --per-class --json;
    resweep evaluate kitti/sequences/00 --holdout 5 --world-kind surfels;
    resweep evaluate drive.bag --holdout-every 10 --odometry
    """
    from rich.console import Console

    from resweep.cli.inputs import check_writable

    if output is not None:
        if output.suffix.lower() not in (".html", ".json"):
            raise ResweepError(f"--output '{output}': a report is .html or .json; choose one of them")
        check_writable(output)
    if holdout is None and every is None:
        if odometry:
            raise ResweepError("--odometry: goes with --holdout; sweeps are compared in their own frames without it")
        report = _compared(sim, real, accumulate, keep_going)
    else:
        if real is not None:
            raise ResweepError("--holdout takes one log, the real one; leave out REAL or --holdout")
        report = _held_out(sim, holdout, every, kind, set_ or [], accumulate, keep_going, odometry)
    if output is not None:
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


def _compared(sim: Path, real: Path | None, accumulate: bool, keep_going: bool) -> Report:
    """Simulated sweeps against real ones."""
    from resweep.cli.inputs import open_recording, report_skipped
    from resweep.cli.progress import Tally
    from resweep.evaluation import evaluate as compare
    from resweep.progress import open_progress

    if real is None:
        raise ResweepError(f"evaluate '{sim}': against what? give REAL, or --holdout to hold sweeps of one log out")
    simulated, recorded = open_recording(sim, keep_going), open_recording(real, keep_going)
    report_skipped(sim, simulated)
    report_skipped(real, recorded)
    with open_progress() as progress:
        period_s = float(recorded.times[-1] - recorded.times[0]) / max(len(recorded) - 1, 1)
        recorded = Tally(progress).count(recorded, period_s, "comparing")
        return compare(simulated, recorded, accumulate=accumulate)


def _held_out(
    path: Path,
    listed: str | None,
    every: int | None,
    kind: str,
    words: list[str],
    accumulate: bool,
    keep_going: bool,
    odometry: bool,
) -> Report:
    """Held-out sweeps of a log against a world built from the others."""
    from resweep.cli.inputs import build_config, open_recording, report_skipped
    from resweep.evaluation.holdout import holdout
    from resweep.reconstruction import build
    from resweep.reconstruction import odometry as find_poses
    from resweep.reconstruction.map.accumulate import mappable

    config = build_config(kind, words)
    log = open_recording(path, keep_going)
    report_skipped(path, log)
    held = list(range(every - 1, len(log), every)) if every is not None else []
    try:
        held += [int(word) for word in (listed or "").split(",") if word.strip()]
    except ValueError as error:
        raise ResweepError(f"--holdout '{listed}': expected sweep numbers such as 5 or 3,7") from error
    if odometry:
        log = find_poses(log, progress=True)
    labels = config.map.labels_of(log)
    return holdout(
        log,
        held,
        lambda rest: build(rest, config),
        lambda sweep: mappable(sweep, config.map, labels),
        accumulate=accumulate,
    )
