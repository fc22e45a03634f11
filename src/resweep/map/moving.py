"""Which points of a map stand still: by label, by annotated boxes, or by what later beams see through.

What decides is gathered while the sweeps are read, so that none is read again: the boxes of every sweep, and its range
image as long as neither labels nor boxes say what moves. The rule that follows from it can be applied to any part of
the map.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from resweep.boxes import Boxes
from resweep.errors import ResweepError
from resweep.labels import LabelSet
from resweep.log import Log
from resweep.map.cloud import Cloud
from resweep.map.config import MapConfig, VisibilityConfig
from resweep.map.images import HeldImages, Images, ImageStore
from resweep.map.moving_boxes import BOX_MARGIN_M, BoxHistory
from resweep.map.visibility import RangeImage, find_seen_through
from resweep.pose import Array, inverse, transform
from resweep.progress import track
from resweep.sweep import Sweep

Method = Literal["labels", "boxes", "visibility", "none"]


@dataclass(frozen=True, eq=False)
class MovingRule:
    """Which points of a log's map stand still; it can be pickled, and applied to the points of any part of the map.

    With method ``boxes``, points of the tracks ``moved`` move, and so do those in the boxes ``expected`` at their
    sweep, which are in the frame of its pose in ``poses`` (n, 4, 4). With ``visibility``, those that ``images`` see
    through. With any other method, or without images, none does: points of moving classes are left out before.
    """

    method: Method
    poses: Array
    visibility: VisibilityConfig = field(default_factory=VisibilityConfig)
    images: Images | None = None
    moved: Array = field(default_factory=lambda: np.zeros(0, np.int64))
    expected: Mapping[int, Boxes] = field(default_factory=dict)

    def find_static(self, cloud: Cloud, tracks: Array, progress: bool = False) -> Array | None:
        """Points (n,) bool of a map or a part of it that do not move; None for all.

        ``tracks`` (n,) are those of `find_tracks`. The sweeps of the cloud are numbered as in the log.
        """
        if self.method == "boxes":
            return self._find_outside_boxes(cloud, tracks)
        if self.method == "visibility" and self.images is not None:
            if len(cloud) == 0:
                return np.ones(0, bool)
            low, high = (cloud.origin + pick(axis=0) for pick in (cloud.points.min, cloud.points.max))
            images = self.images.reaching(low, high, self.visibility)
            return ~find_seen_through(cloud, track(images, "finding what moves", show=progress), self.visibility)
        return None

    def _find_outside_boxes(self, cloud: Cloud, tracks: Array) -> Array:
        still = ~np.isin(tracks, self.moved)
        order = np.argsort(cloud.sweep, kind="stable")
        ends = np.searchsorted(cloud.sweep[order], [[at, at + 1] for at in self.expected] or np.zeros((0, 2)))
        for (at, boxes), (first, last) in zip(self.expected.items(), ends, strict=True):
            rows = order[first:last]
            shift = self.poses[at].copy()
            shift[:3, 3] -= cloud.origin
            local = transform(inverse(shift), cloud.points[rows].astype(np.float64))
            still[rows[boxes.contains(local, BOX_MARGIN_M).any(axis=0)]] = False
        return still


class MovingFinder:
    """Gathers what tells the moving points of a log's map; `add` takes its sweeps in order, `decide` follows.

    ``images`` keeps the range images of the sweeps, by default in memory: for a long log it is an `ImageStore`.
    ``first`` is the number of the first sweep that is added: several finders may take a part of the log each, and be
    joined by `extend`. A finder can be pickled if its images can.
    """

    def __init__(
        self, log: Log, config: MapConfig, labels: LabelSet, images: Images | None = None, first: int = 0
    ) -> None:
        if config.moving == "labels" and not labels.moving:
            what = f"vocabulary '{labels.name}' has no moving classes" if labels.known else "its labels are unknown"
            raise ResweepError(
                f"log '{log.name}': moving: labels, but {what}; set labels to the vocabulary of its labels, or use "
                "boxes or visibility"
            )
        self._name, self._poses, self._config, self._labels = log.name, log.poses, config, labels
        self._boxes = BoxHistory()
        self._first = first
        self._labelled = self._boxed = False
        self._images: Images | None = None
        if config.moving in ("auto", "visibility") and len(log) > config.visibility.passes:
            self._images = HeldImages() if images is None else images

    def add(self, sweep: Sweep, label: Array, tracks: Array) -> None:
        """Take the next sweep, and the labels and tracks (n,) of its points in the map."""
        number = self._first + len(self._boxes.times)
        self._boxes.add(sweep)
        self._labelled = self._labelled or bool(label.any())
        self._boxed = self._boxed or bool(tracks.any())
        if self.method != "visibility":
            self._images = None
        if self._images is not None:
            self._images.add(number, RangeImage.from_sweep(sweep, self._config.visibility.cell_deg))

    def extend(self, later: MovingFinder) -> None:
        """Take what another finder gathered of the sweeps that follow."""
        if later._first != self._first + len(self._boxes.times):
            raise ValueError(f"sweep {later._first} does not follow those before it")
        self._boxes.extend(later._boxes)
        self._labelled, self._boxed = self._labelled or later._labelled, self._boxed or later._boxed
        if later._images is None or self.method != "visibility":
            self._images = None
        elif self._images is not None:
            self._images.extend(later._images)

    def pack(self) -> dict[str, Any]:
        """What was gathered, as JSON can hold it; images stay where they are."""
        return {
            "first": self._first,
            "labelled": self._labelled,
            "boxed": self._boxed,
            "boxes": self._boxes.pack(),
            "images": self._images.pack() if isinstance(self._images, ImageStore) else None,
        }

    @classmethod
    def unpack(
        cls, packed: Mapping[str, Any], log: Log, config: MapConfig, labels: LabelSet, images: ImageStore
    ) -> MovingFinder:
        """The finder that was packed; its images are where ``images`` keeps them."""
        finder = cls(log, config, labels, images, packed["first"])
        finder._labelled, finder._boxed = packed["labelled"], packed["boxed"]
        finder._boxes = BoxHistory.unpack(packed["boxes"])
        if finder._images is not None:
            finder._images = None if packed["images"] is None else ImageStore.unpack(images, packed["images"])
        return finder

    @property
    def method(self) -> Method:
        """How moving points are found, as far as the sweeps so far allow."""
        if self._config.moving != "auto":
            return self._config.moving
        if self._labelled and self._labels.moving:
            return "labels"
        return "boxes" if self._boxed else "visibility"

    def decide(self) -> MovingRule:
        """The rule that follows from all sweeps; an error where the log lacks what the settings ask for."""
        name = self._name
        if self.method == "labels" and not self._labelled:
            raise ResweepError(f"log '{name}': moving: labels, but no return has a label; use visibility")
        if self.method == "boxes" and all(boxes is None for boxes in self._boxes.boxes):
            raise ResweepError(f"log '{name}': moving: boxes, but no sweep has annotated boxes; use visibility")
        if self.method != "boxes":
            images = self._images if self.method == "visibility" else None
            return MovingRule(self.method, self._poses, self._config.visibility, images)
        moved = self._boxes.moved_tracks()
        leave_out = self._boxes.moved_tracks(True) if self._config.drop_movable else moved
        expected = self._boxes.extrapolate(moved)
        return MovingRule("boxes", self._poses, moved=leave_out, expected=expected)

    def find_static(self, cloud: Cloud, tracks: Array, progress: bool = False) -> Array | None:
        """Points (n,) bool of the map that do not move; None for all. See `MovingRule.find_static`."""
        return self.decide().find_static(cloud, tracks, progress)
