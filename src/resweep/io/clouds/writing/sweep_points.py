"""The points that a cloud is written from: the returns of sweeps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np

from resweep.errors import ResweepError
from resweep.io.files.las import CLASSES_MAX, FULL_SCALE, RETURNS_MAX, count_intensity
from resweep.io.points.columns import check_finite, express_points, has_point_times
from resweep.pose import Array
from resweep.sweep import Sweep

# Dimensions of LAS that readers keep as extra columns, and the type in which they are written.
_KEPT: dict[str, type[np.integer[Any]]] = {
    "user_data": np.uint8,
    "scan_angle": np.int16,
    "point_source_id": np.uint16,
    **dict.fromkeys(("red", "green", "blue"), np.uint16),
}
_FLAGS = ("synthetic", "key_point", "withheld", "overlap")  # bits 0 to 3, LAS 1.4 R15, table 16


class PointWriter(Protocol):
    """What takes points (n, 3) in metres with columns (n,) named as in LAS."""

    def add(self, points: Array, columns: Mapping[str, Array]) -> None:
        """Take in points."""
        ...


def add_sweep(writer: PointWriter, sweep: Sweep, frame: str = "world", intensity_scale: float = FULL_SCALE) -> None:
    """Give the returns of a sweep to a writer."""
    points = express_points(sweep, frame).astype(np.float64)
    check_finite(points, "sweep")
    number = sweep.return_index.astype(np.int64) + 1
    total = np.bincount(sweep.beam, minlength=1)[sweep.beam] if len(sweep) else number
    if "number_of_returns" in sweep.extra:  # of a survey, where each point has a beam of its own
        total = np.asarray(sweep.extra["number_of_returns"], np.int64)
    columns: dict[str, Array] = {
        "intensity": count_intensity(sweep.intensity, intensity_scale),
        "classification": check_classes(sweep.label),
        "return_number": np.minimum(number, RETURNS_MAX),
        "number_of_returns": np.clip(np.maximum(total, number), 1, RETURNS_MAX),
    }
    if has_point_times(sweep):
        columns["gps_time"] = sweep.time
    for name, kind in _KEPT.items():
        if name in sweep.extra:
            limit = np.iinfo(kind)
            columns[name] = np.clip(np.asarray(sweep.extra[name]), limit.min, limit.max).astype(kind)
    flags = np.zeros(len(sweep), np.uint8)
    for bit, name in enumerate(_FLAGS):
        flags |= (np.asarray(sweep.extra.get(name, 0)) != 0).astype(np.uint8) << bit
    writer.add(points, {**columns, "flags": flags})


def check_classes(label: Array) -> Array:
    """Labels as classes of 8 bits, or an error where they do not fit."""
    if len(label) and not (label.min() >= 0 and label.max() <= CLASSES_MAX):
        worst = int(label.min() if label.min() < 0 else label.max())
        raise ResweepError(
            f"label {worst} does not fit the classes of LAS (0 to {CLASSES_MAX}); name the labels' vocabulary, so that "
            "they are mapped to those of ASPRS, or map them with relabel(log, 'asprs')"
        )
    return np.asarray(label).astype(np.uint8)
