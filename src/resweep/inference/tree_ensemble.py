"""Boosted trees: the one operator outside the standard ones, and the checks that onnxruntime leaves out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from resweep.inference.graph_values import Inputs, OperatorResult, Rules, make_value, take
from resweep.inference.onnx_file import Operator
from resweep.inference.protobuf import GraphError
from resweep.pose import Array

_NODE_LISTS = ("treeids", "nodeids", "featureids", "truenodeids", "falsenodeids")
_LEAF_LISTS = ("treeids", "nodeids", "ids")
_ACCEPTED = {
    *(f"nodes_{name}" for name in (*_NODE_LISTS, "modes", "values")),
    *(f"target_{name}" for name in (*_LEAF_LISTS, "weights")),
    *("n_targets", "base_values", "post_transform", "aggregate_function"),
}
MAX_TREE_NODES = 500_000
MAX_TREE_DEPTH = 1_100  # onnxruntime follows a tree by calls within each other
_MAX_TARGETS = 1_024


def _run_trees(node: Operator, inputs: Inputs) -> OperatorResult:
    value = take(node, inputs)
    if len(value.shape) != 2 or set(node.attributes) - _ACCEPTED:
        raise GraphError(f"{node.kind}: its input, or one of its attributes, is not accepted")
    targets = node.integer("n_targets", 0)
    base = _read_numbers(node, "base_values", float)
    plain = node.word("post_transform", "NONE") == "NONE" and node.word("aggregate_function", "SUM") == "SUM"
    if not 1 <= targets <= _MAX_TARGETS or len(base) not in (0, targets) or not plain:
        raise GraphError(f"{node.kind}: its targets are not accepted")
    trees, depth = _check_trees(node, value.shape[1], targets)
    return OperatorResult(
        [make_value([value.shape[0], targets], np.dtype(np.float32))], value.shape[0] * trees * depth * 2
    )


def _read_numbers(node: Operator, name: str, kind: type) -> Array:
    found = node.attributes.get(name, [])
    if not isinstance(found, list) or not all(isinstance(item, kind) for item in found):
        raise GraphError(f"{node.kind}: the attribute '{name}' has another type")
    return np.array(found, np.float64 if kind is float else np.int64)


def _check_trees(node: Operator, features: int, targets: int) -> tuple[int, int]:
    """The number of trees and the depth of the deepest; raises unless each is a tree, and what it names is there."""
    nodes = {name: _read_numbers(node, f"nodes_{name}", int) for name in _NODE_LISTS}
    leaves = {name: _read_numbers(node, f"target_{name}", int) for name in _LEAF_LISTS}
    modes: Sequence[Any] = node.attributes.get("nodes_modes", [])
    weights, values = _read_numbers(node, "target_weights", float), _read_numbers(node, "nodes_values", float)
    count = len(modes)
    equal = all(len(item) == count for item in (*nodes.values(), values))
    if not equal or not 1 <= count <= MAX_TREE_NODES or set(modes) - {"BRANCH_LEQ", "LEAF"}:
        raise GraphError(f"{node.kind}: its nodes are not accepted; at most {MAX_TREE_NODES:,} are")
    if any(len(item) != len(weights) for item in leaves.values()) or not np.isin(leaves["ids"], range(targets)).all():
        raise GraphError(f"{node.kind}: its leaves are not accepted")
    if not ((nodes["featureids"] >= 0) & (nodes["featureids"] < features)).all():
        raise GraphError(f"{node.kind}: it asks for a channel that is not there; there are {features}")
    place = {key: at for at, key in enumerate(zip(nodes["treeids"].tolist(), nodes["nodeids"].tolist(), strict=True))}
    if len(place) != count:
        raise GraphError(f"{node.kind}: two nodes have one number")
    leaf = np.array([mode == "LEAF" for mode in modes])
    ends = [place.get(key, -1) for key in zip(leaves["treeids"].tolist(), leaves["nodeids"].tolist(), strict=True)]
    if any(at < 0 or not leaf[at] for at in ends):
        raise GraphError(f"{node.kind}: a leaf is missing")
    return len(np.unique(nodes["treeids"])), _find_depth(node, nodes, place, leaf)


def _find_depth(node: Operator, nodes: dict[str, Array], place: dict[tuple[int, int], int], leaf: Array) -> int:
    """The depth of the deepest tree; raises where a node is missing, is below two others, or below itself."""
    branch = np.flatnonzero(~leaf)
    tree = nodes["treeids"][branch].tolist()
    below = [
        [place.get(key, -1) for key in zip(tree, nodes[side][branch].tolist(), strict=True)]
        for side in ("truenodeids", "falsenodeids")
    ]
    children = np.array(below, np.int64).reshape(2, len(branch))
    met = np.bincount(children[children >= 0], minlength=len(leaf))
    roots = np.flatnonzero(met == 0)
    if (children < 0).any() or (met > 1).any() or len(roots) != len(np.unique(nodes["treeids"])):
        raise GraphError(f"{node.kind}: its nodes are no trees")
    down = np.full((2, len(leaf)), -1, np.int64)
    down[:, branch] = children
    level, depth, seen = roots, 0, 0
    while len(level):
        depth, seen = depth + 1, seen + len(level)
        level = down[:, level].ravel()
        level = level[level >= 0]
        if depth > MAX_TREE_DEPTH:
            raise GraphError(f"{node.kind}: a tree is deeper than {MAX_TREE_DEPTH:,}")
    if seen != len(leaf):
        raise GraphError(f"{node.kind}: its nodes are no trees")
    return depth


RULES: Rules = {"TreeEnsembleRegressor": _run_trees}
