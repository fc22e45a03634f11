"""What a graph gives and takes before it runs: the shapes of all values, from those of its inputs.

All sizes must follow from the shapes of inputs and from constants. So the memory and the time of a call are known
before it, and a graph that would take too much is refused. Operators that are not listed here are refused.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from resweep.errors import nearest_names
from resweep.inference import elementwise, layout, neural, tree_ensemble
from resweep.inference.graph_values import Inputs, OperatorResult, Rule, Value, from_tensor
from resweep.inference.onnx_file import Graph, Operator
from resweep.inference.protobuf import GraphError

STANDARD: Mapping[str, Rule] = {**elementwise.RULES, **layout.RULES, **neural.RULES}
LEARNED: Mapping[str, Rule] = tree_ensemble.RULES  # of the domain ai.onnx.ml
_LEARNED_DOMAIN = "ai.onnx.ml"

# All values of a call together, and the work it needs in multiply-adds: a fixed part, and a part for each number of its
# inputs, which grows with the weights that a file has. Our networks take half of the one and a tenth of the other.
BASE_BYTES, BYTES_PER_INPUT = 256 << 20, 1_024
BASE_WORK, WORK_PER_INPUT = 10**9, 50_000


@dataclass(frozen=True, eq=False)
class Measured:
    """The outputs of a call, the bytes of all its values, and its work in multiply-adds."""

    outputs: Mapping[str, Value]
    n_bytes: int
    work: int


def find_rule(node: Operator) -> Rule:
    """What an operator gives; raises if it is not accepted."""
    rules = {"": STANDARD, _LEARNED_DOMAIN: LEARNED}.get(node.domain)
    if rules is None:
        raise GraphError(f"the operator '{node.domain}.{node.kind}' is not of ONNX itself, and is not accepted")
    rule = rules.get(node.kind)
    if rule is None:
        raise GraphError(f"the operator '{node.kind}' is not accepted; {nearest_names(node.kind, rules)}")
    return rule


def check_operators(graph: Graph) -> None:
    """Raise unless all operators are accepted, and each value is made once, before it is used."""
    known = {"", *graph.constants, *graph.inputs}
    for node in graph.nodes:
        find_rule(node)
        missing = [name for name in node.inputs if name not in known]
        twice = [name for name in node.outputs if name and name in known]
        if missing or twice or not any(node.outputs) or len(set(node.outputs)) != len(node.outputs):
            name = (*missing, *twice, "?")[0]
            raise GraphError(f"{node.kind}: the value '{name}' is missing, or the output of two operators")
        known |= set(node.outputs)
    if not set(graph.outputs) <= known - {""}:
        raise GraphError("one of its outputs is the output of no operator")


def _apply(node: Operator, inputs: Inputs) -> OperatorResult:
    """What an operator gives; raises `GraphError` where its inputs and attributes do not fit in any way."""
    try:
        return find_rule(node)(node, inputs)
    except GraphError:
        raise
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:
        raise GraphError(f"{node.kind}: its inputs or attributes do not fit ({error})") from error


def find_limits(graph: Graph, numbers: int) -> tuple[int, int]:
    """The most bytes and multiply-adds of a call with so many ``numbers`` in its inputs.

    A network of width w has w² weights, of which each is used once for a number, and keeps w values for it.
    """
    weights = sum(math.prod(tensor.shape) for tensor in graph.constants.values())
    n_bytes = BASE_BYTES + (BYTES_PER_INPUT + 2 * math.isqrt(weights)) * numbers
    return n_bytes, BASE_WORK + (WORK_PER_INPUT + weights // 10) * numbers


def measure(graph: Graph, inputs: Mapping[str, Value]) -> Measured:
    """What a call with such inputs gives and takes; raises `GraphError` if it is too much, or cannot be known."""
    numbers = sum(value.count for value in inputs.values())
    max_bytes, max_work = find_limits(graph, numbers)
    values: dict[str, Value] = {name: from_tensor(tensor) for name, tensor in graph.constants.items()}
    values.update(inputs)
    n_bytes = work = 0
    for node in graph.nodes:
        given = [values[name] if name else None for name in node.inputs]
        found = _apply(node, given)
        if len(node.outputs) > len(found.values):
            raise GraphError(f"{node.kind}: {len(node.outputs)} outputs, at most {len(found.values)} are accepted")
        values.update(zip(node.outputs, found.values, strict=False))
        made = [value for name, value in zip(node.outputs, found.values, strict=False) if name]
        n_bytes += sum(value.n_bytes for value in made)
        work += found.work + sum(value.count for value in made)
        if n_bytes > max_bytes:
            raise GraphError(f"{node.kind}: it takes more than {max_bytes / 1e9:.1f} GB for {numbers:,} numbers")
        if work > max_work:
            raise GraphError(f"{node.kind}: it needs more than {max_work:.1e} multiply-adds for {numbers:,} numbers")
    return Measured({name: values[name] for name in graph.outputs}, n_bytes, work)
