"""An open-set baseline: what a closed segmenter is less sure of than of known sweeps, clustered into instances.

1. Each return gets the class of the highest score, and a measure of how unknown it is (`Measure`).
2. A return is *strange* where the measure is above that of the share ``quantile`` of the above-ground returns of
   recordings that hold no unknown objects: those that the model was trained on. No scene with unknown objects is used.
3. All returns above ground are clustered by their distance (`find_clusters`). What has the size of an object is
   unknown if at least ``strange_share`` of it is strange, and a thing if half of it was called one.
4. In what is larger, such as cars along a hedge, the returns of things alone are clustered again. Unknown objects are
   therefore found where they stand free: strange parts of hedges and walls are no objects.

All other returns keep their class, and have no instance.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from pydantic import Field
from scipy.spatial import cKDTree

from resweep.config import Positive, Share, Spec
from resweep.errors import InputError
from resweep.labels import LabelSet
from resweep.perception.models import ScoringModel
from resweep.perception.open_set.instance_clusters import RADIUS_M, RADIUS_PER_M, find_clusters
from resweep.perception.open_set.segments import THINGS, UNKNOWN_CLASS, Segments
from resweep.perception.open_set.unknown_scores import Measure, UnknownScore, fit_measure
from resweep.pose import Array
from resweep.quantities import Count
from resweep.sweep import Sweep

_NEIGHBOURS = 8  # returns of the ground around, whose median is its height
_THING_SHARE = 0.5  # of a cluster that must be called a thing, for it to be one
_MAX_SAMPLE = 20000  # returns of a sweep that the measure is fitted to


class OpenSetConfig(Spec):
    """Settings of the open-set baseline."""

    measure: Measure = "energy"
    """What says how unknown a return is: energy, one minus the highest probability, or the distance to classes."""
    quantile: Share = 0.8
    """Share of the known above-ground returns whose measure is below the threshold."""
    strange_share: Share = 0.3
    """Share of a cluster that must be strange for it to be unknown."""
    above_m: Positive = 0.15
    """Height above the ground from which a return belongs to an object, metres."""
    radius_m: Positive = RADIUS_M
    """Returns nearer to each other are of one object, metres."""
    radius_per_m: Share = RADIUS_PER_M
    """The same as a share of their range, where that is more."""
    min_returns: Count = 30
    """Returns of the smallest instance."""
    max_size_m: Positive = 12.0
    """Diagonal of the largest instance seen from above, metres."""
    ground: Annotated[tuple[str, ...], Field(max_length=100)] = ("road", "other ground")
    """Classes of the model that are ground; those that it does not have are left out."""


@dataclass(frozen=True, eq=False)
class OpenSetBaseline:
    """A closed segmenter that says unknown; use `fit_baseline`.

    ``measure`` is the fitted measure and ``threshold`` the number above which a return is strange.
    """

    model: ScoringModel
    config: OpenSetConfig
    measure: UnknownScore
    threshold: float

    @property
    def classes(self) -> tuple[str, ...]:
        """Names of the classes of the model, and `UNKNOWN_CLASS`."""
        return (*self.model.classes, UNKNOWN_CLASS)

    def find_segments(self, sweep: Sweep) -> Segments:
        """The class and the instance of each return of a sweep."""
        scores = self.model.score(sweep)
        kind = scores.argmax(axis=1).astype(np.uint8)
        strange = self.measure(scores) > self.threshold
        points = np.asarray(sweep.points, np.float64)
        ground = is_ground(kind, self.model.classes, self.config.ground) & ~strange
        return self.group(points, kind, find_heights(points, ground) > self.config.above_m, strange)

    def find_truth(self, label: Array, labels: LabelSet) -> Array:
        """The number in `classes` (n,) uint8 of true labels (n,) of a vocabulary; void for others."""
        return self.model.find_truth(label, labels)

    def group(self, points: Array, kind: Array, above: Array, strange: Array) -> Segments:
        """Segments of points (n, 3), each with its answer and whether it is ``above`` ground and ``strange``."""
        names = self.classes
        unknown = names.index(UNKNOWN_CLASS)
        thing = np.array([name in THINGS for name in names])
        kind, instance = kind.copy(), np.zeros(len(kind), np.int64)
        free = np.zeros(len(kind), bool)
        for rows in (np.flatnonzero(above), np.flatnonzero(above & thing[kind])):
            rows = rows[~free[rows]]
            for own in self._list_objects(rows, points):
                free[own] = True
                if np.mean(strange[own]) >= self.config.strange_share:
                    kind[own] = unknown
                elif np.mean(thing[kind[own]]) >= _THING_SHARE:
                    kind[own] = np.bincount(kind[own][thing[kind[own]]]).argmax()
                else:
                    continue
                instance[own] = own[0] + 1
        return Segments(kind, instance)

    def _list_objects(self, rows: Array, points: Array) -> list[Array]:
        """The rows of each cluster of some ``rows`` of points (n, 3) that has the size of an object."""
        clusters = find_clusters(points[rows], self.config.radius_m, self.config.radius_per_m)
        order = np.argsort(clusters, kind="stable")
        split = np.split(rows[order], np.cumsum(np.bincount(clusters, minlength=1)[1:])[:-1]) if len(rows) else []
        return [own for own in split if len(own) >= self.config.min_returns and self._is_object(points[own, :2])]

    def _is_object(self, places: Array) -> bool:
        return float(np.hypot(*np.ptp(places, axis=0))) <= self.config.max_size_m


def fit_baseline(model: ScoringModel, sweeps: Iterable[Sweep], config: OpenSetConfig | None = None) -> OpenSetBaseline:
    """The baseline of a model; ``sweeps`` hold no unknown objects, such as those that the model was trained on.

    Example: ``fit_baseline(load_segmenter("town.model").for_log(log), log)``
    """
    config = config or OpenSetConfig()
    known, above = [], []
    for sweep in sweeps:
        scores = model.score(sweep)
        ground = is_ground(scores.argmax(axis=1), model.classes, config.ground)
        tall = scores[find_heights(np.asarray(sweep.points, np.float64), ground) > config.above_m]
        known.append(scores[:: max(1, len(scores) // _MAX_SAMPLE)])
        above.append(tall[:: max(1, len(tall) // _MAX_SAMPLE)])
    if not sum(len(scores) for scores in above):
        raise InputError("open-set baseline: the sweeps have no return above ground; give others")
    measure = fit_measure(config.measure, known)
    threshold = float(np.quantile(measure(np.concatenate(above)), config.quantile))
    return OpenSetBaseline(model, config, measure, threshold)


def is_ground(kind: Array, classes: tuple[str, ...], ground: tuple[str, ...]) -> Array:
    """Whether each class number (n,) is of the ground; a model without any class of the ground is an error."""
    named = np.array([name in ground for name in classes])
    if not named.any():
        raise InputError(
            f"open-set baseline: the model has none of the ground classes {', '.join(ground)}, but "
            f"{', '.join(classes)}; give those of its classes that are ground"
        )
    return np.asarray(named[kind])


def find_heights(points: Array, ground: Array) -> Array:
    """Height (n,) of points (n, 3) above the ``ground`` (n,) around them, seen from above; 0 where there is none."""
    place = points[ground]
    if not len(place):
        return np.zeros(len(points))
    near = cKDTree(place[:, :2]).query(points[:, :2], k=min(_NEIGHBOURS, len(place)))[1].reshape(len(points), -1)
    return np.asarray(points[:, 2] - np.median(place[near, 2], axis=1))
