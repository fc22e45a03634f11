"""The network in PyTorch, and as ONNX: both follow `run_network`."""

from __future__ import annotations

from typing import Any

import numpy as np

from resweep.learn.graphs import OnnxOps
from resweep.learn.segmenter.config import ImageNetworkConfig
from resweep.learn.segmenter.segmenter_layers import IN_CHANNELS, count_features, run_network
from resweep.learn.semantics.kpconv import load_torch
from resweep.perception.segmentation.segmenter import INPUT
from resweep.pose import Array

_MOMENTUM = 0.05  # of the statistics of normalisation


class SegmenterNetwork:
    """Scores and features of images (n, 6, rows, columns); ``seed`` draws the weights.

    ``module`` is what PyTorch keeps of it: ``convolutions`` and ``norms`` by name.
    """

    def __init__(self, config: ImageNetworkConfig, classes: int, seed: int = 0) -> None:
        torch = load_torch()
        torch.manual_seed(seed)
        self.config, self.classes = config, classes
        self.convolutions, self.norms = torch.nn.ModuleDict(), torch.nn.ModuleDict()
        run_network(_ConvolutionMaker(self, torch), IN_CHANNELS, config, classes)
        self.module = torch.nn.ModuleDict({"convolutions": self.convolutions, "norms": self.norms})
        self.module.to(memory_format=torch.channels_last)

    def __call__(self, images: Any) -> Any:
        """Scores and features (n, c + d, rows, columns) of images as tensors."""
        return run_network(_ImageTensors(self), images, self.config, self.classes)

    @property
    def parameters(self) -> int:
        """The number of weights."""
        return sum(int(value.numel()) for value in self.module.parameters())


def predict(network: SegmenterNetwork, images: Array) -> Array:
    """What a network that is not being trained gives for images (n, 6, rows, columns) float32."""
    torch = load_torch()
    network.module.eval()
    with torch.no_grad():
        return np.asarray(network(torch.from_numpy(np.ascontiguousarray(images, np.float32))).numpy())


class _ConvolutionMaker:
    """Follows the network with numbers of channels, and makes the weights of each layer."""

    def __init__(self, network: SegmenterNetwork, torch: Any) -> None:
        self._network, self._torch = network, torch

    def fold(self, x: int) -> int:
        return 2 * x

    def unfold(self, x: int) -> int:
        return x // 2

    def convolve(self, name: str, x: int, channels: int, size: int = 3, activate: bool = True) -> int:
        layer = self._torch.nn.Conv2d(x, channels, size, padding=size // 2, bias=False)
        self._torch.nn.init.kaiming_normal_(layer.weight, mode="fan_out", nonlinearity="relu")
        self._network.convolutions[name] = layer
        self._network.norms[name] = self._torch.nn.BatchNorm2d(channels, momentum=_MOMENTUM)
        return channels

    def halve(self, x: int) -> int:
        return x

    def double(self, x: int) -> int:
        return x

    def add(self, x: int, y: int) -> int:
        assert x == y
        return x

    def join(self, x: int, y: int) -> int:
        return x + y

    def classify(self, name: str, x: int, channels: int) -> int:
        self._network.convolutions[name] = self._torch.nn.Conv2d(x, channels, 1)
        return channels


class _ImageTensors:
    """Follows the network with tensors."""

    def __init__(self, network: SegmenterNetwork) -> None:
        self._network, self._torch = network, load_torch()
        self._f = self._torch.nn.functional

    def fold(self, x: Any) -> Any:
        n, c, rows, columns = x.shape
        folded = x.reshape(n, c, rows, columns // 2, 2).permute(0, 1, 4, 2, 3).reshape(n, 2 * c, rows, columns // 2)
        return folded.contiguous(memory_format=self._torch.channels_last)

    def unfold(self, x: Any) -> Any:
        n, c, rows, columns = x.shape
        return x.reshape(n, c // 2, 2, rows, columns).permute(0, 1, 3, 4, 2).reshape(n, c // 2, rows, 2 * columns)

    def convolve(self, name: str, x: Any, channels: int, size: int = 3, activate: bool = True) -> Any:
        y = self._network.norms[name](self._network.convolutions[name](x))
        return self._f.relu(y) if activate else y

    def halve(self, x: Any) -> Any:
        return self._f.max_pool2d(x, 2)

    def double(self, x: Any) -> Any:
        return self._f.interpolate(x, scale_factor=2, mode="nearest")

    def add(self, x: Any, y: Any) -> Any:
        return self._f.relu(x + y)

    def join(self, x: Any, y: Any) -> Any:
        return self._torch.cat([x, y], dim=1)

    def classify(self, name: str, x: Any, channels: int) -> Any:
        training = self._network.module.training
        return self._network.convolutions[name](self._f.dropout2d(x, self._network.config.dropout, training))


def export(network: SegmenterNetwork, rows: int) -> bytes:
    """The network as the bytes of an ONNX file, for images of so many rows; the same for the same weights."""
    layers = _ImageGraph(network, rows)
    result = run_network(layers, INPUT, network.config, network.classes)
    outputs = network.classes + count_features(network.config)
    return layers.ops.finish(result, ["n", IN_CHANNELS, rows, "columns"], outputs)


class _ImageGraph:
    """Follows the network with names of values in a graph; normalisation is folded into the weights."""

    def __init__(self, network: SegmenterNetwork, rows: int) -> None:
        self.ops, self._network, self._rows = OnnxOps(), network, rows
        self._channels: dict[str, int] = {}

    def fold(self, x: str) -> str:
        parts = self._reshape(x, [0, 0, 0, -1, 2])
        turned = self.ops.node("Transpose", parts, perm=[0, 1, 4, 2, 3])
        return self._reshape(turned, [0, 2 * IN_CHANNELS, self._rows, -1])

    def unfold(self, x: str) -> str:
        channels = self._channels[x] // 2
        parts = self._reshape(x, [0, channels, 2, self._rows, -1])
        return self._reshape(self.ops.node("Transpose", parts, perm=[0, 1, 3, 4, 2]), [0, channels, self._rows, -1])

    def convolve(self, name: str, x: str, channels: int, size: int = 3, activate: bool = True) -> str:
        y = self.ops.conv(x, *self._fold_norm(name))
        y = self.ops.relu(y) if activate else y
        self._channels[y] = channels
        return y

    def halve(self, x: str) -> str:
        return self.ops.pool(x)

    def double(self, x: str) -> str:
        return self.ops.double(x)

    def add(self, x: str, y: str) -> str:
        return self.ops.relu(self.ops.add(x, y))

    def join(self, x: str, y: str) -> str:
        return self.ops.concat([x, y])

    def classify(self, name: str, x: str, channels: int) -> str:
        layer = self._network.convolutions[name]
        y = self.ops.conv(x, layer.weight, layer.bias)
        self._channels[y] = channels
        return y

    def _reshape(self, x: str, shape: list[int]) -> str:
        return self.ops.node("Reshape", x, self.ops.constant(np.array(shape, np.int64)))

    def _fold_norm(self, name: str) -> tuple[Array, Array]:
        """Weights and bias of a convolution and the normalisation after it."""
        norm, weight = self._network.norms[name], self._network.convolutions[name].weight
        mean, variance, scale, shift, kernel = (
            item.detach().numpy().astype(np.float64)
            for item in (norm.running_mean, norm.running_var, norm.weight, norm.bias, weight)
        )
        factor = scale / np.sqrt(variance + norm.eps)
        return (kernel * factor[:, None, None, None]).astype(np.float32), (shift - mean * factor).astype(np.float32)
