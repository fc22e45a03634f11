"""Operators of networks: products, convolutions, pools, normalisations and reductions, and what they cost."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from resweep.inference.graph_values import (
    Inputs,
    OperatorResult,
    Rules,
    Value,
    broadcast,
    check_outputs,
    find,
    find_axes,
    find_axis,
    make_value,
    read_axes,
    take,
)
from resweep.inference.onnx_file import Operator
from resweep.inference.protobuf import GraphError

_MAX_STEP = 2**15  # of strides, dilations and padding
_SPATIAL = (3, 5)  # axes of an image with its batch and channels: lines, areas and volumes
_REDUCTIONS = ("L1", "L2", "LogSum", "LogSumExp", "Max", "Mean", "Min", "Prod", "Sum", "SumSquare")


def _multiply(node: Operator, inputs: Inputs) -> OperatorResult:
    """MatMul."""
    a, b = take(node, inputs), take(node, inputs, 1)
    one = a.shape if len(a.shape) > 1 else (1, *a.shape)
    other = b.shape if len(b.shape) > 1 else (*b.shape, 1)
    if not a.shape or not b.shape or one[-1] != other[-2]:
        raise GraphError(f"MatMul: shapes {list(a.shape)} and {list(b.shape)} do not fit")
    stack = broadcast(node, one[:-2], other[:-2])
    rows = [one[-2]] if len(a.shape) > 1 else []
    columns = [other[-1]] if len(b.shape) > 1 else []
    found = make_value([*stack, *rows, *columns], a.dtype)
    return OperatorResult([found], found.count * one[-1])


def _gemm(node: Operator, inputs: Inputs) -> OperatorResult:
    a, b, c = take(node, inputs), take(node, inputs, 1), find(inputs, 2)
    if len(a.shape) != 2 or len(b.shape) != 2:
        raise GraphError("Gemm: its factors are no matrices")
    rows, inner = a.shape[::-1] if node.integer("transA", 0) else a.shape
    other, columns = b.shape[::-1] if node.integer("transB", 0) else b.shape
    if inner != other or (c is not None and broadcast(node, (rows, columns), c.shape) != (rows, columns)):
        raise GraphError(f"Gemm: shapes {list(a.shape)} and {list(b.shape)} do not fit")
    return OperatorResult([make_value([rows, columns], a.dtype)], rows * columns * inner)


def _read_window(node: Operator, kernel: Sequence[int]) -> tuple[list[int], list[int], list[int]]:
    """Strides, dilations and padding (first those before, then those after) of a window over an image."""
    axes = len(kernel)
    strides = list(node.integers("strides") or [1] * axes)
    dilations = list(node.integers("dilations") or [1] * axes)
    pads = list(node.integers("pads") or [0] * 2 * axes)
    fits = len(strides) == len(dilations) == axes and len(pads) == 2 * axes
    if not fits or not all(1 <= step <= _MAX_STEP for step in (*strides, *dilations, *kernel)):
        raise GraphError(f"{node.kind}: its kernel, strides or dilations are not accepted")
    reach = [(size - 1) * step + 1 for size, step in zip(kernel, dilations, strict=True)]
    if not all(0 <= pad <= min(size, _MAX_STEP) for pad, size in zip(pads, reach * 2, strict=True)):
        raise GraphError(f"{node.kind}: its padding is not accepted")
    return strides, dilations, pads


def _slide(node: Operator, image: Value, kernel: Sequence[int]) -> list[int]:
    """The places (...) at which a window over an image gives something."""
    strides, dilations, pads = _read_window(node, kernel)
    sizes, axes, found = image.shape[2:], len(kernel), []
    mode = node.word("auto_pad", "NOTSET")
    if mode not in ("NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER") or node.integer("ceil_mode", 0):
        raise GraphError(f"{node.kind}: auto_pad {mode}, or ceil_mode, is not accepted")
    for at, size in enumerate(sizes):
        if mode.startswith("SAME"):
            found.append(-(-size // strides[at]))
            continue
        around = pads[at] + pads[at + axes] if mode == "NOTSET" else 0
        found.append((size + around - ((kernel[at] - 1) * dilations[at] + 1)) // strides[at] + 1)
    if min(found) < 1:
        raise GraphError(f"{node.kind}: a window of {list(kernel)} does not fit into {list(sizes)}")
    return found


def _check_image(node: Operator, image: Value) -> None:
    if not _SPATIAL[0] <= len(image.shape) <= _SPATIAL[1]:
        raise GraphError(f"{node.kind}: {list(image.shape)} is no image")


def _check_kernel(node: Operator, image: Value, weight: Value) -> tuple[int, ...]:
    """The size of the kernel of a convolution."""
    _check_image(node, image)
    kernel = weight.shape[2:]
    if len(weight.shape) != len(image.shape) or tuple(node.integers("kernel_shape") or kernel) != kernel:
        raise GraphError(f"{node.kind}: a kernel of {list(weight.shape)} does not fit {list(image.shape)}")
    return kernel


def _convolve(node: Operator, inputs: Inputs) -> OperatorResult:
    image, weight, bias = take(node, inputs), take(node, inputs, 1), find(inputs, 2)
    kernel, groups = _check_kernel(node, image, weight), node.integer("group", 1)
    channels, given = weight.shape[0], image.shape[1]
    if not 1 <= groups <= max(channels, 1) or weight.shape[1] * groups != given or channels % groups:
        raise GraphError(f"Conv: {given} channels in {groups} groups do not fit a kernel of {list(weight.shape)}")
    if bias is not None and bias.shape != (channels,):
        raise GraphError("Conv: its bias does not fit")
    found = make_value([image.shape[0], channels, *_slide(node, image, kernel)], image.dtype)
    return OperatorResult([found], found.count * math.prod(weight.shape[1:]))


def _convolve_transposed(node: Operator, inputs: Inputs) -> OperatorResult:
    image, weight, bias = take(node, inputs), take(node, inputs, 1), find(inputs, 2)
    kernel, groups = _check_kernel(node, image, weight), node.integer("group", 1)
    if not 1 <= groups <= max(weight.shape[0], 1) or weight.shape[0] != image.shape[1] or image.shape[1] % groups:
        raise GraphError(f"ConvTranspose: {list(image.shape)} does not fit a kernel of {list(weight.shape)}")
    if node.integers("output_shape") is not None or node.word("auto_pad", "NOTSET") != "NOTSET":
        raise GraphError("ConvTranspose: output_shape and auto_pad are not accepted")
    channels = weight.shape[1] * groups
    if bias is not None and bias.shape != (channels,):
        raise GraphError("ConvTranspose: its bias does not fit")
    strides, dilations, pads = _read_window(node, kernel)
    more = list(node.integers("output_padding") or [0] * len(kernel))
    steps = [max(a, b) for a, b in zip(strides, dilations, strict=True)]
    if len(more) != len(kernel) or not all(0 <= size < step for size, step in zip(more, steps, strict=True)):
        raise GraphError("ConvTranspose: its output_padding is not accepted")
    sizes = [
        strides[at] * (size - 1) + more[at] + (kernel[at] - 1) * dilations[at] + 1 - pads[at] - pads[at + len(kernel)]
        for at, size in enumerate(image.shape[2:])
    ]
    if min(sizes) < 1:
        raise GraphError("ConvTranspose: nothing is left within its padding")
    found = make_value([image.shape[0], channels, *sizes], image.dtype)
    return OperatorResult([found], image.count * math.prod(weight.shape[1:]))


def _pool(node: Operator, inputs: Inputs) -> OperatorResult:
    """MaxPool and AveragePool."""
    image, kernel = take(node, inputs), node.integers("kernel_shape") or ()
    _check_image(node, image)
    if len(kernel) != len(image.shape) - 2 or min(kernel, default=0) < 1:
        raise GraphError(f"{node.kind}: a window of {list(kernel)} does not fit {list(image.shape)}")
    shape = [*image.shape[:2], *_slide(node, image, kernel)]
    found = make_value(shape, image.dtype)
    check_outputs(node, 2)
    return OperatorResult([found, make_value(shape, np.dtype(np.int64))], found.count * math.prod(kernel))


def _pool_all(node: Operator, inputs: Inputs) -> OperatorResult:
    """GlobalAveragePool and GlobalMaxPool."""
    image = take(node, inputs)
    _check_image(node, image)
    return OperatorResult([make_value([*image.shape[:2], *[1] * (len(image.shape) - 2)], image.dtype)], image.count)


def _normalise(node: Operator, inputs: Inputs) -> OperatorResult:
    """BatchNormalization and InstanceNormalization: numbers for each channel."""
    value = take(node, inputs)
    if node.integer("training_mode", 0) or len(node.outputs) > 1 or len(value.shape) < 2:
        raise GraphError(f"{node.kind}: it is set to training, or takes no channels")
    if any(item is not None and item.shape != (value.shape[1],) for item in inputs[1:]):
        raise GraphError(f"{node.kind}: its numbers do not fit {value.shape[1]} channels")
    return OperatorResult([value_like(value)], 4 * value.count)


def _normalise_layer(node: Operator, inputs: Inputs) -> OperatorResult:
    value = take(node, inputs)
    find_axis(node, node.integer("axis", -1), len(value.shape))
    check_outputs(node, 1)
    return OperatorResult([value_like(value)], 8 * value.count)


def value_like(value: Value) -> Value:
    """A value of the same shape and type, whose numbers are unknown."""
    return make_value(value.shape, value.dtype)


def _drop_axes(node: Operator, value: Value, axes: Sequence[int]) -> list[int]:
    """The shape of a reduction along axes."""
    gone = find_axes(node, axes, len(value.shape))
    keep = node.integer("keepdims", 1)
    return [1 if at in gone else size for at, size in enumerate(value.shape) if keep or at not in gone]


def _reduce(node: Operator, inputs: Inputs) -> OperatorResult:
    value, axes = take(node, inputs), read_axes(node, inputs, 1)
    if not axes:
        axes = () if node.integer("noop_with_empty_axes", 0) else tuple(range(len(value.shape)))
    return OperatorResult([make_value(_drop_axes(node, value, axes), value.dtype)], 4 * value.count)


def _find_extreme(node: Operator, inputs: Inputs) -> OperatorResult:
    """ArgMax and ArgMin."""
    value = take(node, inputs)
    return OperatorResult(
        [make_value(_drop_axes(node, value, [node.integer("axis", 0)]), np.dtype(np.int64))], value.count
    )


def _add_up(node: Operator, inputs: Inputs) -> OperatorResult:
    """CumSum."""
    return OperatorResult([value_like(take(node, inputs))])


RULES: Rules = {
    **{"MatMul": _multiply, "Gemm": _gemm, "Conv": _convolve, "ConvTranspose": _convolve_transposed},
    **{"MaxPool": _pool, "AveragePool": _pool, "GlobalAveragePool": _pool_all, "GlobalMaxPool": _pool_all},
    **{"BatchNormalization": _normalise, "InstanceNormalization": _normalise},
    **{"LayerNormalization": _normalise_layer, "CumSum": _add_up, "ArgMax": _find_extreme, "ArgMin": _find_extreme},
    **{f"Reduce{name}": _reduce for name in _REDUCTIONS},
}
