"""The models that judge, by name, and what each is asked about the clouds of a sweep."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from resweep.errors import ResweepError
from resweep.labels import LabelSet
from resweep.perception.judging.clouds import REAL, JudgedCloud
from resweep.perception.judging.config import JudgingConfig
from resweep.perception.judging.detection_judge import DetectionJudge
from resweep.perception.judging.detection_pictures import DetectedSweep
from resweep.perception.judging.feature_distance import FeatureJudge
from resweep.perception.judging.judged_drive import JudgedDrive
from resweep.perception.judging.judgement import ModelJudgement
from resweep.perception.judging.judgement_pictures import JudgedSweep
from resweep.perception.judging.model_answers import check_classes
from resweep.perception.judging.places import Places
from resweep.perception.judging.segmentation_judge import SegmentationJudge
from resweep.perception.models import DetectionModel, FeatureModel, SegmentationModel
from resweep.pose import Array

Model = SegmentationModel | DetectionModel | FeatureModel


def name_models(models: Any) -> dict[str, Model]:
    """Models by name: the name that is given, else that of their type, with a number where several share one."""
    if isinstance(models, Mapping):
        named = {str(name): model for name, model in models.items()}
    else:
        listed = list(models) if isinstance(models, list | tuple) else [models]
        kinds = [type(model).__name__ for model in listed]
        named = {
            kind if kinds.count(kind) == 1 else f"{kind} {at + 1}": model
            for at, (kind, model) in enumerate(zip(kinds, listed, strict=True))
        }
    if not named:
        raise ResweepError("judge: no model given; give at least one")
    for name, model in named.items():
        if not isinstance(model, SegmentationModel | DetectionModel | FeatureModel):
            raise ResweepError(
                f"model '{name}': a {type(model).__name__} that is no model: it lacks classes, segment and find_truth, "
                "or classes and detect, or embed; give one of resweep.perception.models"
            )
        if isinstance(model, SegmentationModel | DetectionModel):
            check_classes(name, model)
    return named


class ModelJudges:
    """What one model is asked: the classes of returns, the objects, and its features."""

    def __init__(self, name: str, model: Model, drive: JudgedDrive, labels: LabelSet, config: JudgingConfig) -> None:
        self.name = name
        self.segmentation: SegmentationJudge | None = None
        self.features: FeatureJudge | None = None
        if isinstance(model, SegmentationModel):
            self.segmentation = SegmentationJudge(name, model, labels, config)
        self.detection: DetectionJudge | None = None
        if isinstance(model, DetectionModel):
            self.detection = DetectionJudge(name, model, drive, config)
        if isinstance(model, FeatureModel):
            self.features = FeatureJudge(name, model, config)

    def read(self, clouds: dict[str, JudgedCloud], places: Places, at: int, number: int, worst: WorstSweep) -> None:
        """Ask the model about the clouds of sweep ``number``, the ``at``-th that is judged."""
        if self.segmentation is not None:
            place = places.find(clouds[REAL].sweep, at)
            answers = self.segmentation.read(clouds[REAL].sweep, clouds, place, places.count, number)
            worst.offer(JudgedSweep.of(self.name, self.segmentation.classes, number, clouds, answers))
        if self.detection is not None:
            worst.offer(self.detection.read(clouds, number, places, at))
        if self.features is not None:
            self.features.read(clouds, number)

    def score(self, weights: Array) -> ModelJudgement:
        """The figures of the model, with intervals from ``weights`` (draws, places)."""
        return ModelJudgement(
            model=self.name,
            segmentation=None if self.segmentation is None else self.segmentation.score(weights),
            detection=None if self.detection is None else self.detection.score(weights),
            features=None if self.features is None else self.features.score(),
        )


class WorstSweep:
    """Keeps, for each model and what it says, the sweep on which it agrees least, for the page to draw."""

    def __init__(self) -> None:
        self._kept: dict[tuple[str, type], JudgedSweep | DetectedSweep] = {}

    def offer(self, sweep: JudgedSweep | DetectedSweep) -> None:
        """Keep a sweep if its model agrees less than on the one kept so far."""
        kept = self._kept.get((sweep.model, type(sweep)))
        if kept is None or sweep.agreement < kept.agreement:
            self._kept[sweep.model, type(sweep)] = sweep

    def list_kept(self) -> list[JudgedSweep | DetectedSweep]:
        """The sweeps that are kept."""
        return list(self._kept.values())
