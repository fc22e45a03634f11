"""The training of a network: steps, rounds, and what a stopped training goes on from.

Everything that is drawn depends on the seed and the number of the step, so that a training that was stopped and goes on
gives the weights of one that was not.
"""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from resweep.files.pieces import Pieces, StoredPiece
from resweep.learn.semantics.config import SemanticsConfig
from resweep.learn.semantics.iou import count_pairs, mean_iou
from resweep.learn.semantics.kpconv import KpConvNetwork, load_torch, predict, to_tensors
from resweep.learn.semantics.samples import IGNORED, Sample, draw_batch
from resweep.pose import Array
from resweep.progress import open_progress
from resweep.segmentation.pyramid import Pyramid, make_pyramid

CHECKPOINT = "training"  # the piece
_WARM_UP = 0.05  # share of the steps in which the rate rises
_MAX_GRADIENT = 10.0


@dataclass
class TrainingProgress:
    """How far a training is: the next round, the loss and score of each round, and the best round so far."""

    epoch: int = 0
    losses: list[float] = field(default_factory=list)
    scores: list[float] = field(default_factory=list)
    best: int = -1

    def describe(self) -> str:
        """The last round in a few words; nothing before it."""
        if not self.losses or not self.scores:
            return ""
        return f"round {self.epoch}: loss {self.losses[-1]:.3f}, mIoU {self.scores[-1]:.3f}"


def train(
    training: Sequence[Sample],
    validation: Sequence[Sample],
    classes: int,
    config: SemanticsConfig,
    kept: Pieces | None = None,
    progress: bool = True,
) -> tuple[KpConvNetwork, TrainingProgress]:
    """The network of the round that labelled the validation samples best, and how the training went.

    ``kept`` has a checkpoint after each round, from which the next call goes on.
    """
    torch = load_torch()
    network = KpConvNetwork(config.network, classes, config.seed)
    optimiser = torch.optim.AdamW(network.module.parameters(), config.rate, weight_decay=config.weight_decay)
    weight = torch.from_numpy(weigh_classes(training, classes, config.balance))
    state, best = TrainingProgress(), network.module.state_dict()
    found = None if kept is None else kept.find(CHECKPOINT)
    if found is not None:
        state, best = restore_round(found, network.module, optimiser)
    chosen = [_prepare(sample, config) for sample in _choose_evenly(validation, config.validation_sweeps)]
    with open_progress(progress) as shown:
        shown.start("training", config.epochs * config.steps)
        shown.advance(state.epoch * config.steps)

        def advance() -> None:
            shown.advance(1, state.describe())

        while state.epoch < config.epochs and state.epoch - 1 - state.best < config.patience:
            state.losses.append(_run_round(network, optimiser, training, weight, config, state.epoch, advance))
            pairs = sum(_count(network, sample, pyramid, classes) for sample, pyramid in chosen)
            state.scores.append(mean_iou(np.asarray(pairs)))
            if state.best < 0 or state.scores[-1] > state.scores[state.best]:
                state.best = state.epoch
                best = {name: value.clone() for name, value in network.module.state_dict().items()}
            state.epoch += 1
            if kept is not None:
                save_round(kept, network.module, optimiser, state, best)
    network.module.load_state_dict(best)
    return network, state


class ClassedSample(Protocol):
    """A sample of training, with the class of each of its points or cells, below 0 for none."""

    @property
    def label(self) -> Array: ...


def weigh_classes(samples: Sequence[ClassedSample], classes: int, balance: float) -> Array:
    """Weights (c,) float32 of the classes, by their share of all points; 0 for one that does not occur."""
    count = sum(np.bincount(sample.label[sample.label >= 0], minlength=classes) for sample in samples)
    share = np.asarray(count) / max(int(np.sum(count)), 1)
    weight = np.array([0.0 if item == 0 else float(item) ** -balance for item in share])
    return np.asarray(weight / weight[weight > 0].mean(), np.float32)


def _prepare(sample: Sample, config: SemanticsConfig) -> tuple[Sample, Pyramid]:
    network = config.network
    return sample, make_pyramid(sample.thinned.points, network.cell_m, network.levels, network.neighbours, threads=0)


def _count(network: KpConvNetwork, sample: Sample, pyramid: Pyramid, classes: int) -> Array:
    predicted = predict(network, sample.thinned.features, pyramid).argmax(axis=1)
    return count_pairs(sample.truth, predicted[sample.thinned.cell], classes)


def _choose_evenly(samples: Sequence[Sample], max_count: int) -> list[Sample]:
    """At most so many of the samples, evenly spread."""
    rows = np.linspace(0, len(samples) - 1, min(max_count, len(samples))).round().astype(int)
    return [samples[row] for row in rows]


def _run_round(
    network: KpConvNetwork,
    optimiser: Any,
    samples: Sequence[Sample],
    weight: Any,
    config: SemanticsConfig,
    epoch: int,
    advance: Callable[[], None],
) -> float:
    """The mean loss of the steps of a round."""
    torch = load_torch()
    network.module.train()
    total, losses = config.epochs * config.steps, []
    for step in range(epoch * config.steps, (epoch + 1) * config.steps):
        torch.manual_seed(config.seed * 1_000_003 + step)  # of dropout
        features, label, pyramid = draw_batch(samples, config, np.random.default_rng([config.seed, step]))
        for group in optimiser.param_groups:
            group["lr"] = config.rate * schedule_rate(step / total)
        scores = network(torch.from_numpy(features), to_tensors(pyramid))
        loss = torch.nn.functional.cross_entropy(scores, torch.from_numpy(label), weight, ignore_index=IGNORED)
        if torch.isfinite(loss):  # not where no point of the parts has a class
            optimiser.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(network.module.parameters(), _MAX_GRADIENT)
            optimiser.step()
            losses.append(float(loss.detach()))
        advance()
    return float(np.mean(losses)) if losses else math.nan


def schedule_rate(done: float) -> float:
    """The share of the highest rate when a share of the steps is done: up in a line, down as a cosine."""
    if done < _WARM_UP:
        return max(done / _WARM_UP, 0.05)
    return 0.5 * (1 + math.cos(math.pi * (done - _WARM_UP) / (1 - _WARM_UP)))


def save_round(kept: Pieces, module: Any, optimiser: Any, state: TrainingProgress, best: Any) -> None:
    """Keep all that a training goes on from: weights of a ``module``, its optimiser, progress and ``best`` weights."""
    held = io.BytesIO()
    whole = {
        "network": module.state_dict(),
        "optimiser": optimiser.state_dict(),
        "best": best,
        "state": vars(state),
    }
    load_torch().save(whole, held)
    kept.write(CHECKPOINT, {"state": np.frombuffer(held.getvalue(), np.uint8)})


def restore_round(found: StoredPiece, module: Any, optimiser: Any) -> tuple[TrainingProgress, Any]:
    """Give a module and its optimiser what was kept; and how far the training was, and the best weights."""
    whole = load_torch().load(io.BytesIO(found.arrays["state"].tobytes()), weights_only=True)
    module.load_state_dict(whole["network"])
    optimiser.load_state_dict(whole["optimiser"])
    return TrainingProgress(**whole["state"]), whole["best"]
