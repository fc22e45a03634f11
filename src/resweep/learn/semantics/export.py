"""A trained network as ONNX: the same description, followed with nodes of a graph.

Normalisation is folded into the weights. Neighbours are inputs, so the graph holds gathers, products and sums alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from resweep.learn.semantics.architecture import run_network
from resweep.learn.semantics.kpconv import FAR_M, SLOPE, KpConvNetwork
from resweep.optional import require
from resweep.pose import Array

_OPSET = 17
_IR = 8


def export(network: KpConvNetwork) -> bytes:
    """The network as the bytes of an ONNX file; the same for the same weights."""
    onnx = require("onnx", "writing a network as ONNX")
    graph = _GraphLayers(network, onnx.helper)
    scores = run_network(graph, "features", network.config, network.classes)
    graph.nodes.append(onnx.helper.make_node("Identity", [scores], ["scores"]))
    given, count = onnx.helper.make_tensor_value_info, len(network.config.features)
    kinds = onnx.TensorProto
    inputs = [given("features", kinds.FLOAT, ["n0", count])]
    for level in range(network.config.levels):
        inputs.append(given(f"points{level}", kinds.FLOAT, [f"n{level}", 3]))
        inputs.append(given(f"same{level}", kinds.INT32, [f"n{level}", f"h{level}"]))
    for level in range(network.config.levels - 1):
        inputs.append(given(f"down{level}", kinds.INT32, [f"n{level + 1}", f"d{level}"]))
        inputs.append(given(f"up{level}", kinds.INT32, [f"n{level}"]))
    outputs = [given("scores", kinds.FLOAT, ["n0", network.classes])]
    described = onnx.helper.make_graph(graph.nodes, "kpconv", inputs, outputs, graph.constants)
    model = onnx.helper.make_model(
        described, opset_imports=[onnx.helper.make_opsetid("", _OPSET)], producer_name="resweep"
    )
    model.ir_version = _IR
    onnx.checker.check_model(model)
    written: bytes = model.SerializeToString(deterministic=True)
    return written


class _GraphLayers:
    """Follows the network with names of values in a graph."""

    def __init__(self, network: KpConvNetwork, helper: Any) -> None:
        self._network, self._helper = network, helper
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self._widths = {"features": len(network.config.features)}
        self._known: dict[str, str] = {}

    def linear(self, name: str, x: str, channels: int, activate: bool = True) -> str:
        weight, bias = self._fold(name)
        y = self._node("Gemm", x, self._constant(f"{name}.weight", weight), self._constant(f"{name}.bias", bias))
        y = self._node("LeakyRelu", y, alpha=SLOPE) if activate else y
        return self._wide(y, channels)

    def convolve(self, name: str, x: str, where: str, channels: int) -> str:
        gathered = self._node("MatMul", self._influence(where), self._gather(x, where))
        return self.linear(name, self._node("Flatten", gathered, axis=1), channels)

    def pool(self, x: str, where: str) -> str:
        y = self._node("ReduceMax", self._gather(x, where), axes=[1], keepdims=0)
        return self._wide(y, self.channels(x))

    def upsample(self, x: str, where: str) -> str:
        return self._wide(self._node("Gather", x, where, axis=0), self.channels(x))

    def concatenate(self, x: str, y: str) -> str:
        return self._wide(self._node("Concat", x, y, axis=1), self.channels(x) + self.channels(y))

    def add(self, x: str, y: str) -> str:
        return self._wide(self._node("LeakyRelu", self._node("Add", x, y), alpha=SLOPE), self.channels(x))

    def classify(self, name: str, x: str, classes: int) -> str:
        weight = self._constant(f"{name}.weight", _to_array(self._network.weights[name]))
        bias = self._constant(f"{name}.bias", _to_array(self._network.weights["bias"]))
        return self._wide(self._node("Gemm", x, weight, bias), classes)

    def channels(self, x: str) -> int:
        return self._widths[x]

    def _fold(self, name: str) -> tuple[Array, Array]:
        """Weights and bias of a linear layer and the normalisation after it."""
        norm = self._network.norms[name]
        mean, variance, scale, shift = (
            _to_array(item).astype(np.float64) for item in (norm.running_mean, norm.running_var, norm.weight, norm.bias)
        )
        factor = scale / np.sqrt(variance + norm.eps)
        weight = _to_array(self._network.weights[name]).astype(np.float64) * factor
        return weight.astype(np.float32), (shift - mean * factor).astype(np.float32)

    def _gather(self, x: str, where: str) -> str:
        zero = self._constant(f"zero{self.channels(x)}", np.zeros((1, self.channels(x)), np.float32))
        return self._node("Gather", self._node("Concat", x, zero, axis=0), where, axis=0)

    def _influence(self, where: str) -> str:
        if where not in self._known:
            config, level = self._network.config, int(where[-1])
            cell = np.float32(config.cell_m * 2**level)
            support = f"points{level}"
            centre = support if where.startswith("same") else f"points{level + 1}"
            far = self._constant("far", np.full((1, 3), FAR_M, np.float32))
            near = self._node("Gather", self._node("Concat", support, far, axis=0), where, axis=0)
            offset = self._node("Sub", near, self._node("Unsqueeze", centre, self._integers("one", [1])))
            offset = self._node("Div", offset, self._constant(f"cell{level}", cell))
            squares = [self._square(offset, axis) for axis in range(3)]
            square = self._node("Add", self._node("Add", squares[0], squares[1]), squares[2])
            share = self._node("Div", self._node("Sqrt", square), self._constant("extent", np.float32(config.extent)))
            weight = self._node("Sub", self._constant("unit", np.float32(1)), share)
            self._known[where] = self._node("Relu", weight)
        return self._known[where]

    def _square(self, offset: str, axis: int) -> str:
        """Squared distances (n, k, h) along one axis of offsets (n, h, 3) from the kernel's points."""
        along = self._node("Gather", offset, self._integers(f"axis{axis}", axis), axis=2)
        along = self._node("Unsqueeze", along, self._integers("one", [1]))
        kernel = self._constant(f"kernel{axis}", _to_array(self._network.kernel)[:, axis][:, None])
        apart = self._node("Sub", along, kernel)
        return self._node("Mul", apart, apart)

    def _integers(self, name: str, value: Any) -> str:
        return self._constant(name, np.array(value, np.int64))

    def _constant(self, name: str, value: Any) -> str:
        if name not in self._known:
            array = np.ascontiguousarray(value)
            kind = self._helper.np_dtype_to_tensor_dtype(array.dtype)
            shape = np.shape(value)
            self.constants.append(self._helper.make_tensor(name, kind, shape, array.tobytes(), raw=True))
            self._known[name] = name
        return name

    def _node(self, kind: str, *inputs: str, **options: Any) -> str:
        name = f"v{len(self.nodes)}"
        self.nodes.append(self._helper.make_node(kind, list(inputs), [name], **options))
        return name

    def _wide(self, name: str, channels: int) -> str:
        self._widths[name] = channels
        return name


def _to_array(tensor: Any) -> Array:
    found: Array = tensor.detach().numpy()
    return found
