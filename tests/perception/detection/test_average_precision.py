"""Average precision, agreement and score differences of detections that can be counted by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from resweep.boxes import Boxes
from resweep.errors import ResweepError
from resweep.perception.detection.average_precision import (
    RECALLS,
    find_agreement,
    find_average_precision,
    find_score_differences,
)
from resweep.perception.detection.box_matching import MatchRule, match_frame, match_frames
from resweep.perception.detection.truth import TrueBoxes
from resweep.perception.models import Detections

CAR = (4.0, 2.0, 1.5)


def boxes(*x: float, name: str = "car", n_points: int = 50) -> Boxes:
    """Cars side by side, at x."""
    count = len(x)
    place = np.column_stack([x, np.zeros(count), np.zeros(count)])
    return Boxes(place, np.tile(CAR, (count, 1)), np.zeros(count), [name] * count, n_points=np.full(count, n_points))


def found(*pairs: tuple[float, float], name: str = "car") -> Detections:
    """Detections at x, with a score."""
    return Detections(boxes(*(x for x, _ in pairs), name=name), np.array([score for _, score in pairs]))


def true(*x: float, **given: object) -> TrueBoxes:
    return TrueBoxes(boxes(*x), np.ones(len(x), bool), **given)  # type: ignore[arg-type]


RULE = MatchRule()


def ap(detections: Detections, truth: TrueBoxes, rule: MatchRule = RULE) -> float:
    return find_average_precision([match_frame(detections, truth, rule)]).ap


def test_all_found_and_nothing_else_is_one() -> None:
    assert ap(found((0, 0.9), (10, 0.8)), true(0, 10)) == 1.0


def test_precision_is_the_best_at_a_recall_or_above() -> None:
    """Right, wrong, right of 2: precision 1 up to recall 1/2, then 2/3."""
    assert ap(found((0, 0.9), (99, 0.8), (10, 0.7)), true(0, 10)) == pytest.approx(0.5 * 1 + 0.5 * 2 / 3)
    # wrong, right of 4: 1/2 up to recall 1/4
    assert ap(found((99, 0.9), (0, 0.8)), true(0, 10, 20, 30)) == pytest.approx(0.25 * 0.5)


def test_an_object_of_three_reaches_thirteen_of_forty_recalls() -> None:
    assert ap(found((0, 0.9)), true(0, 10, 20)) == pytest.approx(13 / RECALLS)


def test_a_second_detection_of_an_object_is_a_mistake() -> None:
    assert ap(found((0, 0.9), (0.1, 0.8), (10, 0.7)), true(0, 10)) == pytest.approx(0.5 + 0.5 * 2 / 3)


def test_equal_scores_are_taken_together() -> None:
    """The order of what is equally sure decides nothing."""
    one, other = found((0, 0.5), (99, 0.5)), found((99, 0.5), (0, 0.5))
    assert ap(one, true(0)) == ap(other, true(0)) == 0.5


def test_overlap_decides() -> None:
    """Shifted by 1 of 4 m: 3/5 of the union is shared."""
    assert ap(found((1, 0.9)), true(0), MatchRule(iou=0.6)) == 1.0
    assert ap(found((1, 0.9)), true(0), MatchRule(iou=0.61)) == 0.0
    with pytest.raises(ResweepError, match="iou: 0 is no overlap"):
        MatchRule(iou=0.0)


def test_what_nobody_cares_about_is_neither_right_nor_wrong() -> None:
    few = TrueBoxes(Boxes([[0, 0, 0], [10, 0, 0]], [CAR, CAR], [0, 0], ["car", "car"], n_points=[50, 5]), [True, True])
    both = found((0, 0.9), (10, 0.95))
    assert ap(both, few) == 1.0
    assert find_average_precision([match_frame(both, few, MatchRule(min_points=10))]).objects == 1
    assert ap(both, few, MatchRule(min_points=10)) == 1.0
    vans = TrueBoxes(Boxes([[0, 0, 0], [10, 0, 0]], [CAR, CAR], [0, 0], ["car", "van"]), [True, True])
    assert ap(both, vans, MatchRule(min_points=-1)) == 1.0  # a van may be called a car
    bins = TrueBoxes(Boxes([[0, 0, 0], [10, 0, 0]], [CAR, CAR], [0, 0], ["car", "barrier"]), [True, True])
    assert ap(both, bins, MatchRule(min_points=-1)) == 0.5
    half = TrueBoxes(boxes(0, 10), [True, False])
    assert ap(both, half) == 1.0


def test_beyond_the_annotated_sector_nothing_counts() -> None:
    ahead = true(10, -10, sector=(0.0, math.radians(40)))
    assert ap(found((10, 0.5), (-10, 0.9), (-30, 0.9)), ahead) == 1.0
    assert ap(found((10, 0.5), (-10, 0.9), (30, 0.9)), ahead) == 0.5


def test_other_classes_are_left_out() -> None:
    assert ap(found((0, 0.9), name="pedestrian"), true(0)) == 0.0
    assert math.isnan(ap(found((0, 0.9)), true(0), MatchRule("pedestrian")))


def test_frames_count_together() -> None:
    matches = match_frames([found((0, 0.9)), found((0, 0.8))], [true(0), true(50)], RULE)
    curve = find_average_precision(matches)
    assert curve.objects == 2
    assert curve.ap == pytest.approx(0.5)
    with pytest.raises(ResweepError, match="detections of 1 sweeps, but true boxes of 2"):
        match_frames([found()], [true(0), true(1)], RULE)


def test_agreement_is_the_share_of_boxes_that_both_find_or_both_miss() -> None:
    """Of four cars: found in both, in the real one, in the simulated one, in none."""
    truth = true(0, 10, 20, 30)
    real = match_frames([found((0, 0.9), (10, 0.8), (20, 0.2))], [truth], RULE)
    simulated = match_frames([found((0, 0.5), (20, 0.6))], [truth], RULE)
    assert find_agreement(real, simulated) == 0.5
    assert find_agreement(real, real) == 1.0
    assert find_agreement(real, simulated, min_score=0.1) == 0.75  # the third is now found in both
    assert find_score_differences(real, simulated) == pytest.approx([-0.4, -0.8, 0.4, 0.0])
    assert math.isnan(find_agreement([], []))
    with pytest.raises(ResweepError, match="1 real sweeps, but 0 simulated ones"):
        find_agreement(real, [])
    with pytest.raises(ResweepError, match="pair 0: 4 true boxes when real, 1 when simulated"):
        find_agreement(real, match_frames([found()], [true(0)], RULE))
