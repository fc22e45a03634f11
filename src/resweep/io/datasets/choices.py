"""The one of several sequences or scenes of a dataset that is meant."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from resweep.errors import InputError, nearest_names


def choose_one(given: str | None, names: Sequence[str], option: str, where: Path, hint: str = "") -> str:
    """The one of ``names`` that is meant: the given one, or the only one there is.

    ``hint`` is added to the error where there are several.
    """
    if given is not None:
        if given not in names:
            raise InputError(f"{where}: no {option} '{given}'; {nearest_names(given, names)}")
        return given
    if len(names) == 1:
        return names[0]
    if not names:
        raise InputError(f"{where}: holds no {option}; is the dataset complete?")
    some = ", ".join(names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")
    raise InputError(f"{where}: holds {len(names)} {option}s; choose one with {option}= (it has {some}){hint}")
