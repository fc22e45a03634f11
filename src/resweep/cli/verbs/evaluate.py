"""``resweep evaluate``: simulated sweeps against real ones."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from resweep.cli.options import building, outputs, recordings, running, sensing
from resweep.cli.shared.outputs import print_outputs
from resweep.cli.shared.writing import locks
from resweep.errors import ResweepError
from resweep.memory import parse_memory

if TYPE_CHECKING:
    from resweep.build import BuildConfig
    from resweep.evaluation import Report
    from resweep.log import Log
    from resweep.simulate.realism import RealismModel


@locks("output", reads=["sim", "real"])
def evaluate(
    sim: recordings.Simulated,
    real: recordings.Real = None,
    output: outputs.Report = None,
    per_class: building.PerClass = False,
    accumulate: building.Accumulate = False,
    holdout: building.Holdout = None,
    every: building.HoldoutEvery = None,
    method: building.MethodOfHoldout = "hybrid",
    set_: building.SettingsOfHoldout = None,
    refine: building.Refine = None,
    realism: sensing.Realism = None,
    labels: recordings.Labels = None,
    poses: recordings.Poses = None,
    pose_rate: recordings.PoseRate = None,
    odometry: recordings.OdometryOfHoldout = False,
    keep_going: recordings.KeepGoing = False,
    memory: running.Memory = None,
    cluster: running.Cluster = None,
    as_json: outputs.Json = False,
) -> None:
    """Compare simulated sweeps with real ones, in true metres.

    Logs of equal length are compared sweep by sweep, others by nearest time. c2c_m is to all sweeps of REAL as one
    cloud, c2c_sweep_m to the paired sweep. With --holdout a world is built from the other sweeps of one real log, and
    the held-out beams are fired again in it, as resweep simulate --like does: the figures are those of drawn returns,
    each sweep registered to the world by its pose. A second table has other placements, and most likely returns.
    Stopped and started again with the same arguments, it goes on after the finished stages of that build, which
    OUT.partial keeps. With --realism the drawn returns are as a learned model says.

    Examples:
      resweep evaluate out kitti/sequences/00 -o report.html
      resweep evaluate out/000000.pcd real.pcd --per-class --json
      resweep evaluate kitti/sequences/00 --holdout 5 --method surfels
      resweep evaluate drive.bag --holdout-every 10 --odometry
    """
    from resweep.cli.shared.inputs import add_refinement, build_config, check_writable
    from resweep.files.partial import find_partial
    from resweep.files.publication import discard_partial
    from resweep.labels import load_labels
    from resweep.progress import open_progress

    bound = parse_memory(memory)
    if labels is not None:
        load_labels(labels)  # a wrong name is said before the work
    if output is not None:
        if output.suffix.lower() not in (".html", ".json"):
            raise ResweepError(f"--output '{output}': a report is .html or .json; choose one of them")
        check_writable(output)
    partial = None
    if holdout is None and every is None:
        _refuse({"--odometry": odometry}, "goes with --holdout; sweeps are compared in their own frames without it")
        _refuse({"--realism": realism}, "changes what is simulated with --holdout; SIM was simulated before")
        report = _compare(sim, real, keep_going, labels, poses, pose_rate, cluster, accumulate, bound)
    else:
        if real is not None:
            raise ResweepError("--holdout takes one log, the real one; leave out REAL or --holdout")
        _refuse({"--cluster": cluster}, "compares two logs; with --holdout one process builds and compares")
        if odometry and poses is not None:
            raise ResweepError("--odometry finds the poses that --poses gives; leave one of them out")
        config = build_config(method, add_refinement(set_, refine))  # a mistake is said before anything is read
        partial = None if output is None else find_partial(output)
        given = _open_held(sim, keep_going, poses, pose_rate, labels, odometry, realism)
        report = _hold_out(*given, holdout, every, config, partial=partial, accumulate=accumulate, memory=bound)
    if output is not None:
        with open_progress() as progress:
            progress.start(f"writing {output.name}")
            report.save(output)
        if partial is not None and partial.exists():
            discard_partial(partial)
    _print_report(report, output, per_class, as_json)


def _refuse(options: dict[str, object], why: str) -> None:
    for name, value in options.items():
        if value:
            raise ResweepError(f"{name}: {why}")


def _compare(
    sim: Path,
    real: Path | None,
    keep_going: bool,
    labels: str | None,
    poses: Path | None,
    pose_rate: float | None,
    cluster: str | None,
    accumulate: bool,
    memory: int,
) -> Report:
    """Simulated sweeps against real ones, which have other ``poses`` if given."""
    from resweep.cli.shared.inputs import open_posed, open_recording, report_skipped
    from resweep.cluster import open_workers
    from resweep.evaluation import evaluate as compare
    from resweep.labels import UNKNOWN_LABELS

    if real is None:
        raise ResweepError(f"evaluate '{sim}': against what? give REAL, or --holdout to hold sweeps of one log out")
    simulated = open_recording(sim, keep_going)
    recorded = open_posed(real, keep_going, poses, pose_rate, labels=labels)
    if labels is not None and simulated.labels == UNKNOWN_LABELS:
        simulated = replace(simulated, labels=recorded.labels)
    report_skipped(sim, simulated)
    report_skipped(real, recorded)
    with open_workers(cluster) as workers:
        return compare(simulated, recorded, accumulate=accumulate, memory=memory, workers=workers, progress=True)


def _open_held(
    path: Path,
    keep_going: bool,
    poses: Path | None,
    pose_rate: float | None,
    labels: str | None,
    odometry: bool,
    realism: Path | None,
) -> tuple[Log, RealismModel | None]:
    """The log of which sweeps are held out, and the learned model."""
    from resweep.cli.shared.inputs import open_posed, report_skipped
    from resweep.register import odometry as find_poses
    from resweep.simulate.realism import load_realism

    model = None if realism is None else load_realism(realism)
    log = open_posed(path, keep_going, poses, pose_rate, labels=labels)
    report_skipped(path, log)
    return (find_poses(log, progress=True) if odometry else log), model


def _hold_out(
    log: Log, model: RealismModel | None, listed: str | None, every: int | None, config: BuildConfig, **options: Any
) -> Report:
    """Held-out sweeps of a log against a world built from the others."""
    from resweep.evaluation.holdout import holdout

    held = list(range(every - 1, len(log), every)) if every is not None else []
    try:
        held += [int(word) for word in (listed or "").split(",") if word.strip()]
    except ValueError as error:
        raise ResweepError(f"--holdout '{listed}': expected sweep numbers such as 5 or 3,7") from error
    return holdout(log, held, config, realism=model, **options)


def _print_report(report: Report, output: Path | None, per_class: bool, as_json: bool) -> None:
    from resweep.terminal import make_console

    if as_json:
        for line in report.warnings:
            typer.echo(f"resweep: warning: {line}", err=True)
        facts: dict[str, Any] = {"sweeps": len(report.per_sweep), "labels": report.settings["labels"], **report.metrics}
        if report.placements:
            facts["placements"] = report.placements
        typer.echo(json.dumps({**facts, "per_class": report.per_class} if per_class else facts, allow_nan=False))
        return
    console = make_console()
    console.print(report)
    if per_class:
        console.print(report.class_table())
    if output is not None:
        print_outputs([("report", output)])
