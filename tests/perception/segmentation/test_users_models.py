"""Models of users: functions, result files and the labeller, found by what a user calls them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from resweep.errors import ResweepError
from resweep.label_mapping import map_labels
from resweep.labels import load_labels
from resweep.log import Log
from resweep.perception import bind_model, load_model
from resweep.perception.models import UNKNOWN, ModelOfLogs, ScoringModel, SegmentationModel
from resweep.perception.segmentation import LabellerModel, RangeSegmenter, ResultFolder, open_results, wrap_function
from resweep.pose import Array
from resweep.sweep import Sweep
from tests.segmentation.conftest import model as labeller_folder  # noqa: F401  # a fixture

NAMES = ["road", "building", "pole"]


def by_height(points: Array) -> Array:
    return (points[:, 2] > -1.6).astype(int)


def test_a_function_of_points_is_a_model(corner: Log) -> None:
    seen: list[Array] = []

    def take(points: Array) -> Array:
        seen.append(points)
        return by_height(points)

    model, sweep = wrap_function(take, NAMES), corner[0]
    assert isinstance(model, SegmentationModel)
    assert model.classes == tuple(NAMES)
    assert (model.segment(sweep) == (sweep.points[:, 2] > -1.6)).all()
    assert (wrap_function(lambda points: points[:, 2] > -1.6, NAMES).segment(sweep) == model.segment(sweep)).all()
    points = seen[0]
    assert points.shape == (len(sweep), 5)
    assert points[:, :3] == pytest.approx(sweep.points)
    assert points[:, 3] == pytest.approx(sweep.intensity)
    truth = model.find_truth(sweep.label, corner.labels)
    assert np.bincount(truth).tolist() == [600, 300, 80]


def test_a_function_may_take_sweeps_and_name_categories(corner: Log) -> None:
    model = wrap_function(lambda sweep: np.zeros(len(sweep)), {"flat": ["ground"], "rest": ["pole"]}, takes="sweep")
    assert not model.segment(corner[0]).any()
    truth = model.find_truth(corner[0].label, corner.labels)
    assert sorted(set(truth.tolist())) == [0, 1, UNKNOWN]


def refusal(model: SegmentationModel, sweep: Sweep) -> str:
    with pytest.raises(ResweepError) as caught:
        model.segment(sweep)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_answers_that_are_none_are_refused(corner: Log) -> None:
    sweep = corner[0]
    count = len(sweep)
    for answer, problem in (
        (np.full(count, np.nan), "gives NaN or infinity"),
        (np.zeros(count + 1, int), f"gives an array of shape [{count + 1}] for {count} returns"),
        (np.zeros((count, 3)), f"gives an array of shape [{count}, 3]"),
        (np.full(count, 3), "gives the class number 3; there are 3 classes, from 0"),
        (np.full(count, -1), "gives the class number -1"),
        (np.full(count, 0.5), "gives 0.5, which is no class number"),
        (np.full(count, "car"), "give class numbers"),
        (None, "gives an array of shape []"),
    ):
        assert problem in refusal(wrap_function(lambda _, found=answer: found, NAMES), sweep)

    def fail(points: Array) -> Array:
        raise KeyError("weights")

    assert "fail: fails (KeyError: 'weights'); mend the function" in refusal(wrap_function(fail, NAMES), sweep)


def test_what_is_no_function_with_classes_is_refused() -> None:
    for given, problem in (
        ((3, NAMES), "is a int; give a function"),
        ((by_height, ["road"]), "gives 1 classes; give 2 to 254 names"),
        ((by_height, ["road", "road"]), "none of them twice"),
        ((by_height, "road"), "give a list of names"),
        ((by_height, NAMES, "image"), "takes 'image'; known: points, sweep"),
    ):
        with pytest.raises(ResweepError, match=problem):
            wrap_function(*given)  # type: ignore[arg-type]


def write_results(folder: Path, log: Log, first: int = 0) -> None:
    folder.mkdir(parents=True)
    for at, sweep in enumerate(log):
        data = (sweep.label.astype(np.uint32) | (at + 7 << 16)).astype("<u4")
        (folder / f"{first + at:06d}.label").write_bytes(data.tobytes())


def test_results_are_those_of_their_sweeps(corner: Log, tmp_path: Path) -> None:
    write_results(tmp_path / "sequences" / "08" / "predictions", corner)
    for folder in (tmp_path, tmp_path / "sequences" / "08", tmp_path / "sequences" / "08" / "predictions"):
        results = load_model(folder)
        assert isinstance(results, ModelOfLogs)
        model = bind_model(results, corner)
        assert isinstance(model, SegmentationModel)
        for sweep in corner:
            found = model.segment(sweep)
            assert [model.classes[number] for number in sorted(set(found.tolist()))] == ["road", "building", "pole"]
            assert (found == model.find_truth(sweep.label, corner.labels)).all()
    part = bind_model(results, corner[1:])
    assert part.segment(corner[2]).shape == (len(corner[2]),)
    assert "has no sweep at 0.000000 s" in refusal(part, corner[0])


def test_results_without_a_class_are_unlabelled(corner: Log, tmp_path: Path) -> None:
    nothing = [Sweep.from_points(sweep.points, timestamp=sweep.timestamp) for sweep in corner]
    write_results(tmp_path / "results", corner.with_sweeps(nothing))
    model = open_results(tmp_path / "results").for_log(corner)
    assert {model.classes[number] for number in model.segment(corner[0])} == {"unlabelled"}


def test_results_of_other_frames_are_refused(corner: Log, tmp_path: Path) -> None:
    fewer = [sweep.select(np.arange(len(sweep)) % 2 == 0) for sweep in corner]
    write_results(tmp_path / "other", corner.with_sweeps(fewer))
    problem = "holds 490 labels, but sweep 1 of log 'corner' has 980 returns; results are those of the sweeps"
    assert problem in refusal(open_results(tmp_path / "other").for_log(corner), corner[1])
    write_results(tmp_path / "far", corner[:2], first=90)
    with pytest.raises(ResweepError, match=r"2 results from 000090\.label to 000091\.label, none of a sweep of log"):
        open_results(tmp_path / "far").for_log(corner)
    write_results(tmp_path / "some", corner[:2], first=1)
    model = open_results(tmp_path / "some").for_log(corner)
    assert "has no result for sweep 0" in refusal(model, corner[0])
    assert model.segment(corner[1]).shape == (980,)
    strange = [
        Sweep.from_points(sweep.points, label=sweep.label * 0 + 77, timestamp=sweep.timestamp) for sweep in corner
    ]
    write_results(tmp_path / "strange", corner.with_sweeps(strange))
    assert "has the label 77, which is no class of the vocabulary" in refusal(
        open_results(tmp_path / "strange").for_log(corner), corner[0]
    )


def test_folders_without_results_of_one_sequence_are_refused(corner: Log, tmp_path: Path) -> None:
    with pytest.raises(ResweepError, match=r"holds no \.label file"):
        open_results(tmp_path)
    with pytest.raises(ResweepError, match="is no folder"):
        open_results(tmp_path / "absent")
    for name in ("08", "11"):
        write_results(tmp_path / "sequences" / name / "predictions", corner[:1])
    with pytest.raises(ResweepError, match=r"results of several sequences \(08, 11\); give the folder of one"):
        open_results(tmp_path)
    write_results(tmp_path / "named", corner[:1])
    (tmp_path / "named" / "000000.label").rename(tmp_path / "named" / "first.label")
    with pytest.raises(ResweepError, match="is named by no number"):
        open_results(tmp_path / "named").for_log(corner)


def test_the_labeller_is_a_model(labeller_folder: Path, corner: Log) -> None:  # noqa: F811
    model = load_model(labeller_folder)
    assert isinstance(model, LabellerModel)
    assert isinstance(model, ScoringModel)
    sweep = corner[0]
    ids = np.array(model.labeller.card.classes)
    assert (ids[model.segment(sweep)] == model.labeller.classify(sweep)).all()
    mapped = map_labels(corner.labels, model.labeller.card.labels).map(sweep.label)
    assert (ids[model.find_truth(sweep.label, corner.labels)] == mapped).all()
    assert model.find_truth(np.array([load_labels("semantickitti").id_of("car")]), corner.labels).tolist() == [UNKNOWN]


def test_a_model_is_found_by_what_it_is_called(
    segmenter_folder: Path, copy: Path, corner: Log, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert isinstance(load_model(segmenter_folder), RangeSegmenter)
    (tmp_path / "mine_to_judge.py").write_text(
        "import numpy as np\nCLASSES = ['road', 'building']\n"
        "def flat(points):\n    return np.zeros(len(points))\n"
        "def whole(sweep):\n    return np.ones(len(sweep))\nwhole.takes = 'sweep'\n"
        "class Model:\n    classes = ('road', 'car')\n"
        "    def segment(self, sweep): return np.ones(len(sweep), np.uint8)\n"
        "    def find_truth(self, label, labels): return label\n"
    )
    (tmp_path / "broken_to_judge.py").write_text("1 / 0")
    (tmp_path / "bare_to_judge.py").write_text("def flat(points): return 0")
    monkeypatch.chdir(tmp_path)
    for name, answer in (("flat", 0), ("whole", 1), ("Model", 1)):
        model = load_model(f"mine_to_judge:{name}")
        assert isinstance(model, SegmentationModel)
        assert set(bind_model(model, corner).segment(corner[0]).tolist()) == {answer}
    (tmp_path / "notes.txt").write_text("")
    (copy / "card.json").write_text('{"kind": "realism"}')
    for text, problem in (
        ("mine_to_judge:absent", "cannot be imported"),
        ("broken_to_judge:flat", r"its module fails \(ZeroDivisionError"),
        ("bare_to_judge:flat", "names no classes; set flat.classes, or CLASSES in its module"),
        ("absent.model", "does not exist; give the folder that resweep learn segmenter wrote; or"),
        ("notes.txt", "is no model; give"),
        (str(copy), "is a model of kind 'realism', which judges nothing"),
    ):
        with pytest.raises(ResweepError, match=problem):
            load_model(text)


def test_results_wait_for_their_log(corner: Log, tmp_path: Path) -> None:
    write_results(tmp_path / "results", corner)
    results = load_model(tmp_path / "results")
    assert isinstance(results, ResultFolder)
    assert not isinstance(results, SegmentationModel)
