"""A street corner, a segmenter with drawn weights, and its copies that tests may damage."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from resweep.labels import load_labels
from resweep.log import Log
from resweep.sweep import Sweep

CLASSES = {"road": ("road",), "building": ("building",), "pole": ("pole",)}


def make_sweep(seed: int = 0, at: int = 0) -> Sweep:
    """Ground, a wall and a pole, seen from 1.7 m above."""
    rng = np.random.default_rng(seed)
    labels = load_labels("semantickitti")
    ground = np.column_stack([rng.uniform(-8, 8, (600, 2)), np.zeros(600)])
    wall = np.column_stack([rng.uniform(-8, 8, 300), np.full(300, 6.0), rng.uniform(0, 4, 300)])
    pole = np.column_stack([rng.normal(3, 0.05, (80, 2)), rng.uniform(0, 4, 80)])
    points = np.concatenate([ground, wall, pole]) - [0, 0, 1.7]
    label = np.repeat([labels.id_of(name) for name in ("road", "building", "pole")], [600, 300, 80])
    return Sweep.from_points(points, label=label, intensity=rng.random(len(points)), timestamp=0.1 * at)


@pytest.fixture(scope="session")
def corner() -> Log:
    return Log.from_sweeps([make_sweep(at, at) for at in range(3)], "corner", labels=load_labels("semantickitti"))


@pytest.fixture(scope="session")
def segmenter_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A segmenter of 16 × 128 cells and drawn weights."""
    pytest.importorskip("torch", reason="needs PyTorch to make a model")
    from resweep.learn.segmenter.config import ImageNetworkConfig
    from resweep.learn.segmenter.segmenter_layers import count_features
    from resweep.learn.segmenter.segmenter_network import SegmenterNetwork, export
    from resweep.perception.segmentation.segmenter_card import SegmenterCard, write_segmenter
    from resweep.perception.segmentation.sweep_images import CHANNELS, ImageGeometry
    from resweep.segmentation.card import TrainingLog, hash_model

    shape = ImageNetworkConfig(width=8, levels=2)
    drawn = SegmenterNetwork(shape, len(CLASSES))
    network = export(drawn, 16)
    card = SegmenterCard(
        version="0",
        classes=CLASSES,
        geometry=ImageGeometry(columns=128, elevation_deg=tuple(np.linspace(20, -40, 16).tolist())),
        normalisation=dict.fromkeys(CHANNELS[:-1], (0.0, 5.0)),
        features=count_features(shape),
        parameters=drawn.parameters,
        trained_on=(TrainingLog(log="nothing", sweeps=1),),
        sha256=hash_model(network),
    )
    path = tmp_path_factory.mktemp("models") / "tiny.model"
    write_segmenter(path, network, card)
    return path


@pytest.fixture
def copy(segmenter_folder: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(segmenter_folder, tmp_path / "copy.model"))
