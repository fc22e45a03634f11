"""A judge on a street of known truth, where the right figures are known."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import resweep as rs
from resweep.build import SplatConfig
from resweep.errors import ResweepError
from resweep.labels import NO_LABELS, LabelSet
from resweep.log import Log
from resweep.perception.judging import JudgingConfig, judge
from resweep.perception.judging.clouds import (
    CLOUDS,
    CONTROL,
    IDEAL,
    LIKELY,
    NULL_NEXT,
    NULL_NOISE,
    OUR_DROPS,
    OUR_GEOMETRY,
    OUR_INTENSITY,
    OURS,
    REAL,
    REAL_DROPS,
    SHARED,
)
from resweep.perception.judging.judgement import CloudScores, Judgement, SegmentationScores
from resweep.pose import Array
from resweep.sweep import Sweep
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


def find(judgement: Judgement, cloud: str) -> CloudScores:
    found = scores_of(judgement).find(cloud)
    assert found is not None
    return found


def agreement(judgement: Judgement, cloud: str) -> float:
    value = find(judgement, cloud).agreement.value
    assert value is not None
    return value


def change(log: Log, function: Callable[[Sweep], Sweep]) -> Log:
    """A simulated log that differs from the recorded one in a known way."""
    return log.map(function, "change")


def test_a_perfect_simulation_gets_the_same_answers(judged: Judgement) -> None:
    assert agreement(judged, OURS) == pytest.approx(1.0, abs=0.002)
    assert agreement(judged, REAL) == 1.0
    assert find(judged, OURS).miou.value == pytest.approx(find(judged, REAL).miou.value, abs=0.005)
    assert scores_of(judged).miou_share.value == pytest.approx(1.0, abs=0.005)
    assert [item.cloud for item in scores_of(judged).clouds] == list(CLOUDS)
    assert all(abs(cost.value or 0.0) < 0.003 for cost in scores_of(judged).costs.values())


def test_figures_are_those_of_counting_by_hand(drive: Log, street: World, judged: Judgement) -> None:
    model, right, union, same, beams = RuleModel(), np.zeros(3), np.zeros(3), 0, 0
    again = rs.resimulate(drive, street)
    for real, ours in zip(drive, again, strict=True):
        truth, answer = np.full(real.n_beams, 255), np.full(real.n_beams, 255)
        truth[real.beam], answer[real.beam] = model.find_truth(real.label, drive.labels), model.segment(real)
        both = np.isin(ours.beam, real.beam)
        found, true = model.segment(ours)[both], truth[ours.beam[both]]
        same, beams = same + int((found == answer[ours.beam[both]]).sum()), beams + int(both.sum())
        for at in range(3):
            mine, his = (found == at) & (true != 255), true == at
            right[at], union[at] = right[at] + (mine & his).sum(), union[at] + (mine | his).sum()
    ours_scores = find(judged, OURS)
    assert ours_scores.beams == beams
    assert ours_scores.agreement.value == pytest.approx(same / beams)
    assert ours_scores.iou == pytest.approx(dict(zip(model.classes, right / union, strict=True)))
    assert ours_scores.miou.value == pytest.approx(float((right / union).mean()))
    assert sum(item.beams for item in ours_scores.ranges) == beams
    assert np.array(scores_of(judged).confusion).sum() == beams


def test_intensities_are_blamed_where_they_alone_are_wrong(drive: Log) -> None:
    dark = change(drive, lambda sweep: replace(sweep, intensity=sweep.intensity * 0.4))
    judged = judge(drive, RuleModel(), sim=dark, config=FEW)
    costs = scores_of(judged).costs
    assert costs["intensities"].value == pytest.approx(1.0 - agreement(judged, OURS))
    assert (costs["intensities"].low or 0.0) > 0.005
    assert costs["geometry"].value == costs["drops"].value == 0.0
    assert agreement(judged, OUR_GEOMETRY) == agreement(judged, OUR_DROPS) == 1.0
    assert agreement(judged, OUR_INTENSITY) == agreement(judged, REAL_DROPS) == agreement(judged, OURS)


def test_geometry_is_blamed_where_it_alone_is_wrong(drive: Log) -> None:
    longer = change(drive, lambda sweep: replace(sweep, range=sweep.range * np.float32(1.6)))
    judged = judge(drive, RuleModel(), sim=longer, config=FEW)
    costs = scores_of(judged).costs
    assert (costs["geometry"].low or 0.0) > 0.02
    assert costs["intensities"].value == costs["drops"].value == 0.0
    assert agreement(judged, OUR_INTENSITY) == 1.0


class CountingModel(RuleModel):
    """Answers by how many returns a sweep has: a judge of drops alone."""

    def segment(self, sweep: Sweep) -> Array:
        return np.full(len(sweep), 1 if len(sweep) > 10_000 else 2, np.uint8)


def test_drops_are_blamed_where_they_alone_are_wrong(drive: Log) -> None:
    fewer = change(drive, lambda sweep: sweep.select(np.arange(len(sweep)) % 2 == 0))
    judged = judge(drive, CountingModel(), sim=fewer, config=FEW)
    costs = scores_of(judged).costs
    assert costs["drops"].value == 1.0
    assert costs["intensities"].value == costs["geometry"].value == 0.0
    assert agreement(judged, SHARED) == agreement(judged, OUR_DROPS) == 0.0
    assert agreement(judged, REAL_DROPS) == 1.0
    assert find(judged, OURS).beams == find(judged, SHARED).beams == sum(len(sweep) for sweep in fewer)


def test_a_log_that_was_simulated_before_is_judged_as_its_world(drive: Log, street: World, judged: Judgement) -> None:
    again = rs.resimulate(drive, street)
    other = judge(drive, {"rule": RuleModel()}, sim=again.with_sweeps(list(again)), config=FEW)
    for cloud in (REAL, SHARED, OURS, OUR_DROPS, NULL_NOISE, NULL_NEXT, CONTROL):
        assert find(other, cloud) == find(judged, cloud)
    assert scores_of(other).find(LIKELY) is scores_of(other).find(IDEAL) is None


def test_simulated_beams_of_another_order_are_matched_by_direction(drive: Log, judged: Judgement) -> None:
    def shuffle(sweep: Sweep) -> Sweep:
        order = np.random.default_rng(0).permutation(len(sweep))
        columns = {name: getattr(sweep, name)[order] for name in ("intensity", "label", "instance")}
        return Sweep.from_points(sweep.points[order], pose=sweep.pose, timestamp=sweep.timestamp, **columns)

    other = judge(drive, RuleModel(), sim=change(drive, shuffle), config=FEW)
    assert agreement(other, OURS) > 0.999
    assert find(other, OURS).beams > 0.99 * find(judged, REAL).beams


def test_held_out_sweeps_are_judged_in_a_world_of_the_others(drive: Log) -> None:
    config = SplatConfig(method="labels", resample=False, calibrate=None)
    held = judge(drive, RuleModel(), held=[1], build=config, config=FEW)
    assert held.settings.sweeps == [1]
    world = rs.build(drive[[0, 2]], config, progress=False)
    given = judge(drive[1:2], RuleModel(), world=world, config=FEW)
    assert find(given, OURS) == find(held, OURS)
    assert find(given, NULL_NEXT) == find(held, NULL_NEXT)  # a slice knows the sweep after it
    assert find(given, CONTROL) == find(held, CONTROL)


def test_the_same_seed_gives_the_same_bytes_on_any_number_of_threads(drive: Log, street: World) -> None:
    one, two = (
        judge(drive[:2], RuleModel(), world=street, seed=3, threads=threads, config=FEW).to_json() for threads in (1, 2)
    )
    assert one == two
    assert judge(drive[:2], RuleModel(), world=street, seed=4, config=FEW).to_json() != one


def test_intervals_hold_the_figure_whatever_the_places(drive: Log, street: World) -> None:
    wide, narrow = (
        judge(drive, RuleModel(), world=street, config=JudgingConfig(resamples=200, sectors=sectors))
        for sectors in (4, 180)
    )
    for item in (wide, narrow):
        miou = find(item, OURS).miou
        assert miou.value is not None
        assert miou.low is not None
        assert miou.high is not None
        assert miou.low <= miou.value <= miou.high
    assert find(wide, OURS).miou.value == find(narrow, OURS).miou.value


def test_without_labels_there_is_agreement_alone_and_the_world_is_the_control(drive: Log, street: World) -> None:
    bare = replace(drive.map(lambda sweep: replace(sweep, label=np.zeros(len(sweep), np.int32))), labels=NO_LABELS)
    judged = judge(bare, {"rule": RuleModel()}, world=World(street.layers), config=FEW)
    assert find(judged, OURS).miou.value is None
    assert agreement(judged, OURS) > 0.99
    assert any("agreement alone" in note for note in judged.notes)
    assert judged.settings.control.startswith("the world itself")
    alone = judge(bare, RuleModel(), sim=bare, config=FEW)
    assert alone.settings.control.startswith("none")
    assert scores_of(alone).find(CONTROL) is None


def test_classes_that_never_occur_have_no_iou(drive: Log, street: World) -> None:
    class WiderModel(RuleModel):
        classes = (*RuleModel.classes, "rhino")

    judged = judge(drive, WiderModel(), world=street, config=FEW)
    assert scores_of(judged).absent == ["rhino"]
    assert find(judged, OURS).iou["rhino"] is None
    assert find(judged, OURS).miou.value == pytest.approx(
        find(judge(drive, RuleModel(), world=street), OURS).miou.value
    )
    assert any("rhino" in note for note in judged.notes)


def test_a_recording_without_intensities_gets_none_in_simulation(drive: Log, street: World) -> None:
    bare = drive.map(lambda sweep: replace(sweep, intensity=np.zeros(len(sweep), np.float32)))
    judged = judge(bare, RuleModel(), world=street, config=FEW)
    assert scores_of(judged).find(OUR_INTENSITY) is scores_of(judged).find(OUR_GEOMETRY) is None
    assert agreement(judged, OURS) > 0.99  # the simulated intensities are hidden too
    assert any("no intensities" in note for note in judged.notes)


class BrokenModel(RuleModel):
    """Gives what no judge may."""

    def __init__(self, answer: Callable[[Sweep], Array]) -> None:
        super().__init__()
        self.answer = answer

    def segment(self, sweep: Sweep) -> Array:
        return self.answer(sweep)


@pytest.mark.parametrize(
    ("answer", "complaint"),
    [
        (lambda sweep: np.zeros(len(sweep) - 1, np.uint8), r"shape \(\d+,\) for \d+ returns"),
        (lambda sweep: np.zeros((len(sweep), 3), np.uint8), "one class a return"),
        (lambda sweep: np.full(len(sweep), np.nan), "NaN or infinity for"),
        (lambda sweep: np.full(len(sweep), 7), "class 7; its classes are 0 to 2"),
        (lambda sweep: np.full(len(sweep), 0.5), r"class 0\.5"),
        (lambda sweep: np.full(len(sweep), "road"), "numbers of its classes"),
    ],
)
def test_answers_that_are_no_classes_are_one_error(
    drive: Log, street: World, answer: Callable[[Sweep], Array], complaint: str
) -> None:
    with pytest.raises(ResweepError, match=complaint) as raised:
        judge(drive, {"mine": BrokenModel(answer)}, world=street)
    assert "model 'mine', sweep 0" in str(raised.value)


class WrongFeatures(RuleModel):
    """Features with NaN."""

    def embed(self, sweep: Sweep) -> Array:
        return np.full((4, 2), np.nan)


def test_features_that_are_nan_are_one_error(drive: Log, street: World) -> None:
    with pytest.raises(ResweepError, match="4 of 4 rows of features hold NaN"):
        judge(drive, WrongFeatures(), world=street)


class NamelessModel(RuleModel):
    """Two classes of one name."""

    classes = ("ground", "ground", "dark")


@pytest.mark.parametrize(
    ("model", "how", "complaint"),
    [
        (RuleModel(), {}, "nothing given; give one of world, sim, held"),
        (RuleModel(), {"held": [0], "sim": Log}, "sim and held given"),
        (RuleModel(), {"held": [9]}, "no sweep 9"),
        (NamelessModel(), {"held": [0]}, "different names"),
        (print, {"held": [0]}, "is no model"),
        ([], {"held": [0]}, "at least one"),
    ],
)
def test_what_cannot_be_judged_is_one_error(drive: Log, model: object, how: dict[str, object], complaint: str) -> None:
    with pytest.raises(ResweepError, match=complaint):
        judge(drive, model, **how)  # type: ignore[arg-type]


def test_arguments_that_go_unused_are_errors(drive: Log, street: World) -> None:
    with pytest.raises(ResweepError, match="build is for the world"):
        judge(drive, RuleModel(), world=street, build=SplatConfig())
    with pytest.raises(ResweepError, match="noise changes what is simulated"):
        judge(drive, RuleModel(), sim=drive, noise=False)
    with pytest.raises(ResweepError, match="holds no sweep"):
        judge(drive[:0], RuleModel(), world=street)


def test_models_of_one_type_have_names_of_their_own(drive: Log) -> None:
    judged = judge(drive[:1], [RuleModel(), RuleModel(bright=0.1)], sim=drive[:1], config=FEW)
    assert [item.model for item in judged.models] == ["RuleModel 1", "RuleModel 2"]
    assert judged["RuleModel 2"] is judged.models[1]
    with pytest.raises(ResweepError, match="no model 'RuleModel 3'"):
        judged["RuleModel 3"]


def test_labels_of_another_vocabulary_are_found_by_their_category(drive: Log, street: World) -> None:
    labels = LabelSet.model_validate(
        {
            "name": "own",
            "classes": {1: {"name": "way", "category": "road"}, 2: {"name": "house", "category": "building"}},
        }
    )
    road, house = (drive.labels.id_of(name) for name in ("road", "building"))

    def relabel(sweep: Sweep) -> Sweep:
        return replace(sweep, label=np.where(sweep.label == road, 1, np.where(sweep.label == house, 2, 0)))

    judged = judge(replace(drive.map(relabel), labels=labels), RuleModel(), world=street, config=FEW)
    assert find(judged, OURS).iou["ground"] is not None
    assert find(judged, OURS).iou["dark"] is not None
    assert find(judged, OURS).iou["bright"] is None


@pytest.mark.slow
def test_a_recording_is_told_from_boxes(sample_data: Path) -> None:
    log = rs.open_log(sample_data / "semantickitti_mini" / "sequences" / "04")
    judged = judge(log[4:5], RuleModel(level_m=-1.3, bright=0.25), sim=log[4:5], config=FEW)
    low, high = (find(judged, cloud).agreement for cloud in (CONTROL, NULL_NEXT))
    assert (low.high or 1.0) < (high.value or 0.0)
    assert find(judged, NULL_NOISE).agreement.value == pytest.approx(1.0, abs=0.01)
    assert find(judged, CONTROL).beams > 0.9 * find(judged, REAL).beams
    features = judged.models[0].features
    assert features is not None
    assert (features.distance[CONTROL] or 0.0) > 10 * (features.distance[NULL_NEXT] or 0.0)
