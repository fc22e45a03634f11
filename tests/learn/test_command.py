"""What ``resweep learn raydrop`` and ``--realism`` say to bad input, and a learning that was stopped and goes on."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import resweep as rs
from resweep.dataset import learning
from resweep.learn import training
from resweep.learn.beam_pairs import BeamPair
from tests.learn.conftest import COLUMNS, RINGS
from tests.learn.test_pairs import run
from tests.simulate.test_realism import write_model

QUICK = ("--epochs", 3, "--folds", 2, "--method", "surfels")
THREADS = ("--set", "drop.training.threads=1", "--set", "intensity.training.threads=1")


@pytest.fixture
def world_folder(tiny_world: rs.World, tmp_path: Path) -> Path:
    tiny_world.save(tmp_path / "tiny.world")
    return tmp_path / "tiny.world"


def fails(capsys: pytest.CaptureFixture[str], *args: object) -> str:
    """The one line that a command ends with."""
    capsys.readouterr()
    assert run(*args) == 1
    message = capsys.readouterr().err.strip()
    assert "Traceback" not in message
    assert len([line for line in message.splitlines() if line.startswith("Error") or "error" in line.lower()]) <= 1, (
        message
    )
    return message


def test_too_few_sweeps(tiny_log: rs.Log, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rs.write_log(tiny_log[:3], tmp_path / "short", format="sweep", progress=False)
    message = fails(capsys, "learn", "raydrop", tmp_path / "short", "-o", tmp_path / "m", *QUICK)
    assert "3 sweeps are too few" in message
    assert not (tmp_path / "m").exists()


def test_one_class_only(
    tiny_log_folder: Path,
    make_made_up: Callable[..., list[BeamPair]],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pairs = make_made_up(4)
    for pair in pairs:
        pair.returned[:] = pair.channels.occupied
    monkeypatch.setattr(learning, "pair_log", lambda *_, **__: pairs)
    message = fails(capsys, "learn", "raydrop", tiny_log_folder, "-o", tmp_path / "m", *QUICK)
    assert "one class only" in message


def test_logs_of_other_scales(tiny_log: rs.Log, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, scale in (("one", 1.0), ("bytes", 255.0)):
        log = replace(tiny_log, intensity_scale=scale)
        rs.write_log(log, tmp_path / name, format="sweep", progress=False)
    message = fails(capsys, "learn", "raydrop", tmp_path / "one", tmp_path / "bytes", "-o", tmp_path / "m", *QUICK)
    assert "intensities have different full scales" in message
    model = learn_by_hand(tmp_path / "model", intensity_scale=1.0)
    message = fails(capsys, "evaluate", tmp_path / "bytes", "--holdout", 3, "--method", "surfels", "--realism", model)
    assert "full scale 1, those of the log have 255" in message


def learn_by_hand(folder: Path, **changes: Any) -> Path:
    """A model that fits the tiny sensor of these tests."""
    layout = {"rings": RINGS, "columns": 3 * COLUMNS, "elevation_deg": np.linspace(-20, 5, RINGS).tolist()}
    return write_model(folder, 0.1, -3.0, **{"layout": layout, **changes})


def test_models_that_do_not_fit(
    world_folder: Path, tiny_log_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good = learn_by_hand(tmp_path / "good")
    args = ("simulate", world_folder, "--like", tiny_log_folder, "--sweeps", 1, "-o", tmp_path / "out", "--realism")
    other = {"rings": 64, "columns": 288, "elevation_deg": np.linspace(-20, 5, 64).tolist()}
    assert "the model is for 64 rings" in fails(capsys, *args, learn_by_hand(tmp_path / "other", layout=other))
    assert "there is no such folder" in fails(capsys, *args, tmp_path / "none")
    damaged = learn_by_hand(tmp_path / "damaged")
    (damaged / "drop.onnx").write_bytes((damaged / "drop.onnx").read_bytes()[:-7])
    assert "drop.onnx: is damaged" in fails(capsys, *args, damaged)
    old = learn_by_hand(tmp_path / "old")
    card = json.loads((old / "card.json").read_text())
    (old / "card.json").write_text(json.dumps({**card, "version": 1}))
    assert "version" in fails(capsys, *args, old)
    assert run(*args, good) == 0


def test_worlds_that_do_not_fit(
    tiny_world: rs.World, tiny_log_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = learn_by_hand(tmp_path / "m")
    nameless = rs.World(tiny_world.layers, tiny_world.origin, observed=tiny_world.observed)
    nameless.save(tmp_path / "nameless.world")
    unseen = rs.World(tiny_world.layers, tiny_world.origin, labels=tiny_world.labels)
    unseen.save(tmp_path / "unseen.world")
    for name, problem in (
        ("nameless", "what labels of this world mean is unknown"),
        ("unseen", "does not know how its primitives were seen"),
    ):
        args = ("simulate", tmp_path / f"{name}.world", "--like", tiny_log_folder, "--sweeps", 1)
        assert problem in fails(capsys, *args, "-o", tmp_path / name, "--realism", model)
        assert not (tmp_path / name).exists()


@pytest.mark.slow
def test_learning_that_was_stopped_goes_on_to_the_same_bytes(
    tiny_log_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    args = ("learn", "raydrop", tiny_log_folder, "--variant", "mlp", "--intensity", "mlp", *QUICK, *THREADS)
    assert run(*args, "-o", tmp_path / "whole") == 0
    epoch, done = training._TrainingState.epoch, []

    def stops(self: Any, *examples: Any) -> None:
        if len(done) == 4:  # the second epoch of the second network
            raise KeyboardInterrupt
        done.append(1)
        epoch(self, *examples)

    monkeypatch.setattr(training._TrainingState, "epoch", stops)
    assert run(*args, "-o", tmp_path / "stopped") != 0
    assert not (tmp_path / "stopped").exists()
    assert (tmp_path / "stopped.partial").is_dir()
    begun = len(done)

    def counts(self: Any, *examples: Any) -> None:
        done.append(1)
        epoch(self, *examples)

    monkeypatch.setattr(training._TrainingState, "epoch", counts)
    assert run(*args, "-o", tmp_path / "stopped") == 0, capsys.readouterr().err
    assert len(done) - begun == 2  # what was done is not done again
    assert _hash(tmp_path / "stopped") == _hash(tmp_path / "whole")


def _hash(folder: Path) -> dict[str, str]:
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(folder.iterdir())}
