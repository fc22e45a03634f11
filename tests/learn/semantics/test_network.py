"""Kernel points, convolutions and ONNX: against the papers' formulas, written plainly."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("torch", reason="needs PyTorch")

from resweep.learn.semantics.config import NetworkConfig
from resweep.learn.semantics.export import export
from resweep.learn.semantics.kernel import MEAN_RADIUS, place_kernel_points
from resweep.learn.semantics.kpconv import KpConvNetwork, _TensorLayers, load_torch, predict, to_tensors
from resweep.segmentation.card import TOLERANCE
from resweep.segmentation.pyramid import join_pyramids, make_pyramid, thin

torch = load_torch()
RNG = np.random.default_rng(3)
SHAPE = NetworkConfig(width=8, levels=3, cell_m=0.5, neighbours=10, features=("one", "height"))
POINTS = thin(RNG.uniform(-3, 3, (700, 3)), 0.5)[0]
PYRAMID = make_pyramid(POINTS, 0.5, 3, 10)
FEATURES = RNG.normal(size=(len(POINTS), 2)).astype(np.float32)


@pytest.fixture(scope="module")
def network() -> KpConvNetwork:
    network = KpConvNetwork(SHAPE, 4, seed=1)
    network.module.train()
    for _ in range(5):  # so that normalisation has something to fold
        network(torch.from_numpy(FEATURES), to_tensors(PYRAMID))
    return network


def test_kernel_points_are_spread_around_the_middle() -> None:
    points = place_kernel_points(15, 1.0).astype(np.float64)
    radius = np.linalg.norm(points, axis=1)
    assert radius[0] == 0
    np.testing.assert_allclose(radius[1:].mean(), MEAN_RADIUS, rtol=1e-6)
    apart = np.linalg.norm(points[:, None] - points[None], axis=2) + 9 * np.eye(15)
    assert apart.min() > 0.6 * MEAN_RADIUS
    np.testing.assert_allclose(points.mean(axis=0), 0, atol=1e-3)
    np.testing.assert_allclose(place_kernel_points(15, 1.2), 1.2 * points, rtol=1e-6)


def test_the_energy_of_kernel_points_is_least() -> None:
    points = place_kernel_points(15, 1.0).astype(np.float64)

    def energy(at: np.ndarray) -> float:
        apart = np.linalg.norm(at[:, None] - at[None], axis=2)[np.triu_indices(15, 1)]
        return float((at**2).sum() + (1 / apart).sum())

    best = min(energy(size * points) for size in np.linspace(0.2, 2, 400))
    scale = min(np.linspace(0.2, 2, 400), key=lambda size: energy(size * points))
    rng = np.random.default_rng(0)
    for _ in range(50):
        moved = scale * points
        moved[1:] += rng.normal(0, 0.03, (14, 3))
        assert energy(moved) > best


def test_a_convolution_is_that_of_the_formula(network: KpConvNetwork) -> None:
    network.module.eval()
    values = RNG.normal(size=(len(POINTS), 2)).astype(np.float32)
    influence = _TensorLayers(network, to_tensors(PYRAMID))._influence("same0").numpy()
    kernel = network.kernel.numpy()
    weight = network.weights["stem"].detach().numpy().reshape(len(kernel), 2, -1)
    expected = np.zeros((len(POINTS), weight.shape[2]))
    for at in range(len(POINTS)):
        for slot, other in enumerate(PYRAMID.same[0][at]):
            if other == len(POINTS):
                assert not influence[at, :, slot].any()
                continue
            offset = (POINTS[other] - POINTS[at]) / SHAPE.cell_m
            share = np.maximum(0, 1 - np.linalg.norm(offset - kernel, axis=1) / SHAPE.extent)  # KPConv, eq. 6
            np.testing.assert_allclose(influence[at, :, slot], share, atol=1e-5)
            expected[at] += np.einsum("k,kio,i->o", share, weight, values[other])
    norm = network.norms["stem"]
    mean, variance = norm.running_mean.numpy(), norm.running_var.numpy()
    expected = (expected - mean) / np.sqrt(variance + norm.eps)
    expected = np.where(expected > 0, expected, 0.1 * expected)
    with torch.no_grad():
        found = (
            _TensorLayers(network, to_tensors(PYRAMID)).convolve("stem", torch.from_numpy(values), "same0", 8).numpy()
        )
    np.testing.assert_allclose(found, expected, atol=1e-4)


def test_onnx_gives_what_pytorch_gives(network: KpConvNetwork) -> None:
    runtime = pytest.importorskip("onnxruntime")
    model = export(network)
    assert model == export(network)
    session = runtime.InferenceSession(model, providers=["CPUExecutionProvider"])
    for count in (len(POINTS), 40):
        pyramid = make_pyramid(POINTS[:count], 0.5, 3, 10)
        (found,) = session.run(None, {"features": FEATURES[:count], **pyramid.inputs()})
        away = np.abs(found - predict(network, FEATURES[:count], pyramid)).max()
        assert away < TOLERANCE
        assert np.abs(found).max() > 100 * away


def test_scores_do_not_depend_on_where_a_cloud_lies_or_what_else_there_is(network: KpConvNetwork) -> None:
    alone = predict(network, FEATURES, PYRAMID)
    moved = make_pyramid(POINTS + np.float32([8.0, -16.0, 4.0]), 0.5, 3, 10)  # by whole cells of all levels
    np.testing.assert_allclose(predict(network, FEATURES, moved), alone, atol=1e-3)
    joined = join_pyramids([make_pyramid(POINTS[:50], 0.5, 3, 10), PYRAMID])
    both = predict(network, np.concatenate([FEATURES[:50], FEATURES]), joined)
    np.testing.assert_allclose(both[50:], alone, atol=1e-4)
