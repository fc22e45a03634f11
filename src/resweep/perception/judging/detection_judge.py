"""A detection model that reads recorded and simulated sweeps: which objects it finds, and how sure it is of each.

D's Table 7: AP on real and on simulated sweeps, and the ground-truth detection agreement κ_det of the two.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from resweep.boxes import Boxes
from resweep.perception.detection.average_precision import find_average_precision
from resweep.perception.detection.box_matching import MatchRule, match_frame
from resweep.perception.detection.instance_boxes import gather_instances
from resweep.perception.detection.truth import TrueBoxes, find_truth
from resweep.perception.judging.clouds import CLOUDS, OURS, REAL, JudgedCloud
from resweep.perception.judging.config import JudgingConfig
from resweep.perception.judging.detection_pictures import DetectedSweep
from resweep.perception.judging.intervals import estimate
from resweep.perception.judging.judged_drive import JudgedDrive
from resweep.perception.judging.judgement import DetectionFigures, DetectionRow, ObjectScore
from resweep.perception.judging.model_answers import ask_detections
from resweep.perception.judging.place_matches import PlaceMatches
from resweep.perception.judging.places import Places
from resweep.perception.models import DetectionModel, Detections
from resweep.pose import Array, inverse, transform
from resweep.sweep import Sweep

IOUS, MIN_POINTS = (0.5, 0.7), (1, 10)  # as in D's tables
MIN_SCORE = 0.3  # from which an object is found, in κ_det
_MAX_OBJECTS = 10_000  # that a record lists


class DetectionJudge:
    """Asks one model about every cloud of each sweep, and matches what it finds with the objects of the recording.

    Where the recording has no objects, those that the model finds in the recorded sweep stand for them.
    """

    def __init__(self, name: str, model: DetectionModel, drive: JudgedDrive, config: JudgingConfig) -> None:
        self.name, self.model, self.config = name, model, config
        self.classes = tuple(str(item) for item in model.classes)
        numbers = drive.numbers.tolist()
        self._truth = dict(zip(numbers, find_truth(drive.log, show=False), strict=True)) if _has_truth(drive) else None
        self._found: dict[str, list[tuple[int, Detections]]] = {}
        self._objects: dict[int, TrueBoxes] = {}
        self._places: dict[int, tuple[Places, int]] = {}

    def read(self, clouds: dict[str, JudgedCloud], number: int, places: Places, at: int) -> DetectedSweep:
        """Take in what the model finds in the clouds of sweep ``number``, the ``at``-th that is judged."""
        real = clouds[REAL].sweep
        self._places[number] = places, at
        for key, cloud in clouds.items():
            found = ask_detections(self.model, cloud.sweep, f"model '{self.name}', sweep {number}, {key}")
            self._found.setdefault(key, []).append((number, _carry(found, cloud.sweep, real)))
        seen = self._found[REAL][-1][1]
        truth = self._truth[number] if self._truth is not None else _take_answers(seen, real)
        self._objects[number] = truth
        ours = self._found[OURS][-1][1]
        counted = np.zeros(len(truth), bool)
        apart = np.zeros(len(truth))
        for name in self.classes:
            one, other = (match_frame(found, truth, MatchRule(name)) for found in (seen, ours))
            counted |= one.counted
            apart[one.counted] = np.abs(one.found_score - other.found_score)[one.counted]
        agreement = 1.0 - float(apart[counted].mean()) if counted.any() else 1.0
        points = real.points, clouds[OURS].sweep.points
        return DetectedSweep(self.name, number, *points, truth.boxes[counted], seen, ours, agreement)

    def score(self, weights: Array) -> DetectionFigures:
        """The figures of all clouds, with intervals from ``weights`` (draws, places)."""
        names = [name for name in self.classes if any(item.select(name, 1).any() for item in self._objects.values())]
        rules = [MatchRule(name, iou, points) for name in names for iou in IOUS for points in MIN_POINTS]
        rows: list[DetectionRow] = []
        for rule in rules:
            rows += [self._score_cloud(key, rule, weights) for key in CLOUDS if key in self._found]
        return DetectionFigures(
            classes=list(self.classes),
            absent=[name for name in self.classes if name not in names],
            has_truth=self._truth is not None,
            min_score=MIN_SCORE,
            rows=rows,
            objects=self._list_objects(names),
        )

    def _score_cloud(self, key: str, rule: MatchRule, weights: Array) -> DetectionRow:
        mine = PlaceMatches(self.list_matches(key), rule, self.find_place)
        real = PlaceMatches(self.list_matches(REAL, key), rule, self.find_place)
        one, other, place = real.found_score, mine.found_score, real.object_place
        weight = weights[:, place]
        same = (one >= MIN_SCORE) == (other >= MIN_SCORE)
        change = other - one

        def average(values: Array) -> tuple[float, Array]:
            total = weight.sum(axis=1)
            drawn = np.where(total > 0, (weight * values).sum(axis=1) / np.maximum(total, 1.0), np.nan)
            return float(values.mean()) if len(values) else np.nan, drawn

        precision = find_average_precision(mine.whole).ap if self._truth is not None else np.nan
        drawn = mine.draw_precision(weights) if self._truth is not None else np.zeros(0)
        return DetectionRow(
            cloud=key,
            name=rule.name,
            iou=rule.iou,
            min_points=rule.min_points,
            objects=len(one),
            ap=estimate(precision, drawn, self.config),
            agreement=estimate(*average(same.astype(np.float64)), self.config),
            score_change=estimate(*average(change), self.config),
        )

    def list_matches(self, key: str, of: str = "") -> list[tuple[int, Detections, TrueBoxes]]:
        """The number of each sweep, what was found in a cloud of it, and its objects; of sweeps with a cloud ``of``."""
        there = {number for number, _ in self._found[of or key]}
        return [(number, found, self._objects[number]) for number, found in self._found[key] if number in there]

    def find_place(self, number: int, centre: Array) -> Array:
        """The places (n,) of positions (n, 3) in the frame of a sweep."""
        places, at = self._places[number]
        return places.find_towards(centre, at)

    def _list_objects(self, names: list[str]) -> list[ObjectScore]:
        """Every object of the classes with its score when recorded and when simulated, by IoU .5."""
        listed = []
        ours = dict(self._found.get(OURS, []))
        for number, found in self._found[REAL]:
            truth = self._objects[number]
            for name in names:
                rule = MatchRule(name, IOUS[0], MIN_POINTS[0])
                one = match_frame(found, truth, rule)
                other = match_frame(ours[number], truth, rule)
                for row in np.flatnonzero(one.counted).tolist():
                    box = truth.boxes[row]
                    listed.append(
                        ObjectScore(
                            sweep=number,
                            name=name,
                            range_m=float(np.linalg.norm(box.centre[0])),
                            points=max(int(box.n_points[0]), 0),
                            real=float(one.found_score[row]),
                            ours=float(other.found_score[row]),
                        )
                    )
        return listed[:_MAX_OBJECTS]


def _has_truth(drive: JudgedDrive) -> bool:
    """Whether any sweep has annotated boxes, or instances of vehicles in its labels."""
    for sweep in drive.log:
        if sweep.boxes is not None and len(sweep.boxes):
            return True
        if len(gather_instances(sweep, drive.log.labels).instance):
            return True
    return False


def _take_answers(found: Detections, real: Sweep) -> TrueBoxes:
    """What a model finds in a recorded sweep, in place of its objects."""
    sure = found.score >= MIN_SCORE
    boxes = found.boxes[sure]
    counted = replace(boxes, n_points=boxes.count_points(real.deskewed()))
    return TrueBoxes(counted, np.ones(len(counted), bool))


def _carry(found: Detections, sweep: Sweep, real: Sweep) -> Detections:
    """Detections in a sweep, in the frame of the recorded one."""
    if np.array_equal(sweep.pose, real.pose) or not len(found):
        return found
    T_real_sweep = inverse(real.pose) @ sweep.pose
    turn = float(np.arctan2(T_real_sweep[1, 0], T_real_sweep[0, 0]))
    boxes = found.boxes
    moved: Boxes = replace(boxes, centre=transform(T_real_sweep, boxes.centre), yaw=boxes.yaw + turn)
    return Detections(moved, found.score)
