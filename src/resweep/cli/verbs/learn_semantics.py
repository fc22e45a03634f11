"""``resweep learn semantics``: a model that labels points, from labelled logs."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from resweep.cli.options import learning, outputs, recordings
from resweep.cli.shared.writing import locks
from resweep.errors import ResweepError

if TYPE_CHECKING:
    from resweep.log import Log
    from resweep.segmentation import SegmentationCard

_SETTINGS = "A setting of the training as FIELD=VALUE, such as epochs=10 or network.cell_m=0.3; may be repeated."


@locks("output", reads=["logs", "validate", "test"])
def semantics(
    logs: learning.LabelledLogs,
    output: outputs.SemanticModel,
    validate: learning.Validate = None,
    test: learning.Test = None,
    labels: recordings.Labels = None,
    settings: learning.SettingsOfTraining = None,
    overwrite: outputs.OverwriteSemanticModel = False,
    as_json: outputs.JsonOfScores = False,
) -> None:
    """Train a network that labels points (KPConv), and write it as ONNX with a card that says what it is.

    Labels of the logs are mapped to the 19 classes of SemanticKITTI's single scans unless --set labels=NAME says
    otherwise; unlabelled returns do not count. Scores are those of --test, else of the logs that chose the round.
    Stopped and started again with the same arguments, it goes on after the last finished round.

    Examples:
      resweep learn semantics kitti/sequences/00 kitti/sequences/05 kitti/sequences/06 -o town.model
      resweep learn semantics drive1 drive2 --validate drive3 --test drive4 -o town.model --json
    """
    from resweep.cli.shared.inputs import check_folder, nest_settings
    from resweep.config import validate as check
    from resweep.learn.semantics import SemanticsConfig, learn_semantics

    config = check(nest_settings(settings or []), SemanticsConfig, "--set")
    check_folder(output, overwrite)
    _check_apart({"LOG": logs, "--validate": validate or [], "--test": test or []})
    opened = [[_open(path, labels) for path in paths] for paths in (logs, validate or [], test or [])]
    card = learn_semantics(opened[0], output, config, validate=opened[1], test=opened[2], overwrite=overwrite)
    _print(output, card, as_json)


def _check_apart(given: dict[str, list[Path]]) -> None:
    """Raise if a log serves two purposes: scores on what was trained on mean nothing."""
    used: dict[str, str] = {}
    for option, paths in given.items():
        for path in paths:
            other = used.setdefault(os.path.realpath(path), option)
            if other != option:
                raise ResweepError(f"{option} {path}: is given as {other} too; give a log of another place")


def _open(path: Path, labels: str | None) -> Log:
    from resweep.cli.shared.inputs import open_recording

    return open_recording(path, keep_going=False, labels=labels, empty_beams=False)


def _print(output: Path, card: SegmentationCard, as_json: bool) -> None:
    scores = card.tested or card.validated
    assert scores is not None
    where = "logs that training did not see" if card.tested else "logs that chose the best round, which flatters"
    typer.echo(f"{output}: mIoU {scores.miou:.3f}, accuracy {scores.accuracy:.3f} on {', '.join(scores.on)} ({where})")
    for name, value in sorted(scores.iou.items(), key=lambda item: -item[1]):
        typer.echo(f"  {name:15} {value:.3f}")
    if as_json:
        kept = {"model": str(output), "trained_on": [item.log for item in card.trained_on]}
        rest = {"scored_on": list(scores.on), "validation_miou": card.validated and card.validated.miou}
        best = {"accuracy": scores.accuracy, "miou": scores.miou, "iou": dict(scores.iou)}
        typer.echo(json.dumps({**kept, **rest, **best}))
