"""Training: Adam with early stopping, from checkpoints, with the same weights for a seed on a CPU."""

from __future__ import annotations

import hashlib
import io
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, Protocol

import numpy as np
from pydantic import Field

from resweep.config import Positive, Spec
from resweep.files.partial import hash_text
from resweep.files.pieces import Pieces
from resweep.learn.graphs import TorchOps
from resweep.learn.networks import NetworkShape, make_weights, run
from resweep.optional import require
from resweep.pose import Array
from resweep.progress import open_progress
from resweep.quantities import Count
from resweep.simulate.realism.onnx_network import HALO

PAPER_RATE = 1e-4  # D, 5.1
_RAYS_PER_BATCH = 4096
_MIN_BATCHES = 40  # an epoch
_RAY_BATCHES = 80
_CROP_COLUMNS = 512  # columns of an image that are looked at together
_CROPS_PER_BATCH = 4
_MAX_VALIDATION_RAYS = 400_000  # by which an epoch is judged


class TrainingConfig(Spec):
    """How a network is trained."""

    learning_rate: Positive = 2e-3
    """Step of Adam at first; D has 1e-4."""
    schedule: Literal["cosine", "constant"] = "cosine"
    """How the step falls over the epochs; D does not give it."""
    epochs: Annotated[int, Field(ge=1, le=100_000)] = 40
    """Epochs at most."""
    patience: Count = 10
    """Epochs without a better held-out loss, after which training stops."""
    seed: Annotated[int, Field(ge=0, lt=2**31)] = 0
    """Seed of weights and batches."""
    threads: Annotated[int, Field(ge=1, le=64)] = 2
    """Threads of PyTorch; another number rounds differently."""


class Examples(Protocol):
    """Channels with the targets that a network is trained to predict."""

    def batches(self, random: np.random.Generator) -> Iterator[tuple[Array, Array, Array]]:
        """Batches of one epoch: channels, targets, and weights of the targets."""
        ...

    def validation_batches(self) -> Iterator[tuple[Array, Array, Array]]:
        """All examples, or as many as suffice, in fixed batches."""
        ...


@dataclass(frozen=True, eq=False)
class RayExamples:
    """Rays (n, 9) with targets (n,)."""

    values: Array
    target: Array

    def batches(self, random: np.random.Generator) -> Iterator[tuple[Array, Array, Array]]:
        """Rays drawn at random."""
        size = min(_RAYS_PER_BATCH, max(256, len(self.target) // _MIN_BATCHES))
        for _ in range(min(_RAY_BATCHES, max(_MIN_BATCHES, len(self.target) // size))):
            rows = random.integers(0, len(self.target), size)
            yield self.values[rows], self.target[rows, None], np.ones((size, 1), np.float32)

    def validation_batches(self) -> Iterator[tuple[Array, Array, Array]]:
        """Evenly spread rays."""
        step = max(1, len(self.target) // _MAX_VALIDATION_RAYS)
        values, target = self.values[::step], self.target[::step, None]
        for first in range(0, len(target), 1 << 16):
            part = target[first : first + (1 << 16)]
            yield values[first : first + (1 << 16)], part, np.ones_like(part)


@dataclass(frozen=True, eq=False)
class ImageExamples:
    """Images (n, 9, rows, columns), targets and weights (n, rows, columns); columns go round."""

    images: Sequence[Array]
    targets: Sequence[Array]
    weights: Sequence[Array]

    def batches(self, random: np.random.Generator) -> Iterator[tuple[Array, Array, Array]]:
        """Crops at random columns, half of them mirrored; those of the halo do not count."""
        columns = self.images[0].shape[2]
        crop = min(_CROP_COLUMNS, columns)
        each = max(1, columns // crop)
        order = np.repeat(random.permutation(len(self.images)), each)
        starts, mirrored = random.integers(0, columns, len(order)), random.random(len(order)) < 0.5
        for first in range(0, len(order), _CROPS_PER_BATCH):
            chosen = range(first, min(first + _CROPS_PER_BATCH, len(order)))
            yield _stack([self._cut(order[at], starts[at], crop, bool(mirrored[at])) for at in chosen])

    def validation_batches(self) -> Iterator[tuple[Array, Array, Array]]:
        """Whole images."""
        for at in range(len(self.images)):
            yield _stack([self._cut(at, 0, self.images[0].shape[2], False)])

    def _cut(self, at: int, start: int, columns: int, mirrored: bool) -> tuple[Array, Array, Array]:
        place = np.arange(start - HALO, start + columns + HALO)
        if mirrored:
            place = place[::-1]
        image, target, weight = (
            np.take(values[at], place, axis=-1, mode="wrap") for values in (self.images, self.targets, self.weights)
        )
        weight[:, :HALO] = weight[:, -HALO:] = 0.0
        return image, target[None], weight[None]


def _stack(parts: list[tuple[Array, Array, Array]]) -> tuple[Array, Array, Array]:
    images, targets, weights = (np.ascontiguousarray(np.stack(column)) for column in zip(*parts, strict=True))
    return images, targets, weights


@dataclass(frozen=True, eq=False)
class TrainingResult:
    """The best weights, by held-out loss, and the losses of each epoch: (training, held-out)."""

    weights: dict[str, Any]
    history: list[tuple[float, float]]


def train(
    shape: NetworkShape,
    examples: Examples,
    held_out: Examples,
    config: TrainingConfig,
    *,
    checkpoint: Path | None = None,
    progress: bool = True,
) -> TrainingResult:
    """Train a network; training that was stopped goes on from its ``checkpoint``, with the same result.

    The loss is the cross-entropy: of drops, and of the bins of intensity.
    """
    torch = require("torch", "training a network")
    before = torch.get_num_threads()
    torch.set_num_threads(config.threads)
    try:
        state = _TrainingState(torch, shape, config, examples, checkpoint)
        with open_progress(progress) as shown:
            shown.start(f"training {shape.variant} for {shape.task}", config.epochs)
            shown.advance(len(state.history))
            while not state.finished:
                state.epoch(examples, held_out)
                state.save()
                trained, validation = state.history[-1]
                shown.advance(1, f"loss {trained:.4f}, held out {validation:.4f}, best {state.best_loss:.4f}")
        return TrainingResult(state.best, state.history)
    finally:
        torch.set_num_threads(before)


def _hash_examples(examples: Examples) -> str:
    """A hash of all that is learned from."""
    digest = hashlib.sha256()
    for columns in vars(examples).values():
        for column in [columns] if isinstance(columns, np.ndarray) else columns:
            digest.update(np.ascontiguousarray(column).tobytes())
    return digest.hexdigest()


class _TrainingState:
    """The state of a training: epoch, weights, losses."""

    def __init__(
        self, torch: Any, shape: NetworkShape, config: TrainingConfig, examples: Examples, checkpoint: Path | None
    ) -> None:
        self._torch, self._shape, self._config, self._file = torch, shape, config, checkpoint
        self._pieces: Pieces | None = None
        if checkpoint is not None:
            key = hash_text(shape, config.model_dump_json(), _hash_examples(examples))
            self._pieces = Pieces(checkpoint.parent, key)
        self.weights = {name: value.requires_grad_() for name, value in make_weights(shape, config.seed).items()}
        self._optimiser = torch.optim.Adam(list(self.weights.values()), lr=config.learning_rate)
        self.best = self._copy()
        self.history: list[tuple[float, float]] = []
        self._load()

    @property
    def best_loss(self) -> float:
        """The least held-out loss so far."""
        return min((validation for _, validation in self.history), default=math.inf)

    @property
    def finished(self) -> bool:
        """Whether there is nothing more to do."""
        validation = [loss for _, loss in self.history]
        since = len(validation) - 1 - validation.index(min(validation)) if validation else 0
        return len(validation) >= self._config.epochs or since >= self._config.patience

    def epoch(self, examples: Examples, held_out: Examples) -> None:
        """One epoch, and the held-out loss after it."""
        done = len(self.history)
        random = np.random.default_rng([self._config.seed, done])
        if self._config.schedule == "cosine":
            rate = self._config.learning_rate * 0.5 * (1.0 + math.cos(math.pi * done / self._config.epochs))
            self._optimiser.param_groups[0]["lr"] = rate
        sums = np.zeros(2)
        for batch in examples.batches(random):
            loss, weight = self._loss(batch)
            self._optimiser.zero_grad()
            (loss / max(weight, 1.0)).backward()
            self._optimiser.step()
            sums += float(loss.detach()), weight
        validation = self.validate(held_out)
        if validation < self.best_loss:
            self.best = self._copy()
        self.history.append((float(sums[0] / max(sums[1], 1.0)), validation))

    def validate(self, held_out: Examples) -> float:
        """The mean loss of examples."""
        sums = np.zeros(2)
        with self._torch.no_grad():
            for batch in held_out.validation_batches():
                loss, weight = self._loss(batch)
                sums += float(loss), weight
        return float(sums[0] / max(sums[1], 1.0))

    def _loss(self, batch: tuple[Array, Array, Array]) -> tuple[Any, float]:
        """The summed loss of a batch, and the sum of its weights."""
        x, target, weight = (self._torch.from_numpy(np.ascontiguousarray(part, np.float32)) for part in batch)
        if self._shape.is_image:  # a third faster
            x = x.contiguous(memory_format=self._torch.channels_last)
        out = run(TorchOps(), self._shape, self.weights, x)
        if self._shape.task == "drop":
            losses = self._torch.nn.functional.binary_cross_entropy_with_logits(out, target, reduction="none")
        else:
            losses = self._torch.nn.functional.cross_entropy(out, target[:, 0].long(), reduction="none")[:, None]
        return (losses * weight).sum(), float(weight.sum())

    def _copy(self) -> dict[str, Any]:
        return {name: value.detach().clone() for name, value in self.weights.items()}

    def save(self) -> None:
        """Keep the state in the checkpoint, if there is one."""
        if self._file is None or self._pieces is None:
            return
        state = {
            "weights": self._copy(),
            "best": self.best,
            "optimiser": self._optimiser.state_dict(),
            "history": [list(pair) for pair in self.history],
        }
        buffer = io.BytesIO()
        self._torch.save(state, buffer)
        self._pieces.write(self._file.stem, {"state": np.frombuffer(buffer.getvalue(), np.uint8)})

    def _load(self) -> None:
        if self._file is None or self._pieces is None or (kept := self._pieces.find(self._file.stem)) is None:
            return
        state = self._torch.load(io.BytesIO(kept.arrays["state"].tobytes()), weights_only=True)
        with self._torch.no_grad():
            for name, value in state["weights"].items():
                self.weights[name].copy_(value)
        self.best = state["best"]
        self._optimiser.load_state_dict(state["optimiser"])
        self.history = [(pair[0], pair[1]) for pair in state["history"]]
