"""Judges from disk: whatever ``resweep learn`` wrote, by the kind that its card names."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from resweep.errors import InputError
from resweep.files.untrusted import read_json
from resweep.label_mapping import map_labels
from resweep.labels import LabelSet
from resweep.log import Log
from resweep.perception.judging.asking import Model
from resweep.perception.models import UNKNOWN
from resweep.pose import Array
from resweep.segmentation import Labeller, load_labeller
from resweep.segmentation.card import CARD
from resweep.sweep import Sweep

_AGAIN = "give the folder of a segmenter, detector or labeller that `resweep learn` wrote"


def open_model(path: str | Path, log: Log) -> Model:
    """The model in the folder ``path``, to judge the sweeps of a log."""
    file = Path(path) / CARD
    if not file.is_file():
        raise InputError(f"{path}: holds no model ({CARD} is missing); {_AGAIN}")
    data = read_json(file, _AGAIN)
    kind = str(data.get("kind")) if isinstance(data, dict) else "unknown"
    if kind == "semantics":
        return LabellingJudge(load_labeller(path))
    raise InputError(f"{file}: is the card of a model of kind '{kind:.40}', which is no judge; {_AGAIN}")


@dataclass(frozen=True, eq=False)
class LabellingJudge:
    """A `Labeller` as a segmentation model, whose classes are those of its card."""

    labeller: Labeller

    @property
    def classes(self) -> tuple[str, ...]:
        """Names of the classes."""
        return tuple(self.labeller.card.class_names)

    def segment(self, sweep: Sweep) -> Array:
        """The number in `classes` (n,) uint8 of each return."""
        return self._number(self.labeller.classify(sweep))

    def find_truth(self, label: Array, labels: LabelSet) -> Array:
        """The number in `classes` (n,) uint8 of true labels (n,); `UNKNOWN` for those without counterpart."""
        own = self.labeller.card.labels
        if not labels.known:
            return np.full(len(label), UNKNOWN, np.uint8)
        return self._number(label if labels.same_as(own) else map_labels(labels, own).map(label))

    def _number(self, label: Array) -> Array:
        found = np.full(len(label), UNKNOWN, np.uint8)
        for at, item in enumerate(self.labeller.card.classes):
            found[label == item] = at
        return found
