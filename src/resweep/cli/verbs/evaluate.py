"""``resweep evaluate``: simulated sweeps against real ones."""

from __future__ import annotations

import json
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from resweep.cli.shared.completion import complete_methods
from resweep.cli.shared.options import (
    METHOD_HELP,
    Cluster,
    Json,
    Labels,
    Memory,
    PoseRate,
    Poses,
    Realism,
    Refining,
    parse_local,
    parse_place,
)
from resweep.cli.shared.outputs import print_made
from resweep.cli.shared.writing import locks
from resweep.errors import ResweepError
from resweep.memory import parse_memory

if TYPE_CHECKING:
    from resweep.build import BuildConfig, Checkpoints
    from resweep.evaluation import Report
    from resweep.log import Log
    from resweep.simulate.realism import RealismModel
    from resweep.worlds import StreamedWorld, World


@locks("output", reads=["sim", "real"])
def evaluate(
    sim: Annotated[
        Path,
        typer.Argument(
            parser=parse_place, metavar="SIM|LOG", help="Simulated sweep file or log; with --holdout, the real log."
        ),
    ],
    real: Annotated[
        Path | None,
        typer.Argument(parser=parse_place, metavar="[REAL]", help="Real sweep file, or the folder of a log."),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", parser=parse_local, metavar="PATH", help="Also write the report, as .html or .json."
        ),
    ] = None,
    per_class: Annotated[bool, typer.Option("--per-class", help="Also give the figures of each class.")] = False,
    accumulate: Annotated[
        bool, typer.Option("--accumulate", help="Also compare the paired sweeps as one cloud each.")
    ] = False,
    holdout: Annotated[
        str | None, typer.Option("--holdout", help="Sweeps to hold out, such as 5 or 3,7: build from the rest.")
    ] = None,
    every: Annotated[int | None, typer.Option("--holdout-every", min=2, help="Hold out every N-th sweep.")] = None,
    method: Annotated[
        str,
        typer.Option(
            "--method", "-m", autocompletion=complete_methods, help=f"With --holdout: {METHOD_HELP}", show_default=False
        ),
    ] = "hybrid",
    set_: Annotated[
        list[str] | None, typer.Option("--set", help="With --holdout: a build option, such as map.ego_radius_m=2.")
    ] = None,
    refine: Refining = None,
    realism: Realism = None,
    labels: Labels = None,
    poses: Poses = None,
    pose_rate: PoseRate = None,
    odometry: Annotated[
        bool, typer.Option("--odometry", help="With --holdout: find the log's poses from its sweeps (KISS-ICP).")
    ] = False,
    keep_going: Annotated[
        bool, typer.Option("--keep-going", help="Skip sweeps that cannot be read, and say so.")
    ] = False,
    memory: Memory = None,
    cluster: Cluster = None,
    as_json: Json = False,
) -> None:
    """Compare simulated sweeps with real ones, in true metres.

    Logs of equal length are compared sweep by sweep, others by nearest time. c2c_m is to all sweeps of REAL as one
    cloud, c2c_sweep_m to the paired sweep. With --holdout a world is built from the other sweeps of one real log, and
    the held-out beams are traced again in it; the cloud is then the whole log. Stopped and started again with the same
    words, it goes on after the finished stages of that build, which OUT.partial keeps. With --realism the held-out
    beams are not predicted but simulated once, with the noise of a learned model.

    Examples:

      resweep evaluate out kitti/sequences/00 -o report.html

      resweep evaluate out/000000.pcd real.pcd --per-class --json

      resweep evaluate kitti/sequences/00 --holdout 5 --method surfels

      resweep evaluate drive.bag --holdout-every 10 --odometry
    """

    from resweep.cli.shared.inputs import add_refinement, build_config, check_writable, open_posed, report_skipped
    from resweep.labels import load_labels
    from resweep.progress import open_progress
    from resweep.simulate.realism import load_realism
    from resweep.terminal import make_console

    bound = parse_memory(memory)
    if labels is not None:
        load_labels(labels)  # a wrong name is said before the work
    if output is not None:
        if output.suffix.lower() not in (".html", ".json"):
            raise ResweepError(f"--output '{output}': a report is .html or .json; choose one of them")
        check_writable(output)
    model = None if realism is None else load_realism(realism)
    kept = _Kept(None, bound)
    if holdout is None and every is None:
        if odometry:
            raise ResweepError("--odometry: goes with --holdout; sweeps are compared in their own frames without it")
        if model is not None:
            raise ResweepError("--realism: changes what is simulated with --holdout; SIM was simulated before")
        report = _compare(sim, real, accumulate, keep_going, labels, poses, pose_rate, bound, cluster)
    else:
        if cluster is not None:
            raise ResweepError(
                "--cluster: compares two logs; with --holdout a world is built and compared in this process"
            )
        if real is not None:
            raise ResweepError("--holdout takes one log, the real one; leave out REAL or --holdout")
        if odometry and poses is not None:
            raise ResweepError("--odometry finds the poses that --poses gives; leave one of them out")
        config = build_config(method, add_refinement(set_, refine))  # a mistake is said before anything is read
        kept = _Kept(output, bound)
        log = open_posed(sim, keep_going, poses, pose_rate, labels=labels)
        report_skipped(sim, log)
        report = _hold_out(log, holdout, every, config, accumulate, odometry, bound, kept, model)
    if output is not None:
        with open_progress() as progress:
            progress.start(f"writing {output.name}")
            report.save(output)
        kept.remove()
    if as_json:
        for line in report.warnings:
            typer.echo(f"resweep: warning: {line}", err=True)
        facts = {"sweeps": len(report.per_sweep), "labels": report.settings["labels"], **report.metrics}
        typer.echo(json.dumps({**facts, "per_class": report.per_class} if per_class else facts, allow_nan=False))
        return
    console = make_console()
    console.print(report)
    if per_class:
        console.print(report.class_table())
    if output is not None:
        print_made([("report", output)])


def _compare(
    sim: Path,
    real: Path | None,
    accumulate: bool,
    keep_going: bool,
    labels: str | None,
    poses: Path | None,
    pose_rate: float | None,
    memory: int,
    cluster: str | None,
) -> Report:
    """Simulated sweeps against real ones, which have other ``poses`` if given."""
    from resweep.cli.shared.inputs import open_posed, open_recording, report_skipped
    from resweep.cluster import open_workers
    from resweep.evaluation import evaluate as compare
    from resweep.labels import UNKNOWN_LABELS
    from resweep.progress import open_progress

    if real is None:
        raise ResweepError(f"evaluate '{sim}': against what? give REAL, or --holdout to hold sweeps of one log out")
    simulated = open_recording(sim, keep_going)
    recorded = open_posed(real, keep_going, poses, pose_rate, labels=labels)
    if labels is not None and simulated.labels == UNKNOWN_LABELS:
        simulated = replace(simulated, labels=recorded.labels)
    report_skipped(sim, simulated)
    report_skipped(real, recorded)
    with open_workers(cluster) as workers, open_progress() as progress:
        progress.start("comparing", min(len(simulated), len(recorded)))

        def advance(done: int, total: int) -> None:
            progress.advance(1, f"{done}/{total}")

        options: dict[str, Any] = {"accumulate": accumulate, "memory": memory, "workers": workers}
        return compare(simulated, recorded, **options, progress=advance)


def _hold_out(
    log: Log,
    listed: str | None,
    every: int | None,
    config: BuildConfig,
    accumulate: bool,
    odometry: bool,
    memory: int,
    kept: _Kept,
    realism: RealismModel | None,
) -> Report:
    """Held-out sweeps of a log against a world built from the others, of which finished stages are ``kept``."""
    from resweep.evaluation.holdout import holdout
    from resweep.map.accumulate import find_mappable
    from resweep.progress import Progress, open_progress
    from resweep.register import odometry as find_poses

    held = list(range(every - 1, len(log), every)) if every is not None else []
    try:
        held += [int(word) for word in (listed or "").split(",") if word.strip()]
    except ValueError as error:
        raise ResweepError(f"--holdout '{listed}': expected sweep numbers such as 5 or 3,7") from error
    if odometry:
        log = find_poses(log, progress=True)
    vocabulary = config.map.choose_labels(log)
    with ExitStack() as stack:
        comparing: list[Progress] = []  # opened once the world is built, which shows its own progress

        def build(rest: Log) -> World | StreamedWorld:
            world = kept.build(rest, config)
            comparing.append(stack.enter_context(open_progress()))
            comparing[0].start("comparing held-out sweeps", len(set(held)))
            return world

        report = holdout(
            log,
            held,
            build,
            lambda sweep: find_mappable(sweep, config.map, vocabulary),
            accumulate=accumulate,
            memory=memory,
            realism=realism,
            progress=lambda *_: comparing[0].advance(),
        )
    return kept.qualify(report)


class _Kept:
    """The finished stages of a held-out build, kept beside the report until that is written; nowhere without one.

    A world that does not fit into ``memory`` is built by tiles in a temporary folder, from where it is read.
    """

    def __init__(self, output: Path | None, memory: int) -> None:
        self._output, self._memory = output, memory
        self._checkpoints: Checkpoints | None = None

    def build(self, log: Log, config: BuildConfig) -> World | StreamedWorld:
        """The world of the sweeps that are not held out."""
        from resweep.build.pipeline import build, open_checkpoints
        from resweep.build.plan import resolve
        from resweep.files.partial import find_partial

        if self._output is None:
            return build(log, config, memory=self._memory)
        plan = resolve(log, config, memory=self._memory)
        self._checkpoints = open_checkpoints(find_partial(self._output), log, plan)
        return build(log, config, memory=self._memory, checkpoints=self._checkpoints)

    def qualify(self, report: Report) -> Report:
        """The report without the time of a build of which some stages were finished before."""
        if self._checkpoints is None or not self._checkpoints.kept:
            return report
        note = f"build_s is unknown: resumed after {', '.join(self._checkpoints.kept)}"
        return replace(report, metrics={**report.metrics, "build_s": None}, notes=[*report.notes, note])

    def remove(self) -> None:
        """Remove what was kept: the report is written."""
        if self._checkpoints is not None:
            self._checkpoints.remove()
