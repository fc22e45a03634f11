"""A user's function as a detector."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from resweep.boxes import Boxes
from resweep.errors import InputError, ResweepError
from resweep.intensity_scale import to_relative
from resweep.perception.models import Detections
from resweep.pose import Array
from resweep.sweep import Sweep

DetectFunction = Callable[[Array], Any]


@dataclass(frozen=True, eq=False)
class CallableDetector:
    """Finds objects by a function of points.

    ``function(points)`` takes the returns (n, 5) float32 of a sweep, motion undone: x, y, z, intensity as a share of
    ``full_scale`` (unknown: as recorded), and ring, as nuScenes' scans have. It gives boxes (k, 7) in the same frame
    (x, y, z of the middle, length, width, height, yaw), scores (k,) and classes (k,): names, or numbers in ``classes``.
    ``where`` names it in errors.
    """

    function: DetectFunction
    classes: tuple[str, ...] = ("car",)
    full_scale: float | None = None
    where: str = "the model"

    def detect(self, sweep: Sweep) -> Detections:
        """The objects in a sweep, in the frame of its pose; an error for anything else than boxes."""
        intensity = to_relative(sweep.intensity, self.full_scale)
        points = np.column_stack([sweep.deskewed(), intensity, sweep.ring]).astype(np.float32)
        try:
            given = self.function(points)
        except ResweepError:
            raise
        except Exception as error:  # whatever the user's function raises
            raise InputError(f"{self.where}: fails on a sweep ({type(error).__name__}: {error})") from error
        if not isinstance(given, tuple) or len(given) != 3:
            raise self._refuse("gives no tuple of boxes, scores and classes")
        return self._check(*given)

    def _check(self, boxes: Any, score: Any, names: Any) -> Detections:
        try:
            boxes, score = np.asarray(boxes, np.float64), np.asarray(score, np.float64)
        except (TypeError, ValueError) as error:
            raise self._refuse(f"gives boxes or scores that are no numbers ({error})") from error
        names = [names] if isinstance(names, str) else list(names)
        if boxes.size == 0:
            boxes = boxes.reshape(0, 7)
        if boxes.ndim != 2 or boxes.shape[1] != 7 or score.shape != (len(boxes),) or len(names) != len(boxes):
            shapes = f"{list(boxes.shape)}, {list(score.shape)} and {len(names)}"
            raise self._refuse(f"gives boxes, scores and classes of shapes {shapes}; expected (k, 7), (k,) and k")
        if not np.isfinite(boxes).all() or not np.isfinite(score).all():
            raise self._refuse("gives values that are not finite")
        if not (boxes[:, 3:6] > 0).all():
            raise self._refuse("gives a size that is not above 0")
        named = [self._name(item) for item in names]
        return Detections(Boxes(boxes[:, :3], boxes[:, 3:6], boxes[:, 6], named), score)

    def _name(self, item: Any) -> str:
        if isinstance(item, str):
            return item
        if isinstance(item, int | np.integer) and 0 <= item < len(self.classes):
            return self.classes[int(item)]
        raise self._refuse(f"gives the class {item!r:.40}; give a name, or a number below {len(self.classes)}")

    def _refuse(self, problem: str) -> InputError:
        return InputError(f"{self.where}: {problem}; check its detections")


def import_detector(text: str, full_scale: float | None = None) -> CallableDetector:
    """The function that MODULE:NAME stands for as a detector; its classes are those of its attribute ``classes``."""
    module, _, name = text.partition(":")
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        found = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise InputError(f"model '{text}': cannot be imported ({error})") from error
    except Exception as error:  # whatever the user's module raises
        raise InputError(f"model '{text}': its module fails ({type(error).__name__}: {error})") from error
    if not callable(found):
        raise InputError(f"model '{text}': is no function; give MODULE:NAME of one that takes points and gives boxes")
    classes = tuple(str(item) for item in getattr(found, "classes", ("car",)))
    return CallableDetector(found, classes, full_scale, f"model '{text}'")
