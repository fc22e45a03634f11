"""The networks: a logistic model, a perceptron for each ray, and the U-Net of D (4.2), on the channels of D.

Each is a function of its weights, written against the operations of `resweep.learn.graphs`. Channels come as they are
measured; networks normalise them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from resweep.errors import ResweepError
from resweep.learn.graphs import OnnxOps, TorchOps
from resweep.optional import require
from resweep.pose import Array
from resweep.simulate.beam_channels import CHANNELS, CLASSES, REAL
from resweep.simulate.realism.onnx_network import INPUT

Task = Literal["drop", "intensity"]
NETWORKS = ("logistic", "mlp", "unet")
_MAX_SPREADS = 6.0  # spreads from the mean, beyond which values are cut off
_LASER, _CLASS, _OCCUPANCY, _BLIND = (CHANNELS.index(name) for name in ("laser", "class", "occupancy", "blind"))
_FEATURES = REAL + len(CLASSES) + 1  # the mark of occupancy stands in place of background; and blindness
_LAYERS = 4  # of the perceptron
_HIDDEN = 128


@dataclass(frozen=True)
class NetworkShape:
    """What a network is made for: ``variant``, ``task``, ``width`` of a U-Net, ``rings``, and ``rows`` of images.

    ``mean`` and ``spread`` (5) normalise the real-valued channels. ``bias`` (k,) are its k outputs for all beams at
    first: one logit of a drop, or one for each bin of intensity.
    """

    variant: str
    task: Task
    width: int
    rings: int
    rows: int
    mean: tuple[float, ...]
    spread: tuple[float, ...]
    bias: tuple[float, ...] = (0.0,)

    @property
    def is_image(self) -> bool:
        """Whether it looks at sweeps as images."""
        return self.variant == "unet"


def make_weights(shape: NetworkShape, seed: int) -> dict[str, Any]:
    """Tensors to begin training with, by name; the same for a seed."""
    torch = require("torch", "training a network")
    random = torch.Generator().manual_seed(seed)
    weights: dict[str, Any] = {}

    def layer(name: str, out: int, *fan: int, gain: float = math.sqrt(2.0)) -> None:
        bound = gain * math.sqrt(3.0 / math.prod(fan))
        weights[name] = (2 * torch.rand((out, *fan), generator=random) - 1) * bound
        weights[f"{name}.bias"] = torch.zeros(out)

    w, outputs = shape.width, len(shape.bias)
    if shape.variant == "logistic":
        layer("last", outputs, 3, gain=0.1)
    elif shape.variant == "mlp":
        for number in range(_LAYERS):
            layer(f"layer{number}", _HIDDEN, _HIDDEN if number else _FEATURES)
        weights["laser"] = torch.zeros(shape.rings, _HIDDEN)
        layer("last", outputs, _HIDDEN, gain=0.1)
    elif shape.variant == "unet":
        sizes = {"down1": (w, _FEATURES), "down2": (2 * w, w), "down3": (4 * w, 2 * w), "down4": (4 * w, 4 * w)}
        sizes |= {"up3": (2 * w, 8 * w), "up2": (w, 4 * w), "up1": (w, 2 * w)}
        for name, (out, into) in sizes.items():
            layer(name, out, into, 3, 3)
        weights["laser"] = torch.zeros(1, w, shape.rows, 1)
        layer("last", outputs, w, 1, 1, gain=0.1)
    else:
        raise ResweepError(f"variant '{shape.variant}': expected one of {', '.join(NETWORKS)}")
    weights["last.bias"] += torch.tensor(shape.bias)
    return weights


def run(ops: Any, shape: NetworkShape, weights: dict[str, Any], x: Any) -> Any:
    """What a network predicts from channels: rays (n, 9) or images (n, 9, rows, columns).

    Of drops it gives the logit, of intensity the logits of its bins.
    """
    return {"logistic": _run_logistic, "mlp": _run_mlp, "unet": _run_unet}[shape.variant](ops, shape, weights, x)


def _finish(ops: Any, shape: NetworkShape, logits: Any, temperature: float) -> Any:
    """The probability of a drop, or the shares of the bins of intensity."""
    scaled = ops.multiply(logits, ops.constant(np.full(1, 1.0 / temperature, np.float32)))
    return ops.sigmoid(scaled) if shape.task == "drop" else ops.softmax(scaled)


def _make_features(ops: Any, shape: NetworkShape, x: Any) -> Any:
    """Normalised channels, 0 where nothing returned; classes as marks."""
    size = (1, REAL, 1, 1) if shape.is_image else (1, REAL)
    mean, factor = np.array(shape.mean, np.float32), (1.0 / np.array(shape.spread)).astype(np.float32)
    real = ops.add(ops.select(x, 0, REAL), ops.constant(-mean.reshape(size)))
    real = ops.clip(ops.multiply(real, ops.constant(factor.reshape(size))), _MAX_SPREADS)
    occupied = ops.select(x, _OCCUPANCY, _OCCUPANCY + 1)
    kind = ops.select(x, _CLASS, _CLASS + 1)
    marks = [ops.equals(kind, float(number)) for number in range(1, len(CLASSES))]
    blind = ops.select(x, _BLIND, _BLIND + 1)
    return ops.concat([ops.multiply(real, occupied), *marks, occupied, blind])


def _run_logistic(ops: Any, shape: NetworkShape, weights: dict[str, Any], x: Any) -> Any:
    """Linear in range, intensity and incidence, the first three channels."""
    return ops.linear(ops.select(_make_features(ops, shape, x), 0, 3), weights["last"], weights["last.bias"])


def _run_mlp(ops: Any, shape: NetworkShape, weights: dict[str, Any], x: Any) -> Any:
    """Four hidden layers of 128; the laser adds to the first."""
    found = ops.linear(_make_features(ops, shape, x), weights["layer0"], weights["layer0.bias"])
    found = ops.relu(ops.add(found, ops.rows(weights["laser"], ops.select(x, _LASER, _LASER + 1))))
    for number in range(1, _LAYERS):
        found = ops.relu(ops.linear(found, weights[f"layer{number}"], weights[f"layer{number}.bias"]))
    return ops.linear(found, weights["last"], weights["last.bias"])


def _run_unet(ops: Any, shape: NetworkShape, weights: dict[str, Any], x: Any) -> Any:
    """Eight layers: four down, three up and the last; a row is a laser, and adds to the first."""

    def conv(name: str, image: Any) -> Any:
        return ops.conv(image, weights[name], weights[f"{name}.bias"])

    one = ops.relu(ops.add(conv("down1", _make_features(ops, shape, x)), weights["laser"]))
    two = ops.relu(conv("down2", ops.pool(one)))
    three = ops.relu(conv("down3", ops.pool(two)))
    four = ops.relu(conv("down4", ops.pool(three)))
    up = ops.relu(conv("up3", ops.concat([ops.double(four), three])))
    up = ops.relu(conv("up2", ops.concat([ops.double(up), two])))
    up = ops.relu(conv("up1", ops.concat([ops.double(up), one])))
    return conv("last", up)


def predict(shape: NetworkShape, weights: dict[str, Any], x: Array, temperature: float = 1.0) -> Array:
    """What PyTorch gives for channels, as the exported network would."""
    torch = require("torch", "training a network")
    with torch.no_grad():
        out = run(TorchOps(), shape, weights, torch.from_numpy(np.ascontiguousarray(x, np.float32)))
        out = _finish(TorchOps(), shape, out, temperature)
    return np.asarray(out.numpy())


def export(shape: NetworkShape, weights: dict[str, Any], temperature: float = 1.0) -> bytes:
    """The network as ONNX; it gives the probability of a drop, or the shares of the bins of intensity."""
    ops = OnnxOps()
    out = _finish(ops, shape, run(ops, shape, weights, INPUT), temperature)
    size = ["n", len(CHANNELS), shape.rows, "columns"] if shape.is_image else ["n", len(CHANNELS)]
    return ops.finish(out, size, len(shape.bias))


def count_weights(weights: dict[str, Any]) -> int:
    """The number of weights."""
    return sum(int(value.numel()) for value in weights.values())
