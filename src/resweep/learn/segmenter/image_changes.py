"""Changed images: turned, mirrored, mixed with others, with objects of others, other noise and fewer returns."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from resweep.learn.segmenter.config import ImageAugmentConfig
from resweep.learn.segmenter.image_samples import IGNORED, ImageSample
from resweep.perception.segmentation.sweep_images import INTENSITY, OCCUPIED, RANGE, X, Y, Z
from resweep.pose import Array

_MIN_CELLS = 20  # of an object, to be worth putting in
Parts = tuple[Array, Array]  # values (6, rows, columns) and classes (rows, columns)


def draw_image(samples: Sequence[ImageSample], config: ImageAugmentConfig, rng: np.random.Generator) -> Parts:
    """The values and classes of a sweep that is drawn and changed."""
    values, label = turn(*_take(samples[int(rng.integers(len(samples)))]), rng)
    if rng.random() < config.mix:
        values, label = _mix(values, label, *turn(*_take(samples[int(rng.integers(len(samples)))]), rng), rng)
    for _ in range(int(rng.integers(config.paste + 1)) if config.paste else 0):
        _paste_object(values, label, samples[int(rng.integers(len(samples)))], rng)
    _distort(values, config, rng)
    _drop_returns(values, label, config.drop, rng)
    return values, label


def turn(values: Array, label: Array, rng: np.random.Generator) -> Parts:
    """The image of the same sweep, had the sensor been turned, half of the time as a mirror shows it."""
    values, label = turn_by(values, label, int(rng.integers(label.shape[1])))
    if rng.random() < 0.5:
        values, label = values[:, :, ::-1].copy(), label[:, ::-1].copy()
        values[Y] *= -1
    return values, label


def turn_by(values: Array, label: Array, columns: int) -> Parts:
    """The image of a sweep after a clockwise turn of all it sees by so many columns."""
    values, label = np.roll(values, columns, 2), np.roll(label, columns, 1)
    angle = -2 * math.pi * columns / label.shape[1]
    x, y = values[X].copy(), values[Y].copy()
    values[X] = math.cos(angle) * x - math.sin(angle) * y
    values[Y] = math.sin(angle) * x + math.cos(angle) * y
    return values, label


def _take(sample: ImageSample) -> Parts:
    return sample.image.values, sample.label


def _mix(values: Array, label: Array, other: Array, other_label: Array, rng: np.random.Generator) -> Parts:
    """The image with a sector of the other, of an eighth to half of a turn."""
    columns = label.shape[1]
    first, width = int(rng.integers(columns)), int(rng.integers(columns // 8, columns // 2))
    taken = (first + np.arange(width)) % columns
    values[:, :, taken], label[:, taken] = other[:, :, taken], other_label[:, taken]
    return values, label


def _paste_object(values: Array, label: Array, sample: ImageSample, rng: np.random.Generator) -> None:
    """Put an object of a sample into an image, in another direction; what is nearer hides what is farther."""
    objects, count = np.unique(sample.instance[sample.label != IGNORED], return_counts=True)
    objects = objects[(objects != 0) & (count >= _MIN_CELLS)]
    if not len(objects):
        return
    chosen = (sample.instance == rng.choice(objects)) & (sample.label != IGNORED)
    seen, number = turn_by(
        np.where(chosen, sample.image.values, 0),
        np.where(chosen, sample.label, IGNORED),
        int(rng.integers(label.shape[1])),
    )
    nearer = (number != IGNORED) & ((values[OCCUPIED] == 0) | (seen[RANGE] < values[RANGE]))
    values[:, nearer], label[nearer] = seen[:, nearer], number[nearer]


def _distort(values: Array, config: ImageAugmentConfig, rng: np.random.Generator) -> None:
    """Sizes, heights, ranges and intensities as another place and another sensor would have them."""
    there = values[OCCUPIED]
    noise = rng.standard_normal(there.shape, np.float32) * np.float32(rng.uniform(0, config.jitter_m))
    along = np.float32(rng.uniform(1 - config.scale, 1 + config.scale)) + noise / np.maximum(values[RANGE], 1.0)
    values[: Z + 1] *= along
    slope_x, slope_y = (np.float32(math.tan(math.radians(config.tilt_deg * item))) for item in rng.standard_normal(2))
    values[Z] += (values[X] * slope_x + values[Y] * slope_y + np.float32(rng.normal(0, config.height_m))) * there
    scatter = rng.standard_normal(there.shape, np.float32) * np.float32(rng.uniform(0, config.scatter))
    values[INTENSITY] = (values[INTENSITY] * np.float32(math.exp(rng.normal(0, config.gain))) + scatter) * there


def _drop_returns(values: Array, label: Array, max_share: float, rng: np.random.Generator) -> None:
    lost = rng.random(label.shape, np.float32) < rng.uniform(0, max_share)
    values[:, lost], label[lost] = 0.0, IGNORED
