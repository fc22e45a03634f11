"""The network, written once: a residual pyramid whose last map has a cell for each 4 × 4 of the image (as SFA3D's).

``layers`` are PyTorch's modules, or nodes of an ONNX graph: both follow the same description.
"""

from __future__ import annotations

from typing import Any, Protocol, TypeVar

from resweep.learn.detector.detector_config import DetectorShape
from resweep.perception.detection.birds_eye import CHANNELS
from resweep.perception.detection.decoding import BOX_CHANNELS

T = TypeVar("T")
HEAT_LOGIT = -4.6  # of all cells at first: one in a hundred (Lin et al. 2017, focal loss)


class DetectorLayers(Protocol):
    """What a network is made of."""

    def conv(self, name: str, x: Any, given: int, channels: int, size: int = 3, stride: int = 1) -> Any:
        """A convolution and a normalisation."""

    def last(self, name: str, x: Any, given: int, channels: int, bias: float) -> Any:
        """A linear map of each cell's channels, with a bias that begins so."""

    def relu(self, x: Any) -> Any:
        """Values above 0."""

    def add(self, x: Any, y: Any) -> Any:
        """The sum."""

    def double(self, x: Any) -> Any:
        """Each cell as 2 × 2."""

    def concat(self, *parts: Any) -> Any:
        """Channels side by side."""


def run_network(layers: DetectorLayers, image: Any, shape: DetectorShape, classes: int) -> Any:
    """Logits of the heat of the classes, the channels of boxes, and the last map, side by side."""
    w, blocks = shape.width, shape.blocks
    x = _activate(layers, "stem", image, len(CHANNELS), w, 2)
    x = _activate(layers, "stem2", x, w, w, 1)
    fine = _stage(layers, "fine", x, w, 2 * w, blocks)
    middle = _stage(layers, "middle", fine, 2 * w, 4 * w, blocks)
    coarse = _stage(layers, "coarse", middle, 4 * w, 5 * w, 1)
    x = layers.conv("up2.beside", middle, 4 * w, 4 * w, 1)
    x = layers.add(x, layers.double(layers.conv("up2.below", coarse, 5 * w, 4 * w, 1)))
    x = _activate(layers, "up2", layers.relu(x), 4 * w, 4 * w, 1)
    y = layers.conv("up1.beside", fine, 2 * w, shape.features, 1)
    y = layers.add(y, layers.double(layers.conv("up1.below", x, 4 * w, shape.features, 1)))
    features = _activate(layers, "up1", layers.relu(y), shape.features, shape.features, 1)
    heat = _activate(layers, "heat", features, shape.features, shape.features, 1)
    box = _activate(layers, "box", features, shape.features, shape.features, 1)
    return layers.concat(
        layers.last("heat.last", heat, shape.features, classes, HEAT_LOGIT),
        layers.last("box.last", box, shape.features, len(BOX_CHANNELS), 0.0),
        features,
    )


def _activate(layers: DetectorLayers, name: str, x: Any, given: int, channels: int, stride: int) -> Any:
    return layers.relu(layers.conv(name, x, given, channels, 3, stride))


def _stage(layers: DetectorLayers, name: str, x: Any, given: int, channels: int, blocks: int) -> Any:
    """A map of half as many cells along a side, and residual blocks on it."""
    x = _activate(layers, f"{name}.down", x, given, channels, 2)
    for block in range(blocks):
        y = _activate(layers, f"{name}.{block}a", x, channels, channels, 1)
        x = layers.relu(layers.add(x, layers.conv(f"{name}.{block}b", y, channels, channels)))
    return x
