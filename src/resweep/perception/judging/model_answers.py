"""Answers of models, checked: a judge that gives something else than it says makes one clear error."""

from __future__ import annotations

import numpy as np

from resweep.errors import ResweepError
from resweep.perception.models import UNKNOWN, DetectionModel, Detections, FeatureModel, SegmentationModel
from resweep.pose import Array
from resweep.sweep import Sweep


def ask_classes(model: SegmentationModel, sweep: Sweep, where: str) -> Array:
    """The number of a class (n,) uint8 for each return, or `UNKNOWN`; ``where`` names the model and sweep in errors."""
    found = np.asarray(model.segment(sweep))
    if found.shape != (len(sweep),):
        raise ResweepError(
            f"{where}: the model gave an array of shape {found.shape} for {len(sweep)} returns; a segmentation model "
            "gives one class a return"
        )
    if not np.issubdtype(found.dtype, np.number) or np.issubdtype(found.dtype, np.complexfloating):
        raise ResweepError(f"{where}: the model gave {found.dtype}; a segmentation model gives numbers of its classes")
    if np.issubdtype(found.dtype, np.floating) and not np.isfinite(found).all():
        bad = int(np.count_nonzero(~np.isfinite(found)))
        raise ResweepError(
            f"{where}: the model gave NaN or infinity for {bad} of {len(found)} returns; check the model"
        )
    wrong = (found != UNKNOWN) & ((found < 0) | (found >= len(model.classes)) | (found != np.floor(found)))
    if wrong.any():
        raise ResweepError(
            f"{where}: the model gave class {found[wrong][0]:g}; its classes are 0 to {len(model.classes) - 1}, and "
            f"{UNKNOWN} is for none"
        )
    return found.astype(np.uint8)


def ask_features(model: FeatureModel, sweep: Sweep, where: str) -> Array:
    """Features (k, d) float64 of what a model saw in a sweep."""
    found = np.asarray(model.embed(sweep))
    if found.ndim != 2 or not np.issubdtype(found.dtype, np.number):
        raise ResweepError(f"{where}: the model's features have shape {found.shape}; expected rows of numbers (k, d)")
    if not np.isfinite(found).all():
        bad = int(np.count_nonzero(~np.isfinite(found).all(axis=1)))
        raise ResweepError(f"{where}: {bad} of {len(found)} rows of features hold NaN or infinity; check the model")
    return found.astype(np.float64)


def ask_detections(model: DetectionModel, sweep: Sweep, where: str) -> Detections:
    """The objects that a model finds in a sweep."""
    found = model.detect(sweep)
    if not isinstance(found, Detections):
        raise ResweepError(f"{where}: the model gave a {type(found).__name__}; a detection model gives Detections")
    if not np.isfinite(found.score).all():
        bad = int(np.count_nonzero(~np.isfinite(found.score)))
        raise ResweepError(f"{where}: {bad} of {len(found)} scores are NaN or infinite; check the model")
    return found


def check_classes(name: str, model: SegmentationModel | DetectionModel) -> None:
    """Raise unless the classes of a model are some different names."""
    classes = tuple(model.classes)
    if not classes or len(set(classes)) != len(classes) or len(classes) >= UNKNOWN:
        raise ResweepError(f"model '{name}': has classes {classes!r:.200}; give 1 to {UNKNOWN - 1} different names")
