"""The tables of D: figures, intervals and verdicts from known scores, and a city that is what it says it is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import resweep as rs
from experiments import d_tables
from experiments.tables import paper, scoring
from experiments.tables.city_sensor import make_character, record_place
from experiments.tables.scenes import VARIANTS, Scenes
from experiments.tables.sizes import sizes
from experiments.tables.work import WORKS, Work
from resweep.dataset.paired_scenes import PairedConfig
from resweep.perception.detection.box_matching import FrameMatch
from tests.experiments.conftest import CheckCommand


def test_iou_of_three_classes_and_of_two() -> None:
    """Road counts as background where there are two classes."""
    pairs = np.array([[6, 2, 0], [1, 10, 3], [1, 2, 15]])
    found = scoring.find_iou(pairs)
    assert found[paper.VEHICLE] == pytest.approx(6 / 10)
    assert found[paper.ROAD] == pytest.approx(15 / 21)
    assert found[paper.BACKGROUND2] == pytest.approx(30 / 34)
    assert found[paper.OVERALL2] == pytest.approx((6 / 10 + 30 / 34) / 2)
    absent = scoring.find_iou(np.array([[0, 0, 0], [0, 4, 0], [0, 0, 4]]))
    assert absent[paper.OVERALL] == 1.0  # of the classes that occur


def test_cells_without_a_class_do_not_count() -> None:
    assert scoring.count_classes(np.array([0, 1, -1, 2]), np.array([0, 2, 1, 2])) == [[1, 0, 0], [0, 0, 1], [0, 0, 1]]


def test_matches_survive_their_packing() -> None:
    match = FrameMatch(np.array([0.9, 0.2]), np.array([True, False]), np.array([0.9, 0.0]), np.array([True, True]))
    again = scoring.unpack_match(scoring.pack_match(match))
    for name in ("score", "right", "found_score", "counted"):
        np.testing.assert_array_equal(getattr(again, name), getattr(match, name))


def make_runs(shares: list[float], seeds: int, rng: np.random.Generator) -> scoring.Runs:
    """Networks that are right on a share of the cells of each place, more or less."""
    places = [f"{at}" for at in range(len(shares))]
    runs = {}
    for seed in range(seeds):
        right = [int(1000 * min(share + rng.normal(0, 0.002), 1.0)) for share in shares]
        pairs = {
            place: [[n, 1000 - n, 0], [1000 - n, n, 0], [0, 0, 1000]] for place, n in zip(places, right, strict=True)
        }
        runs[f"seed {seed}"] = (places, {"pairs": pairs})
    return runs


def test_paired_differences_decide_where_places_differ_more() -> None:
    """Every place gains a little, far less than places differ: the difference is clear, the figures overlap."""
    rng = np.random.default_rng(0)
    shares = np.linspace(0.5, 0.9, 8)
    worse, better = make_runs(shares.tolist(), 3, rng), make_runs((shares + 0.02).tolist(), 3, rng)
    low, high = (scoring.estimate(paper.OVERALL, paper.REAL, runs) for runs in (worse, better))
    assert low.low < low.value < low.high
    assert low.high > high.low
    difference = scoring.compare(paper.OVERALL, worse, better)
    assert 0 < difference.low < difference.value < difference.high
    assert scoring.judge(difference, 8) == "held"
    assert scoring.judge(scoring.compare(paper.OVERALL, better, worse), 8) == "contradicted"
    assert scoring.judge(scoring.compare(paper.OVERALL, worse, make_runs(shares.tolist(), 3, rng)), 8) == "undecided"


def test_few_places_decide_nothing() -> None:
    assert scoring.judge(scoring.Estimate(0.2, 0.1, 0.3), 4) == "undecided"
    assert scoring.judge(scoring.Estimate(0.2, 0.1, 0.3), 5) == "held"
    assert scoring.judge(scoring.Estimate(float("nan"), float("nan"), float("nan")), 9) == "undecided"


def test_every_claim_and_row_is_of_a_set_that_is_trained() -> None:
    for claim in paper.CLAIMS:
        own = d_tables._SETS[paper.find_task(claim.metric)]
        assert {claim.worse, claim.better} <= set(own)
    for row in paper.ROWS:
        assert all(row.train in d_tables._SETS[paper.find_task(metric)] for metric in row.figures)
    for settings in VARIANTS.values():
        PairedConfig(**settings)


@pytest.fixture(scope="module")
def place() -> rs.Log:
    return record_place(3, 2, 128)


def test_a_place_is_the_same_for_its_number(place: rs.Log) -> None:
    again, other = record_place(3, 2, 128), record_place(4, 2, 128)
    assert [sweep.range.tobytes() for sweep in again] == [sweep.range.tobytes() for sweep in place]
    assert other[0].range.tobytes() != place[0].range.tobytes()


def test_a_recording_has_what_a_builder_needs_and_not_the_truth(place: rs.Log) -> None:
    sweep = place[1]
    assert place.labels.known
    assert place.empty_beams.found
    assert 0.6 < len(sweep) / sweep.n_beams < 0.95
    assert not sweep.extra
    tracks = [set(one.boxes.track.tolist()) for one in place if one.boxes is not None]
    assert len(tracks) == 2
    assert len(tracks[0] & tracks[1]) > 10
    assert {"Car"} <= set(sweep.boxes.name if sweep.boxes is not None else ())
    rise = np.degrees(np.arcsin(sweep.beam_direction[:, 2]))
    assert place.sensor is not None
    np.testing.assert_allclose(np.unique(np.round(rise, 3)), np.round(np.linspace(-24.8, 2.0, 64), 3), atol=2e-3)
    assert np.abs(make_character().rise).max() > 1e-4  # which is not where its beams go


def test_weak_lasers_are_dim_and_lose_more(place: rs.Log) -> None:
    weak = make_character().weak
    lost, light = [], []
    for marked in (weak, ~weak):
        rows = [(marked[sweep.beam_ring], marked[sweep.ring]) for sweep in place]
        lost.append(1 - sum(one.sum() for _, one in rows) / sum(one.sum() for one, _ in rows))
        light.append(np.median(np.concatenate([s.intensity[one] for s, (_, one) in zip(place, rows, strict=True)])))
    assert lost[0] > lost[1]
    assert light[0] < light[1]


def test_the_tables_go_on_after_what_is_kept(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, check_command: CheckCommand
) -> None:
    """With a stand-in for the networks: a second run trains none, and one that only shows does not either."""
    trained = []

    def score(self: Work, train: str, seed: int) -> dict[str, Any]:
        trained.append((type(self).__name__, train, seed))
        if type(self).__name__ == "Segmentation":
            return {"pairs": {place: [[8, 1, 1], [1, 8, 1], [1, 1, 8]] for place in self.split.test}}
        frames = {metric: {place: [[[0.9], [1], [0.9], [1]]] for place in self.split.test} for metric in scoring.RULES}
        return {paper.REAL: frames, paper.SIM: frames}

    for work in WORKS.values():
        monkeypatch.setattr(work, "score", score)
    monkeypatch.setattr(scoring, "DRAWS", 20)
    nothing = d_tables.run(fast=True, cache=tmp_path, kept=True)
    assert nothing["rows"] == []
    assert len(nothing["missing"]) == 6
    assert all(cell["city_value"] is None for cell in nothing["cells"].values())
    result = d_tables.run(fast=True, cache=tmp_path)
    assert len(trained) == 6
    assert d_tables.run(fast=True, cache=tmp_path) == result
    assert len(trained) == 6
    for row in result["rows"]:
        assert {"table", "train", "test", "metric", "value", "low", "high", "paper"} <= set(row)
        expected = 1.0 if paper.find_task(row["metric"]) == "detection" else scoring.find_iou(
            np.array([[8, 1, 1], [1, 8, 1], [1, 1, 8]])
        )[row["metric"]]  # fmt: skip
        assert row["value"] == row["low"] == row["high"] == pytest.approx(expected)
    assert result["undecided"] == len(result["claims"])
    assert result["missing"] == []
    assert result["cells"]["5: real (Real100k): mIoU"]["city_value"] == pytest.approx(8 / 12)
    check_command("d_tables", result)


@pytest.mark.slow
def test_networks_are_trained_and_tested(tmp_path: Path) -> None:
    result = d_tables.run(fast=True, cache=tmp_path)
    assert {row["table"] for row in result["rows"]} == set(range(1, 8))
    assert all(0.0 <= row["value"] <= 1.0 for row in result["rows"])


@pytest.mark.slow
def test_the_control_has_one_intensity_and_no_drops() -> None:
    (size,) = sizes(fast=True)
    split = size.splits[0]
    scenes = Scenes(size, None)
    for source in (paper.CONTROL_BOXES, paper.CONTROL_CAD):
        log = scenes.load(split, source, split.train[0])
        assert all(len(np.unique(sweep.intensity)) == 1 for sweep in log)
        assert all(len(sweep) / sweep.n_beams > 0.8 for sweep in log)
