"""What simulation draws without a learned model, beside one: which of them is better on places that were held out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import resweep as rs
from resweep.cli.shared.learned_models import print_realism
from resweep.dataset.learning import pair_log
from resweep.files.pieces import Pieces
from resweep.learn.beam_pairs import BeamPair, PairConfig, read_pair
from resweep.learn.default_scatter import COLUMNS, DefaultScatter, find_drop_chance, score_default, score_draws
from resweep.learn.fitting import FitConfig
from resweep.learn.realism import RealismConfig, fit_realism
from resweep.learn.training import TrainingConfig
from tests.learn.conftest import known_law

pytest.importorskip("torch", reason="needs resweep[learn]")
pytest.importorskip("onnxruntime", reason="needs resweep[realism]")


def with_default(pair: BeamPair, wise: bool, seed: int) -> BeamPair:
    """The pair with a default that knows the law of its drops and intensities, or one that knows the mean alone."""
    random = np.random.default_rng(seed)
    law = np.where(pair.channels.occupied, known_law(pair.channels.values[:, 0], pair.channels.values[:, 5]), 0.0)
    chance = law if wise else np.full(len(law), 0.5)
    light = np.where(pair.intensity > 0, pair.intensity, pair.simulated)
    draws = (light + random.normal(0.0, 0.001 if wise else 0.3, (2, len(light)))).astype(np.float32)
    returned = random.random(len(law)) >= chance
    return replace(
        pair, default=DefaultScatter(pair.channels.values[:, 0], *draws, returned, chance.astype(np.float32))
    )


def test_a_build_knows_what_simulation_draws_and_pairs_keep_it(tiny_log: rs.Log, tmp_path: Path) -> None:
    pairs = pair_log(
        tiny_log, rs.SurfelConfig(), PairConfig(folds=2, most_folds=1), cache=tmp_path, key="", progress=False
    )
    again = read_pair(Pieces(tmp_path), 0)
    assert again is not None
    assert again.default is not None
    assert pairs[0].default is not None
    for name in COLUMNS:
        np.testing.assert_array_equal(getattr(again.default, name), getattr(pairs[0].default, name))
    own, default = pairs[0].chosen, pairs[0].default
    assert 0.0 < default.chance[own].mean() < 0.3
    assert np.mean(default.returned[own]) == pytest.approx(1.0 - default.chance[own].mean(), abs=0.03)
    assert np.mean(default.intensity[own] != default.intensity_again[own]) > 0.5
    assert not default.range[~pairs[0].channels.occupied].any()
    scores = score_default(pairs, "drop") | score_default(pairs, "intensity")
    assert scores["brier"] <= scores["brier_base"] + 0.01
    assert 0.0 < scores["intensity_crps"] < 0.2


def test_scores_of_the_default_by_hand(make_made_up: Callable[..., list[BeamPair]]) -> None:
    pairs = [with_default(pair, True, at) for at, pair in enumerate(make_made_up(3))]
    scores = score_default(pairs, "drop")
    law = np.concatenate([find_drop_chance(pair)[pair.chosen] for pair in pairs])
    dropped = np.concatenate([pair.dropped for pair in pairs])
    assert scores["brier"] == pytest.approx(np.mean((law - dropped) ** 2), abs=1e-5)
    # Of draws and truth from one normal distribution the score is sigma over the root of pi.
    random = np.random.default_rng(0)
    noisy = [replace(pair, intensity=random.normal(0.0, 0.1, len(pair.intensity)).astype(np.float32)) for pair in pairs]
    draws = [tuple(random.normal(0.0, 0.1, (2, len(pair.intensity)))) for pair in pairs]
    crps = score_draws(noisy, [(first, second) for first, second in draws])["intensity_crps"]
    assert crps == pytest.approx(0.1 / np.sqrt(np.pi), rel=0.05)
    assert score_default([*pairs[:2], make_made_up(1)[0]], "drop") == {}


@pytest.mark.parametrize("wise", [True, False])
def test_learning_says_whether_it_improves_on_the_default(
    wise: bool, make_made_up: Callable[..., list[BeamPair]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pairs = [with_default(pair, wise, at) for at, pair in enumerate(make_made_up(4))]
    quick = FitConfig(variant="logistic", training=TrainingConfig(epochs=1))
    card = fit_realism(pairs, tmp_path, RealismConfig(drop=quick, noise=False), progress=False)
    assert card.drop is not None
    assert card.drop.improves == (not wise)
    light = {"scores": {"intensity_crps": 0.04, "intensity_js": 0.01}, "light": None}
    default = {"intensity_crps": 0.03 if wise else 0.05, "intensity_js": 0.002}
    both = card.model_copy(update={"intensity": card.drop.model_copy(update={**light, "default_scores": default})})
    print_realism(tmp_path, both, 1.0, as_json=False)
    said = capsys.readouterr().out
    assert said.count("improves on the scatter that builds estimate: ") == (0 if wise else 2)
    assert said.count("does not improve on the scatter that builds estimate, leave it out (--") == (2 if wise else 0)


def test_without_a_known_scatter_nothing_is_compared(
    make_made_up: Callable[..., list[BeamPair]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = RealismConfig(drop=FitConfig(variant="logistic", training=TrainingConfig(epochs=1)), noise=False)
    card = fit_realism(make_made_up(4), tmp_path, config, progress=False)
    assert card.drop is not None
    assert card.drop.improves is None
    print_realism(tmp_path, card, 1.0, as_json=False)
    assert "was not compared: the worlds of these logs know no scatter" in capsys.readouterr().out
