"""From what a detector's network gives to boxes: peaks of heat maps, without suppression by overlap (CenterNet)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import ndimage

from resweep import portable
from resweep.boxes import Boxes
from resweep.perception.detection.birds_eye import BirdsEyeGrid
from resweep.perception.models import Detections
from resweep.pose import Array

# What the network gives of a cell beside the heat of each class: where the middle is from that of the cell, in cells;
# its height above the sensor, metres; logarithms of length, width and height in metres; and the sine and cosine of
# twice the heading, as a box that is turned by half a turn is the same box.
BOX_CHANNELS = ("along", "aside", "height", "length", "width", "tall", "sin2", "cos2")
MAX_DETECTIONS = 100
PEAK_CELLS = 3  # the window in which a peak is the largest
_MAX_LOG_SIZE = 4.0  # no object is longer than 55 m


def encode_boxes(boxes: Array, middles: Array, answer_m: float) -> Array:
    """The `BOX_CHANNELS` (n, 8) of boxes (n, 7: x y z length width height yaw) at cells with ``middles`` (n, 2)."""
    offset = (boxes[:, :2] - middles) / answer_m
    turn = 2 * boxes[:, 6]
    heading = np.column_stack([portable.sin(turn), portable.cos(turn)])
    return np.column_stack([offset, boxes[:, 2], portable.log(boxes[:, 3:6]), heading])


def decode(answers: Array, grid: BirdsEyeGrid, classes: Sequence[str], min_score: float) -> Detections:
    """The detections in answers (classes + 8, rows, columns): logits of the heat of each class, and `BOX_CHANNELS`."""
    heat = 1.0 / (1.0 + portable.exp(-answers[: len(classes)].astype(np.float64)))
    top = ndimage.maximum_filter(heat, size=(1, PEAK_CELLS, PEAK_CELLS), mode="constant")
    number, row, column = np.nonzero((heat >= top) & (heat >= min_score))
    score = heat[number, row, column]
    order = np.argsort(-score, kind="stable")[:MAX_DETECTIONS]
    number, row, column, score = number[order], row[order], column[order], score[order]
    given = answers[len(classes) : len(classes) + len(BOX_CHANNELS), row, column].astype(np.float64).T
    place = (np.column_stack([row, column]) + 0.5 + given[:, :2]) * grid.answer_m - [grid.reach_x_m, grid.reach_y_m]
    size = portable.exp(np.clip(given[:, 3:6], -_MAX_LOG_SIZE, _MAX_LOG_SIZE))
    yaw = portable.arctan2(given[:, 6], given[:, 7]) / 2
    names = [classes[item] for item in number.tolist()]
    return Detections(Boxes(np.column_stack([place, given[:, 2]]), size, yaw, names), score)
