"""``resweep learn detector``: a model that finds vehicles, from logs with boxes or instances."""

from __future__ import annotations

from resweep.cli.options import learning, outputs, recordings
from resweep.cli.shared.writing import locks


@locks("output", reads=["logs", "validate", "test"])
def detector(
    logs: learning.BoxedLogs,
    output: outputs.SemanticModel,
    validate: learning.Validate = None,
    test: learning.Test = None,
    labels: recordings.Labels = None,
    settings: learning.SettingsOfTraining = None,
    overwrite: outputs.OverwriteSemanticModel = False,
    as_json: outputs.JsonOfScores = False,
) -> None:
    """Train a bird's-eye detector that finds cars, and write it as ONNX with a card that says what it is.

    Logs have annotated boxes (KITTI, nuScenes, Argoverse ...), or labels with instances of cars (SemanticKITTI), around
    which boxes are fitted. --set classes=[car,pedestrian] finds other categories too. Scores are average precision at
    IoU .5 and .7, of objects with at least 1 and 10 returns: those of --test, else of the logs that chose the round.
    Stopped and started again with the same arguments, it goes on after the last finished round.

    Examples:
      resweep learn detector kitti/sequences/00 kitti/sequences/03 -o cars.model
      resweep learn detector drive1 drive2 --validate drive3 --test drive4 -o cars.model --set rounds=20 --json
    """
    from resweep.cli.shared.detector_scores import print_detector
    from resweep.cli.shared.inputs import nest_settings, open_recording
    from resweep.cli.shared.learned_models import check_apart
    from resweep.cli.shared.targets import check_folder
    from resweep.config import validate as check
    from resweep.learn.detector import DetectorConfig, learn_detector

    config = check(nest_settings(settings or []), DetectorConfig, "--set")
    check_folder(output, overwrite)
    check_apart({"LOG": logs, "--validate": validate or [], "--test": test or []})
    how = {"labels": labels, "empty_beams": False}
    opened = [[open_recording(path, False, **how) for path in paths] for paths in (logs, validate or [], test or [])]
    card = learn_detector(opened[0], output, config, validate=opened[1], test=opened[2], overwrite=overwrite)
    print_detector(output, card, as_json)
