"""``resweep learn semantics``: a model that labels points, from labelled logs."""

from __future__ import annotations

from resweep.cli.options import learning, outputs, recordings
from resweep.cli.shared.writing import locks


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
    from resweep.cli.shared.inputs import nest_settings, open_recording
    from resweep.cli.shared.learned_models import check_apart, print_scores
    from resweep.cli.shared.targets import check_folder
    from resweep.config import validate as check
    from resweep.learn.semantics import SemanticsConfig, learn_semantics

    config = check(nest_settings(settings or []), SemanticsConfig, "--set")
    check_folder(output, overwrite)
    check_apart({"LOG": logs, "--validate": validate or [], "--test": test or []})
    how = {"labels": labels, "empty_beams": False}
    opened = [[open_recording(path, False, **how) for path in paths] for paths in (logs, validate or [], test or [])]
    card = learn_semantics(opened[0], output, config, validate=opened[1], test=opened[2], overwrite=overwrite)
    print_scores(output, card, as_json)
