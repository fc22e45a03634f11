"""A toy detector finds boxes on an empty plane; training resumes and repeats itself; bad input is one line."""

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
from resweep.errors import InputError, OutputError, ResweepError, SettingsError
from resweep.learn.detector import DetectorConfig, detector_rounds
from resweep.log import Log
from resweep.perception.detection.detector import load_detector
from resweep.perception.detection.detector_card import CARD, MODEL, read_detector_card
from resweep.perception.models import DetectionModel, FeatureModel
from resweep.sweep import Sweep
from tests.learn.detector.conftest import make_log


@pytest.fixture(scope="module")
def trained(plane: Log, other_plane: Log, tiny: DetectorConfig, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("learn") / "plane.model"
    rs.learn_detector([plane, other_plane], path, tiny, test=[make_log("third plane", range(40, 42))])
    return path


def test_a_network_finds_boxes_on_a_plane(trained: Path, other_plane: Log, tiny: DetectorConfig) -> None:
    card = read_detector_card(trained)
    assert card.trained_on[0].log == "plane"
    assert (card.trained_on[0].sweeps, card.trained_on[0].objects) == (6, 24)
    assert card.tested is not None
    assert card.validated is not None
    assert card.tested.on == ("third plane",)
    assert card.tested.find("car").objects == 8
    assert (card.validated.find("car").ap or 0) > 0.8
    detector = load_detector(trained)
    assert isinstance(detector, DetectionModel)
    assert isinstance(detector, FeatureModel)
    found = detector.for_log(other_plane).detect(other_plane[0])
    assert found.boxes.name == ("car",) * len(found)
    assert (np.diff(found.score) <= 0).all()
    assert (found.score >= tiny.min_score).all()
    features = detector.embed(other_plane[0])
    assert features.shape == (400, tiny.network.features)  # the plane fills all cells of the answers
    assert not trained.with_name("plane.model.partial").exists()


def test_a_sweep_without_returns_holds_nothing(trained: Path, plane: Log) -> None:
    detector = load_detector(trained)
    bare = plane[0].select(np.zeros(len(plane[0]), bool))
    assert len(detector.detect(bare)) == 0 or detector.detect(bare).score.max() < 0.3
    assert len(detector.embed(bare)) == 0


def test_intensities_of_another_scale_change_nothing(trained: Path, plane: Log) -> None:
    """Counts of 8 bits, of a log that says so, are the same shares."""
    sweep = plane[0]
    counts = replace(sweep, intensity=sweep.intensity * 255)
    as_counts = load_detector(trained).for_log(Log.from_sweeps([counts], "counts", intensity_scale=255.0))
    assert np.allclose(as_counts.detect(counts).score, load_detector(trained).detect(sweep).score, atol=1e-4)


def test_a_stopped_training_ends_with_the_same_bytes(
    plane: Log, other_plane: Log, tiny: DetectorConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, short = tmp_path / "again.model", tiny.model_copy(update={"steps": 3})
    rs.learn_detector([plane, other_plane], tmp_path / "once.model", short)
    run_round, begun = detector_rounds._run_round, []

    def stop_late(*given: object) -> float:
        begun.append(given[5])
        if begun == [0, 1]:
            raise KeyboardInterrupt
        return run_round(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(detector_rounds, "_run_round", stop_late)
    with pytest.raises(KeyboardInterrupt):
        rs.learn_detector([plane, other_plane], path, short)
    rs.learn_detector([plane, other_plane], path, short)
    assert begun == [0, 1, 1]
    assert (path / MODEL).read_bytes() == (tmp_path / "once.model" / MODEL).read_bytes()


def test_what_cannot_be_learned_is_said(plane: Log, other_plane: Log, tiny: DetectorConfig, tmp_path: Path) -> None:
    path = tmp_path / "no.model"
    bare = Log.from_sweeps([Sweep.from_points(np.ones((5, 3)))] * 2, "bare")
    with pytest.raises(ResweepError, match="log 'bare': has neither annotated boxes nor instances of vehicles"):
        rs.learn_detector([bare, plane], path, tiny)
    walkers = tiny.model_copy(update={"classes": ("pedestrian",)})
    with pytest.raises(ResweepError, match="training: no sweep has a 'pedestrian' with 3 returns or more"):
        rs.learn_detector([plane, other_plane], path, walkers)
    few = make_log("few", range(2), cars=1)
    far = few.map(lambda sweep: replace(sweep, boxes=replace(sweep.boxes, centre=sweep.boxes.centre + 500)), "far")
    with pytest.raises(ResweepError, match="validation: no sweep of 'few' has an object of car; name another log"):
        rs.learn_detector([plane], path, tiny, validate=[far])
    with pytest.raises(ResweepError, match=r"network: .* weights, at most 2,000,000; make it narrower"):
        rs.learn_detector([plane, other_plane], path, DetectorConfig.model_validate({"network": {"width": 64}}))
    assert not path.exists()
    path.mkdir()
    (path / "mine.txt").write_text("kept")
    with pytest.raises(OutputError, match="exists and is not empty"):
        rs.learn_detector([plane, other_plane], path, tiny)


def test_settings_that_mean_nothing_are_refused() -> None:
    with pytest.raises(SettingsError, match=r"classes: 'cars' is not known; .*car"):
        DetectorConfig(classes=("cars",))
    with pytest.raises(SettingsError, match="crop_cells: 1024 cells, but the grid has 384"):
        DetectorConfig(crop_cells=1024)


def test_a_model_that_is_not_one_is_refused(trained: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="holds no detector"):
        load_detector(tmp_path)
    other = tmp_path / "other.model"
    other.mkdir()
    (other / CARD).write_text('{"kind": "semantics"}')
    with pytest.raises(InputError, match="is the card of a model of kind 'semantics', not of a detector"):
        load_detector(other)
    (other / CARD).write_bytes((trained / CARD).read_bytes())
    (other / MODEL).write_bytes((trained / MODEL).read_bytes()[:-9])
    with pytest.raises(InputError, match="is damaged, or not the network that its card describes"):
        load_detector(other)
    card = json.loads((trained / CARD).read_text())
    (other / CARD).write_text(json.dumps({**card, "classes": ["car", "bus"]}))
    (other / MODEL).write_bytes((trained / MODEL).read_bytes())
    with pytest.raises(InputError, match=r"gives float32 of shape .* in place of"):
        load_detector(other)


def test_the_command_prints_the_scores(plane: Log, other_plane: Log, tmp_path: Path) -> None:
    for log in (plane[:2], other_plane[:1]):
        rs.write_log(log, tmp_path / log.name.replace(" ", "-"), format="sweep")
    settings = ["rounds=1", "steps=1", "batch=1", "crop_cells=64", "network.width=4", "network.features=4"]
    settings += ["grid.reach_x_m=12.8", "grid.reach_y_m=12.8", "grid.cell_m=0.4"]
    given = ["learn", "detector", str(tmp_path / "plane"), str(tmp_path / "other-plane"), "-o", str(tmp_path / "m")]
    done = CliRunner().invoke(app, [*given, *(word for item in settings for word in ("--set", item)), "--json"])
    assert done.exit_code == 0, done.output
    facts = json.loads(done.stdout.splitlines()[-1])
    assert facts["scored_on"] == ["other plane"]
    assert len(facts["rows"]) == 8
    assert "IoU 0.7 in space" in done.stdout
    again = CliRunner().invoke(app, given)
    assert again.exit_code != 0
    assert "--overwrite" in str(again.exception)
