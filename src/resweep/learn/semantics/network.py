"""The network in PyTorch: kernel point convolutions over a pyramid."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from resweep.learn.semantics.architecture import follow
from resweep.learn.semantics.config import NetworkConfig
from resweep.learn.semantics.kernel import kernel_points
from resweep.optional import require
from resweep.pose import Array
from resweep.segmentation.pyramid import Pyramid

torch: Any = require("torch", "training a network")
SLOPE = 0.1  # of activations below zero
FAR_M = 1e6  # where neighbours lie that are none
_MOMENTUM = 0.05


class Network(torch.nn.Module):  # type: ignore[misc]
    """Scores (n, c) of classes for the points of a pyramid's finest grid, from features (n, f)."""

    def __init__(self, config: NetworkConfig, classes: int) -> None:
        super().__init__()
        self.config, self.classes = config, classes
        self.weights = torch.nn.ParameterDict()
        self.norms = torch.nn.ModuleDict()
        self.bias = torch.nn.Parameter(torch.zeros(classes))
        self.register_buffer("kernel", torch.from_numpy(kernel_points(config.kernel_points, config.extent)))
        follow(_Counting(self), len(config.features), config, classes)

    def forward(self, features: Any, inputs: Mapping[str, Any]) -> Any:
        """Scores of the points; ``inputs`` are the arrays of the pyramid as tensors, by name."""
        return follow(_Running(self, inputs), features, self.config, self.classes)


def to_tensors(pyramid: Pyramid) -> dict[str, Any]:
    """The arrays of a pyramid as tensors, by name."""
    return {name: torch.from_numpy(array) for name, array in pyramid.inputs().items()}


def predict(network: Network, features: Array, pyramid: Pyramid) -> Array:
    """Scores (n, c) float32 of a network that is not being trained."""
    network.eval()
    with torch.no_grad():
        found: Array = network(torch.from_numpy(features), to_tensors(pyramid)).numpy()
    return found


class _Counting:
    """Follows the network by its numbers of channels, and makes its parameters."""

    def __init__(self, network: Network) -> None:
        self._network = network

    def _add(self, name: str, rows: int, columns: int) -> int:
        spread = math.sqrt(2.0 / rows)
        self._network.weights[name] = torch.nn.Parameter(torch.randn(rows, columns) * spread)
        return columns

    def linear(self, name: str, x: int, channels: int, activate: bool = True) -> int:
        self._network.norms[name] = torch.nn.BatchNorm1d(channels, momentum=_MOMENTUM)
        return self._add(name, x, channels)

    def convolve(self, name: str, x: int, where: str, channels: int) -> int:
        self._network.norms[name] = torch.nn.BatchNorm1d(channels, momentum=_MOMENTUM)
        return self._add(name, len(self._network.kernel) * x, channels)

    def pool(self, x: int, where: str) -> int:
        return x

    def raise_(self, x: int, where: str) -> int:
        return x

    def concatenate(self, x: int, y: int) -> int:
        return x + y

    def add(self, x: int, y: int) -> int:
        return x

    def classify(self, name: str, x: int, classes: int) -> int:
        return self._add(name, x, classes)

    def channels(self, x: int) -> int:
        return x


class _Running:
    """Follows the network with tensors."""

    def __init__(self, network: Network, inputs: Mapping[str, Any]) -> None:
        self._network, self._inputs = network, inputs
        self._influences: dict[str, Any] = {}

    def linear(self, name: str, x: Any, channels: int, activate: bool = True) -> Any:
        y = self._network.norms[name](torch.mm(x, self._network.weights[name]))
        return _activate(y) if activate else y

    def convolve(self, name: str, x: Any, where: str, channels: int) -> Any:
        # Sum over neighbours and kernel points of influence · W_k · feature (KPConv, eq. 2 to 6).
        gathered = torch.bmm(self._influence(where), self._gather(x, where))
        return self.linear(name, gathered.flatten(1), channels)

    def pool(self, x: Any, where: str) -> Any:
        return self._gather(x, where).max(dim=1).values

    def raise_(self, x: Any, where: str) -> Any:
        return torch.nn.functional.embedding(self._inputs[where], x)

    def concatenate(self, x: Any, y: Any) -> Any:
        return torch.cat([x, y], dim=1)

    def add(self, x: Any, y: Any) -> Any:
        return _activate(x + y)

    def classify(self, name: str, x: Any, classes: int) -> Any:
        x = torch.nn.functional.dropout(x, self._network.config.dropout, self._network.training)
        return torch.addmm(self._network.bias, x, self._network.weights[name])

    def channels(self, x: Any) -> int:
        return int(x.shape[1])

    def _gather(self, x: Any, where: str) -> Any:
        """Values (n, h, c) of neighbours, zero for none; an embedding has a gradient that threads do not reorder."""
        padded = torch.cat([x, x.new_zeros(1, x.shape[1])])
        return torch.nn.functional.embedding(self._inputs[where], padded)

    def _influence(self, where: str) -> Any:
        """Influence (n, k, h) of each kernel point on each neighbour: 1 at the point, 0 an extent away (eq. 6)."""
        if where not in self._influences:
            config = self._network.config
            level = int(where[-1])
            cell = config.cell_m * 2**level
            support = self._inputs[f"points{level}"]
            centre = support if where.startswith("same") else self._inputs[f"points{level + 1}"]
            padded = torch.cat([support, support.new_full((1, 3), FAR_M)])
            offset = (torch.nn.functional.embedding(self._inputs[where], padded) - centre[:, None]) / cell
            square = offset.new_zeros(len(offset), len(self._network.kernel), offset.shape[1])
            for axis in range(3):
                apart = offset[:, :, axis].contiguous()[:, None] - self._network.kernel[:, axis][:, None]
                square.addcmul_(apart, apart)
            self._influences[where] = square.sqrt_().mul_(-1 / config.extent).add_(1).clamp_min_(0)
        return self._influences[where]


def _activate(x: Any) -> Any:
    return torch.nn.functional.leaky_relu(x, SLOPE)
