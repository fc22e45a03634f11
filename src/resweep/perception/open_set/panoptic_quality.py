"""Panoptic quality of each class, and unknown quality (D, table 8).

A *segment* is all returns of a sweep with the same class and instance; a class without instances is one segment of a
sweep (Kirillov et al., *Panoptic segmentation*, CVPR 2019). A true and a predicted segment of one class match if their
intersection over union is above one half, which at most one pair can be. With TP matches, FP predicted segments and
FN true ones without a match

    SQ = sum of the IoU of matches / TP
    RQ = TP / (TP + FP / 2 + FN / 2)
    PQ = SQ · RQ

Void returns, whose truth is not known, are left out of the union, and a predicted segment that is mostly void is no FP.
D's unknown quality is that of its reference [41], which D does not repeat. Here it is

    UQ = SQ · TP / (TP + FN)

recall in place of RQ, for a recording holds things of no known class that nobody labelled. `Quality.pq` of the unknown
class counts what is found beyond the truth too; both are printed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from resweep.errors import ResweepError
from resweep.perception.models import UNKNOWN
from resweep.perception.open_set.segments import Segments
from resweep.pose import Array

MIN_RETURNS = 10  # a true segment of fewer is void: hardly anything was there to see
_MATCH_IOU = 0.5
_VOID_SHARE = 0.5


@dataclass(frozen=True)
class Quality:
    """Counts of one class, which add up over sweeps, and the figures that they give; NaN where nothing was there."""

    iou_sum: float = 0.0
    tp: int = 0
    fp: int = 0
    fn: int = 0

    def __add__(self, other: Quality) -> Quality:
        return Quality(self.iou_sum + other.iou_sum, self.tp + other.tp, self.fp + other.fp, self.fn + other.fn)

    @property
    def sq(self) -> float:
        """Segmentation quality: mean IoU of the matches."""
        return self.iou_sum / self.tp if self.tp else float("nan")

    @property
    def rq(self) -> float:
        """Recognition quality: the F1 score of segments."""
        return self.tp / self._segments if self._segments else float("nan")

    @property
    def recall(self) -> float:
        """Share of the true segments that are matched."""
        return self.tp / (self.tp + self.fn) if self.tp + self.fn else float("nan")

    @property
    def pq(self) -> float:
        """Panoptic quality, SQ · RQ."""
        return self.iou_sum / self._segments if self._segments else float("nan")

    @property
    def _segments(self) -> float:
        """The mean of the numbers of true and predicted segments."""
        return self.tp + 0.5 * (self.fp + self.fn)

    @property
    def uq(self) -> float:
        """Unknown quality, SQ · recall."""
        return self.iou_sum / (self.tp + self.fn) if self.tp + self.fn else float("nan")


def add_up(items: Iterable[Quality]) -> Quality:
    """The counts of several sweeps together."""
    return sum(items, Quality())


def find_quality(
    found: Segments, true: Segments, classes: Sequence[str], things: Collection[str], min_returns: int = MIN_RETURNS
) -> dict[str, Quality]:
    """The counts of each class of one sweep.

    Both number ``classes``; ``things`` of them have instances. True segments of fewer than ``min_returns`` returns
    are void, and so are true returns of things without an instance.
    """
    if len(found) != len(true):
        raise ResweepError(f"panoptic quality: {len(found)} predicted returns, but {len(true)} true ones")
    is_thing = np.array([name in things for name in classes])
    truth = _drop_small(_number(true, is_thing), min_returns)
    answer = _number(found, is_thing)
    return {name: _count(at, answer, truth) for at, name in enumerate(classes)}


@dataclass(frozen=True, eq=False)
class _Numbered:
    """The segment (n,) of each return, -1 for none, and the class (s,) and returns (s,) of each segment."""

    segment: Array
    kind: Array
    size: Array


def _number(given: Segments, is_thing: Array) -> _Numbered:
    """Segments numbered from 0, void left out."""
    inside = given.kind != UNKNOWN
    thing = np.zeros(len(given), bool)
    thing[inside] = is_thing[given.kind[inside]]
    inside &= ~thing | (given.instance != 0)
    instance = np.where(thing, given.instance, 0)
    keys = np.column_stack([given.kind[inside], instance[inside]])
    names, rows, size = np.unique(keys, axis=0, return_inverse=True, return_counts=True)
    segment = np.full(len(given), -1, np.int64)
    segment[inside] = rows.reshape(-1)
    return _Numbered(segment, names[:, 0], size)


def _drop_small(given: _Numbered, min_returns: int) -> _Numbered:
    kept = given.size >= min_returns
    number = np.append(np.where(kept, np.cumsum(kept) - 1, -1), -1)
    return _Numbered(number[given.segment], given.kind[kept], given.size[kept])


def _count(kind: int, answer: _Numbered, truth: _Numbered) -> Quality:
    """The counts of one class."""
    is_true, is_found = truth.kind == kind, answer.kind == kind
    both = (truth.segment >= 0) & (answer.segment >= 0)
    shared = np.zeros((len(answer.kind), len(truth.kind)), np.int64)
    np.add.at(shared, (answer.segment[both], truth.segment[both]), 1)
    void = np.bincount(answer.segment[(answer.segment >= 0) & (truth.segment < 0)], minlength=len(answer.kind))
    seen = answer.size - void
    shared, seen, size = shared[is_found][:, is_true], seen[is_found], truth.size[is_true]
    iou = shared / np.maximum(seen[:, None] + size[None] - shared, 1)
    match = iou > _MATCH_IOU
    excused = ~match.any(axis=1) & (void[is_found] > _VOID_SHARE * answer.size[is_found])
    tp = int(match.sum())
    return Quality(float(iou[match].sum()), tp, int(len(seen) - tp - excused.sum()), int(len(size) - tp))
