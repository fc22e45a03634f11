"""The network in PyTorch: kernel point convolutions over a pyramid."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from resweep.learn.semantics.architecture import run_network
from resweep.learn.semantics.config import NetworkConfig
from resweep.learn.semantics.kernel import place_kernel_points
from resweep.optional import require
from resweep.pose import Array
from resweep.segmentation.pyramid import Pyramid

SLOPE = 0.1  # of activations below zero
FAR_M = 1e6  # where neighbours lie that are none
_MOMENTUM = 0.05


def load_torch() -> Any:
    """PyTorch, or an error that says how to install it; on one thread, where it gives the same bytes each time.

    More threads would change the last digits of sums, and gain little on clouds of this size.
    """
    torch = require("torch", "training a network")
    torch.use_deterministic_algorithms(True)
    torch.set_num_threads(1)
    return torch


class KpConvNetwork:
    """Scores (n, c) of classes for the points of a pyramid's finest grid, from features (n, f).

    ``module`` is what PyTorch keeps of it: ``weights`` by layer, ``norms`` and the last ``bias``. ``seed`` draws them.
    """

    def __init__(self, config: NetworkConfig, classes: int, seed: int = 0) -> None:
        torch = load_torch()
        torch.manual_seed(seed)
        self.config, self.classes = config, classes
        self.weights, self.norms = torch.nn.ParameterDict(), torch.nn.ModuleDict()
        self.weights["bias"] = torch.nn.Parameter(torch.zeros(classes))
        self.kernel = torch.from_numpy(place_kernel_points(config.kernel_points, config.extent))
        run_network(_ParameterMaker(self, torch), len(config.features), config, classes)
        self.module = torch.nn.ModuleDict({"weights": self.weights, "norms": self.norms})

    def __call__(self, features: Any, inputs: Mapping[str, Any]) -> Any:
        """Scores of the points; ``inputs`` are the arrays of the pyramid as tensors, by name."""
        return run_network(_TensorLayers(self, inputs), features, self.config, self.classes)


def to_tensors(pyramid: Pyramid) -> dict[str, Any]:
    """The arrays of a pyramid as tensors, by name."""
    torch = load_torch()
    return {name: torch.from_numpy(array) for name, array in pyramid.inputs().items()}


def predict(network: KpConvNetwork, features: Array, pyramid: Pyramid) -> Array:
    """Scores (n, c) float32 of a network that is not being trained."""
    torch = load_torch()
    network.module.eval()
    with torch.no_grad():
        found: Array = network(torch.from_numpy(features), to_tensors(pyramid)).numpy()
    return found


class _ParameterMaker:
    """Follows the network by its numbers of channels, and makes its parameters."""

    def __init__(self, network: KpConvNetwork, torch: Any) -> None:
        self._network, self._torch = network, torch

    def _add(self, name: str, rows: int, columns: int, norm: bool = True) -> int:
        drawn = self._torch.randn(rows, columns) * math.sqrt(2.0 / rows)
        self._network.weights[name] = self._torch.nn.Parameter(drawn)
        if norm:
            self._network.norms[name] = self._torch.nn.BatchNorm1d(columns, momentum=_MOMENTUM)
        return columns

    def linear(self, name: str, x: int, channels: int, activate: bool = True) -> int:
        return self._add(name, x, channels)

    def convolve(self, name: str, x: int, where: str, channels: int) -> int:
        return self._add(name, len(self._network.kernel) * x, channels)

    def pool(self, x: int, where: str) -> int:
        return x

    def upsample(self, x: int, where: str) -> int:
        return x

    def concatenate(self, x: int, y: int) -> int:
        return x + y

    def add(self, x: int, y: int) -> int:
        return x

    def classify(self, name: str, x: int, classes: int) -> int:
        return self._add(name, x, classes, norm=False)

    def channels(self, x: int) -> int:
        return x


class _TensorLayers:
    """Follows the network with tensors."""

    def __init__(self, network: KpConvNetwork, inputs: Mapping[str, Any]) -> None:
        self._network, self._inputs, self._torch = network, inputs, load_torch()
        self._influences: dict[str, Any] = {}

    def linear(self, name: str, x: Any, channels: int, activate: bool = True) -> Any:
        y = self._network.norms[name](self._torch.mm(x, self._network.weights[name]))
        return self._activate(y) if activate else y

    def convolve(self, name: str, x: Any, where: str, channels: int) -> Any:
        # Sum over neighbours and kernel points of influence · W_k · feature (KPConv, eq. 2 to 6).
        gathered = self._torch.bmm(self._influence(where), self._gather(x, where))
        return self.linear(name, gathered.flatten(1), channels)

    def pool(self, x: Any, where: str) -> Any:
        return self._gather(x, where).max(dim=1).values

    def upsample(self, x: Any, where: str) -> Any:
        return self._torch.nn.functional.embedding(self._inputs[where], x)

    def concatenate(self, x: Any, y: Any) -> Any:
        return self._torch.cat([x, y], dim=1)

    def add(self, x: Any, y: Any) -> Any:
        return self._activate(x + y)

    def classify(self, name: str, x: Any, classes: int) -> Any:
        x = self._torch.nn.functional.dropout(x, self._network.config.dropout, self._network.module.training)
        return self._torch.addmm(self._network.weights["bias"], x, self._network.weights[name])

    def channels(self, x: Any) -> int:
        return int(x.shape[1])

    def _gather(self, x: Any, where: str) -> Any:
        """Values (n, h, c) of neighbours, zero for none; an embedding has a gradient that threads do not reorder."""
        padded = self._torch.cat([x, x.new_zeros(1, x.shape[1])])
        return self._torch.nn.functional.embedding(self._inputs[where], padded)

    def _influence(self, where: str) -> Any:
        """Influence (n, k, h) of each kernel point on each neighbour: 1 at the point, 0 an extent away (eq. 6)."""
        if where not in self._influences:
            config = self._network.config
            level = int(where[-1])
            cell = config.cell_m * 2**level
            support = self._inputs[f"points{level}"]
            centre = support if where.startswith("same") else self._inputs[f"points{level + 1}"]
            padded = self._torch.cat([support, support.new_full((1, 3), FAR_M)])
            offset = (self._torch.nn.functional.embedding(self._inputs[where], padded) - centre[:, None]) / cell
            square = offset.new_zeros(len(offset), len(self._network.kernel), offset.shape[1])
            for axis in range(3):
                apart = offset[:, :, axis].contiguous()[:, None] - self._network.kernel[:, axis][:, None]
                square.addcmul_(apart, apart)
            self._influences[where] = square.sqrt_().mul_(-1 / config.extent).add_(1).clamp_min_(0)
        return self._influences[where]

    def _activate(self, x: Any) -> Any:
        return self._torch.nn.functional.leaky_relu(x, SLOPE)
