"""A trained detector as ONNX: the same description, followed with nodes of a graph. Normalisation is in the weights."""

from __future__ import annotations

from typing import Any

import numpy as np

from resweep.learn.detector.detector_layers import run_network
from resweep.learn.detector.detector_network import DetectorNetwork
from resweep.learn.graphs import OnnxOps
from resweep.optional import require
from resweep.perception.detection.birds_eye import CHANNELS
from resweep.perception.detection.decoding import BOX_CHANNELS
from resweep.perception.detection.detector import INPUT, OUTPUT
from resweep.pose import Array

_OPSET, _IR = 17, 9


def export(network: DetectorNetwork) -> bytes:
    """The network as the bytes of an ONNX file; the same for the same weights."""
    onnx = require("onnx", "writing a network as ONNX")
    helper, kind = onnx.helper, onnx.TensorProto.FLOAT
    layers = _DetectorGraph(network)
    found = run_network(layers, INPUT, network.shape, network.classes)
    layers.ops.nodes.append(helper.make_node("Identity", [found], [OUTPUT]))
    given = helper.make_tensor_value_info(INPUT, kind, ["n", len(CHANNELS), "rows", "columns"])
    outputs = network.classes + len(BOX_CHANNELS) + network.shape.features
    gives = helper.make_tensor_value_info(OUTPUT, kind, ["n", outputs, "r", "c"])
    graph = helper.make_graph(layers.ops.nodes, "detector", [given], [gives], layers.ops.constants)
    opsets = [helper.make_opsetid("", _OPSET)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=_IR, producer_name="resweep")
    onnx.checker.check_model(model)
    data: bytes = model.SerializeToString(deterministic=True)
    return data


class _DetectorGraph:
    """Follows the network with names of values in a graph."""

    def __init__(self, network: DetectorNetwork) -> None:
        self._network, self.ops = network, OnnxOps()

    def conv(self, name: str, x: str, given: int, channels: int, size: int = 3, stride: int = 1) -> str:
        conv, norm = self._network.find(name)
        factor = _to_array(norm.weight) / np.sqrt(_to_array(norm.running_var) + norm.eps)
        weight = _to_array(conv.weight) * factor[:, None, None, None]
        bias = _to_array(norm.bias) - _to_array(norm.running_mean) * factor
        constants = (self.ops.constant(item.astype(np.float32)) for item in (weight, bias))
        return self.ops.node("Conv", x, *constants, pads=[size // 2] * 4, strides=[stride] * 2)

    def last(self, name: str, x: str, given: int, channels: int, bias: float) -> str:
        conv = self._network.find(name)
        return self.ops.conv(x, conv.weight, conv.bias)

    def relu(self, x: str) -> str:
        return self.ops.relu(x)

    def add(self, x: str, y: str) -> str:
        return self.ops.add(x, y)

    def double(self, x: str) -> str:
        return self.ops.double(x)

    def concat(self, *parts: str) -> str:
        return self.ops.concat(parts)


def _to_array(tensor: Any) -> Array:
    found: Array = tensor.detach().numpy().astype(np.float64)
    return found
