"""A judge on a street of known truth, where the right figures are known."""

from __future__ import annotations

import pytest

from resweep.log import Log
from resweep.perception.judging import JudgingConfig, judge
from resweep.perception.judging.clouds import (
    CLOUDS,
    OURS,
    REAL,
)
from resweep.perception.judging.judgement import Judgement, SegmentationScores
from resweep.worlds import World
from tests.perception.judging.conftest import RuleModel

FEW = JudgingConfig(resamples=50)


@pytest.fixture(scope="module")
def judged(drive: Log, street: World) -> Judgement:
    return judge(drive, {"rule": RuleModel()}, world=street, config=FEW)


def scores_of(judgement: Judgement) -> SegmentationScores:
    found = judgement.models[0].segmentation
    assert found is not None
    return found


def test_a_perfect_simulation_gets_the_same_answers(judged: Judgement) -> None:
    scores = scores_of(judged)
    ours, real = scores.find(OURS), scores.find(REAL)
    assert ours is not None
    assert real is not None
    assert ours.agreement.value == pytest.approx(1.0, abs=0.002)
    assert real.agreement.value == 1.0
    assert ours.miou.value == pytest.approx(real.miou.value, abs=0.005)
    assert [item.cloud for item in scores.clouds] == list(CLOUDS)
