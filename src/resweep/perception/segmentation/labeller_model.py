"""The KPConv network of labels (C) as a model that judges."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from resweep.labels import LabelSet
from resweep.perception.segmentation.segment_classes import VocabularyClasses
from resweep.pose import Array
from resweep.segmentation import Labeller, load_labeller
from resweep.segmentation.features import thin_sweep
from resweep.sweep import Sweep


@dataclass(frozen=True, eq=False)
class LabellerModel:
    """Says of each return what it hit, by a model that `resweep learn semantics` wrote."""

    labeller: Labeller

    @classmethod
    def load(cls, path: str | Path) -> LabellerModel:
        """The model in the folder ``path``."""
        return cls(load_labeller(path))

    @property
    def _classes(self) -> VocabularyClasses:
        return VocabularyClasses(self.labeller.card.labels, tuple(self.labeller.card.classes))

    @property
    def classes(self) -> tuple[str, ...]:
        """Names of the classes."""
        return self._classes.names

    def segment(self, sweep: Sweep) -> Array:
        """The number in `classes` (n,) uint8 of each return of a sweep."""
        return np.asarray(np.argmax(self.score(sweep), axis=1).astype(np.uint8))

    def score(self, sweep: Sweep) -> Array:
        """Scores (n, classes) float32 of each return: those of the cell that it was thinned to."""
        card = self.labeller.card
        if not len(sweep):
            return np.zeros((0, len(card.classes)), np.float32)
        thinned = thin_sweep(sweep, card.cell_m, card.features)
        return np.asarray(self.labeller.scores(thinned)[thinned.cell])

    def find_truth(self, label: Array, labels: LabelSet) -> Array:
        """The number in `classes` (n,) uint8 of true labels (n,) of a vocabulary; `UNKNOWN` for others."""
        return self._classes.number(label, labels)
