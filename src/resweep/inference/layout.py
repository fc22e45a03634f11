"""Operators that move, cut, join, repeat or make values, and the shapes they give."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from resweep.inference.graph_values import (
    MAX_KNOWN,
    Inputs,
    OperatorResult,
    Rules,
    Value,
    broadcast,
    check_outputs,
    find,
    find_axes,
    find_axis,
    make_known,
    make_value,
    read_axes,
    read_integers,
    read_known,
    take,
)
from resweep.inference.onnx_file import MAX_DIM, Operator, Tensor
from resweep.inference.protobuf import GraphError

_RESIZING: Mapping[str, tuple[str, ...]] = {  # modes that are accepted; the first is the default
    "coordinate_transformation_mode": ("half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric"),
    "mode": ("nearest", "linear", "cubic"),
    "keep_aspect_ratio_policy": ("stretch",),
}


def _with_shape(value: Value, shape: list[int]) -> OperatorResult:
    """The same elements in another shape."""
    data = None if value.data is None or math.prod(shape) != value.count else value.data.reshape(shape)
    return OperatorResult([make_value(shape, value.dtype, data)])


def _reshape(node: Operator, inputs: Inputs) -> OperatorResult:
    value, wanted = take(node, inputs), read_integers(node, inputs, 1, "sizes")
    sizes = list(wanted)
    for at, size in enumerate(wanted):
        if size == 0 and not node.integer("allowzero", 0):
            if at >= len(value.shape):
                raise GraphError("Reshape: a size is kept that there is not")
            sizes[at] = value.shape[at]
    if sizes.count(-1) > 1 or min(sizes, default=0) < -1:
        raise GraphError(f"Reshape: {wanted} are no sizes")
    if -1 in sizes:
        rest = math.prod(size for size in sizes if size != -1)
        if rest == 0 or value.count % rest:
            raise GraphError(f"Reshape: {list(value.shape)} does not become {wanted}")
        sizes[sizes.index(-1)] = value.count // rest
    if math.prod(sizes) != value.count:
        raise GraphError(f"Reshape: {list(value.shape)} does not become {wanted}")
    return _with_shape(value, sizes)


def _flatten(node: Operator, inputs: Inputs) -> OperatorResult:
    value, axis = take(node, inputs), node.integer("axis", 1)
    rank = len(value.shape)
    if not -rank <= axis <= rank:
        raise GraphError(f"Flatten: the axis {axis} is none of {rank}")
    axis = axis + rank if axis < 0 else axis
    return _with_shape(value, [math.prod(value.shape[:axis]), math.prod(value.shape[axis:])])


def _squeeze(node: Operator, inputs: Inputs) -> OperatorResult:
    value, axes = take(node, inputs), read_axes(node, inputs, 1)
    if axes is None:
        return _with_shape(value, [size for size in value.shape if size != 1])
    left_out = find_axes(node, axes, len(value.shape))
    if any(value.shape[axis] != 1 for axis in left_out):
        raise GraphError(f"Squeeze: an axis of {list(value.shape)} is longer than 1")
    return _with_shape(value, [size for at, size in enumerate(value.shape) if at not in left_out])


def _unsqueeze(node: Operator, inputs: Inputs) -> OperatorResult:
    value, axes = take(node, inputs), read_axes(node, inputs, 1)
    if axes is None:
        raise GraphError("Unsqueeze: its axes are missing")
    rank = len(value.shape) + len(axes)
    added = find_axes(node, axes, rank)
    rest = iter(value.shape)
    return _with_shape(value, [1 if at in added else next(rest) for at in range(rank)])


def _transpose(node: Operator, inputs: Inputs) -> OperatorResult:
    value = take(node, inputs)
    order = node.integers("perm") or tuple(reversed(range(len(value.shape))))
    if sorted(order) != list(range(len(value.shape))):
        raise GraphError(f"Transpose: {list(order)} is no order of {len(value.shape)} axes")
    data = None if value.data is None else value.data.transpose(order)
    return OperatorResult([make_value([value.shape[at] for at in order], value.dtype, data)])


def _concat(node: Operator, inputs: Inputs) -> OperatorResult:
    values = [take(node, inputs, at) for at in range(len(inputs))]
    first = take(node, inputs)
    axis = find_axis(node, node.integer("axis", len(first.shape)), len(first.shape))
    for value in values:
        if value.shape[:axis] != first.shape[:axis] or value.shape[axis + 1 :] != first.shape[axis + 1 :]:
            raise GraphError(f"Concat: shapes {list(first.shape)} and {list(value.shape)} do not fit")
    size = sum(value.shape[axis] for value in values)
    shape = [*first.shape[:axis], size, *first.shape[axis + 1 :]]
    known = [value.data for value in values if value.data is not None]
    small = len(known) == len(values) and math.prod(shape) <= MAX_KNOWN
    data = np.concatenate(known, axis=axis).astype(first.dtype) if small else None
    return OperatorResult([make_value(shape, first.dtype, data)])


def _split(node: Operator, inputs: Inputs) -> OperatorResult:
    value, parts = take(node, inputs), len(node.outputs)
    axis = find_axis(node, node.integer("axis", 0), len(value.shape))
    whole = value.shape[axis]
    given = node.integers("split")
    sizes = list(given) if given is not None else []
    if find(inputs, 1) is not None:
        sizes = read_integers(node, inputs, 1, "sizes")
    if not sizes:
        if node.integer("num_outputs", parts) != parts or parts < 1:
            raise GraphError("Split: it has another number of outputs")
        step = -(-whole // parts)
        sizes = [max(0, min(step, whole - at * step)) for at in range(parts)]
    if len(sizes) != parts or sum(sizes) != whole or min(sizes) < 0:
        raise GraphError(f"Split: {whole} is not divided by {sizes[:10]}")
    before, after = value.shape[:axis], value.shape[axis + 1 :]
    return OperatorResult([make_value([*before, size, *after], value.dtype) for size in sizes])


def _slice(node: Operator, inputs: Inputs) -> OperatorResult:
    value = take(node, inputs)
    starts, ends = (read_integers(node, inputs, at, name) for at, name in ((1, "starts"), (2, "ends")))
    axes = read_integers(node, inputs, 3, "axes") if find(inputs, 3) is not None else list(range(len(starts)))
    steps = read_integers(node, inputs, 4, "steps") if find(inputs, 4) is not None else [1] * len(starts)
    if not len(starts) == len(ends) == len(axes) == len(steps) or 0 in steps:
        raise GraphError("Slice: its starts, ends, axes and steps do not fit")
    cuts = [slice(None)] * len(value.shape)
    for axis, *cut in zip(find_axes(node, axes, len(value.shape)), starts, ends, steps, strict=True):
        cuts[axis] = slice(*cut)
    shape = [len(range(*cut.indices(size))) for cut, size in zip(cuts, value.shape, strict=True)]
    return OperatorResult([make_value(shape, value.dtype, None if value.data is None else value.data[tuple(cuts)])])


def _gather(node: Operator, inputs: Inputs) -> OperatorResult:
    value, index = take(node, inputs), take(node, inputs, 1)
    axis = find_axis(node, node.integer("axis", 0), len(value.shape))
    size = value.shape[axis]
    found = make_value([*value.shape[:axis], *index.shape, *value.shape[axis + 1 :]], value.dtype)
    if value.data is None or index.data is None or found.count > MAX_KNOWN:
        return OperatorResult([found])
    if not ((index.data >= -size) & (index.data < size)).all():
        raise GraphError(f"Gather: an index is none of {size}")
    return OperatorResult([make_value(found.shape, value.dtype, np.take(value.data, index.data, axis=axis))])


def _gather_elements(node: Operator, inputs: Inputs) -> OperatorResult:
    value, index = take(node, inputs), take(node, inputs, 1)
    if len(value.shape) != len(index.shape):
        raise GraphError("GatherElements: values and indices have other numbers of axes")
    return OperatorResult([make_value(index.shape, value.dtype)])


def _expand(node: Operator, inputs: Inputs) -> OperatorResult:
    value, sizes = take(node, inputs), read_integers(node, inputs, 1, "sizes")
    make_value(sizes, value.dtype)
    found = make_value(broadcast(node, value.shape, sizes), value.dtype)
    if value.data is None or found.count > MAX_KNOWN:
        return OperatorResult([found])
    return OperatorResult([make_value(found.shape, value.dtype, np.broadcast_to(value.data, found.shape))])


def _tile(node: Operator, inputs: Inputs) -> OperatorResult:
    value, times = take(node, inputs), read_integers(node, inputs, 1, "repeats")
    if len(times) != len(value.shape) or min(times, default=0) < 0:
        raise GraphError("Tile: its repeats do not fit")
    return OperatorResult([make_value([size * by for size, by in zip(value.shape, times, strict=True)], value.dtype)])


def _pad(node: Operator, inputs: Inputs) -> OperatorResult:
    value, pads = take(node, inputs), read_integers(node, inputs, 1, "widths")
    axes = read_axes(node, inputs, 3)
    at = list(range(len(value.shape))) if axes is None else find_axes(node, axes, len(value.shape))
    mode = node.word("mode", "constant")
    if len(pads) != 2 * len(at) or min(pads, default=0) < 0 or mode not in ("constant", "reflect", "edge"):
        raise GraphError("Pad: its widths or its mode are not accepted")
    shape = list(value.shape)
    for axis, before, after in zip(at, pads[: len(at)], pads[len(at) :], strict=True):
        if mode != "constant" and max(before, after) >= max(shape[axis], 1):
            raise GraphError(f"Pad: {max(before, after)} elements are taken from {shape[axis]}")
        shape[axis] += before + after
    return OperatorResult([make_value(shape, value.dtype)])


def _resize(node: Operator, inputs: Inputs) -> OperatorResult:
    value = take(node, inputs)
    for name, accepted in _RESIZING.items():
        if node.word(name, accepted[0]) not in accepted:
            raise GraphError(f"Resize: {name} '{node.word(name, '')}' is not accepted")
    if node.integers("axes") is not None or node.integer("antialias", 0):
        raise GraphError("Resize: axes and antialias are not accepted")
    scales = find(inputs, 2)
    if scales is not None and scales.count:
        by = read_known(node, inputs, 2, "scales")
        if by.shape != (len(value.shape),) or not (np.isfinite(by) & (by > 0)).all():
            raise GraphError("Resize: its scales are not accepted")
        found = np.floor(np.float32(by) * np.array(value.shape, np.float32))
        shape = [int(size) for size in np.minimum(found, MAX_DIM)]
    else:
        shape = read_integers(node, inputs, 3, "sizes")
    if len(shape) != len(value.shape) or min(shape, default=1) < 1 or 0 in value.shape:
        raise GraphError(f"Resize: {list(value.shape)} does not become {shape}")
    taps = {"nearest": 1, "linear": 4, "cubic": 16}[node.word("mode", "nearest")]
    return OperatorResult([make_value(shape, value.dtype)], 4 * taps * math.prod(shape))


def _blocks(node: Operator, inputs: Inputs) -> OperatorResult:
    """DepthToSpace and SpaceToDepth."""
    value, block = take(node, inputs), node.integer("blocksize", 0)
    if len(value.shape) != 4 or not 1 <= block < 2**15:
        raise GraphError(f"{node.kind}: blocks of {block} in {list(value.shape)} are not accepted")
    n, c, h, w = value.shape
    if node.kind == "DepthToSpace" and c % block**2 == 0:
        return OperatorResult([make_value([n, c // block**2, h * block, w * block], value.dtype)])
    if node.kind == "SpaceToDepth" and h % block == 0 and w % block == 0:
        return OperatorResult([make_value([n, c * block**2, h // block, w // block], value.dtype)])
    raise GraphError(f"{node.kind}: {list(value.shape)} has no blocks of {block}")


def _shape(node: Operator, inputs: Inputs) -> OperatorResult:
    value = take(node, inputs)
    start, end = node.integer("start", 0), node.integer("end", len(value.shape))
    return OperatorResult([make_known(np.array(value.shape[slice(start, end)], np.int64))])


def _size(node: Operator, inputs: Inputs) -> OperatorResult:
    return OperatorResult([make_known(np.array(take(node, inputs).count, np.int64))])


def _constant_of_shape(node: Operator, inputs: Inputs) -> OperatorResult:
    sizes, given = read_integers(node, inputs, 0, "sizes"), node.attributes.get("value")
    if given is not None and not (isinstance(given, Tensor) and math.prod(given.shape) == 1):
        raise GraphError("ConstantOfShape: its value is no single number")
    data = np.zeros(1, np.float32) if given is None else given.data
    found = make_value(sizes, np.dtype(np.float32) if given is None else given.dtype)
    if data is None or found.count > MAX_KNOWN:
        return OperatorResult([found])
    return OperatorResult([make_value(found.shape, found.dtype, np.full(found.shape, data.ravel()[0]))])


def _range(node: Operator, inputs: Inputs) -> OperatorResult:
    known = [read_known(node, inputs, at, "limits") for at in range(3)]
    if any(item.size != 1 for item in known):
        raise GraphError("Range: its limits are no single numbers")
    start, limit, step = (item.ravel()[0].item() for item in known)
    if not all(map(math.isfinite, (start, limit, step))) or step == 0 or abs((limit - start) / step) >= 2**31:
        raise GraphError("Range: its limits are not accepted")
    found = make_value([max(0, math.ceil((limit - start) / step))], known[0].dtype)
    data = (start + step * np.arange(found.count)).astype(found.dtype) if found.count <= MAX_KNOWN else None
    return OperatorResult([make_value(found.shape, found.dtype, data)])


def _one_hot(node: Operator, inputs: Inputs) -> OperatorResult:
    index, values = take(node, inputs), take(node, inputs, 2)
    depth = read_known(node, inputs, 1, "classes")
    if depth.size != 1 or not 1 <= depth.ravel()[0] < 2**31 or values.shape != (2,):
        raise GraphError("OneHot: its classes or values are not accepted")
    rank = len(index.shape) + 1
    axis = find_axis(node, node.integer("axis", -1), rank)
    shape = [*index.shape[:axis], int(depth.ravel()[0]), *index.shape[axis:]]
    return OperatorResult([make_value(shape, values.dtype)])


def _top(node: Operator, inputs: Inputs) -> OperatorResult:
    value, most = take(node, inputs), read_integers(node, inputs, 1, "number")
    axis = find_axis(node, node.integer("axis", -1), len(value.shape))
    if len(most) != 1 or not 0 <= most[0] <= value.shape[axis]:
        raise GraphError("TopK: its number is not accepted")
    check_outputs(node, 2)
    shape = [*value.shape[:axis], most[0], *value.shape[axis + 1 :]]
    values = [make_value(shape, value.dtype), make_value(shape, np.dtype(np.int64))]
    return OperatorResult(values, 64 * value.count)


RULES: Rules = {
    **{"Reshape": _reshape, "Flatten": _flatten, "Squeeze": _squeeze, "Unsqueeze": _unsqueeze},
    **{"Transpose": _transpose, "Concat": _concat, "Split": _split, "Slice": _slice},
    **{"Gather": _gather, "GatherElements": _gather_elements, "Expand": _expand, "Tile": _tile, "Pad": _pad},
    **{"Resize": _resize, "DepthToSpace": _blocks, "SpaceToDepth": _blocks, "Shape": _shape, "Size": _size},
    **{"ConstantOfShape": _constant_of_shape, "Range": _range, "OneHot": _one_hot, "TopK": _top},
}
