"""Changed images are those of a changed world; the loss follows the IoU; both networks give the same."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("torch", reason="needs PyTorch")

from resweep.inference.checked_network import CheckedNetwork, InputShape
from resweep.labels import load_labels
from resweep.learn.segmenter.config import ImageAugmentConfig, ImageNetworkConfig
from resweep.learn.segmenter.image_changes import draw_image, turn_by
from resweep.learn.segmenter.image_samples import IGNORED, ImageSample, LabelledImage, make_sample
from resweep.learn.segmenter.segmenter_layers import count_features
from resweep.learn.segmenter.segmenter_loss import measure_loss, measure_lovasz
from resweep.learn.segmenter.segmenter_network import SegmenterNetwork, export, predict
from resweep.learn.semantics.kpconv import load_torch
from resweep.perception.segmentation.sweep_images import CHANNELS, OCCUPIED, RANGE, ImageGeometry, X, Y, Z, make_image
from resweep.pose import Array
from resweep.sweep import Sweep

GEOMETRY = ImageGeometry(columns=64, elevation_deg=tuple(np.linspace(10, -20, 16).tolist()))
CLASSES = {"road": ("road",), "building": ("building",)}
STILL = {"mix": 0.0, "paste": 0, "scale": 0.0, "tilt_deg": 0.0, "height_m": 0.0, "jitter_m": 0.0}
QUIET = ImageAugmentConfig.model_validate({**STILL, "gain": 0.0, "scatter": 0.0, "drop": 0.0})


def make_cloud(turn: float = 0.0) -> Array:
    rng = np.random.default_rng(0)
    azimuth, tilt, ranges = (
        rng.uniform(-3, 3, 400) + turn,
        np.radians(rng.uniform(-20, 10, 400)),
        rng.uniform(3, 30, 400),
    )
    parts = [np.cos(azimuth) * np.cos(tilt), np.sin(azimuth) * np.cos(tilt), np.sin(tilt)]
    return np.column_stack(parts) * ranges[:, None]


def make_image_sample(instance: int = 0) -> ImageSample:
    points, labels = make_cloud(), load_labels("semantickitti")
    label = np.where(points[:, 2] < 0, labels.id_of("road"), labels.id_of("building"))
    image = make_image(Sweep.from_points(points, intensity=np.full(400, 0.5)), GEOMETRY)
    return make_sample(LabelledImage(image, label, np.full(400, instance), labels), CLASSES)


def test_a_turned_image_is_that_of_a_turned_world() -> None:
    columns = 10
    image = make_image(Sweep.from_points(make_cloud()), GEOMETRY).values
    turned = make_image(Sweep.from_points(make_cloud(-2 * np.pi * columns / 64)), GEOMETRY).values
    found, _ = turn_by(image, np.zeros(image.shape[1:], int), columns)
    assert (found[OCCUPIED] == turned[OCCUPIED]).mean() > 0.99  # of cells at whose edge a return lies, few change
    same = np.abs(found[RANGE] - turned[RANGE]) < 1e-4
    assert np.abs(found[:, same] - turned[:, same]).max() < 1e-4


def test_drawn_images_keep_their_classes_and_their_geometry() -> None:
    sample = make_image_sample(instance=3)
    rng = np.random.default_rng(1)
    for config in (QUIET, ImageAugmentConfig()):
        for _ in range(10):
            values, label = draw_image([sample, sample], config, rng)
            there = values[OCCUPIED] > 0
            assert (label[~there] == IGNORED).all()
            assert not values[:, ~there].any()
            ranges = np.linalg.norm(values[X : Z + 1], axis=0)
            assert ranges[there] == pytest.approx(values[RANGE][there], abs=1e-3 if config is QUIET else 2.0)
            if config is QUIET:
                assert ((values[Z] < 0) == (label == 0))[there].all()
                assert np.sort(values[RANGE].ravel()) == pytest.approx(np.sort(sample.image.values[RANGE].ravel()))
    assert (sample.image.values[Y] == make_image_sample().image.values[Y]).all()  # samples stay as they are


def test_pasted_objects_stand_before_what_they_hide() -> None:
    config, rng = QUIET.model_copy(update={"paste": 3}), np.random.default_rng(0)
    far, near = make_image_sample(instance=5), make_image_sample()
    far.image.values[RANGE] *= 100
    seen = np.count_nonzero(near.image.values[OCCUPIED])
    drawn = [draw_image([far, near], config, rng)[0][RANGE] for _ in range(30)]
    assert {np.count_nonzero((ranges > 0) & (ranges < 100)) for ranges in drawn} == {0, seen}
    assert max(np.count_nonzero(ranges) for ranges in drawn) > seen
    drawn = [draw_image([near], config, rng)[0][RANGE] for _ in range(3)]
    assert all(np.count_nonzero(ranges) == seen for ranges in drawn)  # nothing that is an object


def test_the_lovasz_loss_of_plain_answers_is_one_less_the_iou() -> None:
    torch = load_torch()
    rng = np.random.default_rng(0)
    target, answer = rng.integers(0, 3, 200), rng.integers(0, 3, 200)
    iou = [np.mean((target == at) & (answer == at)) / np.mean((target == at) | (answer == at)) for at in range(3)]
    shares = torch.nn.functional.one_hot(torch.from_numpy(answer), 3).double()
    assert float(measure_lovasz(shares, torch.from_numpy(target))) == pytest.approx(1 - np.mean(iou))
    right = torch.nn.functional.one_hot(torch.from_numpy(target), 3).double()
    assert float(measure_lovasz(right, torch.from_numpy(target))) == pytest.approx(0)


def test_cells_without_class_do_not_count_for_the_loss() -> None:
    torch = load_torch()
    scores = torch.randn(1, 2, 4, 4, generator=torch.Generator().manual_seed(0))
    label = torch.full((1, 4, 4), IGNORED)
    label[0, 0] = 1
    before = float(measure_loss(scores, label, torch.ones(2), 1.0))
    scores[:, :, 1:] *= 100
    assert float(measure_loss(scores, label, torch.ones(2), 1.0)) == before


@pytest.mark.parametrize("levels", [2, 3])
def test_onnx_gives_what_pytorch_gives(levels: int) -> None:
    network = SegmenterNetwork(ImageNetworkConfig(width=8, levels=levels), 3, seed=1)
    for norm in network.norms.values():  # as training leaves them
        norm.running_mean.uniform_(-0.5, 0.5)
        norm.running_var.uniform_(0.5, 2.0)
    outputs = 3 + count_features(network.config)
    shapes = {"channels": (1, len(CHANNELS), 16, 64)}
    given = {"channels": InputShape("float32", (None, len(CHANNELS), 16, None))}
    data = export(network, 16)
    assert data == export(network, 16)
    checked = CheckedNetwork(data, "model.onnx", given, shapes, (1, outputs, 16, 64), "train again")
    images = np.random.default_rng(0).normal(size=(1, len(CHANNELS), 16, 128)).astype(np.float32)
    found = checked.run({"channels": images}, (1, outputs, 16, 128))
    assert found == pytest.approx(predict(network, images), abs=1e-4)


def test_the_usual_network_has_less_than_a_million_weights() -> None:
    assert SegmenterNetwork(ImageNetworkConfig(), 7).parameters < 1_000_000
