"""The network in PyTorch, to train it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from resweep.learn.detector.detector_config import DetectorShape
from resweep.learn.detector.detector_layers import run_network
from resweep.learn.semantics.kpconv import load_torch
from resweep.perception.detection.birds_eye import BLOCK, CHANNELS
from resweep.pose import Array


class DetectorNetwork:
    """The network of a shape with drawn weights, the same for a seed."""

    def __init__(self, shape: DetectorShape, classes: int, seed: int = 0) -> None:
        torch = load_torch()
        self.shape, self.classes = shape, classes
        self.module = torch.nn.ModuleDict()
        self._random = torch.Generator().manual_seed(seed)
        self._drawing = True
        with torch.no_grad():
            self.module.eval()
            self(torch.zeros(1, len(CHANNELS), BLOCK, BLOCK))
        self._drawing = False
        self.module.train()

    def __call__(self, image: Any) -> Any:
        """What it gives (n, classes + 8 + features, rows / 4, columns / 4) for images (n, 3, rows, columns)."""
        return run_network(self, image, self.shape, self.classes)

    @property
    def parameters(self) -> int:
        """Number of its weights."""
        return sum(item.numel() for item in self.module.parameters())

    def find(self, name: str) -> Any:
        """The module of a layer."""
        return self.module[name.replace(".", "_")]

    def conv(self, name: str, x: Any, given: int, channels: int, size: int = 3, stride: int = 1) -> Any:
        """A convolution and a normalisation."""
        if self._drawing:
            nn = load_torch().nn
            conv = nn.Conv2d(given, channels, size, stride, size // 2, bias=False)
            self._draw(conv.weight, math.sqrt(2.0 / (given * size * size)))
            norm = nn.BatchNorm2d(channels, momentum=0.05)
            self.module[name.replace(".", "_")] = nn.Sequential(conv, norm).eval()  # nothing to normalise by yet
        return self.find(name)(x)

    def last(self, name: str, x: Any, given: int, channels: int, bias: float) -> Any:
        """A linear map of each cell's channels."""
        if self._drawing:
            conv = load_torch().nn.Conv2d(given, channels, 1)
            self._draw(conv.weight, 0.01)
            conv.bias.fill_(bias)
            self.module[name.replace(".", "_")] = conv
        return self.find(name)(x)

    def relu(self, x: Any) -> Any:
        """Values above 0."""
        return load_torch().relu(x)

    def add(self, x: Any, y: Any) -> Any:
        """The sum."""
        return x + y

    def double(self, x: Any) -> Any:
        """Each cell as 2 × 2."""
        return load_torch().nn.functional.interpolate(x, scale_factor=2, mode="nearest")

    def concat(self, *parts: Any) -> Any:
        """Channels side by side."""
        return load_torch().cat(parts, dim=1)

    def _draw(self, weight: Any, spread: float) -> None:
        weight.normal_(0.0, spread, generator=self._random)


def predict(network: DetectorNetwork, image: Array) -> Array:
    """What a network gives for one image (3, rows, columns), as it is used after training."""
    torch = load_torch()
    network.module.eval()
    with torch.no_grad():
        found: Array = network(torch.from_numpy(np.ascontiguousarray(image[None]))).numpy()[0]
    network.module.train()
    return found
