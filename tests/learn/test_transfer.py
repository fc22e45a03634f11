"""Models that carry over to another sensor: what they know, what they refuse, and what they predict there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import resweep as rs
from resweep.errors import ResweepError
from resweep.learn.realism import RealismConfig, fit_realism
from resweep.simulate.beam_channels import TRANSFERABLE
from resweep.simulate.realism import CHANNELS
from tests.simulate.test_realism import POSE, sensor, world, write_model  # noqa: F401, the fixtures

pytest.importorskip("torch", reason="needs resweep[learn]")
pytest.importorskip("onnxruntime", reason="needs resweep[realism]")

QUICK = {"variant": "mlp", "training": {"epochs": 8, "learning_rate": 5e-3, "threads": 1}}
OTHER = {"range_max_m": 30.0, "pattern.channels": {"elevation_deg": np.linspace(-25, 5, 40).tolist()}}


def test_a_transferable_model_knows_ranges_against_the_maximum(
    world: rs.World,  # noqa: F811
    sensor: rs.Sensor,  # noqa: F811
    tmp_path: Path,
) -> None:
    """A hand-made model whose logit grows with the share of the maximum range, on a sensor of another grid."""
    model = rs.load_realism(write_model(tmp_path / "m", 0.05, -2.0, transferable=True, range_max_m=60.0))
    assert model.card.transfers == TRANSFERABLE
    assert {"laser", "blind"}.isdisjoint(model.card.transfers)
    for chosen in (sensor, sensor.with_(**OTHER)):
        plain = rs.Simulator(world, chosen).sweep(POSE)
        sweep = rs.Simulator(world, chosen, realism=model, seed=3).sweep(POSE)
        share = np.zeros(sweep.n_beams)
        share[plain.beam] = plain.range / chosen.range_max_m
        predicted = sweep.beam_extra["drop_probability"][plain.beam]
        expected = 1 / (1 + np.exp(2.0 - 0.05 * 100.0 * share[plain.beam]))
        np.testing.assert_allclose(predicted, expected, atol=1e-3)


def test_a_model_with_lasers_is_refused_and_says_what_to_do(
    world: rs.World,  # noqa: F811
    sensor: rs.Sensor,  # noqa: F811
    tmp_path: Path,
) -> None:
    model = rs.load_realism(write_model(tmp_path / "m", 0.05, -2.0))
    with pytest.raises(ResweepError, match=r"the sweep has 40 rings; learn one.*--transferable"):
        rs.Simulator(world, sensor.with_(**OTHER), realism=model).sweep(POSE)
    assert model.card.transfers == ()


def test_images_and_unknown_maximum_ranges_do_not_transfer(tmp_path: Path, make_made_up: Any) -> None:
    for changes, problem in (({}, "range_max_m.*missing"), ({"range_max_m": 60.0, "kind": "image"}, "one sensor")):
        with pytest.raises(ResweepError, match=problem):
            write_model(tmp_path / "m", 0.1, 0.0, **{"transferable": True, **changes})  # type: ignore[arg-type]
    with pytest.raises(ResweepError, match="unet looks at the grid of one sensor"):
        RealismConfig(transferable=True)
    config = RealismConfig.model_validate({"drop": QUICK, "transferable": True})
    with pytest.raises(ResweepError, match=r"maximum range .* is unknown.*set range_max_m"):
        fit_realism(make_made_up(4), tmp_path / "n", config, progress=False)


def test_what_is_learned_does_not_depend_on_the_laser(tmp_path: Path, make_made_up: Any) -> None:
    """The law of the pairs has weak lasers: a transferable model cannot know them, and another one does."""
    pairs = make_made_up(6)
    predicted = {}
    for transferable in (True, False):
        folder = tmp_path / str(transferable)
        config = RealismConfig.model_validate({"drop": QUICK, "transferable": transferable, "blind": False})
        card = fit_realism(pairs, folder, config, range_max_m=50.0, progress=False)
        assert (card.transferable, card.range_max_m) == (transferable, 50.0)
        model, channels = rs.load_realism(folder), pairs[0].channels
        predicted[transferable] = model.predict_drops(channels.transferred(50.0) if transferable else channels)
    laser, chosen = pairs[0].channels.laser, pairs[0].chosen
    weak = laser[chosen] % 8 == 3
    differ = {key: float(p[chosen][weak].mean() - p[chosen][~weak].mean()) for key, p in predicted.items()}
    assert differ[False] > 0.1 > abs(differ[True])


def test_channels_that_carry_over(make_made_up: Any) -> None:
    channels = make_made_up(1)[0].channels
    moved = channels.transferred(50.0)
    for at, name in enumerate(CHANNELS):
        factor = 0.0 if name not in TRANSFERABLE else 2.0 if name.endswith("range_m") else 1.0
        np.testing.assert_allclose(moved.values[:, at], factor * channels.values[:, at], rtol=1e-6)
