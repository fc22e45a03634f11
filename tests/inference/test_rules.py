"""What is predicted of each operator before it runs is what onnxruntime then gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from resweep.inference import elementwise, layout, neural
from resweep.inference.graph_values import Value
from resweep.inference.measure import LEARNED, STANDARD, measure
from resweep.inference.onnx_file import read_graph

onnx = pytest.importorskip("onnx", reason="needs resweep[learn]")
runtime = pytest.importorskip("onnxruntime", reason="needs resweep[realism]")

RNG = np.random.default_rng(5)
CHANNEL = RNG.random(4, np.float32)


class Known:
    """An input that is a constant of the graph: sizes and axes come of it."""

    def __init__(self, *values: Any, dtype: Any = np.int64) -> None:
        self.data = np.array(values, dtype)


def drawn(*shape: int) -> np.ndarray:
    return RNG.random(shape).astype(np.float32)


IMAGE = drawn(2, 4, 9, 7)
BOOL = drawn(3, 4) > 0.5
INDEX = np.array([[0, 2], [1, -1]], np.int64)
ALL = {
    **{name: [({}, [IMAGE])] for name in elementwise._SAME if name not in ("Clip", "Not")},
    **{name: [({}, [drawn(3, 1, 4), drawn(5, 1)])] for name in (*elementwise._COMBINED, *elementwise._COMPARED)},
    "Acos": [({}, [drawn(3)])],
    "Not": [({}, [BOOL])],
    **{name: [({}, [BOOL, BOOL[:1]])] for name in ("And", "Or", "Xor")},
    "Mod": [({"fmod": 1}, [drawn(3, 4), drawn(4)]), ({}, [INDEX, Known(3)])],
    "Div": [({}, [drawn(3, 4), drawn(4)]), ({}, [INDEX, Known(3, 2)])],
    "Clip": [({}, [IMAGE, Known(0.2, dtype=np.float32).data.reshape(()), None])],
    "Where": [({}, [BOOL, drawn(4), drawn(2, 1, 1)])],
    "Cast": [({"to": 7}, [drawn(3)]), ({"to": 9}, [INDEX])],
    "Constant": [({"value_floats": [1.0, 2.0]}, []), ({"value_int": 3}, [])],
    "Dropout": [({}, [drawn(3, 4)])],
    "Reshape": [({}, [IMAGE, Known(0, -1, 7)]), ({"allowzero": 1}, [drawn(0, 3), Known(3, 0)])],
    "Flatten": [({"axis": axis}, [IMAGE]) for axis in (0, 1, 2, 4, -1)],
    "Squeeze": [({}, [drawn(1, 3, 1), Known(-1)]), ({}, [drawn(1, 3, 1)])],
    "Unsqueeze": [({}, [drawn(3, 2), Known(0, -1)])],
    "Transpose": [({}, [IMAGE]), ({"perm": [2, 0, 3, 1]}, [IMAGE])],
    "Concat": [({"axis": -1}, [drawn(3, 2), drawn(3, 5)])],
    "Split": [({"axis": 1}, [IMAGE, Known(1, 3)], 2), ({"axis": 2, "num_outputs": 2}, [IMAGE], 2)],
    "Slice": [
        ({}, [IMAGE, Known(1, -3), Known(100, -1), Known(2, -1)]),
        ({}, [IMAGE, Known(-1), Known(-(2**63)), Known(2), Known(-2)]),
        ({}, [IMAGE, Known(5), Known(2), Known(2), Known(1)]),
    ],
    "Gather": [({"axis": 1}, [IMAGE, INDEX]), ({}, [drawn(4), Known(2).data.reshape(())])],
    "GatherElements": [({"axis": 1}, [drawn(2, 3), INDEX])],
    "Expand": [({}, [drawn(3, 1), Known(2, 1, 5)])],
    "Tile": [({}, [drawn(2, 3), Known(2, 3)])],
    "Pad": [({}, [drawn(3, 4), Known(1, 0, 2, 3)]), ({"mode": "reflect"}, [drawn(3, 4), Known(2, 1), None, Known(1)])],
    "Resize": [
        ({"mode": "nearest"}, [IMAGE, None, Known(1, 1, 2.3, 0.7, dtype=np.float32)]),
        ({"mode": "linear"}, [IMAGE, None, None, Known(2, 4, 5, 11)]),
    ],
    "DepthToSpace": [({"blocksize": 2}, [IMAGE])],
    "SpaceToDepth": [({"blocksize": 2}, [drawn(1, 2, 4, 6)])],
    "Shape": [({}, [IMAGE]), ({"start": 1, "end": -1}, [IMAGE])],
    "Size": [({}, [IMAGE])],
    "ConstantOfShape": [({}, [Known(3, 0, 2)])],
    "Range": [({}, [Known(v).data.reshape(()) for v in (9, -2, -3)], 1, True)],
    "OneHot": [({"axis": 1}, [INDEX, Known(5), drawn(2)])],
    "TopK": [({"axis": 2}, [IMAGE, Known(3)], 2)],
    "MatMul": [({}, [drawn(5, 3, 4), drawn(4, 6)]), ({}, [drawn(4), drawn(2, 4, 6)]), ({}, [drawn(3, 4), drawn(4)])],
    "Gemm": [({"transA": 1, "transB": 1}, [drawn(4, 3), drawn(5, 4), drawn(5)])],
    "Conv": [
        ({"pads": [1, 2, 1, 0], "strides": [2, 1], "dilations": [1, 2]}, [IMAGE, drawn(6, 4, 3, 2), drawn(6)]),
        ({"group": 2, "auto_pad": "SAME_UPPER", "strides": [2, 2]}, [IMAGE, drawn(6, 2, 3, 3)]),
        ({"auto_pad": "VALID"}, [drawn(1, 2, 8), drawn(3, 2, 3)]),
    ],
    "ConvTranspose": [
        ({"strides": [2, 3], "pads": [1, 0, 1, 1], "output_padding": [1, 0]}, [IMAGE, drawn(4, 3, 3, 2), drawn(3)]),
        ({"group": 2, "dilations": [2, 1]}, [IMAGE, drawn(4, 3, 2, 2)]),
    ],
    **{
        name: [({"kernel_shape": [3, 2], "strides": [2, 2], "pads": [1, 0, 1, 1]}, [IMAGE])]
        for name in ("MaxPool", "AveragePool")
    },
    **{name: [({}, [IMAGE])] for name in ("GlobalAveragePool", "GlobalMaxPool")},
    "BatchNormalization": [({}, [IMAGE, *[CHANNEL] * 4])],
    "InstanceNormalization": [({}, [IMAGE, CHANNEL, CHANNEL])],
    "LayerNormalization": [({}, [drawn(3, 4), CHANNEL, CHANNEL])],
    "CumSum": [({}, [drawn(3, 4), Known(1).data.reshape(())])],
    **{name: [({"axis": 1}, [IMAGE]), ({"axis": -1, "keepdims": 0}, [IMAGE])] for name in ("ArgMax", "ArgMin")},
    **{f"Reduce{name}": [({"keepdims": 0}, [IMAGE, Known(1, -1)]), ({}, [IMAGE])] for name in neural._REDUCTIONS},
}


def make_model(kind: str, attributes: dict, inputs: list, outputs: int, known: bool) -> tuple[bytes, dict]:
    """The bytes of a model of one operator, and what it is fed."""
    helper = onnx.helper
    given, fed, constants = [], {}, []
    for at, item in enumerate(inputs):
        given.append("" if item is None else f"x{at}")
        if isinstance(item, Known) or (known and item is not None):
            data = item.data if isinstance(item, Known) else item
            constants.append(onnx.numpy_helper.from_array(data, f"x{at}"))
        elif item is not None:
            fed[f"x{at}"] = item
    names = [f"y{at}" for at in range(outputs)]
    to_type = helper.np_dtype_to_tensor_dtype
    values = [
        helper.make_tensor_value_info(name, to_type(item.dtype), [None] * item.ndim) for name, item in fed.items()
    ]
    results = [helper.make_empty_tensor_value_info(name) for name in names]
    node = helper.make_node(kind, given, names, **attributes)
    graph = onnx.helper.make_graph([node], "g", values, results, constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)
    model = onnx.shape_inference.infer_shapes(model)
    return model.SerializeToString(), fed


CASES = [(name, at) for name in sorted(STANDARD) for at in range(len(ALL[name]))]


@pytest.mark.parametrize(("name", "at"), CASES, ids=[f"{name}-{at}" for name, at in CASES])
def test_shapes_and_known_numbers_are_those_of_onnxruntime(name: str, at: int) -> None:
    attributes, inputs, outputs, known, *_ = (*ALL[name][at], *(1, False)[len(ALL[name][at]) - 2 :])
    data, fed = make_model(name, attributes, inputs, outputs, known)
    found = measure(read_graph(data), {key: Value(item.shape, item.dtype) for key, item in fed.items()})
    given = runtime.InferenceSession(data, providers=["CPUExecutionProvider"]).run(None, fed)
    for value, array in zip(found.outputs.values(), given, strict=True):
        assert (value.shape, value.dtype) == (array.shape, array.dtype)
        if value.data is not None:
            np.testing.assert_array_equal(value.data, array)


@pytest.mark.parametrize("name", ["Add", "Sub", "Mul", "Div", "Max", "Min", "Equal", "GreaterOrEqual", "Less"])
def test_numbers_that_are_computed_here_are_those_of_onnxruntime(name: str) -> None:
    data, _ = make_model(name, {}, [Known(-7, 8, 9), Known(2, 3, 9)], 1, True)
    (found,) = measure(read_graph(data), {}).outputs.values()
    assert found.data is not None
    (given,) = runtime.InferenceSession(data, providers=["CPUExecutionProvider"]).run(None, {})
    np.testing.assert_array_equal(found.data, given)


def test_there_is_a_case_for_each_operator() -> None:
    assert set(ALL) == set(STANDARD)
    assert set(LEARNED) == {"TreeEnsembleRegressor"}  # compared with scikit-learn by the tests of boosting
    assert not (set(layout.RULES) & set(neural.RULES)) | (set(layout.RULES) & set(elementwise.RULES))
