"""The arithmetic of networks in two forms: PyTorch to train, and a graph of ONNX to run without it.

A network is written once, against the methods that `TorchOps` and `OnnxOps` share; both give the same numbers to the
rounding of float32.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from resweep.optional import require
from resweep.pose import Array
from resweep.simulate.realism.onnx_network import INPUT, OUTPUT

_OPSET, _ML_OPSET, _IR = 17, 3, 9
TOLERANCE = 1e-4  # by which what ONNX gives may differ from PyTorch


class TorchOps:
    """Operations on tensors of PyTorch."""

    def __init__(self) -> None:
        self._torch = require("torch", "training a network")
        self._f = self._torch.nn.functional

    def constant(self, values: Array) -> Any:
        """A fixed tensor."""
        return self._torch.from_numpy(np.array(values))

    def select(self, x: Any, first: int, last: int) -> Any:
        """Channels ``first`` to ``last`` - 1."""
        return x[:, first:last]

    def add(self, x: Any, y: Any) -> Any:
        """The sum, broadcast."""
        return x + y

    def multiply(self, x: Any, y: Any) -> Any:
        """The product, broadcast."""
        return x * y

    def clip(self, x: Any, bound: float) -> Any:
        """Values within ± ``bound``."""
        return x.clamp(-bound, bound)

    def equals(self, x: Any, value: float) -> Any:
        """1 where x is ``value``, else 0."""
        return (x == value).to(x.dtype)

    def concat(self, parts: Sequence[Any]) -> Any:
        """Channels side by side."""
        return self._torch.cat(list(parts), dim=1)

    def relu(self, x: Any) -> Any:
        """Values above 0."""
        return self._f.relu(x)

    def sigmoid(self, x: Any) -> Any:
        """The logistic function."""
        return self._torch.sigmoid(x)

    def softmax(self, x: Any) -> Any:
        """Shares of the channels, which are 1 together."""
        return self._f.softmax(x, dim=1)

    def linear(self, x: Any, weight: Any, bias: Any) -> Any:
        """x (n, in) times the weight (out, in), and the bias."""
        return self._f.linear(x, weight, bias)

    def rows(self, table: Any, index: Any) -> Any:
        """Rows of a table (k, m) by index (n, 1)."""
        chosen = index[:, 0].long().clamp(0, table.shape[0] - 1)
        # A product: the gradient of an index adds up in the order of the threads.
        return self._torch.matmul(self._f.one_hot(chosen, table.shape[0]).to(table.dtype), table)

    def conv(self, x: Any, weight: Any, bias: Any) -> Any:
        """A convolution that keeps the size."""
        return self._f.conv2d(x, weight, bias, padding=weight.shape[-1] // 2)

    def pool(self, x: Any) -> Any:
        """The largest of each 2 × 2."""
        return self._f.max_pool2d(x, 2)

    def double(self, x: Any) -> Any:
        """Each value as 2 × 2."""
        return self._f.interpolate(x, scale_factor=2, mode="nearest")


class OnnxOps:
    """Operations that become the nodes of an ONNX graph; values are names."""

    def __init__(self) -> None:
        self._onnx = require("onnx", "writing a network")
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def constant(self, values: Any) -> str:
        """A fixed tensor."""
        array = values.detach().numpy() if hasattr(values, "detach") else np.asarray(values)
        name = f"c{len(self.constants)}"
        self.constants.append(self._onnx.numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name

    def node(self, kind: str, *inputs: str, domain: str = "", **attributes: Any) -> str:
        """A node of that kind."""
        name = f"n{len(self.nodes)}"
        self.nodes.append(self._onnx.helper.make_node(kind, list(inputs), [name], domain=domain, **attributes))
        return name

    def select(self, x: str, first: int, last: int) -> str:
        """Channels ``first`` to ``last`` - 1."""
        return self.node("Slice", x, *(self.constant(np.array([value], np.int64)) for value in (first, last, 1)))

    def add(self, x: str, y: Any) -> str:
        """The sum, broadcast."""
        return self.node("Add", x, self._name(y))

    def multiply(self, x: str, y: Any) -> str:
        """The product, broadcast."""
        return self.node("Mul", x, self._name(y))

    def clip(self, x: str, bound: float) -> str:
        """Values within ± ``bound``."""
        return self.node("Clip", x, self.constant(np.float32(-bound)), self.constant(np.float32(bound)))

    def equals(self, x: str, value: float) -> str:
        """1 where x is ``value``, else 0."""
        return self.node("Cast", self.node("Equal", x, self.constant(np.float32(value))), to=1)

    def concat(self, parts: Sequence[str]) -> str:
        """Channels side by side."""
        return self.node("Concat", *parts, axis=1)

    def relu(self, x: str) -> str:
        """Values above 0."""
        return self.node("Relu", x)

    def sigmoid(self, x: str) -> str:
        """The logistic function."""
        return self.node("Sigmoid", x)

    def softmax(self, x: str) -> str:
        """Shares of the channels, which are 1 together."""
        return self.node("Softmax", x, axis=1)

    def linear(self, x: str, weight: Any, bias: Any) -> str:
        """x (n, in) times the weight (out, in), and the bias."""
        return self.node("Gemm", x, self.constant(weight), self.constant(bias), transB=1)

    def rows(self, table: Any, index: str) -> str:
        """Rows of a table (k, m) by index (n, 1)."""
        limits = (self.constant(np.float32(0)), self.constant(np.float32(len(table) - 1)))
        whole = self.node("Cast", self.node("Clip", index, *limits), to=7)
        flat = self.node("Squeeze", whole, self.constant(np.array([1], np.int64)))
        return self.node("Gather", self.constant(table), flat, axis=0)

    def conv(self, x: str, weight: Any, bias: Any) -> str:
        """A convolution that keeps the size."""
        return self.node("Conv", x, self.constant(weight), self.constant(bias), pads=[weight.shape[-1] // 2] * 4)

    def pool(self, x: str) -> str:
        """The largest of each 2 × 2."""
        return self.node("MaxPool", x, kernel_shape=[2, 2], strides=[2, 2])

    def double(self, x: str) -> str:
        """Each value as 2 × 2."""
        scales = self.constant(np.array([1, 1, 2, 2], np.float32))
        how = {"mode": "nearest", "coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
        return self.node("Resize", x, "", scales, **how)

    def _name(self, value: Any) -> str:
        return value if isinstance(value, str) else self.constant(value)

    def finish(self, result: str, shape: Sequence[Any], outputs: int = 1) -> bytes:
        """The bytes of the graph that gives ``result``, whose input has this shape; letters stand for any size."""
        helper, kind = self._onnx.helper, self._onnx.TensorProto.FLOAT
        self.nodes.append(helper.make_node("Identity", [result], [OUTPUT]))
        inputs = [helper.make_tensor_value_info(INPUT, kind, list(shape))]
        results = [helper.make_tensor_value_info(OUTPUT, kind, ["n", outputs, *shape[2:]])]
        graph = helper.make_graph(self.nodes, "resweep", inputs, results, self.constants)
        opsets = [helper.make_opsetid("", _OPSET), helper.make_opsetid("ai.onnx.ml", _ML_OPSET)]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=_IR, producer_name="resweep")
        self._onnx.checker.check_model(model)
        data: bytes = model.SerializeToString(deterministic=True)
        return data
