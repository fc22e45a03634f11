"""``resweep label``: the labels that a trained model gives the returns of a log."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from resweep.cli.shared.options import Json, parse_path
from resweep.cli.shared.outputs import print_outputs
from resweep.cli.shared.writing import describe_work, locks


@locks("output", reads=["source", "model"])
def label(
    source: Annotated[
        Path, typer.Argument(parser=parse_path, metavar="LOG", help="A sweep file or the folder of a log.")
    ],
    model: Annotated[
        Path, typer.Option("--model", "-m", metavar="MODEL", help="The folder that resweep learn semantics wrote.")
    ],
    output: Annotated[
        Path, typer.Option("-o", "--output", parser=parse_path, metavar="OUT", help="Folder of the labelled log.")
    ],
    format: Annotated[
        str, typer.Option("--format", "-f", help="Format of OUT: sweep, semantickitti, ply ...")
    ] = "sweep",
    threads: Annotated[int, typer.Option(min=0, help="Sweeps labelled at once; 0 for one a core.")] = 0,
    keep_going: Annotated[
        bool, typer.Option("--keep-going", help="Skip sweeps that cannot be read, and say so.")
    ] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace OUT if it exists.")] = False,
    as_json: Json = False,
) -> None:
    """Write a log with the labels that a model gives its returns; all else stays as it is.

    Labels that the log has are replaced. The vocabulary of the model is that of the new log, so that resweep build
    takes its classes for splats and for what can move. Stopped and started again with the same arguments, it goes on
    after the finished sweeps.

    Examples:

      resweep label drive --model town.model -o drive-labelled

      resweep build drive-labelled -o drive.world --set map.drop_movable=true
    """
    given = describe_work(locals())
    from resweep.cli.shared.inputs import check_folder, open_recording, report_skipped
    from resweep.io import write_log
    from resweep.segmentation import label_log, load_labeller
    from resweep.sensors.infer.inferred_drive import Preparation
    from resweep.work import Threads

    labeller = load_labeller(model)
    check_folder(output, overwrite)
    log = open_recording(source, keep_going)
    named = label_log(log, labeller, Preparation.of(log))
    workers = Threads(threads or count_cores())
    write_log(named, output, format=format, overwrite=overwrite, resume=True, made_from=given, workers=workers)
    report_skipped(source, log)
    names = ", ".join(labeller.card.class_names)
    typer.echo(f"{output}: {len(log)} sweeps as {format}, labelled as {labeller.card.labels.name} ({names})")
    print_outputs([("log", output)], as_json, sweeps=len(log), labels=labeller.card.labels.name)


def count_cores() -> int:
    """Cores that this process may use."""
    import os

    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
