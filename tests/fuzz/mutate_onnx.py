"""Mutants of networks that are still networks: other operators, sizes, links and types, loops, data elsewhere.

Bytes that are changed blindly are seldom a message of protobuf any more, and never one that hangs.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

Model: TypeAlias = Any  # onnx.ModelProto
Change = Callable[[Model, random.Random], None]
_SIZES = (0, 1, -1, 2, 3, 7, 64, 1_000, 65_536, 2**20, 2**28, 2**31 - 1, 2**31, 2**40, 2**62, -(2**63), 2**63 - 1)
_NUMBERS = (0.0, -1.0, 1e-30, 1e30, 3e38, float("nan"), float("inf"), float("-inf"), 1e6)
_KINDS = (
    *("Loop", "If", "Scan", "SequenceMap", "NonZero", "Unique", "Compress", "NonMaxSuppression", "Multinomial"),
    *("ConstantOfShape", "Expand", "Tile", "Range", "Resize", "OneHot", "Pad", "TopK", "Reshape", "Slice", "Gather"),
    *("Div", "Mod", "Pow", "Log", "Exp", "Sqrt", "Reciprocal", "Transpose", "Concat", "Split", "CumSum", "MatMul"),
    *("MaxPool", "Conv", "ConvTranspose", "DepthToSpace", "Squeeze", "Flatten", "Cast", "Identity", "Softmax", "GRU"),
    *("TreeEnsembleRegressor", "TreeEnsembleClassifier", "StringNormalizer", "Einsum", "RandomNormal", "Bernoulli"),
)
_NAMES = ("axis", "axes", "perm", "to", "kernel_shape", "strides", "pads", "dilations", "group", "blocksize", "value")


def mutate_onnx(data: bytes, rng: random.Random) -> bytes:
    """The bytes of a network with one to three changes; ``data`` itself where they are none."""
    import onnx

    model = onnx.ModelProto()
    try:
        model.ParseFromString(data)
    except Exception:  # what another mutation left may be no network any more
        return data
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        rng.choice(_CHANGES)(model, rng)
    changed: bytes = model.SerializeToString()
    return changed


def _pick(items: Any, rng: random.Random) -> Any:
    return items[rng.randrange(len(items))] if len(items) else None


def _list_names(model: Model) -> list[str]:
    graph = model.graph
    made = [name for node in graph.node for name in node.output]
    return [*(item.name for item in graph.input), *(item.name for item in graph.initializer), *made] or ["x"]


def _change_kind(model: Model, rng: random.Random) -> None:
    node = _pick(model.graph.node, rng)
    if node is not None:
        node.op_type = rng.choice(_KINDS)
        if rng.random() < 0.2:
            node.domain = rng.choice(("ai.onnx.ml", "com.microsoft", "own", "ai.onnx"))


def _change_link(model: Model, rng: random.Random) -> None:
    node = _pick(model.graph.node, rng)
    if node is not None and len(node.input):
        node.input[rng.randrange(len(node.input))] = rng.choice([*_list_names(model), "", "nowhere"])


def _change_attribute(model: Model, rng: random.Random) -> None:
    import onnx

    node = _pick(model.graph.node, rng)
    if node is None:
        return
    attribute = _pick(node.attribute, rng)
    if attribute is None or rng.random() < 0.2:
        value = rng.choice((rng.choice(_SIZES), [rng.choice(_SIZES)], 0.5, "reflect"))
        node.attribute.append(onnx.helper.make_attribute(rng.choice(_NAMES), value))
    elif len(attribute.ints):
        attribute.ints[rng.randrange(len(attribute.ints))] = rng.choice(_SIZES)
    elif len(attribute.floats):
        attribute.floats[rng.randrange(len(attribute.floats))] = rng.choice(_NUMBERS)
    elif len(attribute.strings):
        attribute.strings[rng.randrange(len(attribute.strings))] = rng.choice((b"", b"BRANCH_GT", b"LEAF", b"\xff"))
    elif rng.random() < 0.3:
        attribute.type = rng.randrange(20)
    else:
        attribute.i = rng.choice(_SIZES)


def _change_constant(model: Model, rng: random.Random) -> None:
    import onnx

    tensor = _pick(model.graph.initializer, rng)
    if tensor is None:
        return
    array = np.array(onnx.numpy_helper.to_array(tensor))
    if array.size and rng.random() < 0.7:
        at = rng.randrange(array.size)
        limits = np.iinfo(array.dtype) if array.dtype.kind in "iu" else None
        value = rng.choice(_NUMBERS) if limits is None else min(max(rng.choice(_SIZES), limits.min), limits.max)
        array.reshape(-1)[at] = value
    else:
        axis = rng.randrange(max(array.ndim, 1))
        array = rng.choice((array[:-1] if array.ndim else array, np.repeat(np.atleast_1d(array), 2, axis), array[None]))
    tensor.CopyFrom(onnx.numpy_helper.from_array(np.ascontiguousarray(array), tensor.name))


def _change_tensor(model: Model, rng: random.Random) -> None:
    """A constant whose description does not fit its bytes, or whose bytes are elsewhere."""
    tensor = _pick(model.graph.initializer, rng)
    if tensor is None:
        return
    kind = rng.randrange(4)
    if kind == 0 and len(tensor.dims):
        tensor.dims[rng.randrange(len(tensor.dims))] = rng.choice(_SIZES)
    elif kind == 1:
        tensor.data_type = rng.randrange(24)
    elif kind == 2:
        tensor.raw_data = tensor.raw_data[: rng.randrange(len(tensor.raw_data) + 1)]
    else:
        tensor.data_location = 1
        tensor.external_data.add(key="location", value=rng.choice(("card.json", "/dev/zero", "../x", "/etc/passwd")))


def _insert(model: Model, rng: random.Random) -> None:
    """An operator before the last one, which makes much of little: of a huge constant, or of data."""
    import onnx

    graph, helper = model.graph, onnx.helper
    if not len(graph.node) or not len(graph.node[-1].input):
        return
    source, size = graph.node[-1].input[0], rng.choice(_SIZES)
    shape = onnx.numpy_helper.from_array(np.array([size, rng.choice((1, 4))], np.int64), "fuzz-size")
    graph.initializer.append(shape)
    kind = rng.choice(("ConstantOfShape", "Expand", "Tile", "Reshape", "Slice", "Pad", "OneHot", "Concat", "Transpose"))
    given = {"ConstantOfShape": ["fuzz-size"], "Slice": [source, "fuzz-size", "fuzz-size"], "Concat": [source] * 8}
    names = given.get(kind, [source] if kind == "Transpose" else [source, "fuzz-size"])
    options = {"axis": rng.choice((0, 1))} if kind == "Concat" else {}
    node = helper.make_node(kind, names, ["fuzz-made"], **options)
    last = graph.node[-1]
    last.input[0] = "fuzz-made"
    graph.node.insert(len(graph.node) - 1, node)


def _insert_loop(model: Model, rng: random.Random) -> None:
    """A loop that goes on as long as it may, around a value."""
    import onnx

    graph, helper, kinds = model.graph, onnx.helper, onnx.TensorProto
    if not len(graph.node) or not len(graph.node[-1].input):
        return
    source = graph.node[-1].input[0]
    made = [helper.make_node("Identity", ["on"], ["on2"]), helper.make_node("Identity", ["v"], ["v2"])]
    given = [("i", kinds.INT64), ("on", kinds.BOOL), ("v", kinds.FLOAT)]
    body = helper.make_graph(
        made,
        "body",
        [helper.make_tensor_value_info(name, kind, None if name == "v" else []) for name, kind in given],
        [helper.make_tensor_value_info(f"{name}2", kind, None if name == "v" else []) for name, kind in given[1:]],
    )
    graph.initializer.append(onnx.numpy_helper.from_array(np.array(2**62), "fuzz-most"))
    graph.initializer.append(onnx.numpy_helper.from_array(np.array(True), "fuzz-on"))
    loop = helper.make_node("Loop", ["fuzz-most", "fuzz-on", source], ["fuzz-loop"], body=body)
    graph.node[-1].input[0] = "fuzz-loop"
    graph.node.insert(len(graph.node) - 1, loop)


def _repeat(model: Model, rng: random.Random) -> None:
    """An operator many times, each on what the one before gave; or values that double each time."""
    import onnx

    graph = model.graph
    if not len(graph.node) or not len(graph.node[-1].input):
        return
    source, doubled = graph.node[-1].input[0], rng.random() < 0.5
    for at in range(rng.choice((5, 30, 200, 6_000))):
        kind, options = ("Concat", {"axis": rng.choice((0, 1))}) if doubled else ("Exp", {})
        names = [source, source] if doubled else [source]
        graph.node.insert(len(graph.node) - 1, onnx.helper.make_node(kind, names, [f"fuzz-{at}"], **options))
        source = f"fuzz-{at}"
    graph.node[-1].input[0] = source


def _reorder(model: Model, rng: random.Random) -> None:
    """Operators left out, given twice or exchanged."""
    nodes = list(model.graph.node)
    if len(nodes) < 2:
        return
    one, two = rng.sample(range(len(nodes)), 2)
    if rng.random() < 0.3:
        nodes[one], nodes[two] = nodes[two], nodes[one]
    elif rng.random() < 0.5:
        nodes.insert(two, nodes[one])
    else:
        del nodes[one]
    copies = [type(node).FromString(node.SerializeToString()) for node in nodes]
    del model.graph.node[:]
    model.graph.node.extend(copies)


def _change_declared(model: Model, rng: random.Random) -> None:
    """Another type, shape or name of an input or output."""
    item = _pick(rng.choice((model.graph.input, model.graph.output)), rng)
    if item is None:
        return
    shape = item.type.tensor_type.shape
    kind = rng.randrange(4)
    if kind == 0:
        item.type.tensor_type.elem_type = rng.randrange(24)
    elif kind == 1 and len(shape.dim):
        _pick(shape.dim, rng).dim_value = rng.choice(_SIZES)
    elif kind == 2:
        shape.dim.add().dim_value = rng.choice(_SIZES)
    else:
        item.name = rng.choice(_list_names(model))


def _change_version(model: Model, rng: random.Random) -> None:
    item = _pick(model.opset_import, rng)
    if item is not None and rng.random() < 0.7:
        item.version = rng.choice((*_SIZES, 7, 10, 11, 13, 18, 21, 26))
    else:
        model.ir_version = rng.choice((*_SIZES, 4, 7, 10, 13))


_CHANGES: tuple[Change, ...] = (
    *(_change_kind, _change_kind, _change_link, _change_attribute, _change_attribute, _change_attribute),
    *(_change_constant, _change_constant, _change_tensor, _insert, _insert, _insert_loop, _repeat, _reorder),
    *(_change_declared, _change_version),
)
