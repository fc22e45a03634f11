"""The networks of the tables, a segmenter and a detector of the package so small that they are trained in a minute.

Their settings are the same for every training set, and so is the number of steps. Training sweeps are turned and
mirrored, but nothing is made to look like a sensor's noise or drops: that is what the sets differ in.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import resweep as rs
from experiments.tables.scoring import CLASSES, RULES, count_classes, pack_match
from resweep.labels import list_broader_categories
from resweep.learn.detector.detector_config import DetectorConfig
from resweep.learn.detector.detector_network import predict as predict_answers
from resweep.learn.detector.detector_rounds import train as train_detector
from resweep.learn.detector.detector_samples import DetectorSample, read_samples
from resweep.learn.segmenter.config import SegmenterConfig
from resweep.learn.segmenter.image_samples import ImageSample, make_sample, read_images
from resweep.learn.segmenter.segmenter_network import predict as predict_classes
from resweep.learn.segmenter.segmenter_rounds import SegmenterTraining, measure_channels
from resweep.learn.segmenter.segmenter_rounds import train as train_segmenter
from resweep.optional import require
from resweep.perception.detection.birds_eye import draw_birds_eye
from resweep.perception.detection.box_matching import match_frame
from resweep.perception.detection.decoding import decode
from resweep.perception.segmentation.segmenter import normalise
from resweep.perception.segmentation.sweep_images import CHANNELS, ImageGeometry
from resweep.scenes.scene_labels import SCENE_LABELS

_LEAST_SPREAD = 0.005  # of intensities, as a share of full scale; such as are all alike teach nothing, and are left out


@dataclass(frozen=True)
class Effort:
    """How long networks are trained, and how wide they are."""

    segmenter_steps: int
    detector_steps: int
    columns: int
    reach_m: float
    width: int = 8

    def segmenter(self, seed: int) -> SegmenterConfig:
        """The settings of the segmenter: one round, as no round is chosen by what is tested."""
        return SegmenterConfig.model_validate(
            {
                "classes": {"vehicle": ("vehicle",), "background": find_background(), "road": ("road",)},
                "columns": self.columns,
                "network": {"width": self.width, "levels": 3, "deep_blocks": 1, "dropout": 0.0},
                "augment": {"mix": 0.3, "paste": 0, "jitter_m": 0.0, "scatter": 0.0, "drop": 0.0, "gain": 0.0},
                "epochs": 1,
                "steps": self.segmenter_steps,
                "crop_columns": self.columns // 2,
                "lovasz": 0.0,
                "average": 0.95,
                "validation_sweeps": 1,
                "seed": seed,
            }
        )

    def detector(self, seed: int) -> DetectorConfig:
        """The settings of the detector."""
        return DetectorConfig.model_validate(
            {
                "annotated": "everywhere",
                "grid": {"reach_x_m": self.reach_m, "reach_y_m": self.reach_m, "cell_m": 0.2},
                "network": {"width": self.width, "blocks": 1, "features": 24},
                "augment": {"turn_deg": 30.0, "drop": 0.0, "paste": 0, "forget_intensity": 0.0},
                "rounds": 1,
                "steps": self.detector_steps,
                "crop_cells": 128,
                "validation_sweeps": 1,
                "min_points": 3,
                "seed": seed,
            }
        )


def find_background() -> tuple[str, ...]:
    """The categories that are neither vehicle nor road."""
    left_out = (*SCENE_LABELS.unlabelled, *SCENE_LABELS.outlier)
    names = {SCENE_LABELS.category(label) for label in SCENE_LABELS.classes if label not in left_out}
    kept = {name for name in names if name and not {"vehicle", "road"} & set(list_broader_categories(name))}
    return tuple(sorted(kept))


class Segmenting:
    """Trains and tests segmenters of one geometry."""

    def __init__(self, geometry: ImageGeometry, effort: Effort) -> None:
        self.geometry, self.effort = geometry, effort
        self._classes = effort.segmenter(0).classes

    def read(self, log: rs.Log) -> list[ImageSample]:
        """The sweeps of a log as samples."""
        assert self._classes is not None
        return [make_sample(image, self._classes) for image in read_images(log, self.geometry)]

    def train(self, samples: Sequence[ImageSample], seed: int) -> Any:
        """A trained network, as what answers samples."""
        require("torch", "experiments.d_tables").set_num_threads(1)
        config = self.effort.segmenter(seed)
        by = measure_channels(samples, CHANNELS[:-1])
        uses = by["intensity"][1] > _LEAST_SPREAD
        training = SegmenterTraining(samples, len(CLASSES), by, uses, config)
        return train_segmenter(training, samples[:1], config, None, False), by, uses

    def test(self, trained: Any, samples: Sequence[ImageSample]) -> list[list[int]]:
        """Counts of classes over the cells of samples."""
        network, by, uses = trained
        total = np.zeros((len(CLASSES), len(CLASSES)), np.int64)
        for sample in samples:
            image = normalise(sample.image.values, by, uses)[None]
            found = predict_classes(network, image)[0, : len(CLASSES)].argmax(axis=0)
            total += np.array(count_classes(sample.label.ravel(), found.ravel()))
        counted: list[list[int]] = total.tolist()
        return counted


class Detecting:
    """Trains and tests detectors."""

    def __init__(self, effort: Effort) -> None:
        self.effort = effort

    def read(self, log: rs.Log) -> list[DetectorSample]:
        """The sweeps of a log as samples."""
        return read_samples(log, self.effort.detector(0), False)

    def train(self, samples: Sequence[DetectorSample], seed: int) -> Any:
        """A trained network."""
        require("torch", "experiments.d_tables").set_num_threads(1)
        return train_detector(samples, samples[:1], self.effort.detector(seed), None, False)[0]

    def test(
        self, network: Any, samples: Sequence[DetectorSample], truth: Sequence[DetectorSample]
    ) -> dict[str, list[Any]]:
        """The matches of samples by rule; which boxes count is decided by ``truth``, the recorded sweeps."""
        config = self.effort.detector(0)
        found: dict[str, list[Any]] = {metric: [] for metric in RULES}
        for sample, true in zip(samples, truth, strict=True):
            image = draw_birds_eye(sample.points[:, :3], sample.points[:, 3], config.grid)
            detections = decode(predict_answers(network, image), config.grid, config.classes, config.min_score)
            for metric, rule in RULES.items():
                found[metric].append(pack_match(match_frame(detections, true.truth, rule)))
        return found
