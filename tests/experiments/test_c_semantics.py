"""The rivals of the network of labels: a random forest, and a network on range images."""

from __future__ import annotations

import pytest

pytest.importorskip("torch", reason="needs PyTorch")

from experiments.c_forest import score_forest, train_forest
from experiments.c_range_image import read_images, score_images, train_images
from resweep.learn.semantics.config import NetworkConfig
from resweep.learn.semantics.iou import mean_iou
from resweep.learn.semantics.rounds import weigh_classes
from resweep.learn.semantics.samples import Vocabulary, read_samples
from tests.learn.semantics.conftest import make_log

SMALL = NetworkConfig(width=8, levels=2, cell_m=0.5, neighbours=8, kernel_points=7)


def test_the_rivals_learn_corners_too() -> None:
    corners, others = make_log("corners", range(4)), make_log("others", range(10, 12))
    vocabulary = Vocabulary.load("semantickitti-19")
    classes = len(vocabulary.ids)
    samples, unseen = (read_samples(log, vocabulary, SMALL) for log in (corners, others))
    assert mean_iou(score_forest(train_forest(samples, trees=8), unseen, classes)) > 0.6
    weight = weigh_classes(samples, classes, 0.5)
    images = read_images(others[:1], vocabulary)
    assert images[0].truth.shape == images[0].cell.shape == (len(others[0]),)
    network = train_images(read_images(corners[:1], vocabulary), weight, 2, width=4)
    pairs = score_images(network, images, classes)
    assert pairs.sum() == (images[0].truth >= 0).sum()
