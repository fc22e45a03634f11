"""Sweeps as SemanticKITTI labels them: in its vocabulary, with moving and static objects apart."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from resweep.label_mapping import map_labels
from resweep.labels import LabelSet, load_labels
from resweep.pose import Array
from resweep.sweep import Sweep

LABELS = load_labels("semantickitti")
MOVING_MPS = 0.2  # an object is in motion above this speed


def relabel_sweep(sweep: Sweep, labels: LabelSet) -> Sweep:
    """The sweep with the ids of its returns and boxes, given in ``labels``, in SemanticKITTI's vocabulary.

    Objects with a box and a known velocity get the id for moving things (252 to 259) if they move, and the other
    one if they do not. Ids of unknown meaning stay as they are.
    """
    if not labels.known:
        return sweep
    if not labels.same_as(LABELS):
        mapping = map_labels(labels, LABELS)
        boxes = None if sweep.boxes is None else replace(sweep.boxes, label=mapping.map(sweep.boxes.label))
        sweep = replace(sweep, label=mapping.map(sweep.label), boxes=boxes)
    return _mark_moving(sweep)


def _mark_moving(sweep: Sweep) -> Sweep:
    """The sweep with ids of moving things, of those objects whose velocity is known."""
    boxes = sweep.boxes
    if boxes is None or not len(boxes):
        return sweep
    speed = np.linalg.norm(boxes.velocity, axis=1)
    known = np.isfinite(speed)
    label, box_label = sweep.label.copy(), boxes.label.copy()
    for moving in (False, True):
        chosen = known & ((speed > MOVING_MPS) == moving)
        tracks = boxes.track[chosen & (boxes.track > 0)]
        rows = np.isin(sweep.instance, tracks)
        label[rows] = _choose_ids(label[rows], moving)
        box_label[chosen] = _choose_ids(box_label[chosen], moving)
    return replace(sweep, label=label, boxes=replace(boxes, label=box_label))


def _choose_ids(label: Array, moving: bool) -> Array:
    """The ids (n,) of the same classes in motion, or at rest; a class that has only one keeps it."""
    found = np.array(label)
    for given in np.unique(found).tolist():
        category = LABELS.category(given)
        other = LABELS.id_of_category(category, moving) if category else None
        found[label == given] = given if other is None else other
    return found
