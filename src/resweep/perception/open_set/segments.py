"""What an open-set model says of a sweep: the class of each return, which may be unknown, and its instance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from resweep.errors import ResweepError
from resweep.labels import LabelSet
from resweep.pose import Array
from resweep.sweep import Sweep

UNKNOWN_CLASS = "unknown"
THINGS = ("vehicle", "person", UNKNOWN_CLASS)  # classes with instances; each other class is one segment of a sweep


@dataclass(frozen=True, eq=False)
class Segments:
    """Classes and instances of the returns of a sweep.

    ``kind`` (n,) uint8 is the number of the class in a list of names, `resweep.perception.models.UNKNOWN` for returns
    that do not count (void). ``instance`` (n,) int64 tells the instances of one class apart; 0 is none: a return of
    things without an instance is in no segment.
    """

    kind: Array
    instance: Array

    def __post_init__(self) -> None:
        kind, instance = np.asarray(self.kind), np.asarray(self.instance)
        if kind.ndim != 1 or kind.shape != instance.shape:
            raise ResweepError(f"segments: {kind.shape} classes, but {instance.shape} instances")
        object.__setattr__(self, "kind", kind.astype(np.uint8))
        object.__setattr__(self, "instance", instance.astype(np.int64))

    def __len__(self) -> int:
        return len(self.kind)


@runtime_checkable
class OpenSetModel(Protocol):
    """A model that finds known classes, and instances of what it does not know."""

    @property
    def classes(self) -> tuple[str, ...]:
        """Names of the classes; one of them is `UNKNOWN_CLASS`."""

    def find_segments(self, sweep: Sweep) -> Segments:
        """The class and the instance of each return of a sweep."""

    def find_truth(self, label: Array, labels: LabelSet) -> Array:
        """The number in ``classes`` (n,) uint8 of true labels (n,) of a vocabulary; void for others."""
