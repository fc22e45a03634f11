"""Samples of learned models: networks by hand, of the operators that ours have, and sweeps that they are run on.

A card has the hash of its network. Who makes a hostile one writes the hash too: so it is set again before it is read.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from resweep.sweep import Sweep
from tests.fuzz.reader import Reader
from tests.fuzz.samples_sweeps import make_sweep

ONE_BRANCH: dict[str, Any] = {
    "nodes_treeids": [0, 0, 0],
    "nodes_nodeids": [0, 1, 2],
    "nodes_featureids": [0, 0, 0],
    "nodes_modes": ["BRANCH_LEQ", "LEAF", "LEAF"],
    "nodes_values": [11.0, 0.0, 0.0],
    "nodes_truenodeids": [1, 0, 0],
    "nodes_falsenodeids": [2, 0, 0],
    "target_treeids": [0, 0],
    "target_nodeids": [1, 2],
    "target_ids": [0, 0],
    "target_weights": [0.25, 0.75],
    "n_targets": 1,
}


def sign(folder: Path) -> None:
    """Write the hashes of the files of a model into its card, if it is still a card."""
    try:
        card = json.loads((folder / "card.json").read_text())
        parts = [
            card,
            card.get("drop"),
            (card.get("intensity") or {}),
            (card.get("intensity") or {})["light"]["scatter"],
        ]
    except (ValueError, AttributeError, KeyError, TypeError, RecursionError):
        return
    for part in parts:
        if isinstance(part, dict) and "sha256" in part:
            file = folder / str(part.get("file", "model.onnx"))[:50].replace("\0", "")
            if file.is_file():
                part["sha256"] = hashlib.sha256(file.read_bytes()).hexdigest()
    (folder / "card.json").write_text(json.dumps(card))


def sign_labels(folder: Path) -> None:
    """The same for a model of labels, whose card has one hash."""
    try:
        card = json.loads((folder / "card.json").read_text())
        card["sha256"] = hashlib.sha256((folder / "model.onnx").read_bytes()).hexdigest()
    except (ValueError, TypeError, RecursionError):
        return
    (folder / "card.json").write_text(json.dumps(card))


def make_image_network() -> bytes:
    """A probability for each pixel, by a convolution at half the size."""
    from resweep.learn.graphs import OnnxOps
    from resweep.simulate.beam_channels import CHANNELS
    from resweep.simulate.realism.onnx_network import INPUT

    ops, rng = OnnxOps(), np.random.default_rng(1)
    one = ops.relu(ops.conv(INPUT, rng.normal(0, 0.01, (4, len(CHANNELS), 3, 3)).astype(np.float32), np.zeros(4, "f4")))
    two = ops.double(
        ops.relu(ops.conv(ops.pool(one), rng.normal(0, 0.3, (4, 4, 3, 3)).astype("f4"), np.zeros(4, "f4")))
    )
    last = ops.conv(ops.concat([one, two]), rng.normal(0, 0.3, (1, 8, 1, 1)).astype("f4"), np.zeros(1, "f4"))
    return ops.finish(ops.sigmoid(last), ["n", len(CHANNELS), "rows", "columns"])


def make_ray_network() -> bytes:
    """Shares of two bins, by trees, a table of the lasers and a linear layer."""
    from resweep.learn.graphs import OnnxOps
    from resweep.simulate.beam_channels import CHANNELS
    from resweep.simulate.realism.onnx_network import INPUT

    ops = OnnxOps()
    trees = ops.node("TreeEnsembleRegressor", INPUT, domain="ai.onnx.ml", **ONE_BRANCH)
    laser = ops.rows(np.linspace(0, 1, 16).reshape(8, 2).astype(np.float32), ops.select(INPUT, 5, 6))
    both = ops.concat([ops.clip(trees, 1.0), laser, ops.equals(ops.select(INPUT, 6, 7), 1.0)])
    shares = ops.softmax(ops.linear(both, np.eye(2, 4, dtype=np.float32), np.zeros(2, np.float32)))
    return ops.finish(shares, ["n", len(CHANNELS)], 2)


@cache
def make_hit_sweep() -> Sweep:
    """A sweep with the columns of what was hit, as a simulation has them."""
    from resweep.worlds.layers.seen import pack_seen

    sweep = make_sweep()
    ones = np.ones(len(sweep))
    seen = pack_seen(7 * ones, (20 * ones, 20 * ones), (0.5 * ones, 0.5 * ones))
    extra = {"seen": seen, "cosine": ones.astype(np.float32), "primitive": np.zeros(len(sweep), np.uint8)}
    return replace(sweep, extra=extra)


def _make_realism(folder: Path) -> Path:
    from resweep.learn.scatter_levels import pack_scatter
    from resweep.simulate.intensity import IntensityModel
    from resweep.simulate.realism import RealismCard, find_sensor_grid
    from resweep.simulate.realism.model_card import NetworkCard, write_card

    data, scatter = pack_scatter(np.arange(2 * 8 * 30, dtype=np.uint8).reshape(2, 8, 30))
    files = {"drop.onnx": make_image_network(), "intensity.onnx": make_ray_network(), scatter.file: data}
    for name, content in files.items():
        (folder / name).write_bytes(content)
    light = IntensityModel(knots=((0.0, 0.1), (0.4, 0.6)), means=(0.05, 0.5), step=0.1, scatter=scatter)
    hashes = {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}
    drop = NetworkCard(file="drop.onnx", sha256=hashes["drop.onnx"], kind="image", variant="by hand")
    intensity = NetworkCard(
        file="intensity.onnx", sha256=hashes["intensity.onnx"], kind="ray", variant="by hand", light=light
    )
    write_card(folder, RealismCard(layout=find_sensor_grid(make_hit_sweep()), drop=drop, intensity=intensity))
    return folder / "card.json"


def _read_realism(path: Path) -> None:
    from resweep.labels import load_labels
    from resweep.simulate.realism import load_realism

    sign(path.parent)
    load_realism(path.parent).run(make_hit_sweep(), load_labels("semantickitti"), seed=1, index=0, threads=1)


def make_label_network(features: int, classes: int) -> bytes:
    """Scores by a layer on the points, and one on the coarser ones around them."""
    import onnx

    helper, rng = onnx.helper, np.random.default_rng(2)
    arrays = {
        "w": rng.normal(0, 1, (features, 6)).astype(np.float32),
        "zero": np.zeros((1, 6), np.float32),
        "v": rng.normal(0, 1, (12, classes)).astype(np.float32),
        "b": np.zeros(classes, np.float32),
    }
    nodes = [
        helper.make_node("MatMul", ["features", "w"], ["h"]),
        helper.make_node("LeakyRelu", ["h"], ["f"], alpha=0.1),
        helper.make_node("Concat", ["f", "zero"], ["fz"], axis=0),
        helper.make_node("Gather", ["fz", "down0"], ["g"], axis=0),
        helper.make_node("ReduceMax", ["g"], ["c"], axes=[1], keepdims=0),
        helper.make_node("Gather", ["c", "up0"], ["u"], axis=0),
        helper.make_node("Concat", ["f", "u"], ["both"], axis=1),
        helper.make_node("Gemm", ["both", "v", "b"], ["scores"]),
    ]
    given = helper.make_tensor_value_info
    real, whole = onnx.TensorProto.FLOAT, onnx.TensorProto.INT32
    inputs = [given("features", real, ["n0", features])]
    inputs += [given(f"points{at}", real, [f"n{at}", 3]) for at in range(2)]
    inputs += [given(f"same{at}", whole, [f"n{at}", "h"]) for at in range(2)]
    inputs += [given("down0", whole, ["n1", "h"]), given("up0", whole, ["n0"])]
    constants = [onnx.numpy_helper.from_array(array, name) for name, array in arrays.items()]
    graph = helper.make_graph(nodes, "g", inputs, [given("scores", real, ["n0", classes])], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    data: bytes = model.SerializeToString()
    return data


def _make_labels(folder: Path) -> Path:
    from resweep.labels import load_labels
    from resweep.segmentation import SegmentationCard
    from resweep.segmentation.card import TrainingLog
    from resweep.segmentation.features import FEATURES

    data, labels = make_label_network(len(FEATURES), 3), load_labels("semantickitti-19")
    card = SegmentationCard(
        version="0",
        labels=labels,
        classes=tuple(labels.id_of(name) for name in ("road", "building", "pole")),
        cell_m=0.5,
        levels=2,
        neighbours=4,
        features=FEATURES,
        votes=2,
        trained_on=(TrainingLog(log="nothing", sweeps=1),),
        sha256=hashlib.sha256(data).hexdigest(),
    )
    (folder / "model.onnx").write_bytes(data)
    (folder / "card.json").write_text(card.model_dump_json())
    return folder / "card.json"


def _read_labels(path: Path) -> None:
    from resweep.segmentation import load_labeller

    sign_labels(path.parent)
    load_labeller(path.parent).classify(make_sweep())


READERS = (
    [Reader("model-realism", _make_realism, _read_realism), Reader("model-labels", _make_labels, _read_labels)]
    if find_spec("onnx") and find_spec("onnxruntime")
    else []
)
