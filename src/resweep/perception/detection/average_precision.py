"""Scores of detections: average precision, and what D's Table 7 asks of a pair of real and simulated sweeps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from resweep.errors import ResweepError
from resweep.perception.detection.box_matching import FrameMatch
from resweep.pose import Array

RECALLS = 40  # at which the precision is read: 1/40 to 1, as KITTI does since 2019 (Simonelli et al. 2019)


@dataclass(frozen=True, eq=False)
class PrecisionCurve:
    """Precision and recall (d,) by falling score, the average precision ``ap``, and how many ``objects`` there are.

    ``ap`` is the mean over `RECALLS` recalls of the highest precision at that recall or a higher one; NaN without any
    object.
    """

    precision: Array
    recall: Array
    score: Array
    ap: float
    objects: int


def find_average_precision(matches: Sequence[FrameMatch]) -> PrecisionCurve:
    """The average precision over all sweeps together. Detections of equal score are taken together."""
    objects = int(sum(int(match.counted.sum()) for match in matches))
    score = np.concatenate([np.zeros(0), *(match.score for match in matches)])
    right = np.concatenate([np.zeros(0, bool), *(match.right for match in matches)])
    order = np.argsort(-score, kind="stable")
    score, right = score[order], right[order]
    hits, taken = np.cumsum(right), np.arange(1, len(right) + 1)
    last = np.append(score[1:] != score[:-1], True) if len(score) else np.zeros(0, bool)
    precision, recall = (hits / taken)[last], (hits / max(objects, 1))[last]
    if objects == 0:
        return PrecisionCurve(precision, recall, score[last], float("nan"), 0)
    best = np.maximum.accumulate(precision[::-1])[::-1] if len(precision) else precision
    # The recall of m of n objects is compared in whole numbers: m / n has no exact float.
    needed = np.arange(1, RECALLS + 1) * objects
    at = np.searchsorted(hits[last] * RECALLS, needed)
    ap = float(np.append(best, 0.0)[at].mean())
    return PrecisionCurve(precision, recall, score[last], ap, objects)


def find_agreement(real: Sequence[FrameMatch], simulated: Sequence[FrameMatch], min_score: float = 0.3) -> float:
    """κ_det, the ground-truth detection agreement of D's Table 7; NaN without any object.

    κ_det = (\\|R+ ∩ S+\\| + \\|R- ∩ S-\\|) / \\|R+ ∪ R-\\|. R+ and R- are the true boxes that the model finds and
    misses on real sweeps, S+ and S- those on their simulated pairs: the share of the boxes of which both say the same.
    The boxes are those that count on the real sweeps, so that R+ ∪ R- is all of them. A box is found if a detection
    with a score of ``min_score`` or more was matched to it (`match_frame`); D names no such score.
    """
    one, other = _pair_scores(real, simulated)
    if not len(one):
        return float("nan")
    return float(((one >= min_score) == (other >= min_score)).mean())


def find_score_differences(real: Sequence[FrameMatch], simulated: Sequence[FrameMatch]) -> Array:
    """For each true box (k,) that counts on the real sweeps, its score when simulated minus its real one.

    A box that was not found has the score 0.
    """
    one, other = _pair_scores(real, simulated)
    return other - one


def _pair_scores(real: Sequence[FrameMatch], simulated: Sequence[FrameMatch]) -> tuple[Array, Array]:
    """Scores (k,) of the true boxes that count on real sweeps: there, and on the simulated ones."""
    if len(real) != len(simulated):
        raise ResweepError(f"{len(real)} real sweeps, but {len(simulated)} simulated ones; give pairs")
    for at, (one, other) in enumerate(zip(real, simulated, strict=True)):
        if len(one.counted) != len(other.counted):
            raise ResweepError(
                f"pair {at}: {len(one.counted)} true boxes when real, {len(other.counted)} when simulated; "
                "match both to the boxes of the real sweep"
            )
    empty = np.zeros(0)
    return (
        np.concatenate([empty, *(match.found_score[match.counted] for match in real)]),
        np.concatenate([empty, *(other.found_score[one.counted] for one, other in zip(real, simulated, strict=True))]),
    )
