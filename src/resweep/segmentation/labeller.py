"""A trained network at run time: sweeps in, labels out, by onnxruntime."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from resweep.errors import InputError
from resweep.label_mapping import map_labels
from resweep.log import Log
from resweep.optional import require
from resweep.pose import Array
from resweep.segmentation.blocks import MAX_POINTS, find_reach, split_blocks
from resweep.segmentation.card import MODEL, SegmentationCard, read_model
from resweep.segmentation.features import ThinnedSweep, thin_sweep
from resweep.segmentation.pyramid import make_pyramid, turn
from resweep.sweep import Sweep


@dataclass(frozen=True, eq=False)
class Labeller:
    """Labels sweeps by a model; use `load_labeller`.

    Each sweep is computed on one thread, so that its bytes do not depend on how many there are: label several sweeps
    at once to use more (`write_log` with ``workers=Threads(2)``).
    """

    card: SegmentationCard
    session: Any

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
            (found,) = self.session.run(None, {"features": features[around], **pyramid.inputs()})
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
    runtime = require("onnxruntime", "labelling by a model")
    options = runtime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    try:
        # From bytes: a network that refers to other files finds none.
        session = runtime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # whatever its parser raises
        reason = " ".join(str(error).split())[:200]
        raise InputError(f"{file}: is no network that onnxruntime takes ({reason}); train again") from None
    _check_fit(session, card, file)
    return Labeller(card, session)


def _check_fit(session: Any, card: SegmentationCard, file: Path) -> None:
    """Raise unless the network takes and gives what its card lists."""
    names = {item.name: item.shape for item in session.get_inputs()}
    levels = range(card.levels)
    below = range(card.levels - 1)
    expected = {"features", *(f"{name}{at}" for name in ("points", "same") for at in levels)}
    expected |= {f"{name}{at}" for name in ("down", "up") for at in below}
    (given, *more) = session.get_outputs()
    fits = set(names) == expected and names["features"][-1] == len(card.features)
    if not fits or more or given.shape[-1] != len(card.classes):
        raise InputError(
            f"{file}: does not fit its card ({len(card.features)} features, {card.levels} levels, {len(card.classes)} "
            "classes); train again"
        )


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
