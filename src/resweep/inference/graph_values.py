"""What is known of a value before anything runs: shape and type, and numbers that can decide about shapes."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from resweep.inference.onnx_file import MAX_DIM, MAX_RANK, Operator, Tensor
from resweep.inference.protobuf import GraphError
from resweep.pose import Array

MAX_KNOWN = 1_024  # numbers of a value that are computed here


@dataclass(frozen=True, eq=False)
class Value:
    """A tensor that a graph computes: shape, type, and ``data`` where it depends on constants and shapes alone."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    data: Array | None = None

    @property
    def count(self) -> int:
        """Its elements."""
        return math.prod(self.shape)

    @property
    def n_bytes(self) -> int:
        """The memory it takes."""
        return self.count * self.dtype.itemsize


@dataclass(frozen=True)
class OperatorResult:
    """What an operator gives, and the multiply-adds it needs beyond one pass over its values."""

    values: Sequence[Value]
    work: int = 0


Inputs: TypeAlias = Sequence[Value | None]
Rule: TypeAlias = Callable[[Operator, Inputs], OperatorResult]
Rules: TypeAlias = Mapping[str, Rule]


def make_value(shape: Sequence[int], dtype: np.dtype[Any], data: Array | None = None) -> Value:
    """A value; raises where its shape is none."""
    if len(shape) > MAX_RANK or not all(0 <= size < MAX_DIM for size in shape):
        raise GraphError(f"a value would have the shape {[int(size) for size in shape[: MAX_RANK + 1]]}")
    sizes = tuple(int(size) for size in shape)
    if data is not None and (data.shape != sizes or data.size > MAX_KNOWN):
        data = None
    return Value(sizes, dtype, data)


def make_known(data: Array) -> Value:
    """A value whose numbers are known."""
    return make_value(data.shape, data.dtype, data)


def from_tensor(tensor: Tensor) -> Value:
    """A constant of the graph as a value."""
    return make_value(tensor.shape, tensor.dtype, tensor.data)


def take(node: Operator, inputs: Inputs, at: int = 0) -> Value:
    """The input ``at`` of an operator, which needs it."""
    value = inputs[at] if at < len(inputs) else None
    if value is None:
        raise GraphError(f"{node.kind}: the input {at} is missing")
    return value


def find(inputs: Inputs, at: int) -> Value | None:
    """The input ``at`` of an operator, None where it is left out."""
    return inputs[at] if at < len(inputs) else None


def read_known(node: Operator, inputs: Inputs, at: int, what: str) -> Array:
    """The numbers of an input that decides about shapes: they must follow from constants and shapes alone."""
    value = take(node, inputs, at)
    if value.data is None:
        raise GraphError(f"{node.kind}: its {what} depend on data, so its size is unknown before it runs")
    return value.data


def read_integers(node: Operator, inputs: Inputs, at: int, what: str) -> list[int]:
    """The numbers of such an input as integers."""
    data = read_known(node, inputs, at, what)
    if data.dtype.kind not in "iu" or data.ndim > 1:
        raise GraphError(f"{node.kind}: its {what} are no list of integers")
    return [int(item) for item in data.ravel()]


def read_axes(node: Operator, inputs: Inputs, at: int) -> tuple[int, ...] | None:
    """Axes from an attribute (older operators) or the input ``at``; None where both are missing."""
    axes = node.integers("axes")
    if axes is None and find(inputs, at) is not None:
        axes = tuple(read_integers(node, inputs, at, "axes"))
    return axes


def find_axis(node: Operator, axis: int, rank: int) -> int:
    """An axis from 0, of ``rank``."""
    if not -rank <= axis < rank:
        raise GraphError(f"{node.kind}: the axis {axis} is none of {rank}")
    return axis % rank


def find_axes(node: Operator, axes: Sequence[int], rank: int) -> list[int]:
    """Axes from 0, none of them twice."""
    found = [find_axis(node, axis, rank) for axis in axes]
    if len(set(found)) != len(found):
        raise GraphError(f"{node.kind}: an axis is given twice")
    return found


def broadcast(node: Operator, *shapes: Sequence[int]) -> tuple[int, ...]:
    """The shape that shapes are stretched to."""
    rank = max(map(len, shapes))
    found = [1] * rank
    for shape in shapes:
        for at, size in enumerate(shape, rank - len(shape)):
            if size != 1 and found[at] not in (1, size):
                raise GraphError(f"{node.kind}: shapes {' and '.join(str(list(item)) for item in shapes)} do not fit")
            found[at] = size if size != 1 else found[at]
    return tuple(found)


def check_outputs(node: Operator, most: int) -> None:
    """Raise if an operator is asked for more results than ``most``."""
    if len(node.outputs) > most:
        raise GraphError(f"{node.kind}: {len(node.outputs)} outputs, at most {most} are accepted")
