"""Gradient-boosted trees on the channels of each ray, and how they become ONNX."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from resweep.config import Positive, Spec
from resweep.learn.graphs import OnnxOps
from resweep.learn.networks import Task
from resweep.optional import require
from resweep.pose import Array
from resweep.quantities import MAX_COUNT
from resweep.simulate.beam_channels import CHANNELS
from resweep.simulate.realism.onnx_network import INPUT

_INTENSITY = CHANNELS.index("intensity")
_N_CENTRES = 25  # of predicted intensities, at which their scatter is known
_PRIOR_RAYS = 2.0  # which scatter as all rays do


class BoostingConfig(Spec):
    """How trees are boosted (scikit-learn's HistGradientBoosting)."""

    trees: Annotated[int, Field(ge=1, le=5000)] = 120
    """Number of trees."""
    leaves: Annotated[int, Field(ge=2, le=1024)] = 31
    """Leaves of each at most."""
    learning_rate: Positive = 0.1
    """Share of each tree that is added."""
    most_rays: Annotated[int, Field(ge=1000, le=MAX_COUNT)] = 1_500_000
    """Rays that they are fitted to at most."""
    seed: Annotated[int, Field(ge=0, lt=2**31)] = 0
    """Seed of the rays that are chosen."""


def boost(task: Task, values: Array, target: Array, config: BoostingConfig) -> Any:
    """Trees fitted to rays (n, 9): the drop, or what is to be added to the recorded intensity."""
    ensemble = require("sklearn.ensemble", "boosting trees")
    random = np.random.default_rng(config.seed)
    rows = np.sort(random.permutation(len(target))[: config.most_rays])
    options = {"max_iter": config.trees, "max_leaf_nodes": config.leaves, "learning_rate": config.learning_rate}
    kind = ensemble.HistGradientBoostingClassifier if task == "drop" else ensemble.HistGradientBoostingRegressor
    trees = kind(**options, early_stopping=False, random_state=config.seed)
    wanted = target[rows] > 0.5 if task == "drop" else target[rows] - values[rows, _INTENSITY]
    return trees.fit(values[rows], wanted)


def predict_intensities(trees: Any, values: Array) -> Array:
    """The intensities (n,) that trees predict for rays (n, 9)."""
    return np.asarray(values[:, _INTENSITY] + trees.predict(values), np.float64)


@dataclass(frozen=True, eq=False)
class ScatterTable:
    """The shares (c, k) of bins of intensity where trees predict the intensities ``centre`` (c,), evenly spaced."""

    centre: Array
    shares: Array


def tabulate_scatter(predicted: Array, place: Array, bins: int) -> ScatterTable:
    """How recorded intensities, in the bins ``place`` (n,), scatter about those that trees predict (n,)."""
    low, high = np.quantile(predicted, (0.001, 0.999))
    centre = np.linspace(low, max(high, low + 1e-3), _N_CENTRES)
    at = np.interp(predicted, centre, np.arange(_N_CENTRES))
    left = np.minimum(at.astype(np.int64), _N_CENTRES - 2)
    shares = np.full((_N_CENTRES, bins), 1e-9)
    base = np.bincount(place, minlength=bins) / max(len(place), 1)
    for shift, weight in ((0, 1 - (at - left)), (1, at - left)):
        shares += np.bincount((left + shift) * bins + place, weight, _N_CENTRES * bins).reshape(_N_CENTRES, bins)
    shares += _PRIOR_RAYS * base
    return ScatterTable(centre.astype(np.float32), (shares / shares.sum(axis=1, keepdims=True)).astype(np.float32))


def export_trees(task: Task, trees: Any, temperature: float = 1.0, table: ScatterTable | None = None) -> bytes:
    """The trees as ONNX, which gives the probability of a drop, or by a ``table`` the shares of bins of intensity."""
    ops = OnnxOps()
    out = ops.node("TreeEnsembleRegressor", INPUT, domain="ai.onnx.ml", **_list_nodes(trees))
    if task == "drop":
        out = ops.sigmoid(ops.multiply(out, np.full(1, 1.0 / temperature, np.float32)))
        return ops.finish(out, ["n", len(CHANNELS)])
    out = ops.add(out, ops.select(INPUT, _INTENSITY, _INTENSITY + 1))
    if table is None:
        return ops.finish(out, ["n", len(CHANNELS)])
    # Between two centres the shares are those of both, by distance: 1 - |out - centre| / step, where that is above 0.
    limits = (ops.constant(np.float32(table.centre[at])) for at in (0, -1))
    away = ops.add(ops.node("Clip", out, *limits), -table.centre[None])
    step = np.float32(table.centre[1] - table.centre[0])
    near = ops.relu(
        ops.add(ops.multiply(ops.node("Abs", away), np.full(1, -1 / step, np.float32)), np.ones(1, np.float32))
    )
    shares = ops.node("MatMul", near, ops.constant(table.shares))
    return ops.finish(shares, ["n", len(CHANNELS)], table.shares.shape[1])


def count_nodes(trees: Any) -> int:
    """The number of nodes of all trees."""
    return sum(len(stage[0].nodes) for stage in trees._predictors)


def _list_nodes(trees: Any) -> dict[str, Any]:
    """Attributes of a tree ensemble, from the arrays of scikit-learn."""
    found: dict[str, list[Any]] = {
        name: [] for name in ("treeids", "nodeids", "featureids", "modes", "values", "truenodeids", "falsenodeids")
    }
    leaves: dict[str, list[Any]] = {name: [] for name in ("treeids", "nodeids", "ids", "weights")}
    for tree, (predictor,) in enumerate(trees._predictors):
        for number, node in enumerate(predictor.nodes):
            leaf = bool(node["is_leaf"])
            row: list[Any] = [tree, number, int(node["feature_idx"]), "LEAF" if leaf else "BRANCH_LEQ"]
            row.append(0.0 if leaf else _round_down(float(node["num_threshold"])))
            row += (0, 0) if leaf else (int(node["left"]), int(node["right"]))
            for name, value in zip(found, row, strict=True):
                found[name].append(value)
            if leaf:
                for name, value in zip(leaves, (tree, number, 0, float(node["value"])), strict=True):
                    leaves[name].append(value)
    base = float(np.ravel(trees._baseline_prediction)[0])
    named = {f"nodes_{name}": values for name, values in found.items()}
    named |= {f"target_{name}": values for name, values in leaves.items()}
    return {**named, "n_targets": 1, "base_values": [base], "post_transform": "NONE"}


def _round_down(threshold: float) -> float:
    """The largest float32 that is not above it: rays are float32, so they go the same way."""
    rounded = np.float32(threshold)
    return float(rounded if float(rounded) <= threshold else np.nextafter(rounded, np.float32(-np.inf)))
