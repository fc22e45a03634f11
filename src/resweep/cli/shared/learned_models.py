"""What ``resweep learn`` does: settings from options, training, and how good a model is."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from resweep.errors import ResweepError, nearest_names
from resweep.files.strict_json import format_json, replace_not_finite

if TYPE_CHECKING:
    from resweep.build import BuildConfig
    from resweep.learn.realism import RealismConfig
    from resweep.perception.segmentation.segmenter_card import SegmenterCard
    from resweep.segmentation import SegmentationCard
    from resweep.simulate.realism import RealismCard

_NONE = "none"
_SHOWN = ("drop_rate", "drop_precision", "drop_recall", "drop_f1", "brier", "brier_base", "log_loss", "ece")


def choose_realism(
    drops: str, intensity: str, folds: int, training: dict[str, int], settings: list[str], transferable: bool
) -> RealismConfig:
    """The settings that the options stand for; ``training`` has the seed, and the epochs if they are given."""
    from resweep.cli.shared.inputs import nest_settings
    from resweep.config import validate
    from resweep.learn.fitting import VARIANTS
    from resweep.learn.realism import RealismConfig

    seed = training["seed"]
    given: dict[str, Any] = {"pairs": {"folds": folds, "seed": seed}, "transferable": transferable}
    for name, option, variant in (("drop", "--variant", drops), ("intensity", "--intensity", intensity)):
        if variant != _NONE and variant not in VARIANTS:
            raise ResweepError(f"{option} '{variant}': {nearest_names(variant, [*VARIANTS, _NONE])}")
        fitting = {"variant": variant, "training": training, "trees": {"seed": seed}}
        given[name] = None if variant == _NONE else fitting
    return validate(nest_settings(settings, given), RealismConfig, "--set")


def learn_sensor(
    logs: list[Path],
    labels: str | None,
    output: Path,
    config: RealismConfig,
    method: BuildConfig,
    overwrite: bool,
    made_from: dict[str, str],
    as_json: bool,
) -> None:
    """Learn a model of the sensor of some logs, in worlds of a method, and print its scores."""
    from resweep.cli.shared.inputs import open_posed
    from resweep.dataset.learning import learn_realism

    begun = time.perf_counter()
    opened = [open_posed(path, False, labels=labels) for path in logs]
    card = learn_realism(opened, output, config, method=method, overwrite=overwrite, made_from=made_from)
    _print_realism(output, card, time.perf_counter() - begun, as_json)


def _print_realism(output: Path, card: RealismCard, seconds: float, as_json: bool) -> None:
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
        facts = {"output": str(output), "sweeps": _count_sweeps(card), "seconds": seconds, **scores}
        typer.echo(format_json(replace_not_finite(facts)))


def _count_sweeps(card: RealismCard) -> int:
    """Sweeps that a model was trained on or judged by: each place of a card ends with their number."""
    return sum(int(place.rpartition(": ")[2].split()[0]) for place in (*card.trained_on, *card.held_out))


def check_apart(given: dict[str, list[Path]]) -> None:
    """Raise if a log serves two purposes: scores on what was trained on mean nothing."""
    used: dict[str, str] = {}
    for option, paths in given.items():
        for path in paths:
            other = used.setdefault(os.path.realpath(path), option)
            if other != option:
                raise ResweepError(f"{option} {path}: is given as {other} too; give a log of another place")


def print_scores(output: Path, card: SegmentationCard | SegmenterCard, as_json: bool) -> None:
    """Print how well a model labels points, class by class."""
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
        typer.echo(format_json(replace_not_finite({**kept, **rest, **best})))
