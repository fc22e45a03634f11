"""What a sweep truly holds: the boxes that count, those that nobody cares about, and the part that was annotated."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from resweep import portable
from resweep.boxes import Boxes
from resweep.categories import find_category
from resweep.errors import ResweepError
from resweep.log import Log
from resweep.perception.detection.instance_boxes import box_instances, gather_instances
from resweep.pose import Array
from resweep.progress import track
from resweep.sweep import Sweep

Annotated = Literal["auto", "everywhere", "camera"]
CAMERA_HALF_RAD = math.radians(40.0)  # KITTI's camera sees 1242 pixels at a focal length of 721: 81 degrees
_AHEAD_RAD = math.radians(75.0)  # annotators follow what leaves the image for a while
_ENOUGH_BOXES = 3  # to tell by them where objects were annotated

# What is like an object of a class, and is often called by its name: neither found nor mistaken (KITTI does so with
# vans and sitting persons).
LIKE = {
    "car": ("van", "truck", "bus", "trailer", "other vehicle", "construction vehicle"),
    "van": ("car", "truck", "bus", "trailer", "other vehicle"),
    "truck": ("van", "bus", "trailer", "construction vehicle", "other vehicle", "tram"),
    "bus": ("van", "truck", "trailer", "other vehicle", "tram"),
    "pedestrian": ("cyclist", "motorcyclist"),
    "cyclist": ("bicycle", "motorcyclist", "motorcycle", "pedestrian"),
}


@dataclass(frozen=True, eq=False)
class TrueBoxes:
    """The annotated objects of a sweep, in the frame of its pose.

    ``boxes`` have classes that are categories such as "car", and ``n_points``, their returns. ``counted`` (k,) is false
    for those that nobody cares about: a detection of one is neither right nor wrong. Where objects were annotated only
    ahead, ``sector`` has the bearing of the middle and the half angle, in radians; None means all around.
    """

    boxes: Boxes
    counted: Array
    sector: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "counted", np.asarray(self.counted, bool).reshape(-1))
        if len(self.counted) != len(self.boxes):
            raise ResweepError(f"true boxes: {len(self.boxes)} boxes, but {len(self.counted)} marks of what counts")

    def __len__(self) -> int:
        return len(self.boxes)

    def is_annotated(self, centres: Array) -> Array:
        """Whether positions (n, 2 or 3) lie in the part that was annotated."""
        return is_in_sector(centres, self.sector)

    def select(self, name: str, min_points: int) -> Array:
        """Which boxes (k,) count as objects of a class with at least so many returns; others are not cared about."""
        named = np.array([item == name for item in self.boxes.name], bool)
        enough = self.boxes.n_points >= min_points
        return np.asarray(self.counted & named & enough & self.is_annotated(self.boxes.centre))

    def is_like(self, name: str) -> Array:
        """Which boxes (k,) are of a class, or of one that is like it."""
        return np.array([item == name or item in LIKE.get(name, ()) for item in self.boxes.name], bool)


def is_in_sector(centres: Array, sector: tuple[float, float] | None) -> Array:
    """Whether positions (n, 2 or 3) are within a sector around the sensor; all are in None."""
    if sector is None:
        return np.ones(len(centres), bool)
    away = portable.arctan2(centres[:, 1], centres[:, 0]) - sector[0]
    return np.asarray(np.abs((away + math.pi) % (2 * math.pi) - math.pi) <= sector[1])


def find_truth(log: Log, annotated: Annotated = "auto", show: bool = True) -> list[TrueBoxes]:
    """The true objects of each sweep of a log: its annotated boxes, or boxes around the instances of its labels.

    ``annotated`` says where objects were annotated: ``everywhere``, only in the view of a ``camera`` ahead (KITTI),
    or ``auto``: in that of a camera if a log has three boxes or more and none of them behind the sensor or beside it.
    A log with neither boxes nor instances is an error.
    """
    if len(log) == 0:
        raise ResweepError(f"log '{log.name}': has no sweeps")
    boxed, instances = [], []
    for sweep in track(log, f"reading boxes of {log.name}", show=show):
        boxed.append(None if sweep.boxes is None else _count_returns(sweep, sweep.boxes))
        instances.append(gather_instances(sweep, log.labels))
    if any(boxes is not None and len(boxes) for boxes in boxed):
        return _take_annotated([_NO_BOXES if boxes is None else boxes for boxes in boxed], annotated)
    if any(len(found.instance) for found in instances):
        sector = None if annotated != "camera" else (0.0, CAMERA_HALF_RAD)
        return [TrueBoxes(boxes, counted, sector) for boxes, counted in box_instances(instances, log.labels)]
    raise ResweepError(
        f"log '{log.name}': has neither annotated boxes nor instances of vehicles in its labels; give a log that has"
    )


_NO_BOXES = Boxes(np.zeros((0, 3)), np.zeros((0, 3)), np.zeros(0), ())


def _take_annotated(found: Sequence[Boxes], annotated: Annotated) -> list[TrueBoxes]:
    sector = (0.0, CAMERA_HALF_RAD) if annotated == "camera" or _only_ahead(found, annotated) else None
    return [TrueBoxes(boxes, np.ones(len(boxes), bool), sector) for boxes in found]


def _only_ahead(found: Sequence[Boxes], annotated: Annotated) -> bool:
    if annotated != "auto" or sum(len(boxes) for boxes in found) < _ENOUGH_BOXES:
        return False
    return all(is_in_sector(boxes.centre, (0.0, _AHEAD_RAD)).all() for boxes in found)


def _count_returns(sweep: Sweep, boxes: Boxes) -> Boxes:
    """The annotated boxes of a sweep with their category for a name, and how many returns are in them."""
    names = tuple(find_category(name).name for name in boxes.name)
    return replace(boxes, name=names, n_points=boxes.count_points(sweep.deskewed()))
