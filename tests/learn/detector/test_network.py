"""The network in PyTorch and in ONNX, what it is to answer, and the changes of training sweeps."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("torch", reason="needs PyTorch")

import torch

from resweep.learn.detector import DetectorConfig
from resweep.learn.detector.detector_augment import augment, paste
from resweep.learn.detector.detector_config import DetectorAugment
from resweep.learn.detector.detector_graph import export
from resweep.learn.detector.detector_network import DetectorNetwork, predict
from resweep.learn.detector.detector_rounds import find_loss
from resweep.learn.detector.detector_samples import DetectorSample, gather_objects, measure_polar, read_samples
from resweep.learn.detector.heat_targets import draw_batch, make_targets
from resweep.log import Log
from resweep.perception.detection.average_precision import find_average_precision
from resweep.perception.detection.box_matching import MatchRule, match_frame
from resweep.perception.detection.decoding import decode
from resweep.perception.detection.detector import open_detector
from resweep.perception.detection.detector_card import DetectorCard, hash_model


@pytest.fixture(scope="module")
def samples(plane: Log, tiny: DetectorConfig) -> list[DetectorSample]:
    return read_samples(plane, tiny, show=False)


def test_onnx_gives_what_pytorch_gives(tiny: DetectorConfig) -> None:
    network = DetectorNetwork(tiny.network, 2, seed=3)
    rng = np.random.default_rng(0)
    network.module.train()
    for _ in range(3):  # so that normalisation has something to fold
        network(torch.from_numpy(rng.random((2, 3, 64, 64), np.float32)))
    model = export(network)
    card = DetectorCard(
        version="0", grid=tiny.grid, classes=("car", "van"), features=tiny.network.features, sha256=hash_model(model)
    )
    image = rng.random((3, *tiny.grid.shape), np.float32)
    theirs = open_detector(model, card, "it").answer(image)
    assert theirs.shape == (2 + 8 + 16, 20, 20)
    assert np.abs(theirs - predict(network, image)).max() < 1e-4
    assert export(network) == model


def test_the_default_network_has_less_than_two_million_weights() -> None:
    assert 300_000 < DetectorNetwork(DetectorConfig().network, 1).parameters < 2_000_000


def test_weights_depend_on_the_seed_alone(tiny: DetectorConfig) -> None:
    one, same, other = (export(DetectorNetwork(tiny.network, 1, seed)) for seed in (1, 1, 2))
    assert one == same
    assert one != other


def test_a_network_that_gave_its_targets_would_be_right(samples: list[DetectorSample], tiny: DetectorConfig) -> None:
    for sample in samples:
        targets = make_targets(sample, tiny.grid, 1)
        answers = np.concatenate([np.log(targets.heat + 1e-6) - np.log(1 - targets.heat + 1e-6), targets.box])
        found = decode(answers, tiny.grid, ("car",), 0.5)
        rule = MatchRule(iou=0.99, kind="3d")
        assert find_average_precision([match_frame(found, sample.truth, rule)]).ap == 1.0
        assert len(found) == len(sample.truth)


def test_what_is_not_cared_about_costs_nothing(samples: list[DetectorSample], tiny: DetectorConfig) -> None:
    sample = replace(samples[0], number=np.array([-1, 0, -2, 0]), sector=(math.pi / 2, math.pi / 2))
    targets = make_targets(sample, tiny.grid, 1)
    row, column = np.floor(tiny.grid.find_answers(sample.boxes)).astype(int).T
    assert targets.cared[row, column].tolist()[0] is False
    assert not targets.cared[:, :9].any()  # to the right nothing was annotated
    assert (targets.heat == 1).sum() == 2
    batch = replace(targets, **{name: getattr(targets, name)[None] for name in ("heat", "cared", "box", "has_box")})
    answers = torch.zeros(1, 9, *tiny.grid.answer_shape)
    wrong = answers.clone()
    wrong[0, 0][torch.from_numpy(~targets.cared)] = 9.0
    assert find_loss(wrong, batch, tiny) == find_loss(answers, batch, tiny)
    wrong[0, 0, row[1], column[1]] = -9.0
    assert find_loss(wrong, batch, tiny) > find_loss(answers, batch, tiny) + 1


def test_changed_sweeps_have_their_returns_in_their_boxes(samples: list[DetectorSample], tiny: DetectorConfig) -> None:
    config = DetectorAugment(turn_deg=180, scale=0.2, drop=0.0, height_m=1.0, paste=0)
    for seed in range(6):
        changed = augment(samples[0], [], config, np.random.default_rng(seed))
        assert len(changed.points) == len(samples[0].points)
        for (x, y, z, length, width, height, yaw), before in zip(changed.boxes, samples[0].boxes, strict=True):
            away = changed.points[:, :3] - [x, y, z]
            local = np.abs(
                np.column_stack(
                    [
                        away[:, :2] @ [math.cos(yaw), math.sin(yaw)],
                        away[:, :2] @ [-math.sin(yaw), math.cos(yaw)],
                        away[:, 2],
                    ]
                )
            )
            inside = (local <= np.array([length, width, height]) / 2 + 1e-4).all(axis=1)
            assert inside.sum() >= 250
            assert length / before[3] == pytest.approx(height / before[5])
    assert not np.array_equal(changed.boxes, samples[0].boxes)


def test_an_object_that_is_put_in_hides_what_is_behind(samples: list[DetectorSample], tiny: DetectorConfig) -> None:
    objects = gather_objects(samples, tiny)
    assert len(objects) == 24
    plane = samples[0].points[:3136]
    bare = replace(
        samples[0], points=plane, polar=measure_polar(plane), boxes=np.zeros((0, 7)), number=np.zeros(0, int)
    )
    done = paste(bare, objects[:1], np.random.default_rng(0))
    assert done.number.tolist() == [0]
    assert math.hypot(*done.boxes[0, :2]) == pytest.approx(math.hypot(*objects[0].box[:2]))  # at its own range
    assert done.boxes[0, 3:6] == pytest.approx(objects[0].box[3:6])
    lost = len(bare.points) + len(objects[0].points) - len(done.points)
    assert 0 < lost < len(bare.points) / 2
    full = replace(done, boxes=np.repeat(done.boxes, 9, axis=0) * [1e-9, 1e-9, 1, 99, 99, 1, 1])
    assert paste(full, objects[:1], np.random.default_rng(0)) is full  # no room for another


def test_the_same_step_draws_the_same_batch(samples: list[DetectorSample], tiny: DetectorConfig) -> None:
    objects = gather_objects(samples, tiny)
    one, same = (draw_batch(samples, objects, tiny, np.random.default_rng([0, 5])) for _ in range(2))
    assert np.array_equal(one[0], same[0])
    assert np.array_equal(one[1].box, same[1].box)
    assert one[0].shape == (3, 3, 80, 80)
    assert one[1].heat.shape == (3, 1, 20, 20)
    assert one[1].has_box.any()
