"""A user's own function as a model: points or sweeps in, class numbers out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from resweep.errors import ResweepError, nearest_names
from resweep.labels import LabelSet
from resweep.perception.segmentation.answers import call_function, check_answer
from resweep.perception.segmentation.segment_classes import MAX_CLASSES, USUAL_CLASSES, number_classes
from resweep.pose import Array
from resweep.sweep import Sweep

TAKES = ("points", "sweep")
Takes = Literal["points", "sweep"]


@dataclass(frozen=True, eq=False)
class CallableModel:
    """A function that gives the class number of each return.

    It is called with points (n, 5) float32 (x, y, z in metres in the sensor's frame, intensity, ring), or with the
    `Sweep` if it ``takes`` that. ``categories`` are the categories of labels that each class stands for; use
    `wrap_function`. ``name`` stands in errors.
    """

    function: Callable[[Any], Any]
    categories: Mapping[str, tuple[str, ...]]
    takes: Takes = "points"
    name: str = field(default="model")

    @property
    def classes(self) -> tuple[str, ...]:
        """Names of the classes."""
        return tuple(self.categories)

    def segment(self, sweep: Sweep) -> Array:
        """The number in `classes` (n,) uint8 of each return of a sweep; what is no such answer is an error."""
        given = sweep if self.takes == "sweep" else make_points(sweep)
        found = call_function(self.function, given, self.name)
        return check_answer(found, len(sweep), len(self.categories), self.name)

    def find_truth(self, label: Array, labels: LabelSet) -> Array:
        """The number in `classes` (n,) uint8 of true labels (n,) of a vocabulary; `UNKNOWN` for others."""
        return number_classes(label, labels, self.categories)


def wrap_function(
    function: Callable[[Any], Any],
    classes: Sequence[str] | Mapping[str, Sequence[str]],
    takes: str = "points",
    name: str = "",
) -> CallableModel:
    """A user's function as a model.

    ``classes`` are the names of what it numbers from 0: each a category of labels such as "car", one of the usual
    classes of segmenters, or the key of the categories that it stands for. ``takes`` says what the function is called
    with: ``points`` (n, 5), or the ``sweep``.

    Example: ``model = wrap_function(lambda points: points[:, 2] > -1.5, ["road", "object"])``
    """
    name = name or getattr(function, "__name__", "model")
    if not callable(function):
        raise ResweepError(f"{name}: is a {type(function).__name__}; give a function")
    if takes not in TAKES:
        raise ResweepError(f"{name}: takes '{takes}'; {nearest_names(str(takes), TAKES)}")
    if isinstance(classes, str) or not isinstance(classes, Sequence | Mapping):
        raise ResweepError(f"{name}: classes are {classes!r:.80}; give a list of names")
    if isinstance(classes, Mapping):
        categories = {str(key): tuple(str(item) for item in values) for key, values in classes.items()}
    else:
        categories = {str(key): USUAL_CLASSES.get(str(key), (str(key),)) for key in classes}
    if len(categories) != len(classes) or not 2 <= len(categories) <= MAX_CLASSES:
        raise ResweepError(f"{name}: gives {len(classes)} classes; give 2 to {MAX_CLASSES} names, none of them twice")
    return CallableModel(function, categories, takes, name)  # type: ignore[arg-type]  # one of TAKES


def make_points(sweep: Sweep) -> Array:
    """The returns (n, 5) float32 of a sweep: x, y, z in metres in the sensor's frame, intensity, ring."""
    return np.column_stack([sweep.points, sweep.intensity, sweep.ring]).astype(np.float32)
