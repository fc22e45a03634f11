"""The training of a detector: steps, rounds, and what a stopped training goes on from.

Everything that is drawn depends on the seed and the number of the step, so that a training that was stopped and goes on
gives the weights of one that was not.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from resweep.files.pieces import Pieces
from resweep.learn.detector.detector_config import DetectorConfig
from resweep.learn.detector.detector_network import DetectorNetwork, predict
from resweep.learn.detector.detector_samples import DetectorSample, PastedObject, gather_objects
from resweep.learn.detector.heat_targets import Targets, draw_batch
from resweep.learn.semantics.kpconv import load_torch
from resweep.learn.semantics.rounds import CHECKPOINT, TrainingProgress, restore_round, save_round, schedule_rate
from resweep.perception.detection.average_precision import find_average_precision
from resweep.perception.detection.birds_eye import draw_birds_eye
from resweep.perception.detection.box_matching import MatchRule, match_frame
from resweep.perception.detection.decoding import BOX_CHANNELS, decode
from resweep.progress import open_progress

_MAX_GRADIENT = 10.0
_FOCUS, _NEAR_PEAK = 2, 4  # exponents of the focal loss (CenterNet: alpha and beta)
_CHOSEN_IOU = 0.5  # at which rounds are compared


@dataclass
class DetectorProgress(TrainingProgress):
    """How far a training is; scores are average precision."""

    def describe(self) -> str:
        """The last round in a few words; nothing before it."""
        if not self.losses or not self.scores:
            return ""
        return f"round {self.epoch}: loss {self.losses[-1]:.3f}, AP {self.scores[-1]:.3f}"


def train(
    training: Sequence[DetectorSample],
    validation: Sequence[DetectorSample],
    config: DetectorConfig,
    kept: Pieces | None = None,
    progress: bool = True,
) -> tuple[DetectorNetwork, DetectorProgress]:
    """The network of the round that found the objects of the validation samples best, and how the training went.

    ``kept`` has a checkpoint after each round, from which the next call goes on.
    """
    torch = load_torch()
    network = DetectorNetwork(config.network, len(config.classes), config.seed)
    optimiser = torch.optim.AdamW(network.module.parameters(), config.rate, weight_decay=config.weight_decay)
    objects = gather_objects(training, config)
    state, best = DetectorProgress(), network.module.state_dict()
    found = None if kept is None else kept.find(CHECKPOINT)
    if found is not None:
        known, best = restore_round(found, network.module, optimiser)
        state = DetectorProgress(**vars(known))
    rows = np.linspace(0, len(validation) - 1, min(config.validation_sweeps, len(validation))).round().astype(int)
    chosen = [validation[row] for row in rows]
    with open_progress(progress) as shown:
        shown.start("training", config.rounds * config.steps)
        shown.advance(state.epoch * config.steps)

        def advance() -> None:
            shown.advance(1, state.describe())

        while state.epoch < config.rounds:
            state.losses.append(_run_round(network, optimiser, training, objects, config, state.epoch, advance))
            state.scores.append(score_network(network, chosen, config))
            if state.best < 0 or state.scores[-1] >= state.scores[state.best]:
                state.best = state.epoch
                best = {name: value.clone() for name, value in network.module.state_dict().items()}
            state.epoch += 1
            if kept is not None:
                save_round(kept, network.module, optimiser, state, best)
    network.module.load_state_dict(best)
    return network, state


def score_network(network: DetectorNetwork, samples: Sequence[DetectorSample], config: DetectorConfig) -> float:
    """The mean average precision over the classes that occur in the samples, seen from above; 0 if none does."""
    found = [_detect(network, sample, config) for sample in samples]
    scores = []
    for name in config.classes:
        rule = MatchRule(name, _CHOSEN_IOU)
        pairs = zip(found, samples, strict=True)
        scores.append(find_average_precision([match_frame(item, sample.truth, rule) for item, sample in pairs]).ap)
    known = [score for score in scores if not math.isnan(score)]
    return float(np.mean(known)) if known else 0.0


def _detect(network: DetectorNetwork, sample: DetectorSample, config: DetectorConfig) -> Any:
    image = draw_birds_eye(sample.points[:, :3], sample.points[:, 3], config.grid)
    return decode(predict(network, image), config.grid, config.classes, config.min_score)


def find_loss(answers: Any, targets: Targets, config: DetectorConfig) -> Any:
    """The focal loss of the heat maps (CenterNet, eq. 1) and the error of the boxes, where objects were annotated."""
    torch = load_torch()
    classes = len(config.classes)
    heat, cared = torch.from_numpy(targets.heat), torch.from_numpy(targets.cared)[:, None].float()
    logit = answers[:, :classes]
    yes, no = torch.nn.functional.logsigmoid(logit), torch.nn.functional.logsigmoid(-logit)
    share = torch.sigmoid(logit)
    peak = (heat == 1).float()
    losses = peak * (1 - share).pow(_FOCUS) * yes + (1 - peak) * (1 - heat).pow(_NEAR_PEAK) * share.pow(_FOCUS) * no
    of_heat = -(losses * cared).sum() / (peak * cared).sum().clamp(min=1)
    has_box = torch.from_numpy(targets.has_box)[:, None].float()
    apart = (answers[:, classes : classes + len(BOX_CHANNELS)] - torch.from_numpy(targets.box)).abs()
    of_box = (apart * has_box).sum() / has_box.sum().clamp(min=1)
    return of_heat + config.box_weight * of_box


def _run_round(
    network: DetectorNetwork,
    optimiser: Any,
    samples: Sequence[DetectorSample],
    objects: Sequence[PastedObject],
    config: DetectorConfig,
    epoch: int,
    advance: Callable[[], None],
) -> float:
    """The mean loss of the steps of a round."""
    torch = load_torch()
    network.module.train()
    total, losses = config.rounds * config.steps, []
    for step in range(epoch * config.steps, (epoch + 1) * config.steps):
        images, targets = draw_batch(samples, objects, config, np.random.default_rng([config.seed, step]))
        for group in optimiser.param_groups:
            group["lr"] = config.rate * schedule_rate(step / total)
        loss = find_loss(network(torch.from_numpy(images)), targets, config)
        optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(network.module.parameters(), _MAX_GRADIENT)
        optimiser.step()
        losses.append(float(loss.detach()))
        advance()
    return float(np.mean(losses))
