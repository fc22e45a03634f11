"""What every judge is: a model that says of each return what it hit, or one that finds objects."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from resweep.boxes import Boxes
from resweep.errors import ResweepError
from resweep.labels import LabelSet
from resweep.log import Log
from resweep.pose import Array
from resweep.sweep import Sweep

UNKNOWN = 255  # in place of the number of a class: returns that do not count


@dataclass(frozen=True, eq=False)
class Detections:
    """What a detector found in a sweep: boxes in the frame of its ``pose``, ``name`` the class, and their scores."""

    boxes: Boxes
    score: Array
    """Scores (k,), the surest highest."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "score", np.asarray(self.score, np.float64).reshape(-1))
        if len(self.score) != len(self.boxes):
            raise ResweepError(f"detections: {len(self.boxes)} boxes, but {len(self.score)} scores")

    def __len__(self) -> int:
        return len(self.score)


@runtime_checkable
class SegmentationModel(Protocol):
    """A model that says of each return what it hit."""

    @property
    def classes(self) -> tuple[str, ...]:
        """Names of the classes."""

    def segment(self, sweep: Sweep) -> Array:
        """The number in ``classes`` (n,) uint8 of each return of a sweep."""

    def find_truth(self, label: Array, labels: LabelSet) -> Array:
        """The number in ``classes`` (n,) uint8 of true labels (n,) of a vocabulary; `UNKNOWN` for others."""


@runtime_checkable
class ScoringModel(SegmentationModel, Protocol):
    """A segmentation model that also says how sure it is."""

    def score(self, sweep: Sweep) -> Array:
        """Scores (n, classes) float32 of each return of a sweep, before a softmax: the highest is the answer."""


@runtime_checkable
class FeatureModel(Protocol):
    """A model whose inner features can be compared between sweeps."""

    def embed(self, sweep: Sweep) -> Array:
        """Features (k, d) float32 of what the model saw in a sweep: a row for each return, cell or object."""


@runtime_checkable
class ModelOfLogs(Protocol):
    """A model that must know the log whose sweeps it reads: its scale of intensities, or which results are whose."""

    def for_log(self, log: Log) -> SegmentationModel:
        """The model for the sweeps of a log."""


@runtime_checkable
class DetectionModel(Protocol):
    """A model that finds objects."""

    @property
    def classes(self) -> tuple[str, ...]:
        """Names of the classes that it finds."""

    def detect(self, sweep: Sweep) -> Detections:
        """The objects in a sweep."""
