"""A user's own function as an open-set model: points or sweeps in, classes and instances out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from resweep.errors import InputError, ResweepError, nearest_names
from resweep.labels import LabelSet
from resweep.perception.load_model import import_object
from resweep.perception.open_set.segments import UNKNOWN_CLASS, OpenSetModel, Segments
from resweep.perception.segmentation.answers import call_function, check_answer
from resweep.perception.segmentation.callable_model import TAKES, make_points
from resweep.perception.segmentation.segment_classes import USUAL_CLASSES, number_classes
from resweep.pose import Array
from resweep.sweep import Sweep

_MAX_INSTANCE = 2**31


@dataclass(frozen=True, eq=False)
class OpenSetFunction:
    """A function that gives the class numbers and the instances of returns; use `wrap_open_set_function`."""

    function: Callable[[Any], Any]
    classes: tuple[str, ...]
    takes: str = "points"
    name: str = "model"

    def find_segments(self, sweep: Sweep) -> Segments:
        """The class and the instance of each return of a sweep; what is no such answer is an error."""
        given = sweep if self.takes == "sweep" else make_points(sweep)
        found = call_function(self.function, given, self.name)
        if not isinstance(found, tuple) or len(found) != 2:
            raise InputError(f"{self.name}: gives a {type(found).__name__}; give a pair, the classes and the instances")
        kind = check_answer(found[0], len(sweep), len(self.classes), f"{self.name}, classes")
        return Segments(kind, _check_instances(found[1], len(sweep), f"{self.name}, instances"))

    def find_truth(self, label: Array, labels: LabelSet) -> Array:
        """The number in `classes` (n,) uint8 of true labels (n,) of a vocabulary; void for others."""
        own = {name: () if name == UNKNOWN_CLASS else USUAL_CLASSES.get(name, (name,)) for name in self.classes}
        return number_classes(label, labels, own)


def _check_instances(found: object, returns: int, where: str) -> Array:
    """Instances (n,) in what a function gave: whole numbers from 0."""
    try:
        given = np.asarray(found)
    except (TypeError, ValueError) as error:
        raise InputError(f"{where}: gives no array ({error}); give a whole number for each return") from error
    if given.shape != (returns,):
        raise InputError(
            f"{where}: gives an array of shape {list(given.shape)} for {returns} returns; give one for each"
        )
    if given.dtype.kind not in "iu":
        raise InputError(f"{where}: gives {given.dtype}; give whole numbers, 0 for returns of no instance")
    if returns and not (given.min() >= 0 and given.max() < _MAX_INSTANCE):
        raise InputError(f"{where}: gives numbers from {given.min()} to {given.max()}; give 0 to {_MAX_INSTANCE - 1}")
    return given.astype(np.int64)


def wrap_open_set_function(
    function: Callable[[Any], Any], classes: Sequence[str], takes: str = "points", name: str = ""
) -> OpenSetFunction:
    """A user's function as an open-set model.

    It is called with points (n, 5), as those of `resweep.perception.segmentation.wrap_function`, or with the `Sweep`
    if it ``takes`` "sweep". It gives a pair: the number in ``classes`` of each return, and its instance, 0 for none.
    One of the classes is called "unknown"; the others are those of the truth, such as "vehicle" and "road".

    Example: ``wrap_open_set_function(lambda points: (kind_of(points), cluster(points)), ["road", "unknown"])``
    """
    name = name or getattr(function, "__name__", "model")
    if not callable(function):
        raise ResweepError(f"{name}: is a {type(function).__name__}; give a function")
    if takes not in TAKES:
        raise ResweepError(f"{name}: takes '{takes}'; {nearest_names(str(takes), TAKES)}")
    if isinstance(classes, str) or len(set(classes)) != len(classes) or UNKNOWN_CLASS not in classes:
        raise ResweepError(f"{name}: classes are {classes!r:.80}; give different names, '{UNKNOWN_CLASS}' among them")
    return OpenSetFunction(function, tuple(str(item) for item in classes), takes, name)


def load_open_set_model(text: str) -> OpenSetModel:
    """The open-set model that ``MODULE:NAME`` stands for, which is imported and so runs.

    NAME is a model, a class of one, or a function with the attribute ``classes``; one with the attribute ``takes`` of
    "sweep" is called with sweeps (`wrap_open_set_function`).
    """
    if ":" not in text:
        raise InputError(f"open-set model '{text}': give MODULE:NAME of a function that Python can import")
    module, found = import_object(text)
    if isinstance(found, OpenSetModel):
        return found
    classes = getattr(found, "classes", getattr(module, "CLASSES", None))
    if classes is None:
        raise InputError(f"open-set model '{text}': names no classes; set {text.partition(':')[2]}.classes to a list")
    return wrap_open_set_function(found, classes, getattr(found, "takes", "points"), f"open-set model '{text}'")
