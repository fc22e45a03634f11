"""``resweep learn``: models of a sensor, learned from its recordings."""

from __future__ import annotations

from collections.abc import Callable

import typer

from resweep.cli.options import building, learning, outputs, recordings, running
from resweep.cli.shared.commands import with_verbosity
from resweep.cli.shared.writing import describe_work, locks
from resweep.cli.verbs.learn_detector import detector
from resweep.cli.verbs.learn_segmenter import segmenter
from resweep.cli.verbs.learn_semantics import semantics

learn = typer.Typer(
    name="learn",
    help="Learn from recordings: which beams do not return, how bright returns are, what points are, where cars are.",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
)


@locks("output", reads=["logs"])
def raydrop(
    logs: learning.LogsOfSensor,
    output: outputs.Model,
    variant: learning.Variant = None,
    intensity: learning.Intensity = "mlp",
    transferable: learning.Transferable = False,
    method: building.MethodOfPairs = "hybrid",
    folds: learning.Folds = 3,
    epochs: learning.Epochs = None,
    set_: learning.Settings = None,
    labels: recordings.Labels = None,
    seed: running.SeedOfModel = 0,
    overwrite: outputs.OverwriteModel = False,
    as_json: outputs.Json = False,
) -> None:
    """Learn which beams of a sensor do not return, and how bright returns are.

    Each sweep is simulated at its own pose in a world built from other sweeps of its log, with its annotated objects.
    Where the simulation returns and the recording does not, a beam was dropped. The model is ONNX with a card in JSON;
    simulate, replay, dataset and evaluate take it as --realism. Scores are those of places that were held out: the last
    of several logs, or the last part of one.

    Stopped and started again with the same arguments, it goes on: MODEL.partial keeps finished sweeps and the training.

    Examples:
      resweep learn raydrop kitti/sequences/00 kitti/sequences/02 kitti/sequences/03 -o kitti.model
      resweep learn raydrop drive.bag -o quick.model --variant mlp --intensity none --method surfels
    """
    given = describe_work({"logs": logs, "method": method, "folds": folds, "labels": labels, "seed": seed})
    from resweep.cli.shared.inputs import build_config
    from resweep.cli.shared.learned_models import choose_realism, learn_sensor
    from resweep.cli.shared.targets import check_folder

    drops = variant or ("mlp" if transferable else "unet")
    training = {"seed": seed, **({} if epochs is None else {"epochs": epochs})}
    config = choose_realism(drops, intensity, folds, training, set_ or [], transferable)
    worlds = build_config(method, [])
    check_folder(output, overwrite)
    learn_sensor(logs, labels, output, config, worlds, overwrite, given, as_json)


# Each with the five options that most users need.
_COMMON: dict[Callable[..., None], tuple[str, ...]] = {
    raydrop: ("output", "variant", "method", "transferable", "overwrite"),
    semantics: ("output", "validate", "test", "settings", "overwrite"),
    detector: ("output", "validate", "test", "settings", "overwrite"),
    segmenter: ("output", "validate", "test", "settings", "overwrite"),
}
for _verb, _options in _COMMON.items():
    learn.command()(with_verbosity(_verb, _options))
