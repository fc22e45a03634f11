"""A street corner of three classes, and a tiny model with drawn weights."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from resweep.labels import load_labels
from resweep.log import Log
from resweep.sweep import Sweep


def make_sweep(seed: int = 0, count: int = 1500, at: int = 0) -> Sweep:
    """Ground, a wall and a pole, seen from 1.7 m above."""
    rng = np.random.default_rng(seed)
    labels = load_labels("semantickitti")
    ground = np.column_stack([rng.uniform(-8, 8, (count, 2)), np.zeros(count)])
    wall = np.column_stack([rng.uniform(-8, 8, count // 2), np.full(count // 2, 6.0), rng.uniform(0, 4, count // 2)])
    pole = np.column_stack([rng.normal(3, 0.05, (count // 8, 2)), rng.uniform(0, 4, count // 8)])
    points = np.concatenate([ground, wall, pole]) - [0, 0, 1.7]
    names = np.repeat(["road", "building", "pole"], [len(ground), len(wall), len(pole)])
    label = np.array([labels.id_of(name) for name in names])
    pose = np.eye(4)
    pose[0, 3] = at
    return Sweep.from_points(
        points, pose=pose, label=label, intensity=rng.random(len(points)), timestamp=0.1 * at, instance=label + 1
    )


@pytest.fixture(scope="session")
def log() -> Log:
    sweeps = [make_sweep(at, at=at) for at in range(3)]
    return Log.from_sweeps(sweeps, "corner", labels=load_labels("semantickitti"))


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of two levels and drawn weights."""
    pytest.importorskip("torch", reason="needs PyTorch to make a model")
    from resweep.learn.semantics.config import NetworkConfig
    from resweep.learn.semantics.export import export
    from resweep.learn.semantics.kpconv import KpConvNetwork
    from resweep.segmentation import SegmentationCard, write_model
    from resweep.segmentation.card import TrainingLog, hash_model

    labels = load_labels("semantickitti-19")
    shape = NetworkConfig(width=8, levels=2, cell_m=0.5, neighbours=8, kernel_points=5)
    network = export(KpConvNetwork(shape, 3))
    card = SegmentationCard(
        version="0",
        labels=labels,
        classes=tuple(labels.id_of(name) for name in ("road", "building", "pole")),
        cell_m=shape.cell_m,
        levels=shape.levels,
        neighbours=shape.neighbours,
        features=shape.features,
        trained_on=(TrainingLog(log="nothing", sweeps=1),),
        sha256=hash_model(network),
    )
    path = tmp_path_factory.mktemp("models") / "tiny.model"
    write_model(path, network, card)
    return path
