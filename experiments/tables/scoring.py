"""Scores by place and seed, and what follows from them: means, intervals over places and seeds, and verdicts.

A score is kept as what it is made of: counts of pairs of classes, or scores of detections. Intervals are of the
bootstrap: places and seeds are drawn again with replacement, the same for both sides of a difference, and figures are
computed anew from all that was drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from experiments.tables import paper
from resweep.perception.detection.average_precision import find_agreement, find_average_precision
from resweep.perception.detection.box_matching import FrameMatch, MatchRule
from resweep.pose import Array

CLASSES = ("vehicle", "background", "road")
RULES = {
    paper.AP5: MatchRule("car", 0.5, 1),
    paper.AP7: MatchRule("car", 0.7, 1),
    paper.AP7_MANY: MatchRule("car", 0.7, 10),
}
MIN_PLACES = 5  # with fewer the bootstrap over places says nothing, and a claim is undecided
DRAWS = 300
VERDICTS = ("held", "undecided", "contradicted")
_LEVEL = 0.95

# What one trained network scored: by place what its figures are made of.
Scores = Mapping[str, Any]
# By split and seed of a network: the places that it was tested on, and its scores.
Runs = Mapping[str, tuple[Sequence[str], Scores]]


@dataclass(frozen=True)
class Estimate:
    """A figure with the interval that it lies in at 95 %."""

    value: float
    low: float
    high: float


def count_classes(truth: Array, found: Array) -> list[list[int]]:
    """How many cells of each true class (rows) were found to be of each class; -1 is no class."""
    known = truth >= 0
    pairs = truth[known] * len(CLASSES) + found[known]
    return np.bincount(pairs, minlength=len(CLASSES) ** 2).reshape(len(CLASSES), -1).tolist()


def find_iou(pairs: Array) -> dict[str, float]:
    """IoU of each class, its mean over those that occur, and both with the road as background, from counts (3, 3)."""
    road, background = CLASSES.index("road"), CLASSES.index("background")
    two = pairs.copy()
    two[background] += two[road]
    two[:, background] += two[:, road]
    two = two[:road, :road]
    found: dict[str, float] = {}
    for counts, names, mean in (
        (pairs, (paper.VEHICLE, paper.BACKGROUND, paper.ROAD), paper.OVERALL),
        (two, (paper.VEHICLE2, paper.BACKGROUND2), paper.OVERALL2),
    ):
        right = np.diag(counts)
        every = counts.sum(axis=0) + counts.sum(axis=1) - right
        iou = np.where(counts.sum(axis=1) > 0, right / np.maximum(every, 1), np.nan)
        found |= dict(zip(names, iou.tolist(), strict=True)) | {mean: float(np.nanmean(iou))}
    return found


def pack_match(match: FrameMatch) -> list[Any]:
    """A match as JSON holds it."""
    return [
        np.round(match.score, 4).tolist(),
        match.right.astype(int).tolist(),
        np.round(match.found_score, 4).tolist(),
        match.counted.astype(int).tolist(),
    ]


def unpack_match(packed: Sequence[Any]) -> FrameMatch:
    """The match that was packed."""
    score, right, found, counted = packed
    return FrameMatch(np.array(score), np.array(right, bool), np.array(found), np.array(counted, bool))


def measure(metric: str, test: str, scores: Scores, places: Sequence[str]) -> float:
    """A figure of one network over some places, of which any may come several times."""
    if metric in RULES:
        frames = [frame for place in places for frame in scores[test][metric][place]]
        return find_average_precision([_unpack(frame) for frame in frames]).ap
    if metric in (paper.KAPPA5, paper.KAPPA7):
        rule = paper.AP5 if metric == paper.KAPPA5 else paper.AP7
        real, simulated = (
            [_unpack(frame) for place in places for frame in scores[side][rule][place]]
            for side in (paper.REAL, paper.SIM)
        )
        return find_agreement(real, simulated)
    return find_iou(np.sum([scores["pairs"][place] for place in places], axis=0))[metric]


_UNPACKED: dict[int, tuple[Any, FrameMatch]] = {}


def _unpack(packed: Sequence[Any]) -> FrameMatch:
    """The match, unpacked once: the bootstrap asks for it hundreds of times."""
    known = _UNPACKED.get(id(packed))
    if known is None or known[0] is not packed:
        known = _UNPACKED[id(packed)] = (packed, unpack_match(packed))
    return known[1]


def estimate(metric: str, test: str, runs: Runs) -> Estimate:
    """A figure of one training set."""
    return _bootstrap(list(runs.values()), lambda run, places: measure(metric, test, run, places))


def compare(metric: str, worse: Runs, better: Runs) -> Estimate:
    """By how much ``better`` networks exceed the ``worse`` ones, run by run and place by place."""
    pairs = [(worse[key][0], (worse[key][1], better[key][1])) for key in worse if key in better]

    def differ(run: tuple[Scores, Scores], places: Sequence[str]) -> float:
        return measure(metric, paper.REAL, run[1], places) - measure(metric, paper.REAL, run[0], places)

    return _bootstrap(pairs, differ)


def _bootstrap(runs: Sequence[tuple[Sequence[str], Any]], figure: Callable[[Any, Sequence[str]], float]) -> Estimate:
    """A mean over runs with its interval; runs that were tested on the same places are of different seeds."""
    value = _mean(figure(run, places) for places, run in runs)
    rng = np.random.default_rng(0)
    groups: dict[tuple[str, ...], list[Any]] = {}
    for places, run in runs:
        groups.setdefault(tuple(places), []).append(run)
    drawn = []
    for _ in range(DRAWS):
        found = []
        for places, own in groups.items():
            chosen = [places[at] for at in rng.integers(len(places), size=len(places))]
            found += [figure(own[at], chosen) for at in rng.integers(len(own), size=len(own))]
        drawn.append(_mean(found))
    tail = (1 - _LEVEL) / 2
    low, high = np.nanquantile(drawn, [tail, 1 - tail]) if np.isfinite(drawn).any() else (np.nan, np.nan)
    return Estimate(value, float(low), float(high))


def _mean(values: Any) -> float:
    known = [value for value in values if np.isfinite(value)]
    return float(np.mean(known)) if known else float("nan")


def judge(difference: Estimate, places: int) -> str:
    """Whether a claim held: its interval decides, and too few places decide nothing."""
    if places < MIN_PLACES or not np.isfinite(difference.low):
        return "undecided"
    return "held" if difference.low > 0 else "contradicted" if difference.high < 0 else "undecided"
