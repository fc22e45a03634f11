"""Scores of labels: counts of predicted against true classes, and the intersection over union of each class."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from resweep.pose import Array
from resweep.segmentation.card import Scores


def count_pairs(truth: Array, predicted: Array, classes: int) -> Array:
    """How often (classes, classes) each true class, by row, is predicted as each, by column; without truth below 0."""
    known = truth >= 0
    pairs = truth[known].astype(np.int64) * classes + predicted[known]
    return np.bincount(pairs, minlength=classes * classes).reshape(classes, classes)


def find_iou(pairs: Array) -> Array:
    """Intersection over union (c,) of each class; NaN for one that does not truly occur."""
    hit = np.diagonal(pairs).astype(np.float64)
    true = pairs.sum(axis=1)
    union = true + pairs.sum(axis=0) - hit
    return np.where(true > 0, hit / np.maximum(union, 1), np.nan)


def mean_iou(pairs: Array) -> float:
    """The mean of `find_iou` over the classes that truly occur, 0 if none does."""
    iou = find_iou(pairs)
    return float(np.nanmean(iou)) if np.isfinite(iou).any() else 0.0


def make_scores(pairs: Array, names: Sequence[str], on: Sequence[str], sweeps: int) -> Scores:
    """The scores of some sweeps of the logs ``on``, from all their pairs."""
    iou = find_iou(pairs)
    total = int(pairs.sum())
    return Scores(
        on=tuple(on),
        sweeps=sweeps,
        points=total,
        miou=mean_iou(pairs),
        accuracy=float(np.trace(pairs) / max(total, 1)),
        iou={name: float(value) for name, value in zip(names, iou, strict=True) if np.isfinite(value)},
    )
