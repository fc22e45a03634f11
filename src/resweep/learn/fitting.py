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

from resweep import portable
from resweep.config import Spec
from resweep.learn.beam_pairs import BeamPair
from resweep.learn.boosting import (
    BoostingConfig,
    ScatterTable,
    boost,
    count_nodes,
    export_trees,
    predict_intensities,
    tabulate_scatter,
)
from resweep.learn.drop_patches import estimate_patches, estimate_volume_drops
from resweep.learn.examples import make_images, make_rays, measure_channels, select_beams, select_target
from resweep.learn.intensity_bins import estimate_textures, find_bins, find_levels, make_intensity_model
from resweep.learn.networks import NetworkShape, Task, count_weights, export
from resweep.learn.scatter_levels import keep_scatter, pack_scatter
from resweep.learn.scores import find_cut, find_temperature, score_drops, score_intensity, score_shares
from resweep.learn.training import RayExamples, TrainingConfig, train
from resweep.pose import Array
from resweep.simulate.beam_channels import CHANNELS, REAL
from resweep.simulate.intensity import IntensityModel
from resweep.simulate.realism.model_card import NetworkCard
from resweep.simulate.realism.onnx_network import OnnxNetwork
from resweep.simulate.sensor_grid import SensorGrid

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
    trees: BoostingConfig = BoostingConfig()
    """How trees are boosted."""


@dataclass(frozen=True, eq=False)
class FittedModel:
    """A fitted model of one task: the bytes of its ONNX file, its part of the card, and itself, ready to run.

    ``scatter`` (s, rings, columns) are the levels of recorded sweeps that an intensity model replays.
    """

    data: bytes
    part: NetworkCard
    network: OnnxNetwork
    history: list[tuple[float, float]]
    scatter: Array | None = None

    def predict(self, pair: BeamPair, threads: int = 0) -> Array:
        """Its prediction for each beam of a pair: the probability (b,) of a drop, or the mean intensity (b,)."""
        output = self.network.run(pair.channels, threads)
        return output if self.part.light is None else self.part.light.average(output)

    def draw_intensities(self, pair: BeamPair, index: int, seed: int = 0) -> Array:
        """The intensities (b,) of a pair as simulation draws them for sweep ``index``."""
        return draw_intensities(self.network, pair, index, self.scatter, seed)

    def list_files(self) -> dict[str, bytes]:
        """What the folder of a model holds of it, by name."""
        files = {self.part.file: self.data}
        if self.scatter is not None:
            data, kept = pack_scatter(self.scatter)
            files[kept.file] = data
        return files


def draw_intensities(network: OnnxNetwork, pair: BeamPair, index: int, scatter: Array | None, seed: int = 0) -> Array:
    """Intensities (b,) drawn from what a network predicts for a pair, for sweep ``index``."""
    model = network.part.light
    assert model is not None  # of an intensity network
    level = model.draw_levels(pair.channels, pair.hit, scatter, seed=seed, index=index)
    return np.where(pair.channels.occupied, model.draw(network.run(pair.channels), level), np.float32(0))


def fit(
    task: Task,
    pairs: Sequence[BeamPair],
    held_out: Sequence[BeamPair],
    layout: SensorGrid,
    config: FitConfig,
    *,
    checkpoint: Path | None = None,
    progress: bool = True,
) -> FittedModel:
    """A model fitted to ``pairs``; its temperature and cut, and when to stop, are chosen on ``held_out``."""
    rays = make_rays(pairs, task)
    mean, spread = measure_channels(rays)
    history: list[tuple[float, float]] = []
    facts: dict[str, Any] = {"file": f"{task}.onnx", "variant": config.variant, "sha256": "0" * 64}
    facts["normalisation"] = dict(zip(CHANNELS[:REAL], zip(mean, spread, strict=True), strict=True))
    model, edges = make_intensity_model(rays.target) if task == "intensity" else (None, None)
    facts["light"] = model
    if config.variant == "trees":
        boosted = boost(task, rays.values, rays.target, config.trees)
        part = NetworkCard(**{**facts, "kind": "ray", "parameters": count_nodes(boosted), "normalisation": {}})
        table = None if edges is None else _tabulate(boosted, make_rays(held_out, task), edges)

        def make(temperature: float) -> bytes:
            return export_trees(task, boosted, temperature, table)
    else:
        bias = _find_bias(rays.target if edges is None else find_bins(rays.target, edges), edges)
        shape = NetworkShape(config.variant, task, config.width, layout.rings, layout.rows, mean, spread, bias)
        if shape.is_image:
            both: Any = [make_images(part, task, layout, edges) for part in (pairs, held_out)]
        else:
            both = [make_rays(part, task, edges) for part in (pairs, held_out)]
        trained = train(shape, both[0], both[1], config.training, checkpoint=checkpoint, progress=progress)
        history = trained.history
        kind = "image" if shape.is_image else "ray"
        part = NetworkCard(**{**facts, "kind": kind, "parameters": count_weights(trained.weights)})

        def make(temperature: float) -> bytes:
            return export(shape, trained.weights, temperature)

    if edges is None:
        return _calibrate(make, part, held_out, layout, history)
    return _estimate_scatter(make(1.0), part, held_out, layout, edges, history)


def _find_bias(target: Array, edges: Array | None) -> tuple[float, ...]:
    """The logits of what is true of all beams: of a drop, or of each bin of intensity."""
    if edges is None:
        rate = min(max(float(target.mean()), 1e-4), 1 - 1e-4)
        return (math.log(rate / (1 - rate)),)
    share = (np.bincount(target, minlength=len(edges)) + 1.0) / (len(target) + len(edges))
    return tuple(np.round(portable.log(share), 4).tolist())


def _tabulate(trees: Any, rays: RayExamples, edges: Array) -> ScatterTable:
    """How recorded intensities of held-out rays scatter about what trees predict."""
    return tabulate_scatter(predict_intensities(trees, rays.values), find_bins(rays.target, edges), len(edges))


def _calibrate(
    make: Callable[[float], bytes],
    part: NetworkCard,
    held_out: Sequence[BeamPair],
    layout: SensorGrid,
    history: list[tuple[float, float]],
) -> FittedModel:
    """The exported model of drops, with the temperature that suits the held-out pairs, and its scores on them."""
    data = make(1.0)
    output, true, values = gather(OnnxNetwork(data, part, layout), held_out, "drop")
    temperature = find_temperature(output, true > 0.5)
    if temperature != 1.0:
        data = make(temperature)
        output = gather(OnnxNetwork(data, part, layout), held_out, "drop")[0]
    scores = score_drops(output, true > 0.5, find_cut(output, true > 0.5), values)
    network = OnnxNetwork(data, part, layout)
    predicted = [network.run(pair.channels) for pair in held_out]
    found = part.model_copy(
        update={"temperature": temperature, "volume_drops": estimate_volume_drops(held_out, predicted)}
    )
    drawn_by = [found.draw_by(output, pair.channels) for output, pair in zip(predicted, held_out, strict=True)]
    found = found.model_copy(update={"patches": estimate_patches(held_out, drawn_by)})
    return _finish(data, found, layout, scores, history)


def _estimate_scatter(
    data: bytes,
    part: NetworkCard,
    held_out: Sequence[BeamPair],
    layout: SensorGrid,
    edges: Array,
    history: list[tuple[float, float]],
) -> FittedModel:
    """The exported model of intensities, with its scores, and how much of the scatter belongs to surfaces."""
    assert part.light is not None
    network, random = OnnxNetwork(data, part, layout), np.random.default_rng(0)
    rows = [select_beams(pair, "intensity") for pair in held_out]
    shares = [network.run(pair.channels)[own] for pair, own in zip(held_out, rows, strict=True)]
    true = [pair.intensity[own] for pair, own in zip(held_out, rows, strict=True)]
    levels = [find_levels(output, own, edges, part.light, random) for output, own in zip(shares, true, strict=True)]
    textures = estimate_textures(held_out, rows, levels)
    scatter = keep_scatter(held_out, rows, levels)
    model = part.light.model_copy(update={"textures": textures, "scatter": pack_scatter(scatter)[1]})
    part = part.model_copy(update={"light": model})
    network = OnnxNetwork(data, part, layout)
    drawn = [
        draw_intensities(network, pair, at, scatter)[own]
        for at, (pair, own) in enumerate(zip(held_out, rows, strict=True))
    ]
    return _finish(data, part, layout, score_intensities(model, shares, true, drawn, edges), history, scatter)


def score_intensities(
    model: IntensityModel,
    shares: Sequence[Array],
    true: Sequence[Array],
    drawn: Sequence[Array],
    edges: Array | None = None,
) -> dict[str, float]:
    """Scores of intensities: of their mean, of their distribution, and of the histogram of those drawn."""
    output, actual = np.concatenate(shares), np.concatenate(true)
    # Cards have six digits: values that are rounded up would fall into the bin above.
    upper = np.array([row[-1] for row in model.knots]) + 1e-5 if edges is None else edges
    return {
        **score_intensity(model.average(output), actual, np.concatenate(drawn)),
        **score_shares(output, find_bins(actual, upper), np.array(model.means), actual),
    }


def _finish(
    data: bytes,
    part: NetworkCard,
    layout: SensorGrid,
    scores: dict[str, float],
    history: list[tuple[float, float]],
    scatter: Array | None = None,
) -> FittedModel:
    rounded = {name: round(value, 5) for name, value in scores.items()}
    named = part.model_copy(update={"sha256": hashlib.sha256(data).hexdigest(), "scores": rounded})
    return FittedModel(data, named, OnnxNetwork(data, named, layout), history, scatter)


def gather(network: OnnxNetwork, pairs: Sequence[BeamPair], task: Task) -> tuple[Array, Array, Array]:
    """What a network predicts for the beams of pairs (n, ...), what is true of them (n,), and their channels (n, 9)."""
    output, true, values = [], [], []
    for pair in pairs:
        rows = select_beams(pair, task)
        output.append(network.run(pair.channels)[rows])
        true.append(select_target(pair, task)[rows])
        values.append(pair.channels.values[rows])
    return np.concatenate(output), np.concatenate(true), np.concatenate(values)
