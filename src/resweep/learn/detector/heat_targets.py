"""What a detector is to answer: heat maps with a peak on each object (CenterNet), and the boxes around it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from resweep import portable
from resweep.learn.detector.detector_augment import augment
from resweep.learn.detector.detector_config import DetectorConfig
from resweep.learn.detector.detector_samples import DetectorSample, PastedObject
from resweep.perception.detection.birds_eye import STRIDE, BirdsEyeGrid, draw_birds_eye
from resweep.perception.detection.decoding import BOX_CHANNELS, encode_boxes
from resweep.perception.detection.truth import is_in_sector
from resweep.pose import Array

_NARROW_CELLS = 0.6  # least standard deviation of a peak, in cells
_SPREAD = 6.0  # width of an object, in standard deviations of its peak (SFA3D's radius at an overlap of 0.7)
_AROUND_CELLS = 1.25  # of a middle, within which cells learn the box: peaks are off by a cell at times
_MARGIN_M = 0.3  # around what is not cared about
_ON_OBJECT = 0.8  # of the parts of sweeps


@dataclass(frozen=True, eq=False)
class Targets:
    """For each cell of the answers (rows, columns): ``heat`` (classes, ...), and ``cared`` (...), where it counts.

    ``box`` (8, ...) are the `BOX_CHANNELS` where ``has_box`` (...).
    """

    heat: Array
    cared: Array
    box: Array
    has_box: Array


def make_targets(sample: DetectorSample, grid: BirdsEyeGrid, classes: int) -> Targets:
    """The targets of a sweep."""
    rows, columns = grid.answer_shape
    middle = np.stack(np.meshgrid(np.arange(rows), np.arange(columns), indexing="ij"), axis=-1) + 0.5
    places = middle * grid.answer_m - [grid.reach_x_m, grid.reach_y_m]
    heat = np.zeros((classes, rows, columns), np.float32)
    cared = is_in_sector(places.reshape(-1, 2), sample.sector).reshape(rows, columns)
    nearest = np.full((rows, columns), np.inf)
    owner = np.full((rows, columns), -1)
    for at, (box, number) in enumerate(zip(sample.boxes, sample.number.tolist(), strict=True)):
        if number == -2:
            continue
        where = grid.find_answers(box[None])[0]
        reach = math.ceil(math.hypot(box[3], box[4]) / 2 / grid.answer_m) + 2
        part = tuple(
            slice(min(max(0, int(value) - reach), size), max(0, min(size, int(value) + reach + 1)))
            for value, size in zip(where, (rows, columns), strict=True)
        )
        if number < 0:
            cared[part] &= ~_covers(box, places[part])
            continue
        sigma = max(_NARROW_CELLS, box[4] / grid.answer_m / _SPREAD)
        apart = ((middle[part] - 0.5 - np.floor(where)) ** 2).sum(axis=-1)
        peak = portable.exp(-apart / (2 * sigma**2)).astype(np.float32)
        heat[number][part] = np.maximum(heat[number][part], peak)
        away = np.hypot(*np.moveaxis(middle[part] - where, -1, 0))
        closer = (away < nearest[part]) & (away <= _AROUND_CELLS)
        nearest[part] = np.where(closer, away, nearest[part])
        owner[part] = np.where(closer, at, owner[part])
    has_box = (owner >= 0) & cared
    box_targets = np.zeros((len(BOX_CHANNELS), rows, columns), np.float32)
    box_targets[:, has_box] = encode_boxes(sample.boxes[owner[has_box]], places[has_box], grid.answer_m).T
    return Targets(heat, cared, box_targets, has_box)


def _covers(box: Array, places: Array) -> Array:
    """Whether places (..., 2) lie in a box (7,) or a little beside it, seen from above."""
    c, s = math.cos(box[6]), math.sin(box[6])
    away = places - box[:2]
    along = np.abs(c * away[..., 0] + s * away[..., 1])
    aside = np.abs(c * away[..., 1] - s * away[..., 0])
    return np.asarray((along <= box[3] / 2 + _MARGIN_M) & (aside <= box[4] / 2 + _MARGIN_M))


def draw_batch(
    samples: Sequence[DetectorSample],
    objects: Sequence[PastedObject],
    config: DetectorConfig,
    rng: np.random.Generator,
) -> tuple[Array, Targets]:
    """Images (n, 3, crop, crop) and targets (n, ...) of parts of sweeps that are drawn and changed."""
    images, targets = [], []
    for _ in range(config.batch):
        sample = augment(samples[int(rng.integers(len(samples)))], objects, config.augment, rng)
        rows, columns = _choose_part(sample, config, rng)
        points = _select_part(sample.points, rows, columns, config.grid)
        image = draw_birds_eye(points[:, :3], points[:, 3], config.grid)
        whole = make_targets(sample, config.grid, len(config.classes))
        images.append(image[:, rows, columns])
        r, c = (slice(part.start // STRIDE, part.stop // STRIDE) for part in (rows, columns))
        targets.append(Targets(whole.heat[:, r, c], whole.cared[r, c], whole.box[:, r, c], whole.has_box[r, c]))
    fields = (np.stack([getattr(item, name) for item in targets]) for name in ("heat", "cared", "box", "has_box"))
    return np.stack(images), Targets(*fields)


def _select_part(points: Array, rows: slice, columns: slice, grid: BirdsEyeGrid) -> Array:
    """The returns (n, 4) that may be in a part of the image."""
    kept = np.ones(len(points), bool)
    for axis, (part, reach) in enumerate(((rows, grid.reach_x_m), (columns, grid.reach_y_m))):
        low, high = ((edge + more) * grid.cell_m - reach for edge, more in ((part.start, -1), (part.stop, 1)))
        kept &= (points[:, axis] >= low) & (points[:, axis] <= high)
    return points[kept]


def _choose_part(sample: DetectorSample, config: DetectorConfig, rng: np.random.Generator) -> tuple[slice, slice]:
    """Rows and columns of the image: mostly around an object, else anywhere."""
    grid, side = config.grid, config.crop_cells
    taught = np.flatnonzero((sample.number >= 0) & grid.is_inside(sample.boxes))
    if len(taught) and rng.random() < _ON_OBJECT:
        middle = grid.find_answers(sample.boxes[taught[int(rng.integers(len(taught)))]][None])[0] * STRIDE
        first = middle - side / 2 + rng.uniform(-0.35, 0.35, 2) * side
    else:
        first = rng.uniform(0, 1, 2) * (np.array(grid.shape) - side)
    first = np.clip(first // STRIDE * STRIDE, 0, np.array(grid.shape) - side).astype(int)
    return slice(int(first[0]), int(first[0]) + side), slice(int(first[1]), int(first[1]) + side)
