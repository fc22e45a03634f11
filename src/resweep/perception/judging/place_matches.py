"""What a detector found in one cloud of all sweeps, matched with the objects: in whole, and place by place."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from resweep.perception.detection.average_precision import RECALLS
from resweep.perception.detection.box_matching import MatchRule, match_frame
from resweep.perception.detection.truth import TrueBoxes
from resweep.perception.models import Detections
from resweep.pose import Array


class PlaceMatches:
    """The matches of one cloud by one rule: of ``whole`` sweeps, and of each place by itself to draw places again.

    ``sweeps`` are the number of each, what was found, and its objects; ``find_place(number, centre)`` gives the places
    (n,) of positions (n, 3). ``object_place`` (k,) are those of the objects that count.
    """

    def __init__(
        self,
        sweeps: Sequence[tuple[int, Detections, TrueBoxes]],
        rule: MatchRule,
        find_place: Callable[[int, Array], Array],
    ) -> None:
        self._sweeps, self._rule, self._find_place = sweeps, rule, find_place
        self.whole = [match_frame(found, truth, rule) for _, found, truth in sweeps]
        counted = [
            find_place(number, truth.boxes.centre)[match.counted]
            for (number, _, truth), match in zip(sweeps, self.whole, strict=True)
        ]
        self.object_place = np.concatenate([np.zeros(0, np.int64), *counted])

    @property
    def found_score(self) -> Array:
        """The score (k,) of the detection of each object that counts, 0 for those that were not found."""
        return np.concatenate([np.zeros(0), *(match.found_score[match.counted] for match in self.whole)])

    def draw_precision(self, weights: Array) -> Array:
        """The average precision (draws,) of each draw of places; NaN where it has no object."""
        score, is_right, place = self._match_places()
        weight = weights[:, place]
        taken, hits = np.cumsum(weight, axis=1), np.cumsum(weight * is_right, axis=1)
        last = np.append(score[1:] != score[:-1], True) if len(score) else np.zeros(0, bool)
        objects = weights[:, self.object_place].sum(axis=1)
        found = np.full(len(weights), np.nan)
        for at in np.flatnonzero(objects > 0).tolist():
            count, right = taken[at, last], hits[at, last]
            precision = np.divide(right, count, out=np.zeros_like(right), where=count > 0)
            best = np.maximum.accumulate(precision[::-1])[::-1] if len(precision) else precision
            needed = np.arange(1, RECALLS + 1) * objects[at]
            found[at] = float(np.append(best, 0.0)[np.searchsorted(right * RECALLS, needed)].mean())
        return found

    def _match_places(self) -> tuple[Array, Array, Array]:
        """Scores (d,) of what was found, the highest first, whether it is right, and its place.

        Each place is matched by itself: an object beyond its border is one that nobody cares about.
        """
        score, right, place = [np.zeros(0)], [np.zeros(0, bool)], [np.zeros(0, np.int64)]
        for number, found, truth in self._sweeps:
            of_object = self._find_place(number, truth.boxes.centre)
            of_found = self._find_place(number, found.boxes.centre)
            for at in np.unique(of_found).tolist():
                rows = of_found == at
                part = Detections(found.boxes[rows], found.score[rows])
                inside = match_frame(part, replace(truth, counted=truth.counted & (of_object == at)), self._rule)
                score.append(inside.score)
                right.append(inside.right)
                place.append(np.full(len(inside.score), at))
        order = np.argsort(-np.concatenate(score), kind="stable")
        return np.concatenate(score)[order], np.concatenate(right)[order], np.concatenate(place)[order]
