"""Scores of returns from those of cells, with the help of neighbours on the same surface.

Range images keep the nearest return of each cell, and a network blurs edges between near and far. So cells are averaged
with those around them at about their range, a few times over; what lies behind the return of its cell takes the scores
of the cells around at its own range. RangeNet++ votes for both in one larger window (Milioto 2019, section III-D).
"""

from __future__ import annotations

import numpy as np

from resweep.perception.segmentation.sweep_images import RANGE, SweepImage
from resweep.pose import Array

SAME_SURFACE_M = 0.5  # cells whose ranges differ by more see different surfaces
BEHIND_M = 1.0  # the same for what lies behind the return of its cell
WINDOW = 5  # cells across, around what lies behind


def find_scores(image: SweepImage, scores: Array, rounds: int) -> Array:
    """Scores (n, c) float32 of the returns of an image from those of its cells (c, rows, columns).

    Cells are averaged with their eight neighbours so many ``rounds``.
    """
    ranges = np.where(image.nearest >= 0, image.values[RANGE], np.float32(np.inf))
    for _ in range(rounds):
        scores = _average(scores, ranges)
    found = np.ascontiguousarray(scores[:, image.row, image.column].T)
    hidden = np.flatnonzero(image.hidden)
    if len(hidden):
        found[hidden] = _score_hidden(image, hidden, scores, ranges)
    return found


def _average(scores: Array, ranges: Array) -> Array:
    """The mean (c, rows, columns) of each cell and its neighbours on the same surface; columns go round."""
    rows, columns = ranges.shape
    total, count = scores.copy(), np.ones_like(ranges)
    around = np.pad(np.pad(ranges, ((1, 1), (0, 0)), constant_values=np.inf), ((0, 0), (1, 1)), mode="wrap")
    beside = np.pad(np.pad(scores, ((0, 0), (1, 1), (0, 0))), ((0, 0), (0, 0), (1, 1)), mode="wrap")
    for at in (0, 1, 2, 3, 5, 6, 7, 8):
        window = slice(at // 3, at // 3 + rows), slice(at % 3, at % 3 + columns)
        with np.errstate(invalid="ignore"):  # of empty cells
            same = (np.abs(around[window] - ranges) <= SAME_SURFACE_M).astype(np.float32)
        total += same * beside[:, window[0], window[1]]
        count += same
    return np.asarray(total / count)


def _score_hidden(image: SweepImage, hidden: Array, scores: Array, ranges: Array) -> Array:
    """Scores (h, c) of hidden returns: the mean of the cells around at their range, or else those of their cell."""
    rows, columns = ranges.shape
    row, column, own = image.row[hidden], image.column[hidden], image.range[hidden]
    total = np.zeros((len(hidden), len(scores)), np.float32)
    count = np.zeros(len(hidden), np.float32)
    reach = range(-(WINDOW // 2), WINDOW // 2 + 1)
    for down in reach:
        for right in reach:
            at, beside = np.clip(row + down, 0, rows - 1), (column + right) % columns
            same = (np.abs(ranges[at, beside] - own) <= BEHIND_M) & (at == row + down)
            total[same] += scores[:, at[same], beside[same]].T
            count += same
    alone = count == 0
    total[alone] = scores[:, row[alone], column[alone]].T
    return np.asarray(total / np.maximum(count, 1)[:, None])
