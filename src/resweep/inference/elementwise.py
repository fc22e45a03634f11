"""Operators that work on each element by itself, and what they give."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from resweep.inference.graph_values import (
    MAX_KNOWN,
    Inputs,
    OperatorResult,
    Rules,
    broadcast,
    find,
    from_tensor,
    make_value,
    take,
)
from resweep.inference.onnx_file import TYPES, Operator, Tensor
from resweep.inference.protobuf import GraphError
from resweep.pose import Array

_SAME = (
    *("Abs", "Acos", "Asin", "Atan", "Ceil", "Clip", "Cos", "Elu", "Erf", "Exp", "Floor", "Gelu", "HardSigmoid"),
    *("HardSwish", "Identity", "LeakyRelu", "Log", "LogSoftmax", "Mish", "Neg", "Not", "Reciprocal", "Relu", "Round"),
    *("Selu", "Sigmoid", "Sign", "Sin", "Softmax", "Softplus", "Softsign", "Sqrt", "Tan", "Tanh", "ThresholdedRelu"),
)
_COMPARED = ("And", "Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual", "Or", "Xor")
_COMBINED = ("Add", "Div", "Max", "Mean", "Min", "Mod", "Mul", "PRelu", "Pow", "Sub", "Sum")
_SLOW = 16  # times the work of one pass: functions such as exp


def _divide(a: Array, b: Array) -> Array:
    """A quotient as ONNX has it: that of integers is rounded to zero."""
    if a.dtype.kind == "f":
        return np.asarray(a / b)
    return np.asarray(np.where((a < 0) != (b < 0), -(np.abs(a) // np.abs(b)), np.abs(a) // np.abs(b)))


# What is computed here, of small values that follow from constants and shapes: sizes and scales come of it.
_COMPUTED: Mapping[str, Callable[..., Any]] = {
    **{"Abs": np.abs, "Ceil": np.ceil, "Floor": np.floor, "Identity": np.copy, "Neg": np.negative},
    **{"Add": np.add, "Sub": np.subtract, "Mul": np.multiply, "Div": _divide, "Sqrt": np.sqrt},
    **{"Max": np.maximum, "Min": np.minimum, "Equal": np.equal, "Greater": np.greater, "Less": np.less},
    **{"GreaterOrEqual": np.greater_equal, "LessOrEqual": np.less_equal, "And": np.logical_and, "Or": np.logical_or},
    "Not": np.logical_not,
}
_N_COMPUTED = {"Abs": 1, "Ceil": 1, "Floor": 1, "Identity": 1, "Neg": 1, "Not": 1, "Sqrt": 1}  # inputs; others: 2


def _compute(node: Operator, inputs: Inputs, dtype: np.dtype[Any]) -> Array | None:
    """The numbers that an operator gives, if those it takes are known."""
    function = _COMPUTED.get(node.kind)
    given = [item.data for item in inputs if item is not None]
    if function is None or len(given) != _N_COMPUTED.get(node.kind, 2) or any(item is None for item in given):
        return None
    with np.errstate(all="ignore"):
        found = np.asarray(function(*given))
    return found.astype(dtype) if found.size <= MAX_KNOWN else None


def _keep(node: Operator, inputs: Inputs) -> OperatorResult:
    value = take(node, inputs)
    return OperatorResult(
        [make_value(value.shape, value.dtype, _compute(node, inputs, value.dtype))], _SLOW * value.count
    )


def _combine(node: Operator, inputs: Inputs) -> OperatorResult:
    values = [take(node, inputs, at) for at in range(len(inputs))] or [take(node, inputs)]
    dtype = np.dtype(bool) if node.kind in _COMPARED else values[0].dtype
    if node.kind in ("Div", "Mod") and values[0].dtype.kind != "f":
        divisor = take(node, inputs, 1).data
        if divisor is None or not (divisor > 0).all():  # processors end a program that divides integers by zero
            raise GraphError(f"{node.kind}: integers are divided by what is no constant above 0")
    shape = broadcast(node, *(value.shape for value in values))
    value = make_value(shape, dtype)
    data = _compute(node, inputs, dtype) if value.count <= MAX_KNOWN else None
    return OperatorResult(
        [make_value(shape, dtype, data)], len(values) * (_SLOW if node.kind == "Pow" else 1) * value.count
    )


def _where(node: Operator, inputs: Inputs) -> OperatorResult:
    where, one, other = (take(node, inputs, at) for at in range(3))
    value = make_value(broadcast(node, where.shape, one.shape, other.shape), one.dtype)
    if where.data is None or one.data is None or other.data is None or value.count > MAX_KNOWN:
        return OperatorResult([value])
    data = np.where(where.data, one.data, other.data).astype(one.dtype)
    return OperatorResult([make_value(value.shape, one.dtype, data)])


def _cast(node: Operator, inputs: Inputs) -> OperatorResult:
    value, dtype = take(node, inputs), TYPES.get(node.integer("to", 0))
    if dtype is None:
        raise GraphError(f"Cast: the type {node.integer('to', 0)} is not accepted")
    with np.errstate(all="ignore"):
        data = None if value.data is None else value.data.astype(dtype)
    return OperatorResult([make_value(value.shape, dtype, data)])


def _constant(node: Operator, inputs: Inputs) -> OperatorResult:
    if len(node.attributes) != 1:
        raise GraphError("Constant: expected one attribute")
    ((name, given),) = node.attributes.items()
    if name == "value" and isinstance(given, Tensor):
        return OperatorResult([from_tensor(given)])
    kinds = {"value_float": np.float32, "value_floats": np.float32, "value_int": np.int64, "value_ints": np.int64}
    if name not in kinds or isinstance(given, (Tensor, str)):
        raise GraphError(f"Constant: the attribute '{name}' is not accepted")
    data = np.array(given, kinds[name])
    return OperatorResult([make_value(data.shape, data.dtype, data)])


def _drop_out(node: Operator, inputs: Inputs) -> OperatorResult:
    """Dropout, which does nothing but in training."""
    value, training = take(node, inputs), find(inputs, 2)
    if training is not None and (training.data is None or training.data.any()):
        raise GraphError("Dropout: it is set to training, which is not accepted")
    return OperatorResult([value, make_value(value.shape, np.dtype(bool))])


RULES: Rules = {
    **dict.fromkeys(_SAME, _keep),
    **dict.fromkeys((*_COMPARED, *_COMBINED), _combine),
    "Where": _where,
    "Cast": _cast,
    "Constant": _constant,
    "Dropout": _drop_out,
}
