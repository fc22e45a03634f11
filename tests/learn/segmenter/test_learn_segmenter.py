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
from resweep.labels import load_labels
from resweep.learn.segmenter import SegmenterConfig, segmenter_rounds
from resweep.learn.segmenter.image_samples import choose_sweeps
from resweep.log import Log
from resweep.perception.segmentation import SegmenterCard, load_segmenter
from resweep.segmentation.card import MODEL

TINY = SegmenterConfig.model_validate(
    {
        "rows": 16,
        "columns": 128,
        "crop_columns": 128,
        "network": {"width": 8, "levels": 3, "deep_blocks": 1, "dropout": 0.0},
        "epochs": 4,
        "steps": 12,
        "rate": 0.02,
        "average": 0.8,
    }
)


@pytest.fixture(scope="module")
def trained(corners: Log, others: Log, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, SegmenterCard]:
    path = tmp_path_factory.mktemp("learn") / "corners.model"
    return path, rs.learn_segmenter([corners, others], path, TINY, test=[others])


def test_a_network_learns_what_a_corner_is_made_of(trained: tuple[Path, SegmenterCard], others: Log) -> None:
    path, card = trained
    assert list(card.classes) == ["road", "building", "pole"]
    assert [(item.log, item.sweeps) for item in card.trained_on] == [("corners", 4)]
    assert card.tested is not None
    assert card.tested == card.validated  # the same log here
    assert card.tested.on == ("others",)
    assert card.tested.miou > 0.6
    model = load_segmenter(path)
    assert model.card == card
    truth = [model.find_truth(sweep.label, others.labels) for sweep in others]
    pairs = [(model.segment(sweep)[true < 3], true[true < 3]) for sweep, true in zip(others, truth, strict=True)]
    accuracy = np.mean(np.concatenate([found == true for found, true in pairs]))
    assert accuracy == pytest.approx(card.tested.accuracy)
    assert not path.with_name("corners.model.partial").exists()


def test_a_stopped_training_ends_with_the_same_bytes(
    trained: tuple[Path, SegmenterCard], corners: Log, others: Log, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, begun = tmp_path / "again.model", []
    run_round = segmenter_rounds.SegmenterTraining.run_round

    def stop_late(training: segmenter_rounds.SegmenterTraining, *given: object) -> None:
        begun.append(training.state.epoch)
        if begun == [0, 1]:
            raise KeyboardInterrupt
        run_round(training, *given)  # type: ignore[arg-type]

    monkeypatch.setattr(segmenter_rounds.SegmenterTraining, "run_round", stop_late)
    with pytest.raises(KeyboardInterrupt):
        rs.learn_segmenter([corners, others], path, TINY, test=[others])
    assert (tmp_path / "again.model.partial" / f"{segmenter_rounds.CHECKPOINT}.piece").is_file()
    assert not path.exists()
    rs.learn_segmenter([corners, others], path, TINY, test=[others])
    assert begun == [0, 1, 1, 2, 3]
    assert (path / MODEL).read_bytes() == (trained[0] / MODEL).read_bytes()


def test_a_log_without_intensities_is_learned_without(corners: Log, tmp_path: Path) -> None:
    bare = corners.with_sweeps([replace(sweep, intensity=np.zeros(len(sweep))) for sweep in corners])
    config = TINY.model_copy(update={"epochs": 1, "steps": 2})
    card = rs.learn_segmenter(bare, tmp_path / "m", config)
    assert not card.uses_intensity
    model = load_segmenter(tmp_path / "m")
    assert (model.score(corners[0]) == model.score(bare[0])).all()


def test_few_sweeps_of_many_are_spread_over_all_logs(corners: Log, others: Log) -> None:
    assert [len(log) for log in choose_sweeps([corners, others], 6)] == [4, 2]
    chosen = choose_sweeps([corners, others], 3)
    assert [log.numbers.tolist() for log in chosen] == [[0, 2], [1]]


def test_what_cannot_be_learned_is_said(corners: Log, roads: Log, tmp_path: Path) -> None:
    def refusal(*logs: Log, **changes: object) -> str:
        with pytest.raises(ResweepError) as caught:
            rs.learn_segmenter(logs, tmp_path / "m", TINY.model_copy(update=changes))
        assert "\n" not in str(caught.value)
        assert not (tmp_path / "m").exists()
        return str(caught.value)

    bare = corners.with_sweeps([replace(sweep, label=np.zeros_like(sweep.label)) for sweep in corners])
    assert "no return has a label of a class that is learned (vehicle, road," in refusal(bare)
    assert "the meaning of its labels is unknown" in refusal(replace(corners, labels=load_labels("unknown")))
    assert "it has no labels; train on labelled logs" in refusal(replace(corners, labels=load_labels("none")))
    assert "all labelled returns are of one class (road)" in refusal(roads)
    classes = {"road": ("road",), "car": ("car",), "sky": ("cloud",)}
    assert "classes: car, sky never occur in the logs 'corners'; leave them out" in refusal(corners, classes=classes)
    empty = corners.with_sweeps([sweep.select_beams(np.zeros(sweep.n_beams, bool)) for sweep in corners])
    assert "no sweep has a return" in refusal(empty)
    assert "no round can be chosen by it; validate by another log" in refusal(corners, bare)


def test_images_that_levels_do_not_divide_are_refused() -> None:
    for field, value, problem in (
        ("rows", 20, "rows: expected a multiple of 8, which 4 levels divide"),
        ("columns", 1000, "columns: expected a multiple of 16"),
        ("crop_columns", 4096, "crop_columns: expected at most the 2048 columns"),
        ("classes", {"road": ["road"]}, "classes: "),
        ("clases", {}, "clases: unknown key"),
    ):
        with pytest.raises(ResweepError, match=problem):
            SegmenterConfig(**{field: value})  # type: ignore[arg-type]


def test_the_command_ends_with_its_scores(corners: Log, others: Log, tmp_path: Path) -> None:
    for log in (corners, others):
        rs.write_log(log, tmp_path / log.name, progress=False)
    args = ["learn", "segmenter", str(tmp_path / "corners"), "--test", str(tmp_path / "others"), "--json", "-q"]
    settings = ["epochs=1", "steps=2", "rows=16", "columns=128", "crop_columns=128", "network.width=8"]
    settings += ["network.levels=3", "classes={ground: [ground], wall: [building, pole]}"]
    args += ["-o", str(tmp_path / "m"), *(word for item in settings for word in ("--set", item))]
    done = CliRunner().invoke(app, args)
    assert done.exit_code == 0, done.output
    last = json.loads(done.stdout.splitlines()[-1])
    assert set(last["iou"]) == {"ground", "wall"}
    assert last["miou"] == pytest.approx(np.mean(list(last["iou"].values())))
    assert last["scored_on"] == ["others"]
    again = CliRunner().invoke(app, args)
    assert "exists and is not empty" in str(again.exception)
    wrong = CliRunner().invoke(app, [*args, "--overwrite", "--set", "network.wide=4"])
    assert "network.wide: unknown key" in str(wrong.exception)
