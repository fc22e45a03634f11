"""Training images: sweeps of labelled logs as range images, with the class and the object of each cell."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from resweep.errors import ResweepError
from resweep.intensity_scale import to_relative
from resweep.labels import LabelSet
from resweep.log import Log
from resweep.perception.models import UNKNOWN
from resweep.perception.segmentation.segment_classes import USUAL_CLASSES, number_classes
from resweep.perception.segmentation.sweep_images import ImageGeometry, SweepImage, make_image
from resweep.pose import Array
from resweep.progress import track

IGNORED = -1  # class of what has none
_MIN_SHARE = 0.002  # of the returns with a class, for a usual class to be learned

Classes = Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, eq=False)
class LabelledImage:
    """A sweep as an image, and the ``label`` and ``instance`` (n,) of its returns in the vocabulary ``labels``."""

    image: SweepImage
    label: Array
    instance: Array
    labels: LabelSet


@dataclass(frozen=True, eq=False)
class ImageSample:
    """A sweep as an image: the class ``label`` and ``instance`` (rows, columns) of what each cell shows.

    ``truth`` (n,) int64 is the class of each return. Classes are `IGNORED` for none, instances 0.
    """

    image: SweepImage
    label: Array
    instance: Array
    truth: Array


def choose_sweeps(logs: Sequence[Log], max_sweeps: int) -> list[Log]:
    """The logs with at most so many sweeps together, evenly spread over all."""
    total = sum(len(log) for log in logs)
    if total <= max_sweeps:
        return list(logs)
    rows = np.unique(np.linspace(0, total - 1, max_sweeps).round().astype(int))
    starts = np.cumsum([0, *(len(log) for log in logs)])
    parts = [rows[(rows >= first) & (rows < last)] - first for first, last in itertools.pairwise(starts)]
    return [log[part.tolist()] for log, part in zip(logs, parts, strict=True)]


def check_labels(log: Log) -> None:
    """Raise unless the labels of a log have a known meaning."""
    if log.labels.name == "none" or not log.labels.known:
        what = "it has no labels" if log.labels.name == "none" else "the meaning of its labels is unknown"
        raise ResweepError(
            f"log '{log.name}': {what}; train on labelled logs, or name the vocabulary of its ids (labels)"
        )


def read_images(log: Log, geometry: ImageGeometry) -> list[LabelledImage]:
    """The sweeps of a log as images with labels; sweeps without returns are left out."""
    scale = log.full_scale
    images = []
    for sweep in track(log, f"reading {log.name}"):
        if len(sweep):
            image = make_image(sweep, geometry, to_relative(sweep.intensity, scale))
            images.append(LabelledImage(image, sweep.label, sweep.instance, log.labels))
    return images


def find_classes(images: Sequence[LabelledImage], given: Classes | None, names: str) -> Classes:
    """The classes to learn: those ``given``, all of which must occur, or the usual ones that are not too rare.

    ``names`` are those of the logs, for errors.
    """
    classes = dict(given or USUAL_CLASSES)
    counts = np.zeros(len(classes), np.int64)
    for item in images:
        number = number_classes(item.label, item.labels, classes)
        counts += np.bincount(number[number != UNKNOWN], minlength=len(classes))
    if not counts.any():
        raise ResweepError(f"logs {names}: no return has a label of a class that is learned ({', '.join(classes)})")
    if given is not None:
        missing = [name for name, count in zip(classes, counts, strict=True) if not count]
        if missing:
            raise ResweepError(
                f"classes: {', '.join(missing)} never occur in the logs {names}; leave them out of the classes, or "
                "give logs that have them"
            )
        return classes
    share = counts / counts.sum()
    kept = {name: classes[name] for name, part in zip(classes, share, strict=True) if part >= _MIN_SHARE}
    if len(kept) < 2:
        raise ResweepError(
            f"logs {names}: all labelled returns are of one class ({', '.join(kept)}); give logs with two"
        )
    return kept


def make_sample(item: LabelledImage, classes: Classes) -> ImageSample:
    """An image with the classes of its cells and returns."""
    number = number_classes(item.label, item.labels, classes)
    truth = np.where(number == UNKNOWN, IGNORED, number.astype(np.int64))
    shown, there = np.maximum(item.image.nearest, 0), item.image.nearest >= 0
    label = np.where(there, truth[shown], IGNORED)
    return ImageSample(item.image, label, np.where(there, item.instance[shown], 0), truth)
