"""Networks are the same in PyTorch, or scikit-learn, and in ONNX; training is the same for a seed."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from resweep.errors import ResweepError
from resweep.learn.blindness import add_blindness
from resweep.learn.boosting import BoostingConfig, boost, export_trees, predict_intensities, tabulate_scatter
from resweep.learn.examples import check_drops, hold_out, join_layouts, make_images, make_rays, measure_channels
from resweep.learn.fitting import FitConfig, fit, gather
from resweep.learn.graphs import TOLERANCE
from resweep.learn.intensity_bins import find_bins, make_intensity_model
from resweep.learn.networks import NETWORKS, NetworkShape, export, make_weights, predict
from resweep.learn.scores import score_intensity
from resweep.learn.training import TrainingConfig, train
from resweep.simulate.intensity import IntensityModel
from resweep.simulate.realism.model_card import NetworkCard
from resweep.simulate.realism.onnx_network import HALO, OnnxNetwork
from tests.learn.conftest import known_law

torch = pytest.importorskip("torch", reason="needs resweep[learn]")
pytest.importorskip("onnx", reason="needs resweep[learn]")
pytest.importorskip("sklearn", reason="needs resweep[learn]")

QUICK = TrainingConfig(epochs=3, learning_rate=5e-3, threads=1)  # threads of tests wait for each other


BIAS = {"drop": (0.0,), "intensity": (0.0, 0.5, -0.2)}


def part(kind: str, data: bytes, outputs: int = 1) -> NetworkCard:
    light = (
        IntensityModel(knots=[[at, at + 1.0] for at in range(outputs)], means=range(outputs)) if outputs > 1 else None
    )
    facts = {"file": "drop.onnx", "sha256": hashlib.sha256(data).hexdigest(), "variant": "test"}
    return NetworkCard(**facts, kind=kind, light=light)


@pytest.mark.parametrize("task", ["drop", "intensity"])
@pytest.mark.parametrize("variant", NETWORKS)
def test_onnx_gives_what_pytorch_gives(variant: str, task: Any, make_made_up: Any) -> None:
    pair = make_made_up(1)[0]
    layout = pair.layout
    mean, spread = measure_channels(make_rays([pair], "drop"))
    shape = NetworkShape(variant, task, 8, layout.rings, layout.rows, mean, spread, BIAS[task])
    random = torch.Generator().manual_seed(3)
    weights = {name: w + 0.05 * torch.randn(w.shape, generator=random) for name, w in make_weights(shape, 1).items()}
    channels = pair.channels.with_blind(np.random.default_rng(0).random((layout.rings, 360)).astype(np.float32))
    data = export(shape, weights, 1.3)
    network = OnnxNetwork(data, part("image" if shape.is_image else "ray", data, len(BIAS[task])), layout)
    if shape.is_image:
        image = channels.to_image(layout.rows, layout.columns)
        around = np.take(image, np.arange(-HALO, layout.columns + HALO), axis=2, mode="wrap")
        expected = predict(shape, weights, around[None], 1.3)[0, :, :, HALO:-HALO]
        edges = layout.columns // 4  # sectors know a halo of their neighbours, not all
        found = network.run_image(image)
        np.testing.assert_allclose(found[..., :edges], expected[..., :edges], atol=0.05)
        one = network._call(np.ascontiguousarray(around[None]))[0, :, :, HALO:-HALO]
        np.testing.assert_allclose(one, expected, atol=TOLERANCE)
    else:
        expected = predict(shape, weights, channels.values, 1.3)
        np.testing.assert_allclose(network.run_rays(channels.values), expected, atol=TOLERANCE)
    assert np.ptp(expected) > 0.01


@pytest.mark.parametrize("task", ["drop", "intensity"])
def test_onnx_gives_what_boosted_trees_give(task: Any, make_made_up: Any) -> None:
    pairs = make_made_up(2)
    rays = make_rays(pairs, task)
    trees = boost(task, rays.values, rays.target, BoostingConfig(trees=10, leaves=8))
    network = OnnxNetwork(data := export_trees(task, trees), part("ray", data), pairs[0].layout)
    expected = trees.predict_proba(rays.values)[:, 1] if task == "drop" else predict_intensities(trees, rays.values)
    np.testing.assert_allclose(network.run_rays(rays.values)[:, 0], expected, atol=TOLERANCE)


def test_trees_tell_how_intensities_scatter(make_made_up: Any) -> None:
    """The shares that ONNX gives are those of the table, between its centres by distance."""
    rays = make_rays(pairs := make_made_up(2), "intensity")
    trees = boost("intensity", rays.values, rays.target, BoostingConfig(trees=10, leaves=8))
    light, edges = make_intensity_model(rays.target)
    table = tabulate_scatter(predict_intensities(trees, rays.values), find_bins(rays.target, edges), len(edges))
    data = export_trees("intensity", trees, table=table)
    named = part("ray", data).model_copy(update={"light": light})
    shares = OnnxNetwork(data, named, pairs[0].layout).run_rays(rays.values)
    expected = [np.interp(predict_intensities(trees, rays.values), table.centre, column) for column in table.shares.T]
    np.testing.assert_allclose(shares, np.stack(expected, axis=1), atol=TOLERANCE)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0, atol=1e-4)


@pytest.mark.parametrize("variant", ["mlp", "unet"])
def test_training_is_the_same_for_a_seed_and_after_a_stop(variant: Any, make_made_up: Any, tmp_path: Path) -> None:
    pairs = make_made_up(3)
    layout = pairs[0].layout
    mean, spread = measure_channels(make_rays(pairs, "drop"))
    shape = NetworkShape(variant, "drop", 4, layout.rings, layout.rows, mean, spread)
    make = (lambda part: make_images(part, "drop", layout)) if variant == "unet" else (lambda p: make_rays(p, "drop"))
    both = make(pairs[:2]), make(pairs[2:])
    whole = train(shape, *both, QUICK, progress=False)
    again = train(shape, *both, QUICK, progress=False)

    class StoppedError(Exception):
        pass

    class Fails:
        """Held-out examples that cannot be read when the third epoch is judged."""

        def __init__(self) -> None:
            self.left = 2

        def validation_batches(self) -> Any:
            self.left -= 1
            if self.left < 0:
                raise StoppedError
            return both[1].validation_batches()

    with pytest.raises(StoppedError):
        train(shape, both[0], Fails(), QUICK, checkpoint=tmp_path / "c.pt", progress=False)  # type: ignore[arg-type]
    resumed = train(shape, *both, QUICK, checkpoint=tmp_path / "c.pt", progress=False)
    assert whole.history == again.history == resumed.history
    for name, value in whole.weights.items():
        assert torch.equal(value, again.weights[name])
        assert torch.equal(value, resumed.weights[name])
    other = train(shape, *both, QUICK.model_copy(update={"seed": 1}), progress=False)
    assert other.history != whole.history


def test_a_network_recovers_a_known_law(make_made_up: Any) -> None:
    """Calibration error below 0.02, nearly the Brier score of the law itself, and the weak lasers are found."""
    train_on, held = make_made_up(30), make_made_up(10, seed=9)
    config = FitConfig(variant="mlp", training=TrainingConfig(epochs=12, learning_rate=5e-3, threads=1))
    fitted = fit("drop", train_on, held, train_on[0].layout, config, progress=False)
    predicted, true, values = gather(fitted.network, held, "drop")
    law = known_law(values[:, 0], values[:, 5])
    scores = fitted.part.scores
    assert scores["ece"] < 0.02
    assert scores["brier"] < np.mean((law - true) ** 2) + 0.004 < scores["brier_base"]
    assert np.mean(np.abs(predicted - law)) < 0.03, np.mean(np.abs(predicted - law))


def test_intensity_is_learned_on_top_of_the_recorded(make_made_up: Any) -> None:
    train_on, held = make_made_up(12), make_made_up(4, seed=9)
    config = FitConfig(variant="mlp", training=TrainingConfig(epochs=6, learning_rate=5e-3, threads=1))
    fitted = fit("intensity", train_on, held, train_on[0].layout, config, progress=False)
    rays = make_rays(held, "intensity")
    before = score_intensity(rays.values[:, 1], rays.target)
    assert fitted.part.scores["intensity_rmse"] < 0.3 * before["intensity_rmse"]


def test_blindness_is_that_of_other_places(make_made_up: Any) -> None:
    pairs = make_made_up(4, places=2)
    for pair in pairs:
        pair.returned[(pair.channels.laser == 5) & (pair.channels.azimuth < 90)] = False
    training, held, share = add_blindness(pairs, make_made_up(1, seed=5), 16)
    assert share[5, :90].max() > 0.5
    assert share[6].mean() < 0.25
    bright = training[0].channels
    blind = bright.values[bright.occupied & (bright.laser == 5) & (bright.azimuth < 90), 8]
    free = bright.values[bright.occupied & (bright.laser == 6), 8]
    assert blind.mean() > free.mean() + 0.2
    assert held[0].channels.values[:, 8].max() > 0.5


def test_places_are_held_out_whole(make_made_up: Any) -> None:
    pairs = make_made_up(6, places=3)
    training, held = hold_out(pairs, 0.25)
    assert {pair.place for pair in held} == {"place 2"}
    assert {pair.place for pair in training} == {"place 0", "place 1"}
    single = make_made_up(8, places=1)
    training, held = hold_out(single, 0.25)
    assert held == single[6:]


def test_one_class_and_other_sensors_are_refused(make_made_up: Any) -> None:
    pairs = make_made_up(2)
    for pair in pairs:
        pair.returned[:] = pair.channels.occupied
    with pytest.raises(ResweepError, match="hardly any beam was dropped"):
        check_drops(pairs)
    other = replace(pairs[1], layout=pairs[1].layout.model_copy(update={"rings": 7}))
    with pytest.raises(ResweepError, match="7 rings, where others have 16"):
        join_layouts([pairs[0], other])
