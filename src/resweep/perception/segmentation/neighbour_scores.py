"""Scores of returns from those of cells: a return that its cell does not show takes those of its neighbours.

Range images keep the nearest return of each cell. What lies behind it is asked for among the cells around, as
RangeNet++ does (Milioto 2019, section III-D): the few whose range is nearest, within a cutoff.
"""

from __future__ import annotations

import numpy as np

from resweep.perception.segmentation.sweep_images import OCCUPIED, RANGE, SweepImage
from resweep.pose import Array

WINDOW = 5  # cells across, of the neighbours
NEAREST = 5  # of them, that are averaged
CUTOFF_M = 1.0  # beyond which a neighbour is another surface


def average_near(image: SweepImage, scores: Array) -> Array:
    """Scores (n, c) float32 of the returns of an image from those of its cells (c, rows, columns).

    A return that no neighbour is near has the scores of its cell.
    """
    found = np.ascontiguousarray(scores[:, image.row, image.column].T)
    hidden = np.flatnonzero(image.hidden)
    if not len(hidden):
        return found
    rows, columns = image.nearest.shape
    reach = np.arange(WINDOW) - WINDOW // 2
    row = image.row[hidden, None, None] + reach[None, :, None]
    column = (image.column[hidden, None, None] + reach[None, None, :]) % columns
    inside = (row >= 0) & (row < rows)
    row, column = np.broadcast_arrays(np.clip(row, 0, rows - 1), column)
    row, column = row.reshape(len(hidden), -1), column.reshape(len(hidden), -1)
    away = np.abs(image.values[RANGE, row, column] - image.range[hidden, None])
    there = np.broadcast_to(inside, (len(hidden), WINDOW, WINDOW)).reshape(away.shape)
    away[~there | (image.values[OCCUPIED, row, column] == 0) | (away > CUTOFF_M)] = np.inf
    chosen = np.argsort(away, axis=1, kind="stable")[:, :NEAREST]
    weight = np.isfinite(np.take_along_axis(away, chosen, 1)).astype(np.float32)
    near = scores[:, np.take_along_axis(row, chosen, 1), np.take_along_axis(column, chosen, 1)]
    total, count = (near * weight).sum(axis=2).T, weight.sum(axis=1)
    some = count > 0
    found[hidden[some]] = total[some] / count[some, None]
    return found
