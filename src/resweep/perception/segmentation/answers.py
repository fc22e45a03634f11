"""What a model of a user answers, checked: a class for each return, or one clear error."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from resweep.errors import InputError, ResweepError
from resweep.pose import Array


def call_function(function: Callable[[Any], Any], given: object, where: str) -> Any:
    """What a user's function gives; whatever it raises is one error."""
    try:
        return function(given)
    except ResweepError:
        raise
    except Exception as error:  # whatever the user's function raises
        raise InputError(f"{where}: fails ({type(error).__name__}: {error}); mend the function") from error


def check_answer(found: object, returns: int, classes: int, where: str) -> Array:
    """The class numbers (n,) uint8 in what a model gave for a sweep; ``where`` names the model in errors."""
    try:
        given = np.asarray(found)
    except (TypeError, ValueError) as error:
        raise InputError(f"{where}: gives no array ({error}); give a class number for each return") from error
    if given.ndim != 1 or len(given) != returns:
        raise InputError(
            f"{where}: gives an array of shape {list(given.shape)} for {returns} returns; give one class number for "
            "each return, in their order"
        )
    if given.dtype.kind not in "bfiu":
        raise InputError(f"{where}: gives {given.dtype}; give class numbers")
    if given.dtype.kind == "f":
        if not np.isfinite(given).all():
            raise InputError(f"{where}: gives NaN or infinity; give a class number for each return")
        if (given != np.floor(given)).any():
            raise InputError(f"{where}: gives {given[given != np.floor(given)][0]:g}, which is no class number")
    if len(given) and not (given.min() >= 0 and given.max() < classes):
        wrong = given.min() if given.min() < 0 else given.max()
        raise InputError(f"{where}: gives the class number {wrong:g}; there are {classes} classes, from 0")
    return given.astype(np.uint8)
