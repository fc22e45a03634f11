"""The one error type that users see."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class ResweepError(ValueError):
    """A user's mistake or bad input: says what is wrong, where, and what to do.

    The command line prints it as one line and exits with a non-zero status; anything else that
    escapes is a defect of Resweep.
    """


def nearest_names(name: str, known: Iterable[str], count: int = 3) -> str:
    """A hint such as ``did you mean 'velodyne-hdl-64e'?``, or the known names if none is near."""
    known = sorted(known)
    close = difflib.get_close_matches(name, known, n=count, cutoff=0.5)
    if close:
        return "did you mean " + " or ".join(repr(item) for item in close) + "?"
    return "known: " + ", ".join(known)
