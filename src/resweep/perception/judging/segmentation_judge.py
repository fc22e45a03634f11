"""A segmentation model that reads recorded and simulated sweeps: counts by place, and the figures made of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from resweep.labels import LabelSet
from resweep.perception.judging.clouds import CLOUDS, OURS, PARTS, REAL, SHARED, JudgedCloud
from resweep.perception.judging.config import JudgingConfig
from resweep.perception.judging.intervals import estimate, make_plain
from resweep.perception.judging.judgement import CloudScores, Estimate, RangeScores, SegmentationScores
from resweep.perception.judging.model_answers import ask_classes
from resweep.perception.models import UNKNOWN, SegmentationModel
from resweep.pose import Array
from resweep.sweep import Sweep

# Beams are counted by class: of the truth, and of those with a known truth as found in a cloud and in the recording;
# and by the class that agreement is told by, all and those with the same answer.
_COUNTS = ("true", "found", "right", "real_found", "real_right", "all", "same")
_TRUE, _FOUND, _RIGHT, _REAL_FOUND, _REAL_RIGHT, _ALL, _SAME = range(len(_COUNTS))


class SegmentationJudge:
    """Asks one model about every cloud of each sweep, and counts beams by place, range and class."""

    def __init__(self, name: str, model: SegmentationModel, labels: LabelSet, config: JudgingConfig) -> None:
        self.name, self.model, self.labels, self.config = name, model, labels, config
        self.classes = tuple(str(item) for item in model.classes)
        self.counts: dict[str, Array] = {}
        size = len(self.classes)
        self.confusion = np.zeros((size, size), np.int64)
        self.has_truth = False

    def read(
        self, real: Sweep, clouds: dict[str, JudgedCloud], place: Array, places: int, number: int
    ) -> dict[str, Array]:
        """Count the answers on all clouds of sweep ``number``, whose returns are at ``place`` (n,).

        Returns the answers: the number of a class for each return of each cloud.
        """
        asked = f"model '{self.name}', sweep {number}"
        truth = self._find_truth(real)
        answers = {key: ask_classes(self.model, cloud.sweep, f"{asked}, {key}") for key, cloud in clouds.items()}
        edges = np.array(self.config.range_edges_m)
        cell = place * (len(edges) + 1) + np.searchsorted(edges, real.range, side="right")
        for key, cloud in clouds.items():
            self._count(key, cloud, answers[key], answers[REAL], truth, cell, places * (len(edges) + 1))
        return answers

    def _find_truth(self, real: Sweep) -> Array:
        truth = np.asarray(self.model.find_truth(real.label, self.labels), np.int64)
        known = truth < len(self.classes)
        self.has_truth |= bool(known.any())
        return np.where(known, truth, UNKNOWN)

    def _count(
        self, key: str, cloud: JudgedCloud, found: Array, answer: Array, truth: Array, cell: Array, cells: int
    ) -> None:
        size = len(self.classes)
        rows = np.flatnonzero(cloud.real_row >= 0)
        at = cloud.real_row[rows]
        rows, at = rows[answer[at] != UNKNOWN], at[answer[at] != UNKNOWN]
        mine, same, true, where = found[rows].astype(np.int64), answer[at].astype(np.int64), truth[at], cell[at]
        mine = np.where(mine < size, mine, size)
        known = true != UNKNOWN
        if key not in self.counts:
            self.counts[key] = np.zeros((cells, len(_COUNTS), size + 1), np.int64)
        counts = self.counts[key].reshape(-1)

        def add(kind: int, classes: Array, chosen: Array) -> None:
            index = (where[chosen] * len(_COUNTS) + kind) * (size + 1) + classes[chosen]
            counts[:] += np.bincount(index, minlength=len(counts))

        told_by = np.where(known, true, size) if known.any() else same
        add(_TRUE, true, known)
        add(_FOUND, mine, known)
        add(_RIGHT, mine, known & (mine == true))
        add(_REAL_FOUND, same, known)
        add(_REAL_RIGHT, same, known & (same == true))
        add(_ALL, told_by, np.ones(len(rows), bool))
        add(_SAME, told_by, mine == same)
        if key == OURS:
            answered = mine < size
            np.add.at(self.confusion, (same[answered], mine[answered]), 1)

    def score(self, weights: Array) -> SegmentationScores:
        """The figures of all clouds, with intervals from ``weights`` (draws, places)."""
        judged = self.counts[REAL].sum(axis=0)[_TRUE, :-1] >= self.config.min_returns
        bins = len(self.config.range_edges_m) + 1
        drawn = {}
        for key, counts in self.counts.items():
            by_place = counts.reshape(-1, bins, *counts.shape[1:]).sum(axis=1)
            # Sums of whole numbers, which float64 holds exactly, in whatever order.
            sums = weights @ by_place.reshape(len(by_place), -1).astype(np.float64)
            drawn[key] = sums.reshape(len(weights), *counts.shape[1:])
        found = [self._score_cloud(key, drawn[key], judged, bins) for key in CLOUDS if key in self.counts]
        return SegmentationScores(
            classes=list(self.classes),
            absent=[name for name, there in zip(self.classes, judged, strict=True) if not there and self.has_truth],
            clouds=found,
            costs=self._find_costs(drawn),
            miou_share=self._find_share(drawn, judged),
            confusion=self.confusion.tolist(),
        )

    def _score_cloud(self, key: str, drawn: Array, judged: Array, bins: int) -> CloudScores:
        counts = self.counts[key]
        total = counts.sum(axis=0)
        by_range = counts.reshape(-1, bins, *counts.shape[1:]).sum(axis=0)
        edges: Sequence[float] = (0.0, *self.config.range_edges_m)
        ranges = [
            RangeScores(
                from_m=edges[at],
                to_m=edges[at + 1] if at + 1 < len(edges) else None,
                beams=int(part[_ALL].sum()),
                agreement=make_plain(find_agreement(part)),
                miou=make_plain(find_miou(part, judged)),
                miou_real=make_plain(find_miou(part, judged, real=True)),
            )
            for at, part in enumerate(by_range)
        ]

        def by_class(values: Array) -> dict[str, float | None]:
            return {
                name: make_plain(value) for name, value in zip(self.classes, values[: len(self.classes)], strict=True)
            }

        return CloudScores(
            cloud=key,
            beams=int(total[_ALL].sum()),
            agreement=estimate(find_agreement(total), find_agreement(drawn), self.config),
            miou=estimate(find_miou(total, judged), find_miou(drawn, judged), self.config),
            miou_real=estimate(find_miou(total, judged, real=True), find_miou(drawn, judged, real=True), self.config),
            iou=by_class(np.where(judged, find_iou(total), np.nan)),
            iou_real=by_class(np.where(judged, find_iou(total, real=True), np.nan)),
            agreement_of=by_class(_divide(total[_SAME], total[_ALL])),
            ranges=ranges,
        )

    def _find_costs(self, drawn: dict[str, Array]) -> dict[str, Estimate]:
        """By how much each part that is ours lowers agreement, where its clouds were judged."""
        found = {}
        for part, pair in PARTS.items():
            if all(key in self.counts for key in pair):
                before, after = (find_agreement(self.counts[key].sum(axis=0)) for key in pair)
                drawn_before, drawn_after = (find_agreement(drawn[key]) for key in pair)
                found[part] = estimate(before - after, drawn_before - drawn_after, self.config)
        return found

    def _find_share(self, drawn: dict[str, Array], judged: Array) -> Estimate:
        if OURS not in self.counts or SHARED not in self.counts:
            return Estimate()
        parts = [find_miou(self.counts[key].sum(axis=0), judged) for key in (OURS, SHARED)]
        draws = [find_miou(drawn[key], judged) for key in (OURS, SHARED)]
        return estimate(_divide(*parts), _divide(*draws), self.config)


def find_iou(counts: Array, real: bool = False) -> Array:
    """IoU (..., classes) of counts (..., kinds, classes + 1); NaN for classes that neither truth nor answers have."""
    right, found = (_REAL_RIGHT, _REAL_FOUND) if real else (_RIGHT, _FOUND)
    union = counts[..., _TRUE, :-1] + counts[..., found, :-1] - counts[..., right, :-1]
    return _divide(counts[..., right, :-1], union)


def find_miou(counts: Array, judged: Array, real: bool = False) -> Array:
    """The mean IoU (...) of the classes that are ``judged``; of those in ``counts`` that have truth."""
    iou = find_iou(counts, real)
    there = judged & (counts[..., _TRUE, :-1] > 0)
    return _divide(np.where(there, np.nan_to_num(iou), 0.0).sum(axis=-1), there.sum(axis=-1))


def find_agreement(counts: Array) -> Array:
    """The share of beams (...) with the answer that the recorded sweep gets."""
    return _divide(counts[..., _SAME, :].sum(axis=-1), counts[..., _ALL, :].sum(axis=-1))


def _divide(part: Array, whole: Array) -> Array:
    whole = np.asarray(whole, np.float64)
    return np.asarray(np.where(whole > 0, part / np.where(whole > 0, whole, 1.0), np.nan))
