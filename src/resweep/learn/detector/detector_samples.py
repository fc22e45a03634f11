"""Training sweeps: their returns, the boxes that teach, and the objects that can be put into other sweeps."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from resweep import portable
from resweep.boxes import Boxes
from resweep.errors import ResweepError
from resweep.intensity_scale import to_relative
from resweep.learn.detector.detector_config import DetectorConfig
from resweep.log import Log
from resweep.perception.detection.truth import TrueBoxes, find_truth
from resweep.pose import Array
from resweep.progress import track

_GROUND_M = 0.2  # above the bottom of a box: what is below is ground
_AROUND_M = 0.1  # returns that belong to an object lie so far outside its box at most


@dataclass(frozen=True, eq=False)
class DetectorSample:
    """A sweep: returns ``points`` (n, 4) float32 with x, y, z and intensity as a share of full scale, and its truth.

    ``polar`` (n, 2) float32 are azimuths, in turns, and distances from the sensor seen from above; none are kept of
    sweeps that were changed.
    ``boxes`` (k, 7) are x, y, z, length, width, height and yaw; ``number`` (k,) is the class, -1 for what is like one
    and teaches nothing.
    """

    points: Array
    polar: Array
    boxes: Array
    number: Array
    sector: tuple[float, float] | None
    truth: TrueBoxes


@dataclass(frozen=True, eq=False)
class PastedObject:
    """An object (n, 4) of a sweep that can be put into others, with its box (7,) and class."""

    points: Array
    box: Array
    number: int


def read_samples(log: Log, config: DetectorConfig, show: bool = True) -> list[DetectorSample]:
    """The sweeps of a log as samples; an error if it has neither boxes nor instances."""
    truth = find_truth(log, config.annotated, show)
    scale = log.full_scale
    samples = []
    for sweep, true in zip(track(log, f"reading {log.name}", show=show), truth, strict=True):
        points = np.column_stack([sweep.deskewed(), to_relative(sweep.intensity, scale)]).astype(np.float32)
        near = np.abs(points[:, :2]).max(axis=1) <= 1.1 * max(config.grid.reach_x_m, config.grid.reach_y_m)
        points, boxes = points[near], stack_boxes(true.boxes)
        number = number_boxes(true, config)
        samples.append(DetectorSample(points, measure_polar(points), boxes, number, true.sector, true))
    return samples


def measure_polar(points: Array) -> Array:
    """Azimuth in turns, and distance from above (n, 2) float32 of points (n, 3 or more)."""
    turn = portable.arctan2(points[:, 1], points[:, 0]) / (2 * math.pi)
    return np.column_stack([turn, portable.norm(points[:, :2])]).astype(np.float32)


def check_objects(samples: Sequence[DetectorSample], config: DetectorConfig) -> None:
    """Raise unless each class occurs in the samples."""
    present = {int(number) for sample in samples for number in sample.number}
    for number, name in enumerate(config.classes):
        if number not in present:
            raise ResweepError(
                f"training: no sweep has a '{name}' with {config.min_points} returns or more; "
                "give other logs, or other classes"
            )


def stack_boxes(boxes: Boxes) -> Array:
    """Boxes as rows (k, 7): x, y, z, length, width, height, yaw."""
    return np.column_stack([boxes.centre, boxes.size, boxes.yaw])


def number_boxes(truth: TrueBoxes, config: DetectorConfig) -> Array:
    """The class (k,) of each true box; -1 for what is like one but does not count, -2 for what is none of it."""
    number = np.full(len(truth), -2)
    for name in config.classes:
        number[truth.is_like(name)] = -1
    for at, name in enumerate(config.classes):
        number[truth.select(name, config.min_points)] = at
    return number


def gather_objects(samples: Sequence[DetectorSample], config: DetectorConfig) -> list[PastedObject]:
    """The objects of samples that have returns enough to be put elsewhere."""
    found = []
    for sample in samples:
        rows = np.flatnonzero(sample.number >= 0)
        for row, inside in zip(rows, _find_returns(sample, rows), strict=True):
            if len(inside) >= config.augment.paste_points:
                found.append(PastedObject(sample.points[inside], sample.boxes[row], int(sample.number[row])))
    return found


def _find_returns(sample: DetectorSample, rows: Array) -> list[Array]:
    """The returns on each of the boxes ``rows``, without the ground."""
    inside = sample.truth.boxes[rows].find_points(sample.points[:, :3], _AROUND_M)
    bottom = sample.boxes[rows, 2] - sample.boxes[rows, 5] / 2
    return [item[sample.points[item, 2] >= low + _GROUND_M] for item, low in zip(inside, bottom, strict=True)]
