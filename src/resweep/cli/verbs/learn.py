"""``resweep learn``: models of a sensor, learned from its recordings."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from resweep.cli.options import building, learning, outputs, recordings, running
from resweep.cli.shared.commands import with_verbosity
from resweep.cli.shared.writing import describe_work, locks
from resweep.cli.verbs.learn_semantics import semantics
from resweep.errors import ResweepError, nearest_names

if TYPE_CHECKING:
    from resweep.learn.realism import RealismConfig
    from resweep.simulate.realism import RealismCard

learn = typer.Typer(
    name="learn",
    help="Learn from recordings: which beams do not return, how bright returns are, what each point is.",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
)
_NONE = "none"
_SHOWN = ("drop_rate", "drop_precision", "drop_recall", "drop_f1", "brier", "brier_base", "log_loss", "ece")


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
    words = {"logs": logs, "method": method, "folds": folds, "labels": labels, "seed": seed}
    given = describe_work(words)
    from resweep.cli.shared.inputs import build_config, check_folder, open_posed
    from resweep.dataset.learning import learn_realism

    begun = time.perf_counter()
    config = _choose(
        variant or ("mlp" if transferable else "unet"), intensity, folds, epochs, seed, set_ or [], transferable
    )
    building = build_config(method, [])
    check_folder(output, overwrite)
    opened = [open_posed(path, False, labels=labels) for path in logs]
    card = learn_realism(opened, output, config, method=building, overwrite=overwrite, resume=given)
    _report(output, card, time.perf_counter() - begun, as_json)


def _choose(
    variant: str,
    intensity: str,
    folds: int,
    epochs: int | None,
    seed: int,
    words: list[str],
    transferable: bool = False,
) -> RealismConfig:
    """The settings that the options stand for."""
    from resweep.cli.shared.inputs import nest_settings
    from resweep.config import validate
    from resweep.learn.fitting import VARIANTS
    from resweep.learn.realism import RealismConfig

    training = {"seed": seed, **({} if epochs is None else {"epochs": epochs})}
    given: dict[str, Any] = {"pairs": {"folds": folds, "seed": seed}, "transferable": transferable}
    for name, option, word in (("drop", "--variant", variant), ("intensity", "--intensity", intensity)):
        if word != _NONE and word not in VARIANTS:
            raise ResweepError(f"{option} '{word}': {nearest_names(word, [*VARIANTS, _NONE])}")
        fitting = {"variant": word, "training": training, "trees": {"seed": seed}}
        given[name] = None if word == _NONE else fitting
    return validate(nest_settings(words, given), RealismConfig, "--set")


def _report(output: Path, card: RealismCard, seconds: float, as_json: bool) -> None:
    typer.echo(f"{output}: learned in {seconds:.0f} s from {', '.join(card.trained_on)}")
    typer.echo(f"held out: {', '.join(card.held_out)}")
    if card.drop is not None:
        shown = ", ".join(f"{name} {card.drop.scores[name]:.4f}" for name in _SHOWN)
        typer.echo(f"drops by {card.drop.variant}, {card.drop.parameters:,} weights: {shown}")
    if card.intensity is not None:
        shown = ", ".join(f"{name} {value:.4f}" for name, value in card.intensity.scores.items())
        typer.echo(f"intensity by {card.intensity.variant}, {card.intensity.parameters:,} weights: {shown}")
    if as_json:
        scores = {name: part.scores for name, part in card.parts.items()}
        typer.echo(json.dumps({"output": str(output), "sweeps": _count_sweeps(card), "seconds": seconds, **scores}))


def _count_sweeps(card: RealismCard) -> int:
    """Sweeps that a model was trained on or judged by: each place of a card ends with their number."""
    return sum(int(place.rpartition(": ")[2].split()[0]) for place in (*card.trained_on, *card.held_out))


# Each with the five options that most users need.
_COMMON: dict[Callable[..., None], tuple[str, ...]] = {
    raydrop: ("output", "variant", "method", "transferable", "overwrite"),
    semantics: ("output", "validate", "test", "settings", "overwrite"),
}
for _verb, _options in _COMMON.items():
    learn.command()(with_verbosity(_verb, _options))
