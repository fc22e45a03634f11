"""The network, described once: counting channels, training and writing ONNX follow the same description.

A U of residual blocks as in KPConv's KP-FCNN: on each grid a convolution with a quarter of the channels between two
linear layers; strided convolutions lead to the coarser grid, the nearest coarse point leads back.
"""

from __future__ import annotations

from typing import Protocol, TypeVar

from resweep.learn.semantics.config import NetworkConfig

T = TypeVar("T")


class Layers(Protocol[T]):
    """The layers of a network. ``where`` names rows of neighbours of a pyramid, such as ``same0`` or ``down1``."""

    def linear(self, name: str, x: T, channels: int, activate: bool = True) -> T:
        """A linear layer with normalisation."""
        ...

    def convolve(self, name: str, x: T, where: str, channels: int) -> T:
        """A kernel point convolution with normalisation."""
        ...

    def pool(self, x: T, where: str) -> T:
        """The largest value of each channel among neighbours."""
        ...

    def upsample(self, x: T, where: str) -> T:
        """Values of the nearest coarser point."""
        ...

    def concatenate(self, x: T, y: T) -> T:
        """The channels of both."""
        ...

    def add(self, x: T, y: T) -> T:
        """The sum, activated."""
        ...

    def classify(self, name: str, x: T, classes: int) -> T:
        """A linear layer with bias."""
        ...

    def channels(self, x: T) -> int:
        """How many channels there are."""
        ...


def run_network(layers: Layers[T], features: T, config: NetworkConfig, classes: int) -> T:
    """Scores of the classes for the points of the finest grid, from their features."""
    widths = [config.width * min(2**level, 4) for level in range(config.levels)]
    x = layers.convolve("stem", features, "same0", widths[0])
    x = _block(layers, "level0", x, "same0", widths[0])
    skipped = [x]
    for level in range(1, config.levels):
        x = _block(layers, f"down{level}", x, f"down{level - 1}", widths[level])
        x = _block(layers, f"level{level}", x, f"same{level}", widths[level])
        skipped.append(x)
    for level in reversed(range(config.levels - 1)):
        x = layers.concatenate(layers.upsample(x, f"up{level}"), skipped[level])
        x = layers.linear(f"up{level}", x, widths[level])
    return layers.classify("head", x, classes)


def _block(layers: Layers[T], name: str, x: T, where: str, channels: int) -> T:
    narrow = channels // 4
    y = layers.linear(f"{name}_in", x, narrow)
    y = layers.convolve(f"{name}_conv", y, where, narrow)
    y = layers.linear(f"{name}_out", y, channels, activate=False)
    beside = layers.pool(x, where) if where.startswith("down") else x
    if layers.channels(beside) != channels:
        beside = layers.linear(f"{name}_skip", beside, channels, activate=False)
    return layers.add(y, beside)
