"""One harness for all variants: fitted to pairs, calibrated, exported, and scored on places that were held out."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from resweep.config import Spec
from resweep.learn.examples import make_images, make_rays, measure_channels, select_beams, select_target
from resweep.learn.networks import Shape, Task, count_weights, export
from resweep.learn.pairs import Pair
from resweep.learn.scores import find_cut, find_temperature, score_drops, score_intensity
from resweep.learn.training import TrainingConfig, train
from resweep.learn.trees import TreeConfig, boost, count_nodes, export_trees
from resweep.pose import Array
from resweep.simulate.realism.card import Part
from resweep.simulate.realism.channels import CHANNELS, REAL
from resweep.simulate.realism.layout import Layout
from resweep.simulate.realism.network import Network

Variant = Literal["logistic", "mlp", "trees", "unet"]
VARIANTS: tuple[Variant, ...] = ("logistic", "mlp", "trees", "unet")


class FitConfig(Spec):
    """What is fitted, and how."""

    variant: Variant = "unet"
    """logistic on range, incidence and intensity; mlp of 4 × 128 for each ray; boosted trees; the 8-layer unet of D."""
    width: Annotated[int, Field(ge=4, le=128)] = 16
    """Channels of the first layer of the U-Net."""
    training: TrainingConfig = TrainingConfig()
    """How networks are trained."""
    trees: TreeConfig = TreeConfig()
    """How trees are boosted."""


@dataclass(frozen=True, eq=False)
class Fitted:
    """A fitted model of one task: the bytes of its ONNX file, what the card says of it, and itself, ready to run."""

    data: bytes
    part: Part
    network: Network
    history: list[tuple[float, float]]

    def predict(self, pair: Pair, threads: int = 0) -> Array:
        """What it says of each beam (b,) of a pair."""
        return self.network.run(pair.channels, threads)


def fit(
    task: Task,
    pairs: Sequence[Pair],
    held_out: Sequence[Pair],
    layout: Layout,
    config: FitConfig,
    *,
    checkpoint: Path | None = None,
    progress: bool = True,
) -> Fitted:
    """A model fitted to ``pairs``; its temperature and cut, and when to stop, are chosen on ``held_out``."""
    rays = make_rays(pairs, task)
    mean, spread = measure_channels(rays)
    history: list[tuple[float, float]] = []
    facts: dict[str, Any] = {"file": f"{task}.onnx", "variant": config.variant, "sha256": "0" * 64}
    facts["normalisation"] = dict(zip(CHANNELS[:REAL], zip(mean, spread, strict=True), strict=True))
    if config.variant == "trees":
        boosted = boost(task, rays.values, rays.target, config.trees)
        part = Part(**{**facts, "kind": "ray", "parameters": count_nodes(boosted), "normalisation": {}})

        def make(temperature: float) -> bytes:
            return export_trees(task, boosted, temperature)
    else:
        rate = min(max(float(rays.target.mean()), 1e-4), 1 - 1e-4)
        bias = math.log(rate / (1 - rate)) if task == "drop" else 0.0
        shape = Shape(config.variant, task, config.width, layout.rings, layout.rows, mean, spread, bias)
        if shape.is_image:
            both = [make_images(part, task, layout) for part in (pairs, held_out)]
            trained = train(shape, both[0], both[1], config.training, checkpoint=checkpoint, progress=progress)
        else:
            held = make_rays(held_out, task)
            trained = train(shape, rays, held, config.training, checkpoint=checkpoint, progress=progress)
        history = trained.history
        kind = "image" if shape.is_image else "ray"
        part = Part(**{**facts, "kind": kind, "parameters": count_weights(trained.weights)})

        def make(temperature: float) -> bytes:
            return export(shape, trained.weights, temperature)

    return _calibrate(task, make, part, held_out, layout, history)


def _calibrate(
    task: Task,
    make: Callable[[float], bytes],
    part: Part,
    held_out: Sequence[Pair],
    layout: Layout,
    history: list[tuple[float, float]],
) -> Fitted:
    """The exported model, with the temperature that suits the held-out pairs, and its scores on them."""
    data = make(1.0)
    network = Network(data, part, layout)
    said, true, values = gather(network, held_out, task)
    if task == "intensity":
        return _finish(data, part, layout, score_intensity(said, true), history)
    temperature = find_temperature(said, true > 0.5)
    if temperature != 1.0:
        data = make(temperature)
        said = gather(Network(data, part, layout), held_out, task)[0]
    scores = score_drops(said, true > 0.5, find_cut(said, true > 0.5), values)
    return _finish(data, part.model_copy(update={"temperature": temperature}), layout, scores, history)


def _finish(
    data: bytes, part: Part, layout: Layout, scores: dict[str, float], history: list[tuple[float, float]]
) -> Fitted:
    rounded = {name: round(value, 5) for name, value in scores.items()}
    named = part.model_copy(update={"sha256": hashlib.sha256(data).hexdigest(), "scores": rounded})
    return Fitted(data, named, Network(data, named, layout), history)


def gather(network: Network, pairs: Sequence[Pair], task: Task) -> tuple[Array, Array, Array]:
    """What a network says of the beams of pairs (n,), what is true of them (n,), and their channels (n, 9)."""
    said, true, values = [], [], []
    for pair in pairs:
        rows = select_beams(pair, task)
        said.append(network.run(pair.channels)[rows])
        true.append(select_target(pair, task)[rows])
        values.append(pair.channels.values[rows])
    return np.concatenate(said), np.concatenate(true), np.concatenate(values)
