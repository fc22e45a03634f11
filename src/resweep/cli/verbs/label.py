"""``resweep label``: the labels that a trained model gives the returns of a log."""

from __future__ import annotations

import typer

from resweep.cli.options import learning, outputs, recordings, running
from resweep.cli.shared.outputs import print_outputs
from resweep.cli.shared.writing import LogTarget, describe_work, locks


@locks("output", reads=["source", "model"])
def label(
    source: recordings.SweepOrLog,
    model: learning.LabellingModel,
    output: outputs.LabelledLog,
    format: outputs.FormatOfLabelled = "sweep",
    threads: running.LabelledAtOnce = 0,
    keep_going: recordings.KeepGoing = False,
    overwrite: outputs.Overwrite = False,
    as_json: outputs.Json = False,
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
    from resweep.cli.shared.inputs import open_recording, report_skipped
    from resweep.cli.shared.targets import check_folder
    from resweep.segmentation import label_log, load_labeller
    from resweep.sensors.infer.inferred_drive import Preparation
    from resweep.work import Threads, count_cores

    labeller = load_labeller(model)
    check_folder(output, overwrite)
    log = open_recording(source, keep_going)
    named = label_log(log, labeller, Preparation.of(log))
    workers = Threads(threads or count_cores())
    LogTarget(output, format, overwrite, given).write(named, workers=workers)
    report_skipped(source, log)
    names = ", ".join(labeller.card.class_names)
    typer.echo(f"{output}: {len(log)} sweeps as {format}, labelled as {labeller.card.labels.name} ({names})")
    print_outputs([("log", output)], as_json, sweeps=len(log), labels=labeller.card.labels.name)
