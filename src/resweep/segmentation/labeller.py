"""A trained network at run time: sweeps in, labels out, by onnxruntime."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from resweep.inference.checked_network import CheckedNetwork, InputShape
from resweep.label_mapping import map_labels
from resweep.log import Log
from resweep.pose import Array
from resweep.segmentation.blocks import MAX_POINTS, find_reach, split_blocks
from resweep.segmentation.card import MODEL, SegmentationCard, read_model
from resweep.segmentation.features import ThinnedSweep, thin_sweep
from resweep.segmentation.pyramid import make_pyramid, turn
from resweep.sweep import Sweep

_PROBE_POINTS = 64  # of the sweep for which a network is checked before it is opened


@dataclass(frozen=True, eq=False)
class Labeller:
    """Labels sweeps by a model; use `load_labeller`.

    Each sweep is computed on one thread, so that its bytes do not depend on how many there are: label several sweeps
    at once to use more (`write_log` with ``workers=Threads(2)``).
    """

    card: SegmentationCard
    network: CheckedNetwork

    def scores(self, thinned: ThinnedSweep) -> Array:
        """Scores (m, c) float32 of the classes of the card for the points of a thinned sweep; the highest is taken."""
        total = np.zeros((len(thinned), len(self.card.classes)), np.float32)
        for vote in range(self.card.votes):
            total += self.scores_of(turn(thinned.points, 2 * math.pi * vote / self.card.votes), thinned.features)
        return total / np.float32(self.card.votes)

    def scores_of(self, points: Array, features: Array, max_points: int = MAX_POINTS) -> Array:
        """Scores (m, c) float32 by one vote: of points (m, 3) as they lie, with features (m, f).

        Clouds of more than ``max_points`` points are taken in blocks.
        """
        card = self.card
        scores = np.zeros((len(points), len(card.classes)), np.float32)
        for rows, around in split_blocks(points, find_reach(card.cell_m, card.levels), max_points):
            pyramid = make_pyramid(points[around], card.cell_m, card.levels, card.neighbours)
            given = {"features": features[around], **pyramid.inputs()}
            found = self.network.run(given, (len(around), len(card.classes)))
            scores[rows] = found[np.searchsorted(around, rows)]
        return scores

    def classify(self, sweep: Sweep) -> Array:
        """Labels (n,) int32 of the returns of a sweep, in the vocabulary of the card."""
        if len(sweep) == 0:
            return np.zeros(0, np.int32)
        thinned = thin_sweep(sweep, self.card.cell_m, self.card.features)
        best = np.argmax(self.scores(thinned), axis=1)
        return np.asarray(np.array(self.card.classes, np.int32)[best[thinned.cell]])


def load_labeller(path: str | Path) -> Labeller:
    """The model in the folder ``path``, ready to label sweeps. Nothing in the file is executed but its network.

    Example: ``log = label_log(rs.open_log("drive"), load_labeller("town.model"))``
    """
    return open_labeller(*read_model(path), Path(path) / MODEL)


def open_labeller(model: bytes, card: SegmentationCard, file: Path) -> Labeller:
    """The network ``model`` and its card, ready to label; ``file`` names it in errors."""
    inputs, levels = _list_inputs(card)
    # The sizes of a network's own values do not depend on how many points there are: a few are enough to check it.
    probe = {
        name: (_PROBE_POINTS - levels[name], *(size or 0 for size in item.shape[1:])) for name, item in inputs.items()
    }
    expected = (_PROBE_POINTS, len(card.classes))
    advice = "it must be the network of its card: train again"
    return Labeller(card, CheckedNetwork(model, str(file), inputs, probe, expected, advice))


def _list_inputs(card: SegmentationCard) -> tuple[dict[str, InputShape], dict[str, int]]:
    """What a network of the card takes by name, and the level whose points each has rows for."""
    levels = {"features": 0}
    for level in range(card.levels):
        levels |= {f"points{level}": level, f"same{level}": level}
    for level in range(card.levels - 1):
        levels |= {f"down{level}": level + 1, f"up{level}": level}
    near = InputShape("int32", (None, card.neighbours))
    kinds = {
        "features": InputShape("float32", (None, len(card.features))),
        "points": InputShape("float32", (None, 3)),
        **{"same": near, "down": near, "up": InputShape("int32", (None,))},
    }
    return {name: kinds[name.rstrip("01234567")] for name in levels}, levels


def label_log(log: Log, labeller: Labeller, prepare: Callable[[Sweep, int], Sweep] | None = None) -> Log:
    """The log with the labels that a model gives its returns as they are read; everything else stays.

    The model sees each sweep as ``prepare(sweep, at)`` gives it (default: as it is), with the same returns.
    Classes of annotated boxes are mapped to the vocabulary of the model, or are unlabelled where theirs is unknown.
    """
    target = labeller.card.labels
    mapping = map_labels(log.labels, target) if log.labels.known else None

    def labelled(sweep: Sweep, at: int) -> Sweep:
        boxes = sweep.boxes
        if boxes is not None:
            nothing = np.full(len(boxes.label), target.unlabelled_id, np.int32)
            boxes = replace(boxes, label=nothing if mapping is None else mapping.map(boxes.label))
        seen = sweep if prepare is None else prepare(sweep, at)
        return replace(sweep, label=labeller.classify(seen), boxes=boxes)

    return log.map(labelled, "labels by a model", indexed=True, labels=target)
