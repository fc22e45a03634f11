"""Which objects were found: detections of a sweep against its true boxes, as KITTI's and D's scores are made of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from resweep.boxes import Boxes
from resweep.errors import ResweepError
from resweep.perception.detection.box_overlap import find_intersections, iou_3d, iou_bev
from resweep.perception.detection.truth import TrueBoxes
from resweep.perception.models import Detections
from resweep.pose import Array

OverlapKind = Literal["bev", "3d"]
OVERLAPS: dict[str, Callable[[Boxes, Boxes], Array]] = {"bev": iou_bev, "3d": iou_3d}
_UNCARED_SHARE = 0.5  # of a detection, on what nobody cares about, from which it is no mistake (KITTI's MIN_OVERLAP)


@dataclass(frozen=True)
class MatchRule:
    """When a detection has found an object: ``name`` is the class, ``iou`` the least overlap, ``kind`` how it is seen.

    Objects with fewer returns than ``min_points`` are not cared about.
    """

    name: str = "car"
    iou: float = 0.5
    min_points: int = 1
    kind: OverlapKind = "bev"

    def __post_init__(self) -> None:
        if not 0 < self.iou <= 1:
            raise ResweepError(f"iou: {self.iou:g} is no overlap; give one above 0, at most 1")
        if self.kind not in OVERLAPS:
            raise ResweepError(f"kind: '{self.kind}' is not known; give bev or 3d")


@dataclass(frozen=True, eq=False)
class FrameMatch:
    """The detections (d,) and the objects (k,) of a sweep, matched.

    ``score`` (d,) and ``right`` (d,) are those of the detections that count, highest first: of others, nobody cares.
    ``found_score`` (k,) is the score of the detection of each true box, 0 where there is none, and ``counted`` (k,)
    says which boxes count.
    """

    score: Array
    right: Array
    found_score: Array
    counted: Array


def match_frame(detections: Detections, truth: TrueBoxes, rule: MatchRule) -> FrameMatch:
    """Match by falling score: each detection takes the object of the largest overlap that is not yet found.

    A detection that finds nothing is a mistake, unless half of it lies on boxes that are not cared about (of a class
    that is like this one, or with too few returns), it overlaps one of them enough, or it lies where nothing was
    annotated.
    """
    chosen = np.flatnonzero([name == rule.name for name in detections.boxes.name])
    order = chosen[np.argsort(-detections.score[chosen], kind="stable")]
    boxes, score = detections.boxes[order], detections.score[order]
    counted = truth.select(rule.name, rule.min_points)
    overlap = OVERLAPS[rule.kind](boxes, truth.boxes)
    found_score, right = np.zeros(len(truth)), np.zeros(len(boxes), bool)
    free = counted.copy()
    for row in range(len(boxes)):
        candidates = np.where(free, overlap[row], 0.0)
        best = int(candidates.argmax()) if len(candidates) else -1
        if best >= 0 and candidates[best] >= rule.iou:
            free[best], right[row], found_score[best] = False, True, score[row]
    kept = right | ~_is_uncared(boxes, truth, overlap, ~counted & truth.is_like(rule.name), rule.iou)
    return FrameMatch(score[kept], right[kept], found_score, counted)


def _is_uncared(boxes: Boxes, truth: TrueBoxes, overlap: Array, uncared: Array, iou: float) -> Array:
    """Which detections (d,) nobody cares about, if they found no object."""
    outside = ~truth.is_annotated(boxes.centre)
    if not uncared.any() or not len(boxes):
        return outside
    area = boxes.size[:, 0] * boxes.size[:, 1]
    covered = find_intersections(boxes, truth.boxes[uncared]).sum(axis=1) >= _UNCARED_SHARE * area
    return np.asarray(outside | covered | (overlap[:, uncared] >= iou).any(axis=1))


def match_frames(detections: Sequence[Detections], truth: Sequence[TrueBoxes], rule: MatchRule) -> list[FrameMatch]:
    """The matches of several sweeps; an error unless there are as many of both."""
    if len(detections) != len(truth):
        raise ResweepError(f"detections of {len(detections)} sweeps, but true boxes of {len(truth)}")
    return [match_frame(found, true, rule) for found, true in zip(detections, truth, strict=True)]
