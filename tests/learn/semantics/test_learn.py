"""Training learns, resumes and repeats itself; what cannot be learned is an error of one line."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

pytest.importorskip("torch", reason="needs PyTorch")

import resweep as rs
from resweep.cli.app import app
from resweep.errors import ResweepError
from resweep.labels import LabelSet, load_labels
from resweep.learn.semantics import SemanticsConfig, rounds
from resweep.learn.semantics.trainer import split_logs
from resweep.log import Log
from resweep.segmentation import load_labeller, read_card
from resweep.segmentation.card import MODEL

TINY = SemanticsConfig.model_validate(
    {
        "network": {"width": 8, "levels": 2, "cell_m": 0.5, "neighbours": 8, "kernel_points": 7},
        "epochs": 4,
        "steps": 12,
        "crops": 1,
        "crop_points": 1000,
        "rate": 0.02,
    }
)


@pytest.fixture(scope="module")
def trained(corners: Log, others: Log, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("learn") / "corners.model"
    rs.learn_semantics([corners, others], path, TINY, test=[others])
    return path


def test_a_network_learns_what_a_corner_is_made_of(trained: Path, others: Log) -> None:
    card = read_card(trained)
    assert card.trained_on[0].log == "corners"
    assert card.trained_on[0].sweeps == 4
    assert card.tested is not None
    assert card.validated is not None
    assert card.tested.on == ("others",)
    assert card.tested.miou > 0.6
    assert card.tested.miou == card.validated.miou  # the same log here
    predicted = load_labeller(trained).classify(others[0])
    known = others[0].label != 0
    assert (predicted == others[0].label)[known].mean() > 0.85
    assert not trained.with_name("corners.model.partial").exists()


def test_a_stopped_training_ends_with_the_same_bytes(
    trained: Path, corners: Log, others: Log, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "again.model"
    begun: list[int] = []
    run_round = rounds._run_round

    def stop_late(*given: object) -> float:
        begun.append(int(str(given[5])))
        if begun == [0, 1]:
            raise KeyboardInterrupt
        return run_round(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(rounds, "_run_round", stop_late)
    with pytest.raises(KeyboardInterrupt):
        rs.learn_semantics([corners, others], path, TINY, test=[others])
    assert (tmp_path / "again.model.partial" / f"{rounds.CHECKPOINT}.piece").is_file()
    rs.learn_semantics([corners, others], path, TINY, test=[others])
    assert begun == [0, 1, 1, 2, 3]
    assert (path / MODEL).read_bytes() == (trained / MODEL).read_bytes()


def test_one_log_alone_keeps_its_last_sweeps(corners: Log) -> None:
    split = split_logs([corners])
    assert [len(part[0]) for part in (split.training, split.validation)] == [3, 1]
    with pytest.raises(ResweepError, match="training: 1 sweeps are too few; give 2 at least"):
        split_logs([corners[:1]])


def test_what_cannot_be_learned_is_said(
    corners: Log, roads: Log, vocabulary_of_fruit: LabelSet, tmp_path: Path
) -> None:
    def refusal(*logs: Log) -> str:
        with pytest.raises(ResweepError) as caught:
            rs.learn_semantics(logs, tmp_path / "m", TINY)
        assert "\n" not in str(caught.value)
        assert not (tmp_path / "m").exists()
        return str(caught.value)

    bare = [replace(sweep, label=np.zeros_like(sweep.label)) for sweep in corners]
    assert "no return has a label with a class in 'semantickitti-19'" in refusal(corners.with_sweeps(bare))
    assert "the meaning of its labels is unknown" in refusal(replace(corners, labels=load_labels("unknown")))
    assert "it has no labels" in refusal(replace(corners, labels=load_labels("none")))
    assert "no class of its vocabulary 'fruit' has a counterpart" in refusal(
        replace(corners, labels=vocabulary_of_fruit)
    )
    assert "all labelled points are of one class (road)" in refusal(roads)


def test_the_command_ends_with_its_scores(corners: Log, others: Log, tmp_path: Path) -> None:
    for log in (corners, others):
        rs.write_log(log, tmp_path / log.name, progress=False)
    args = ["learn", "semantics", str(tmp_path / "corners"), "--test", str(tmp_path / "others"), "--json", "-q"]
    tiny = {**TINY.model_dump(), "epochs": 1, "steps": 2}
    settings = [f"{name}={json.dumps(tiny[name])}" for name in ("epochs", "steps", "crops", "crop_points")]
    settings += ["network.width=8", "network.levels=2", "network.cell_m=0.5"]
    args += ["-o", str(tmp_path / "m"), *(word for item in settings for word in ("--set", item))]
    done = CliRunner().invoke(app, args)
    assert done.exit_code == 0, done.output
    last = json.loads(done.stdout.splitlines()[-1])
    assert set(last["iou"]) == {"road", "building", "pole"}
    assert last["miou"] == pytest.approx(np.mean(list(last["iou"].values())))
    assert last["scored_on"] == ["others"]
    again = CliRunner().invoke(app, args)
    assert isinstance(again.exception, ResweepError)
    assert "exists and is not empty" in str(again.exception)
    twice = CliRunner().invoke(app, [*args, "--overwrite", "--validate", str(tmp_path / "others")])
    assert "others: is given as --validate too; give a log of another place" in str(twice.exception)
    wrong = CliRunner().invoke(app, [*args, "--overwrite", "--set", "network.wide=4"])
    assert "network.wide: unknown key" in str(wrong.exception)
