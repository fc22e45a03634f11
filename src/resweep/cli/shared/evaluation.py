"""What ``resweep evaluate`` does: two logs compared, or sweeps of one held out of a world."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from resweep.cli.shared.inputs import find_poses, open_posed, open_recording, report_skipped
from resweep.cli.shared.outputs import print_outputs
from resweep.errors import ResweepError
from resweep.files.strict_json import format_json

if TYPE_CHECKING:
    from resweep.build import BuildConfig
    from resweep.evaluation import Report
    from resweep.log import Log


def refuse(option: str, value: object, why: str) -> None:
    """Raise if an option is given that does not go with the others."""
    if value:
        raise ResweepError(f"{option}: {why}")


def compare_logs(
    sim: Path, real: Path | None, keep_going: bool, how: dict[str, Any], cluster: str | None, **options: Any
) -> Report:
    """Simulated sweeps against real ones, which are opened with ``how``; ``options`` are those of `evaluate`."""
    from resweep.cluster import open_workers
    from resweep.evaluation import evaluate
    from resweep.labels import UNKNOWN_LABELS

    if real is None:
        raise ResweepError(f"evaluate '{sim}': against what? give REAL, or --holdout to hold sweeps of one log out")
    simulated = open_recording(sim, keep_going)
    recorded = open_posed(real, keep_going, **how)
    if how["labels"] is not None and simulated.labels == UNKNOWN_LABELS:
        simulated = replace(simulated, labels=recorded.labels)
    report_skipped(sim, simulated)
    report_skipped(real, recorded)
    with open_workers(cluster) as workers:
        return evaluate(simulated, recorded, workers=workers, progress=True, **options)


def hold_out(
    path: Path,
    keep_going: bool,
    how: dict[str, Any],
    odometry: bool,
    realism: Path | None,
    listed: str | None,
    every: int | None,
    config: BuildConfig,
    output: Path | None,
    **options: Any,
) -> Report:
    """Held-out sweeps of a log against a world built from the others; its stages are kept beside ``output``."""
    from resweep.evaluation.holdout import holdout
    from resweep.files.partial import find_partial
    from resweep.simulate.realism import load_realism

    model = None if realism is None else load_realism(realism)
    log = open_posed(path, keep_going, **how)
    report_skipped(path, log)
    log = find_poses(log) if odometry else log
    held = choose_held(log, listed, every)
    partial = None if output is None else find_partial(output)
    return holdout(log, held, config, realism=model, partial=partial, **options)


def choose_held(log: Log, listed: str | None, every: int | None) -> list[int]:
    """The sweeps that ``--holdout`` and ``--holdout-every`` name."""
    held = list(range(every - 1, len(log), every)) if every is not None else []
    try:
        return held + [int(text) for text in (listed or "").split(",") if text.strip()]
    except ValueError as error:
        raise ResweepError(f"--holdout '{listed}': expected sweep numbers such as 5 or 3,7") from error


def save_report(report: Report, output: Path | None, held: bool) -> None:
    """Write a report, if it is to be; with ``held`` sweeps what is kept of their build beside it goes."""
    from resweep.files.partial import find_partial
    from resweep.files.publication import discard_partial
    from resweep.progress import open_progress

    if output is None:
        return
    with open_progress() as progress:
        progress.start(f"writing {output.name}")
        report.save(output)
    if held and (partial := find_partial(output)).exists():
        discard_partial(partial)


def print_report(report: Report, output: Path | None, per_class: bool, as_json: bool) -> None:
    """Print the figures of a report, as tables or as JSON."""
    from resweep.terminal import make_console

    if as_json:
        for line in report.warnings:
            typer.echo(f"resweep: warning: {line}", err=True)
        facts: dict[str, Any] = {"sweeps": len(report.per_sweep), "labels": report.settings["labels"], **report.metrics}
        if report.placements:
            facts["placements"] = report.placements
        typer.echo(format_json({**facts, "per_class": report.per_class} if per_class else facts))
        return
    console = make_console()
    console.print(report)
    if per_class:
        console.print(report.class_table())
    if output is not None:
        print_outputs([("report", output)])
