"""The true segments of simulated sweeps: what was put in is unknown; cars have the instances of the recording."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from scipy.spatial import cKDTree

from resweep.labels import LabelSet
from resweep.log import Log
from resweep.perception.models import UNKNOWN
from resweep.perception.open_set.segments import THINGS, UNKNOWN_CLASS, Segments
from resweep.pose import Array, transform
from resweep.sweep import Sweep

_NEAR_M = 1.0  # a return farther from all recorded ones of its class has no known instance


class KnowsTruth(Protocol):
    """What numbers true labels: any segmentation model."""

    @property
    def classes(self) -> tuple[str, ...]:
        """Names of the classes."""

    def find_truth(self, label: Array, labels: LabelSet) -> Array:
        """The number in ``classes`` (n,) of true labels (n,); `UNKNOWN` for others."""


class RecordedInstances:
    """Instances of the things of a recording, by place: a world does not keep them. ``model`` numbers the labels."""

    def __init__(self, log: Log, model: KnowsTruth) -> None:
        points, instance, kind = [np.zeros((0, 3))], [np.zeros(0, np.int64)], [np.zeros(0, np.uint8)]
        things = [at for at, name in enumerate(model.classes) if name in THINGS]
        for sweep in log:
            found = model.find_truth(sweep.label, log.labels)
            own = np.isin(found, things) & (sweep.instance > 0)
            points.append(transform(sweep.pose, sweep.points[own]))
            instance.append(sweep.instance[own].astype(np.int64))
            kind.append(found[own])
        self._instance, self._kind = np.concatenate(instance), np.concatenate(kind)
        place = np.concatenate(points)
        self._trees = {int(at): cKDTree(place[self._kind == at]) for at in np.unique(self._kind)}

    def find(self, sweep: Sweep, kind: Array) -> Array:
        """The instance (n,) of each return of a sweep with the class ``kind`` (n,), of the nearest recorded return of
        that class; 0 where none is near."""
        found = np.zeros(len(kind), np.int64)
        for at, tree in self._trees.items():
            rows = np.flatnonzero(kind == at)
            if len(rows):
                far, near = tree.query(transform(sweep.pose, sweep.points[rows]), distance_upper_bound=_NEAR_M)
                numbers = np.append(self._instance[self._kind == at], 0)
                found[rows] = np.where(np.isfinite(far), numbers[near], 0)
        return found


def find_true_segments(
    sweep: Sweep, labels: LabelSet, model: KnowsTruth, recorded: RecordedInstances, inserted: Sequence[int]
) -> Segments:
    """The true classes, numbered as those of ``model`` with `UNKNOWN_CLASS` behind, and instances of a sweep.

    ``inserted`` are the instances of the objects that were put in. Things without an instance are void.
    """
    kind = model.find_truth(sweep.label, labels).copy()
    instance = recorded.find(sweep, kind)
    things = [at for at, name in enumerate(model.classes) if name in THINGS]
    kind[np.isin(kind, things) & (instance == 0)] = UNKNOWN
    new = np.isin(sweep.instance, np.asarray(inserted, np.int64)) & (sweep.instance > 0)
    names = model.classes if UNKNOWN_CLASS in model.classes else (*model.classes, UNKNOWN_CLASS)
    kind[new] = names.index(UNKNOWN_CLASS)
    instance[new] = sweep.instance[new]
    return Segments(kind, instance)
