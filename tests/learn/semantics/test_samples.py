"""Classes, votes and changes of training clouds; scores of known pairs."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("torch", reason="needs PyTorch")

from resweep.label_mapping import map_labels
from resweep.learn.semantics.config import AugmentConfig
from resweep.learn.semantics.iou import count_pairs, find_iou, make_scores, mean_iou
from resweep.learn.semantics.rounds import schedule_rate, weigh_classes
from resweep.learn.semantics.samples import IGNORED, Vocabulary, augment, vote

# learning_map of PRBonn/semantic-kitti-api, by the names of our vocabulary; what is left out has no class.
BENCHMARK = {
    "car": "car, moving car",
    "bicycle": "bicycle",
    "motorcycle": "motorcycle",
    "truck": "truck, moving truck",
    "other vehicle": "bus, on rails, other vehicle, moving train, moving bus, moving vehicle",
    "person": "person, moving person",
    "bicyclist": "bicyclist, moving bicyclist",
    "motorcyclist": "motorcyclist, moving motorcyclist",
    "road": "road, lane marking",
    "parking": "parking",
    "pavement": "pavement",
    "other ground": "other ground",
    "building": "building",
    "fence": "fence",
    "vegetation": "vegetation",
    "trunk": "trunk",
    "ground": "ground",
    "pole": "pole",
    "traffic sign": "traffic sign",
}


def test_the_classes_are_those_of_the_benchmark() -> None:
    mapping = map_labels("semantickitti", "semantickitti-19")
    expected = {old: new for new, row in BENCHMARK.items() for old in row.split(", ")}
    for label, target in mapping.ids.items():
        old, new = mapping.source.class_name(label), mapping.target.class_name(target)
        assert new == expected.get(old, "unlabelled"), old
    vocabulary = Vocabulary.load("semantickitti-19")
    assert sorted(vocabulary.names) == sorted(BENCHMARK)
    numbers = vocabulary.number(np.array([0, 1, 10, 81, 252]))
    assert numbers.tolist() == [IGNORED, IGNORED, 0, 18, IGNORED]


def test_cells_take_the_class_of_most_returns() -> None:
    cell, truth = np.array([0, 0, 0, 1, 1, 2]), np.array([2, 1, 2, IGNORED, 0, IGNORED])
    assert vote(cell, truth, 4, 3).tolist() == [2, 0, IGNORED, IGNORED]


def test_changed_clouds_keep_their_shape() -> None:
    rng = np.random.default_rng(1)
    points, features = rng.normal(size=(60, 3)), rng.normal(size=(60, 3)).astype(np.float32)
    plain = AugmentConfig(jitter_m=0, height_m=0, forget_intensity=1.0)
    moved, changed = augment(points, features, ("one", "height", "intensity"), plain, rng)
    distance = np.linalg.norm(points[1:] - points[:-1], axis=1)
    ratio = np.linalg.norm(moved[1:] - moved[:-1], axis=1) / distance
    np.testing.assert_allclose(ratio, ratio[0], rtol=1e-4)
    assert 0.9 <= ratio[0] <= 1.1
    assert not np.allclose(moved, points, atol=0.1)
    np.testing.assert_array_equal(changed[:, 0], features[:, 0])
    np.testing.assert_allclose(changed[:, 1], features[:, 1] * ratio[0], rtol=1e-4)
    assert not changed[:, 2].any()


def test_iou_of_known_pairs() -> None:
    pairs = count_pairs(np.array([0, 0, 1, 1, IGNORED]), np.array([0, 1, 1, 1, 2]), 3)
    assert pairs.tolist() == [[1, 1, 0], [0, 2, 0], [0, 0, 0]]
    np.testing.assert_allclose(find_iou(pairs), [1 / 2, 2 / 3, np.nan])
    assert mean_iou(pairs) == pytest.approx(7 / 12)
    scores = make_scores(pairs, ["a", "b", "c"], ["log"], 1)
    assert scores.accuracy == 0.75
    assert set(scores.iou) == {"a", "b"}
    assert mean_iou(np.zeros((3, 3), np.int64)) == 0.0


def test_rare_classes_weigh_more_and_the_rate_falls() -> None:
    class Only:
        label = np.repeat([0, 1, IGNORED], [900, 100, 50])

    weight = weigh_classes([Only()], 3, 0.5)  # type: ignore[list-item]
    assert weight[1] / weight[0] == pytest.approx(3.0)
    assert weight[2] == 0
    shares = [schedule_rate(done) for done in np.linspace(0, 1, 21)]
    assert max(shares) == pytest.approx(1.0)
    assert shares[-1] == pytest.approx(0.0)
    assert shares[5:] == sorted(shares[5:], reverse=True)
