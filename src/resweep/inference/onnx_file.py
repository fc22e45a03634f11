"""An ONNX file as a graph of operators, constants, inputs and outputs; what is not accepted is refused.

Refused are graphs within graphs (which control flow needs), functions, data in other files, sparse and text tensors.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from resweep.inference.protobuf import FieldCounter, FieldKind, Fields, GraphError, read_message, read_text
from resweep.pose import Array

MAX_NODES = 5_000
MAX_FIELDS = 5_000_000
MAX_RANK = 8
MAX_DIM = 2**31
OPSETS = (11, 26)  # of the standard operators: the first and the last whose rules are known here
# NumPy's types by their number in ONNX, and the typed fields that may hold them in place of raw bytes.
TYPES: Mapping[int, np.dtype[Any]] = {
    1: np.dtype("float32"),
    2: np.dtype("uint8"),
    3: np.dtype("int8"),
    4: np.dtype("uint16"),
    5: np.dtype("int16"),
    6: np.dtype("int32"),
    7: np.dtype("int64"),
    9: np.dtype("bool"),
    10: np.dtype("float16"),
    11: np.dtype("float64"),
    12: np.dtype("uint32"),
    13: np.dtype("uint64"),
}
_TYPED = {
    "float_data": (1,),
    "int32_data": (2, 3, 4, 5, 6, 9, 10),
    "int64_data": (7,),
    "double_data": (11,),
    "uint64_data": (12, 13),
}
_KNOWN_BYTES = 8_192  # of constants whose values may decide about shapes

_SUBGRAPH = "it has graphs within its graph (control flow), which are not accepted"
_EXTERNAL = "its weights lie in another file, which is not read; save it as one file"


def _text(name: str, repeated: bool = False) -> FieldKind:
    return FieldKind(name, "text", repeated)


def _refuse(why: str) -> FieldKind:
    return FieldKind("", refused=why)


_PAIR: Fields = {1: _text("key"), 2: _text("value")}
_PROPS = FieldKind("metadata", "message", True, lambda: _PAIR)
_TENSOR: Fields = {
    1: FieldKind("dims", repeated=True),
    2: FieldKind("data_type"),
    3: _refuse("it has tensors in segments, which are not accepted"),
    4: FieldKind("float_data", "float", True),
    5: FieldKind("int32_data", repeated=True),
    6: _refuse("it has tensors of text, which are not accepted"),
    7: FieldKind("int64_data", repeated=True),
    8: _text("name"),
    9: FieldKind("raw_data", "bytes"),
    10: FieldKind("double_data", "double", True),
    11: FieldKind("uint64_data", repeated=True),
    12: _text("doc"),
    13: _refuse(_EXTERNAL),
    14: FieldKind("data_location"),
    16: _PROPS,
}
_ATTRIBUTE: Fields = {
    1: _text("name"),
    2: FieldKind("f", "float"),
    3: FieldKind("i"),
    4: FieldKind("s", "bytes"),
    5: FieldKind("t", "message", False, lambda: _TENSOR),
    6: _refuse(_SUBGRAPH),
    7: FieldKind("floats", "float", True),
    8: FieldKind("ints", repeated=True),
    9: FieldKind("strings", "bytes", True),
    **{number: _refuse("an attribute has a type that is not accepted") for number in (10, 14, 15, 22, 23)},
    11: _refuse(_SUBGRAPH),
    13: _text("doc"),
    20: FieldKind("type"),
    21: _refuse("it has functions, which are not accepted"),
}
_NODE: Fields = {
    1: _text("input", True),
    2: _text("output", True),
    3: _text("name"),
    4: _text("op_type"),
    5: FieldKind("attribute", "message", True, lambda: _ATTRIBUTE),
    6: _text("doc"),
    7: _text("domain"),
    8: _refuse("it has functions, which are not accepted"),
    9: _PROPS,
}
_DIMENSION: Fields = {1: FieldKind("value"), 2: _text("param"), 3: _text("denotation")}
_SHAPE: Fields = {1: FieldKind("dim", "message", True, lambda: _DIMENSION)}
_TENSOR_TYPE: Fields = {1: FieldKind("elem_type"), 2: FieldKind("shape", "message", False, lambda: _SHAPE)}
_TYPE: Fields = {
    1: FieldKind("tensor", "message", False, lambda: _TENSOR_TYPE),
    **{number: _refuse("it has values that are no tensors, which are not accepted") for number in (4, 5, 7, 8, 9)},
    6: _text("denotation"),
}
_VALUE: Fields = {1: _text("name"), 2: FieldKind("type", "message", False, lambda: _TYPE), 3: _text("doc"), 4: _PROPS}
_GRAPH: Fields = {
    1: FieldKind("node", "message", True, lambda: _NODE),
    2: _text("name"),
    5: FieldKind("initializer", "message", True, lambda: _TENSOR),
    10: _text("doc"),
    11: FieldKind("input", "message", True, lambda: _VALUE),
    12: FieldKind("output", "message", True, lambda: _VALUE),
    13: FieldKind("value_info", "message", True, lambda: _VALUE),
    14: _refuse("it has annotations of quantisation, which are not accepted"),
    15: _refuse("it has sparse tensors, which are not accepted"),
    16: _PROPS,
}
_OPSET: Fields = {1: _text("domain"), 2: FieldKind("version")}
_MODEL: Fields = {
    1: FieldKind("ir_version"),
    **{number: _text(name) for number, name in ((2, "producer"), (3, "producer_version"), (4, "domain"), (6, "doc"))},
    5: FieldKind("model_version"),
    7: FieldKind("graph", "message", False, lambda: _GRAPH),
    8: FieldKind("opset", "message", True, lambda: _OPSET),
    14: _PROPS,
    20: _refuse("it has a part for training, which is not accepted"),
    25: _refuse("it has functions, which are not accepted"),
    26: _refuse("it is divided among devices, which is not accepted"),
}
_ATTRIBUTE_FIELDS = {1: "f", 2: "i", 3: "s", 4: "t", 6: "floats", 7: "ints", 8: "strings"}
_DEFAULTS: dict[str, Any] = {"f": 0.0, "i": 0, "s": memoryview(b"")}


@dataclass(frozen=True, eq=False)
class Tensor:
    """A constant: its shape and type, and ``data`` if it is small enough to decide about shapes."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    data: Array | None = None


@dataclass(frozen=True, eq=False)
class Operator:
    """An operator, the names of what it takes and gives ("" where left out), and its attributes."""

    kind: str
    domain: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: Mapping[str, Any]

    def integer(self, name: str, default: int) -> int:
        """An attribute that is an integer."""
        return int(self._find(name, int, default))

    def integers(self, name: str) -> tuple[int, ...] | None:
        """An attribute that is a list of integers; None where it is missing."""
        found = self._find(name, list, None)
        if found is None:
            return None
        if not all(isinstance(item, int) for item in found):
            raise GraphError(f"{self.kind}: the attribute '{name}' has another type")
        return tuple(found)

    def word(self, name: str, default: str) -> str:
        """An attribute that is text."""
        return str(self._find(name, str, default))

    def _find(self, name: str, kind: type, default: Any) -> Any:
        found = self.attributes.get(name, default)
        if found is not default and not isinstance(found, kind):
            raise GraphError(f"{self.kind}: the attribute '{name}' has another type")
        return found


@dataclass(frozen=True)
class Declared:
    """What a graph says of an input or output: its type, and its shape with None for any size."""

    dtype: np.dtype[Any]
    shape: tuple[int | None, ...] | None


@dataclass(frozen=True, eq=False)
class Graph:
    """A graph: its operators in the order in which they run."""

    nodes: tuple[Operator, ...]
    constants: Mapping[str, Tensor]
    inputs: Mapping[str, Declared]
    outputs: Mapping[str, Declared] = field(default_factory=dict)


def read_graph(data: bytes) -> Graph:
    """The graph in an ONNX file; raises `GraphError` for what is not accepted."""
    model = read_message(memoryview(data), _MODEL, FieldCounter(MAX_FIELDS))
    _check_opsets(model.get("opset", []))
    graph = model.get("graph")
    if graph is None:
        raise GraphError("it holds no graph")
    if len(graph.get("node", [])) > MAX_NODES:
        raise GraphError(f"it has {len(graph['node']):,} operators; at most {MAX_NODES:,} are accepted")
    constants: dict[str, Tensor] = {}
    for item in graph.get("initializer", []):
        if not item.get("name") or item["name"] in constants:
            raise GraphError(f"the constant '{item.get('name', '')}' has no name of its own")
        constants[item["name"]] = _read_tensor(item)
    inputs = {name: found for name, found in _read_values(graph.get("input", [])) if name not in constants}
    outputs = dict(_read_values(graph.get("output", [])))
    return Graph(tuple(_read_node(item) for item in graph.get("node", [])), constants, inputs, outputs)


def _check_opsets(opsets: list[dict[str, Any]]) -> None:
    domains = [_name_domain(item.get("domain", "")) for item in opsets]
    if len(set(domains)) != len(domains) or "" not in domains:
        raise GraphError("the versions of its operators are missing or given twice")
    version = opsets[domains.index("")].get("version", 0)
    if not OPSETS[0] <= version <= OPSETS[1]:
        raise GraphError(f"it has operators of version {version}; {OPSETS[0]} to {OPSETS[1]} are accepted")


def _name_domain(domain: str) -> str:
    return "" if domain == "ai.onnx" else domain


def _read_node(item: dict[str, Any]) -> Operator:
    attributes: dict[str, Any] = {}
    for attribute in item.get("attribute", []):
        name = attribute.get("name", "")
        if not name or name in attributes:
            raise GraphError(f"an operator has the attribute '{name}' twice, or without a name")
        attributes[name] = _read_attribute(attribute)
    inputs, outputs = tuple(item.get("input", ())), tuple(item.get("output", ()))
    return Operator(item.get("op_type", ""), _name_domain(item.get("domain", "")), inputs, outputs, attributes)


def _read_attribute(item: dict[str, Any]) -> Any:
    kind = _ATTRIBUTE_FIELDS.get(item.get("type", 0))
    if kind is None or any(name in item for name in _ATTRIBUTE_FIELDS.values() if name != kind):
        raise GraphError(f"the attribute '{item['name']}' has a type that is not accepted")
    value = item.get(kind, _DEFAULTS.get(kind, []))
    if kind == "s":
        return read_text(value)
    if kind == "strings":
        return [read_text(part) for part in value]
    if kind == "t":
        if not isinstance(value, dict):
            raise GraphError(f"the attribute '{item['name']}' has no tensor")
        return _read_tensor(value)
    return value


def _read_tensor(item: dict[str, Any]) -> Tensor:
    if item.get("data_location", 0) != 0:
        raise GraphError(_EXTERNAL)
    dtype = TYPES.get(item.get("data_type", 0))
    shape = tuple(item.get("dims", ()))
    if dtype is None:
        raise GraphError(f"a tensor has the type {item.get('data_type', 0)}, which is not accepted")
    if len(shape) > MAX_RANK or not all(0 <= size < MAX_DIM for size in shape):
        raise GraphError(f"a tensor has the shape {list(shape)[: MAX_RANK + 1]}, which is not accepted")
    fields = [name for name in ("raw_data", *_TYPED) if item.get(name)]
    if len(fields) > 1 or (fields and fields[0] != "raw_data" and item["data_type"] not in _TYPED[fields[0]]):
        raise GraphError("a tensor has its numbers twice, or with another type")
    count = math.prod(shape)
    values: Any = item[fields[0]] if fields else b""
    size = len(values) if isinstance(values, list) else len(values) / dtype.itemsize
    if size != count:
        raise GraphError(f"a tensor of shape {list(shape)} has {size:g} numbers")
    if count * dtype.itemsize > _KNOWN_BYTES or dtype == np.float16:
        return Tensor(shape, dtype)
    try:
        found = np.array(values, dtype) if isinstance(values, list) else np.frombuffer(bytes(values), dtype)
    except (ValueError, OverflowError) as error:
        raise GraphError("a tensor has numbers that its type cannot hold") from error
    return Tensor(shape, dtype, found.reshape(shape))


def _read_values(items: list[dict[str, Any]]) -> list[tuple[str, Declared]]:
    """The inputs or outputs that a graph declares."""
    found = []
    for item in items:
        kind = item.get("type", {}).get("tensor", {})
        dtype = TYPES.get(kind.get("elem_type", 0))
        if dtype is None or not item.get("name"):
            raise GraphError(f"the type of '{item.get('name', '')}' is missing or not accepted")
        shape = None
        if "shape" in kind:
            shape = tuple(part.get("value") for part in kind["shape"].get("dim", []))
        found.append((item["name"], Declared(dtype, shape)))
    if len({name for name, _ in found}) != len(found):
        raise GraphError("two of its inputs or outputs have one name")
    return found
