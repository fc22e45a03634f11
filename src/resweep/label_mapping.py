"""Labels of one vocabulary in the ids of another."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from resweep.errors import InputError, ResweepError
from resweep.labels import LabelSet, list_broader_categories, load_labels
from resweep.pose import Array

if TYPE_CHECKING:
    from resweep.log import Log
    from resweep.sweep import Sweep


@dataclass(frozen=True)
class LabelMapping:
    """Which id of ``target`` stands for each id of ``source``.

    ``ids`` has every id of the source. ``broader`` are the ids whose class became a broader one (a van a car, a moving
    car a car), ``lost`` those without counterpart: they become unlabelled.
    """

    source: LabelSet
    target: LabelSet
    ids: Mapping[int, int]
    broader: tuple[int, ...] = ()
    lost: tuple[int, ...] = ()

    @cached_property
    def _table(self) -> tuple[Array, Array]:
        known = np.array(sorted(self.ids), np.int64)
        return known, np.array([self.ids[label] for label in known.tolist()], np.int32)

    def map(self, label: Array) -> Array:
        """Labels (n,) int32 of the target; an id that the source does not hold becomes unlabelled."""
        known, mapped = self._table
        given = np.asarray(label, np.int64)
        at = np.minimum(np.searchsorted(known, given), len(known) - 1)
        return np.where(known[at] == given, mapped[at], np.int32(self.target.unlabelled_id)).astype(np.int32)

    def lost_names(self, label: Array | None = None) -> list[str]:
        """The names of the classes without counterpart, or of those among ``label`` (n,), ids without a class too."""
        if label is None:
            return [self.source.class_name(item) for item in self.lost]
        ids = np.unique(np.asarray(label, np.int64)).tolist()
        return [self.source.class_name(item) for item in ids if item in self.lost or item not in self.ids]


def map_labels(source: LabelSet | str | Path, target: LabelSet | str | Path) -> LabelMapping:
    """How the ids of one vocabulary become those of another: by the category of their classes.

    A class goes to that of its own category, else to that of the nearest broader one, of things in motion if it is one
    of things in motion. An unlabelled id stays unlabelled. Both vocabularies must be known.

    Example: ``lidarseg = rs.map_labels("semantickitti", "nuscenes-lidarseg").ids[10]``
    """
    source, target = load_labels(source), load_labels(target)
    for which, labels in (("source", source), ("target", target)):
        if not labels.known:
            raise ResweepError(f"labels '{labels.name}': the {which} must be a known vocabulary to be mapped; name one")
    if source.same_as(target):
        return LabelMapping(source, target, {label: label for label in source.classes})
    ids, broader, lost = {}, [], []
    for label, item in source.classes.items():
        category = source.category(label)
        found = target.id_of_category(category, item.moving) if category else None
        if found is None:
            ids[label] = target.unlabelled_id
            if not item.unlabelled:
                lost.append(label)
            continue
        ids[label] = found
        exact = target.category(found) == list_broader_categories(category)[0]
        if not exact or target.classes[found].moving != item.moving:
            broader.append(label)
    return LabelMapping(source, target, ids, tuple(broader), tuple(lost))


def relabel(
    log: Log,
    labels: LabelSet | str | Path,
    *,
    source: LabelSet | str | Path | None = None,
    seen: set[int] | None = None,
) -> Log:
    """The log with the labels of its returns and boxes in another vocabulary, mapped as sweeps are read.

    ``source`` is the vocabulary of the log's ids where the log does not know it. Ids that occur are added to ``seen``
    as they are read: `LabelMapping.lost_names` names those that had no counterpart.

    Example: ``log = rs.relabel(rs.open_log("kitti/sequences/00"), "nuscenes-lidarseg")``
    """
    given = log.labels if source is None else load_labels(source)
    if not given.known:
        raise InputError(
            f"log '{log.name}': the meaning of its labels is unknown; name their vocabulary (source), "
            "such as semantickitti"
        )
    mapping = map_labels(given, labels)

    def mapped(sweep: Sweep) -> Sweep:
        if seen is not None:
            seen.update(np.unique(sweep.label).tolist())
        boxes = sweep.boxes
        if boxes is not None:
            boxes = replace(boxes, label=mapping.map(boxes.label))
        return replace(sweep, label=mapping.map(sweep.label), boxes=boxes)

    return log.map(mapped, f"labels {mapping.target.name}", labels=mapping.target)
