"""A judge of sweeps: the range-image segmenter of `resweep.learn.segmenter`, trained on recorded sweeps alone."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

import resweep as rs
from resweep.labels import LabelSet
from resweep.learn.segmenter import SegmenterConfig, learn_segmenter
from resweep.perception.models import UNKNOWN as UNKNOWN
from resweep.perception.segmentation import RangeSegmenter, load_segmenter
from resweep.perception.segmentation.segment_classes import USUAL_CLASSES, number_classes
from resweep.pose import Array
from resweep.sweep import Sweep

_CLASSES = {name: categories for name, categories in USUAL_CLASSES.items() if name != "person"}
CLASSES = tuple(_CLASSES)
_ROUND = 60  # steps


def find_classes(label: Array, labels: LabelSet) -> Array:
    """The number in `CLASSES` of each label (n,) uint8, `UNKNOWN` for others."""
    return number_classes(label, labels, _CLASSES)


class Judge:
    """A trained network: the class of each return."""

    def __init__(self, segmenter: RangeSegmenter) -> None:
        self.segmenter = segmenter

    def __call__(self, points: Array, intensity: Array) -> Array:
        """The number in `CLASSES` (n,) of returns from points (n, 3) in the sensor's frame."""
        return self.segmenter.segment(Sweep.from_points(points, intensity=intensity))


def train(logs: Sequence[rs.Log], steps: int, seed: int = 0) -> Judge:
    """A judge trained on the logs for so many steps; their last sweeps choose the round."""
    settings = {"classes": _CLASSES, "epochs": max(1, steps // _ROUND), "steps": min(steps, _ROUND), "seed": seed}
    config = SegmenterConfig.model_validate(settings)
    held = [max(1, len(log) // 10) for log in logs]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "judge.model"
        training = [log[: len(log) - last] for log, last in zip(logs, held, strict=True)]
        learn_segmenter(training, path, config, validate=[log[-last:] for log, last in zip(logs, held, strict=True)])
        return Judge(load_segmenter(path))
