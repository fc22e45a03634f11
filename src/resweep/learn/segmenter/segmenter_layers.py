"""The network, described once: counting channels, training and writing ONNX follow the same description.

Two columns that lie side by side become channels of one, so that no layer works on the whole image; a U of residual
blocks follows, and in the end each column gives the classes and features of two.
"""

from __future__ import annotations

from typing import Protocol, TypeVar

from resweep.learn.segmenter.config import ImageNetworkConfig
from resweep.perception.segmentation.sweep_images import CHANNELS

T = TypeVar("T")


class ImageLayers(Protocol[T]):
    """The layers of a network over images."""

    def fold(self, x: T) -> T:
        """Two columns side by side as channels of one."""
        ...

    def unfold(self, x: T) -> T:
        """The inverse of `fold`."""
        ...

    def convolve(self, name: str, x: T, channels: int, size: int = 3, activate: bool = True) -> T:
        """A convolution with normalisation."""
        ...

    def halve(self, x: T) -> T:
        """The largest of each 2 × 2."""
        ...

    def double(self, x: T) -> T:
        """Each value as 2 × 2."""
        ...

    def add(self, x: T, y: T) -> T:
        """The sum, activated."""
        ...

    def join(self, x: T, y: T) -> T:
        """The channels of both."""
        ...

    def classify(self, name: str, x: T, channels: int) -> T:
        """A convolution of single cells with bias, and without normalisation."""
        ...


def count_features(config: ImageNetworkConfig) -> int:
    """Channels of features of a cell."""
    return config.width // 2


def run_network(layers: ImageLayers[T], image: T, config: ImageNetworkConfig, classes: int) -> T:
    """Scores and features (classes + features, rows, columns) of an image (6, rows, columns)."""
    widths = [config.width * min(2**level, 4) for level in range(config.levels)]
    x = layers.convolve("stem", layers.fold(image), widths[0])
    skipped: list[T] = []
    for level, width in enumerate(widths):
        if level:
            x = layers.convolve(f"down{level}", layers.halve(x), width)
        for number in range(config.deep_blocks if level >= config.levels - 2 else 1):
            x = _block(layers, f"level{level}_{number}", x, width)
        skipped.append(x)
    for level in reversed(range(config.levels - 1)):
        up = layers.double(layers.convolve(f"lift{level}", x, widths[level], size=1, activate=False))
        x = layers.convolve(f"up{level}", layers.add(up, skipped[level]), widths[level])
    scores = layers.classify("head", x, 2 * classes)
    return layers.join(layers.unfold(scores), layers.unfold(x))


def _block(layers: ImageLayers[T], name: str, x: T, width: int) -> T:
    y = layers.convolve(f"{name}_in", x, width)
    return layers.add(layers.convolve(f"{name}_out", y, width, activate=False), x)


IN_CHANNELS = len(CHANNELS)
