"""`fit_realism`: a model of a sensor, fitted to pairs and written as a folder of ONNX files and a card."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import numpy as np
from pydantic import Field, model_validator

import resweep
from resweep.config import Spec
from resweep.errors import ResweepError, SettingsError
from resweep.files import write_file
from resweep.learn.beam_pairs import BeamPair, PairConfig
from resweep.learn.blindness import add_blindness
from resweep.learn.default_scatter import score_default
from resweep.learn.examples import check_drops, hold_out, join_layouts
from resweep.learn.fitting import FitConfig, FittedModel, fit
from resweep.learn.networks import Task
from resweep.learn.pair_noise import estimate_noise
from resweep.simulate.beam_channels import CLASSES
from resweep.simulate.realism.model_card import RealismCard, write_card


class RealismConfig(Spec):
    """What is learned of a sensor, and how."""

    pairs: PairConfig = PairConfig()
    """How recorded sweeps are simulated again."""
    drop: FitConfig | None = FitConfig()
    """The model of which beams do not return; none leaves it out."""
    intensity: FitConfig | None = None
    """The model of the intensity of returns; none leaves it out."""
    noise: bool = True
    """Whether range noise is estimated, against range and incidence."""
    blind: bool = True
    """Whether networks know how often each laser comes back empty towards each azimuth; D's are not."""
    transferable: bool = False
    """Whether models know only material, incidence and share of the maximum range, which other sensors have too."""
    range_max_m: Annotated[float, Field(gt=0.0, le=10_000.0)] | None = None
    """Maximum range of the sensor, metres, for transferable models; that of the logs' sensor if left out."""
    held_out: Annotated[float, Field(gt=0.0, lt=1.0)] = 0.25
    """Share of the places that are held out, to stop early and to score."""

    @model_validator(mode="after")
    def _check(self) -> RealismConfig:
        if self.drop is None and self.intensity is None:
            raise SettingsError("drop", "neither drop nor intensity is to be learned; set one of them")
        for name, part in (("drop", self.drop), ("intensity", self.intensity)):
            if self.transferable and part is not None and part.variant == "unet":
                raise SettingsError(
                    f"{name}.variant",
                    "unet looks at the grid of one sensor, and the model is to be transferable; take mlp or trees",
                )
        return self


def fit_realism(
    pairs: Sequence[BeamPair],
    folder: Path,
    config: RealismConfig | None = None,
    *,
    labels: str = "",
    scale: float | None = None,
    range_max_m: float | None = None,
    checkpoints: Path | None = None,
    progress: bool = True,
) -> RealismCard:
    """Fit networks to pairs and write the model into ``folder``; returns its card.

    Whole logs are held out if there are several, else the last part of the one. ``labels`` names the vocabulary of
    the logs, ``scale`` is the full scale of their intensities, ``range_max_m`` the maximum range of their sensor (that
    of ``config`` before it), which transferable models need. ``checkpoints`` is a folder in which training is kept,
    to go on from.
    """
    config = config or RealismConfig()
    tasks: dict[Task, FitConfig | None] = {"drop": config.drop, "intensity": config.intensity}
    labelled = {pair.labelled for pair in pairs}
    if len(labelled) > 1:
        raise ResweepError("pairs: some logs have labels and others none; give logs of one kind, or relabel them")
    layout = join_layouts(pairs)
    training, held = hold_out(pairs, config.held_out)
    if not training:
        raise ResweepError("pairs: all sweeps would be held out; give more sweeps, or hold out fewer")
    if config.drop is not None:
        check_drops(training)
        check_drops(held)
    reach = config.range_max_m or range_max_m
    defaults = {task: score_default(held, task) for task in tasks}
    share = None
    if config.transferable:
        training, held = (_transfer(part, reach) for part in (training, held))
    elif config.blind:
        training, held, share = add_blindness(training, held, layout.rings)
    fitted: dict[str, FittedModel] = {}
    for task, how in tasks.items():
        if how is not None:
            kept = None if checkpoints is None else checkpoints / f"{task}.pt"
            found = fit(task, training, held, layout, how, checkpoint=kept, progress=progress)
            part = found.part.model_copy(update={"default_scores": defaults[task]})
            fitted[task] = replace(found, part=part)
    card = RealismCard(
        resweep=resweep.__version__,
        layout=layout,
        classes=CLASSES if labelled == {True} else (),
        labels=labels,
        blind_permille=() if share is None else np.round(share * 1000).astype(int).tolist(),
        intensity_max=_find_full_intensity(training),
        intensity_scale=scale,
        transferable=config.transferable,
        range_max_m=reach,
        trained_on=_name_places(training),
        held_out=_name_places(held),
        drop=fitted["drop"].part if "drop" in fitted else None,
        intensity=fitted["intensity"].part if "intensity" in fitted else None,
        noise=estimate_noise(training) if config.noise else None,
    )
    for model in fitted.values():
        for name, data in model.list_files().items():
            write_file(folder / name, data)
    write_card(folder, card)
    return card


def _transfer(pairs: Sequence[BeamPair], range_max_m: float | None) -> list[BeamPair]:
    """The pairs with the channels that mean the same for other sensors."""
    if range_max_m is None:
        raise ResweepError(
            "range_max_m: the maximum range of the logs' sensor is unknown, and a transferable model takes ranges "
            "against it; set range_max_m"
        )
    return [replace(pair, channels=pair.channels.transferred(range_max_m)) for pair in pairs]


def _name_places(pairs: Sequence[BeamPair]) -> tuple[str, ...]:
    places = list(dict.fromkeys(pair.place for pair in pairs))
    return tuple(f"{place}: {sum(pair.place == place for pair in pairs)} sweeps" for place in places)


def _find_full_intensity(pairs: Sequence[BeamPair]) -> float:
    """The intensity that one in a thousand recorded returns exceeds, at least."""
    light = np.concatenate([pair.intensity[pair.returned][::20] for pair in pairs])
    return max(float(np.quantile(light, 0.999)), 1e-6) if len(light) else 1.0
