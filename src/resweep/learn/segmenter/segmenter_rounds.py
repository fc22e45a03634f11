"""The training of a segmenter: steps, rounds, and what a stopped training goes on from.

Everything that is drawn depends on the seed and the number of the step, so that a training that was stopped and goes on
gives the weights of one that was not.
"""

from __future__ import annotations

import copy
import io
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from resweep.files.pieces import Pieces, StoredPiece
from resweep.learn.segmenter.config import SegmenterConfig
from resweep.learn.segmenter.image_changes import draw_image
from resweep.learn.segmenter.image_samples import IGNORED, ImageSample
from resweep.learn.segmenter.segmenter_loss import measure_loss
from resweep.learn.segmenter.segmenter_network import SegmenterNetwork, predict
from resweep.learn.semantics.iou import count_pairs, mean_iou
from resweep.learn.semantics.kpconv import load_torch
from resweep.learn.semantics.rounds import CHECKPOINT, TrainingProgress, schedule_rate, weigh_classes
from resweep.perception.segmentation.segmenter import normalise
from resweep.progress import open_progress

Normalisation = Mapping[str, tuple[float, float]]
_MAX_GRADIENT = 10.0
_FIRST_AVERAGE = 10  # steps over which the moving average grows to its full length


class SegmenterTraining:
    """A network that is being trained, the moving average of it that is kept, and how far it is."""

    def __init__(
        self, samples: Sequence[ImageSample], classes: int, by: Normalisation, intensity: bool, config: SegmenterConfig
    ) -> None:
        torch = load_torch()
        self._samples, self._by, self._intensity, self._config = samples, by, intensity, config
        self._network = SegmenterNetwork(config.network, classes, config.seed)
        self.average = copy.deepcopy(self._network)
        parameters = self._network.module.parameters()
        self._optimiser = torch.optim.AdamW(parameters, config.rate, weight_decay=config.weight_decay)
        self._weight = torch.from_numpy(weigh_classes(samples, classes, config.balance))
        self.state = TrainingProgress()
        self.best = self._copy()

    def run_round(self, advance: Callable[[], None]) -> None:
        """The steps of a round."""
        losses = []
        for step in range(self.state.epoch * self._config.steps, (self.state.epoch + 1) * self._config.steps):
            loss = self._run_step(step)
            if loss is not None:
                losses.append(loss)
            advance()
        self.state.losses.append(float(np.mean(losses)) if losses else math.nan)

    def _run_step(self, step: int) -> float | None:
        """The loss of a step; None where no cell has a class."""
        torch, config = load_torch(), self._config
        torch.manual_seed(config.seed * 1_000_003 + step)  # of dropout
        images, labels = self._draw_batch(np.random.default_rng([config.seed, step]))
        for group in self._optimiser.param_groups:
            group["lr"] = config.rate * schedule_rate(step / (config.epochs * config.steps))
        self._network.module.train()
        scores = self._network(images)[:, : self._network.classes]
        loss = measure_loss(scores, labels, self._weight, config.lovasz) if bool((labels != IGNORED).any()) else None
        if loss is None or not bool(torch.isfinite(loss)):
            return None
        self._optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self._network.module.parameters(), _MAX_GRADIENT)
        self._optimiser.step()
        self._follow(min(config.average, (step + 1) / (step + 1 + _FIRST_AVERAGE)))
        return float(loss.detach())

    def _draw_batch(self, rng: np.random.Generator) -> tuple[Any, Any]:
        torch, config = load_torch(), self._config
        images, labels = [], []
        for _ in range(config.crops):
            values, label = draw_image(self._samples, config.augment, rng)
            first = int(rng.integers(config.columns - config.crop_columns + 1))
            cut = slice(first, first + config.crop_columns)
            images.append(normalise(values[:, :, cut], self._by, self._intensity))
            labels.append(label[:, cut])
        return torch.from_numpy(np.stack(images)), torch.from_numpy(np.stack(labels))

    def _follow(self, kept: float) -> None:
        """Move the average towards the network."""
        torch = load_torch()
        with torch.no_grad():
            now = self._network.module.state_dict()
            for name, value in self.average.module.state_dict().items():
                if value.dtype.is_floating_point:
                    value.mul_(kept).add_(now[name], alpha=1 - kept)
                else:
                    value.copy_(now[name])

    def judge(self, samples: Sequence[ImageSample]) -> None:
        """Score the average on samples; it is kept if it is the best so far."""
        classes = self._network.classes
        pairs = np.zeros((classes, classes), np.int64)
        for sample in samples:
            found = predict(self.average, normalise(sample.image.values, self._by, self._intensity)[None])[0, :classes]
            pairs += count_pairs(sample.label.ravel(), found.argmax(axis=0).ravel(), classes)
        self.state.scores.append(mean_iou(pairs))
        if self.state.best < 0 or self.state.scores[-1] > self.state.scores[self.state.best]:
            self.state.best = self.state.epoch
            self.best = self._copy()
        self.state.epoch += 1

    def finish(self) -> SegmenterNetwork:
        """The network of the best round."""
        self.average.module.load_state_dict(self.best)
        return self.average

    def save(self, kept: Pieces) -> None:
        """Keep all that the next rounds depend on."""
        held = io.BytesIO()
        whole = {
            "network": self._network.module.state_dict(),
            "average": self.average.module.state_dict(),
            "optimiser": self._optimiser.state_dict(),
            "best": self.best,
            "state": vars(self.state),
        }
        load_torch().save(whole, held)
        kept.write(CHECKPOINT, {"state": np.frombuffer(held.getvalue(), np.uint8)})

    def restore(self, found: StoredPiece) -> None:
        """Go on from what `save` kept."""
        whole = load_torch().load(io.BytesIO(found.arrays["state"].tobytes()), weights_only=True)
        self._network.module.load_state_dict(whole["network"])
        self.average.module.load_state_dict(whole["average"])
        self._optimiser.load_state_dict(whole["optimiser"])
        self.best, self.state = whole["best"], TrainingProgress(**whole["state"])

    def _copy(self) -> dict[str, Any]:
        return {name: value.clone() for name, value in self.average.module.state_dict().items()}


def train(
    training: SegmenterTraining,
    validation: Sequence[ImageSample],
    config: SegmenterConfig,
    kept: Pieces | None = None,
    progress: bool = True,
) -> SegmenterNetwork:
    """The network of the round that labelled the validation samples best.

    ``kept`` has a checkpoint after each round, from which the next call goes on.
    """
    found = None if kept is None else kept.find(CHECKPOINT)
    if found is not None:
        training.restore(found)
    rows = np.linspace(0, len(validation) - 1, min(config.validation_sweeps, len(validation))).round().astype(int)
    chosen = [validation[row] for row in rows]
    with open_progress(progress) as shown:
        shown.start("training", config.epochs * config.steps)
        shown.advance(training.state.epoch * config.steps)
        while training.state.epoch < config.epochs:
            training.run_round(lambda: shown.advance(1, training.state.describe()))
            training.judge(chosen)
            if kept is not None:
                training.save(kept)
    return training.finish()


def measure_channels(samples: Sequence[ImageSample], names: Sequence[str]) -> dict[str, tuple[float, float]]:
    """Mean and spread of each measured channel over all cells with a return; x and y have mean 0, as sweeps turn."""
    sums = np.zeros((3, len(names)))
    for sample in samples:
        values = sample.image.values[:, sample.image.nearest >= 0].astype(np.float64)[: len(names)]
        sums += np.full(len(names), values.shape[1]), values.sum(axis=1), (values**2).sum(axis=1)
    count = np.maximum(sums[0], 1)
    mean = np.where(np.isin(names, ("x", "y")), 0.0, sums[1] / count)
    spread = np.sqrt(np.maximum(sums[2] / count - mean**2, 1e-6))
    return {name: (round(float(a), 5), round(float(b), 5)) for name, a, b in zip(names, mean, spread, strict=True)}
