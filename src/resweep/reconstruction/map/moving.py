"""Which points of a map stand still: by label, by annotated boxes, or by what later beams see through.

What decides is gathered while the sweeps are read, so that none is read again: the boxes of every sweep, and its range
image as long as neither labels nor boxes say what moves. An image takes 0.3 MB for a sensor of 27 degrees, at most 2.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from resweep.errors import ResweepError
from resweep.labels import LabelSet
from resweep.log import Log
from resweep.pose import Array, inverse, transform
from resweep.progress import track
from resweep.reconstruction.map.boxes import BOX_MARGIN_M, BoxHistory
from resweep.reconstruction.map.cloud import Cloud
from resweep.reconstruction.map.config import MapConfig
from resweep.reconstruction.map.visibility import RangeImage, find_seen_through
from resweep.sweep import Sweep


class MovingFinder:
    """Finds the moving points of a log's map; `add` takes its sweeps in order, `find_still` follows."""

    def __init__(self, log: Log, config: MapConfig, labels: LabelSet) -> None:
        if config.moving == "labels" and not labels.moving:
            what = f"vocabulary '{labels.name}' has no moving classes" if labels.known else "its labels are unknown"
            raise ResweepError(
                f"log '{log.name}': moving: labels, but {what}; set labels to the vocabulary of its labels, or use "
                "boxes or visibility"
            )
        self._log, self._config, self._labels = log, config, labels
        self._boxes = BoxHistory()
        self._labelled = self._boxed = False
        self._images: list[RangeImage] | None = None
        if config.moving in ("auto", "visibility") and len(log) > config.visibility.passes:
            self._images = []

    def add(self, sweep: Sweep, label: Array, tracks: Array) -> None:
        """Take the next sweep, and the labels and tracks (n,) of its points in the map."""
        self._boxes.add(sweep)
        self._labelled = self._labelled or bool(label.any())
        self._boxed = self._boxed or bool(tracks.any())
        if self.method != "visibility":
            self._images = None
        if self._images is not None:
            self._images.append(RangeImage.from_sweep(sweep, self._config.visibility.cell_deg))

    @property
    def method(self) -> Literal["labels", "boxes", "visibility", "none"]:
        """How moving points are found, as far as the sweeps so far allow."""
        if self._config.moving != "auto":
            return self._config.moving
        if self._labelled and self._labels.moving:
            return "labels"
        return "boxes" if self._boxed else "visibility"

    def find_still(self, cloud: Cloud, tracks: Array, progress: bool = False) -> Array | None:
        """Points (n,) bool that do not move; None for all: points of moving classes are left out before.

        ``tracks`` (n,) are those of `find_tracks`.
        """
        name = self._log.name
        if self.method == "labels" and not self._labelled:
            raise ResweepError(f"log '{name}': moving: labels, but no return has a label; use visibility")
        if self.method == "boxes" and not self._boxed:
            raise ResweepError(f"log '{name}': moving: boxes, but no sweep has annotated boxes; use visibility")
        if self.method == "boxes":
            return self._find_outside_boxes(cloud, tracks)
        if self._images:
            images = track(self._images, "finding what moves", show=progress)
            return ~find_seen_through(cloud, images, self._config.visibility)
        return None

    def _find_outside_boxes(self, cloud: Cloud, tracks: Array) -> Array:
        moved = self._boxes.moved_tracks()
        still = ~np.isin(tracks, self._boxes.moved_tracks(True) if self._config.drop_movable else moved)
        for at, boxes in self._boxes.extrapolate(moved).items():
            rows = np.flatnonzero(cloud.sweep == at)
            shift = self._log.poses[at].copy()
            shift[:3, 3] -= cloud.origin
            local = transform(inverse(shift), cloud.points[rows].astype(np.float64))
            still[rows[boxes.contains(local, BOX_MARGIN_M).any(axis=0)]] = False
        return still
