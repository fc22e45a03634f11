"""``resweep learn segmenter``: a model that segments range images, from labelled logs."""

from __future__ import annotations

from resweep.cli.options import learning, outputs, recordings
from resweep.cli.shared.writing import locks


@locks("output", reads=["logs", "validate", "test"])
def segmenter(
    logs: learning.LabelledLogs,
    output: outputs.SemanticModel,
    validate: learning.Validate = None,
    test: learning.Test = None,
    labels: recordings.Labels = None,
    settings: learning.SettingsOfSegmenter = None,
    overwrite: outputs.OverwriteSemanticModel = False,
    as_json: outputs.JsonOfScores = False,
) -> None:
    """Train a small network that segments range images, and write it as ONNX with a card that says what it is.

    Classes are vehicle, road, other ground, building, vegetation, pole and person, those that occur on at least 0.2 %
    of the labelled returns; --set gives others by the categories of their labels. Scores are those of --test, else of
    the logs that chose the round. A log without intensities is learned without. Stopped and started again with the
    same arguments, it goes on after the last finished round.

    Examples:
      resweep learn segmenter kitti/sequences/00 kitti/sequences/03 kitti/sequences/05 -o street.model
      resweep learn segmenter drive1 drive2 --validate drive3 --test drive4 -o street.model --set epochs=20 --json
      resweep learn segmenter drive1 -o cars.model --set 'classes={vehicle: [vehicle], ground: [ground]}'
    """
    from resweep.cli.shared.inputs import nest_settings, open_recording
    from resweep.cli.shared.learned_models import check_apart, print_scores
    from resweep.cli.shared.targets import check_folder
    from resweep.config import validate as check
    from resweep.learn.segmenter import SegmenterConfig, learn_segmenter

    config = check(nest_settings(settings or []), SegmenterConfig, "--set")
    check_folder(output, overwrite)
    check_apart({"LOG": logs, "--validate": validate or [], "--test": test or []})
    given = (logs, validate or [], test or [])
    opened = [[open_recording(path, False, labels=labels) for path in paths] for paths in given]
    card = learn_segmenter(opened[0], output, config, validate=opened[1], test=opened[2], overwrite=overwrite)
    print_scores(output, card, as_json)
