"""A detection model on a street whose cars are known."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from resweep.boxes import Boxes
from resweep.errors import ResweepError
from resweep.log import Log
from resweep.perception.detection.average_precision import find_average_precision
from resweep.perception.detection.box_matching import MatchRule
from resweep.perception.judging import Judgement, JudgingConfig, judge
from resweep.perception.judging.clouds import CLOUDS, OURS, REAL
from resweep.perception.judging.judgement import DetectionFigures
from resweep.perception.judging.place_matches import PlaceMatches
from resweep.perception.models import Detections
from resweep.sweep import Sweep
from resweep.worlds import World
from tests.perception.judging.conftest import TrueCarModel

FEW = JudgingConfig(resamples=50)


def boxed(log: Log) -> Log:
    """The drive with the boxes of its cars."""

    def add(sweep: Sweep) -> Sweep:
        return replace(sweep, boxes=TrueCarModel().detect(sweep).boxes)

    return log.map(add)


def scores_of(judgement: Judgement) -> DetectionFigures:
    found = judgement.models[0].detection
    assert found is not None
    return found


def test_a_perfect_simulation_finds_the_same_cars(drive: Log, street: World) -> None:
    scores = scores_of(judge(boxed(drive), {"cars": TrueCarModel()}, world=street, config=FEW))
    assert scores.has_truth
    for cloud in (REAL, OURS):
        row = scores.find(cloud, "car")
        assert row is not None
        assert row.objects == 6
        assert row.ap.value == 1.0
        assert row.agreement.value == 1.0
        assert abs(row.score_change.value or 0.0) < 0.01
    assert {row.cloud for row in scores.rows} == set(CLOUDS)
    assert {(row.iou, row.min_points) for row in scores.rows} == {(0.5, 1), (0.5, 10), (0.7, 1), (0.7, 10)}
    assert len(scores.objects) == 6


def test_cars_that_vanish_in_simulation_are_missed(drive: Log) -> None:
    car = drive.labels.id_of("car")
    gone = drive.map(lambda sweep: sweep.select((sweep.label != car) | (sweep.points[:, 0] + sweep.pose[0, 3] > 0)))
    judged = judge(boxed(drive), TrueCarModel(), sim=gone, config=FEW)
    row = scores_of(judged).find(OURS, "car")
    assert row is not None
    # One of two cars, found when recorded in all sweeps: its score falls to 0, and both say the same of the other.
    lost = [item for item in scores_of(judged).objects if item.ours == 0.0]
    assert len(lost) == 3
    assert row.agreement.value == pytest.approx(0.5)
    assert row.score_change.value == pytest.approx(-sum(item.real for item in lost) / 6, abs=0.01)
    assert row.ap.value == pytest.approx(0.5, abs=0.03)
    assert (row.ap.high or 0.0) > (row.ap.low or 0.0)


def test_drawn_precision_of_all_places_once_is_the_precision(drive: Log, street: World) -> None:
    from resweep.perception.judging.asking import ModelJudges, WorstSweep
    from resweep.perception.judging.cloud_sources import CloudSource, FiredAgain
    from resweep.perception.judging.judged_drive import JudgedDrive
    from resweep.perception.judging.negative_control import NegativeControl
    from resweep.perception.judging.places import Places

    tracked = JudgedDrive(boxed(drive))
    fired = FiredAgain(tracked.log, street, realism=None, noise=True, seed=0, threads=1)
    source = CloudSource(tracked, fired, NegativeControl(tracked, drive.labels, None, 1), FEW, 0, 1)
    places = Places(tracked, np.arange(3), FEW)
    # Phantoms between the cars, surer than some of these.
    model = TrueCarModel(at=((-8.0, 3.5), (6.0, 3.5), (0.0, 8.9), (12.0, -6.0)), full=2000)
    asked = ModelJudges("cars", model, tracked, drive.labels, FEW)
    for number in range(3):
        asked.read(source.list_clouds(number), places, number, number, WorstSweep())
    assert asked.detection is not None
    matches = PlaceMatches(asked.detection.list_matches(REAL), MatchRule(), asked.detection.find_place)
    expected = find_average_precision(matches.whole).ap
    assert 0.0 < expected < 1.0
    assert matches.draw_precision(np.ones((2, places.count))) == pytest.approx([expected, expected])


def test_instances_of_labels_stand_for_boxes(drive: Log, street: World) -> None:
    scores = scores_of(judge(drive, TrueCarModel(), world=street, config=FEW))
    assert scores.has_truth
    row = scores.find(REAL, "car")
    assert row is not None
    assert row.objects > 0


def test_without_objects_the_answers_on_the_recording_stand_for_them(drive: Log, street: World) -> None:
    bare = drive.map(lambda sweep: replace(sweep, instance=np.zeros(len(sweep), np.int32)))
    judged = judge(bare, {"cars": TrueCarModel()}, world=street, config=FEW)
    scores = scores_of(judged)
    assert not scores.has_truth
    assert all(row.ap.value is None for row in scores.rows)
    row = scores.find(OURS, "car")
    assert row is not None
    assert row.agreement.value == 1.0
    assert any("only the scores' agreement" in note for note in judged.notes)


class NothingModel(TrueCarModel):
    """Finds nothing."""

    def detect(self, sweep: Sweep) -> Detections:
        return Detections(Boxes(np.zeros((0, 3)), np.zeros((0, 3)), np.zeros(0), ()), np.zeros(0))


class NanModel(TrueCarModel):
    """Scores that are NaN."""

    def detect(self, sweep: Sweep) -> Detections:
        found = super().detect(sweep)
        return Detections(found.boxes, np.full(len(found), np.nan))


def test_a_model_that_finds_nothing_has_a_precision_of_zero(drive: Log, street: World) -> None:
    row = scores_of(judge(boxed(drive), NothingModel(), world=street, config=FEW)).find(OURS, "car")
    assert row is not None
    assert row.ap.value == 0.0
    assert row.agreement.value == 1.0  # it misses the same
    bare = drive.map(lambda sweep: replace(sweep, instance=np.zeros(len(sweep), np.int32)))
    assert scores_of(judge(bare, NothingModel(), world=street, config=FEW)).rows == []


def test_scores_that_are_nan_are_one_error(drive: Log, street: World) -> None:
    with pytest.raises(ResweepError, match="scores are NaN"):
        judge(boxed(drive), NanModel(), world=street)


def test_a_page_of_detections(drive: Log, street: World) -> None:
    judged = judge(boxed(drive), {"cars": TrueCarModel()}, world=street, config=FEW)
    from resweep.perception.judging.judgement_page import render

    page = render(judged)
    assert page.count("<img") == 3
    assert "κ" in str(judged)
