"""Sweeps that are left out of a log which is told to keep going: which, why, and how many of how many."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from resweep.errors import ResweepError
from resweep.log import Log
from resweep.sweep import Sweep

EMPTY = "holds no point"
# What readers say of a sweep, and the few words that a summary has for it; the first that fits counts.
_KINDS = (
    (EMPTY, "empty"),
    ("several formats", "in another format"),
    ("no field", "with other fields"),
    ("labels for", "with labels of another length"),
    (".label:", "with labels of another length"),
    ("points hold NaN", "with NaN points"),
    ("pose", "without pose"),
    ("oxts", "without pose"),
    ("truncated", "truncated"),
    ("no such file", "missing"),
)


class Faults(dict[int, str]):
    """Why sweeps of a log cannot be placed, by their number; a reader fills it where it is told to keep going."""

    def guarded(self, log: Log) -> Log:
        """``log``, whose faulty sweeps raise instead of loading; their poses stand for nothing."""
        if not self:
            return log
        load = log.load

        def checked(at: int) -> Sweep:
            if at in self:
                raise ResweepError(self[at])
            return load(at)

        return replace(log, load=checked, meta={**log.meta, "faults": dict(self)})


def readable(log: Log, path: Path, read: bool = True) -> Log:
    """The sweeps of ``log`` that can be placed and, if ``read``, read; each other one gives a warning.

    ``meta["skipped"]`` counts them, ``meta["skipped_why"]`` by kind, and ``meta["skipped_of"]`` is how many there
    were.
    """
    faults: Mapping[int, str] = log.meta.get("faults", {})
    absent = Counter(log.meta.get("absent", {}))
    why: Counter[str] = Counter(absent)
    good: list[int] = []
    for at in range(len(log)):
        try:
            if at in faults:
                raise ResweepError(faults[at])
            if read and not log.load(at).n_beams:
                raise ResweepError(f"{path}, sweep {at}: {EMPTY}")
        except ResweepError as error:
            warnings.warn(f"sweep {at} of {path} is left out: {error}", stacklevel=4)
            why[_kind(str(error))] += 1
        else:
            good.append(at)
    total = len(log) + absent.total()
    if not good:
        raise ResweepError(f"{path}: none of its {total} sweeps can be read ({_listed(why)})")
    meta = {key: value for key, value in log.meta.items() if key not in ("faults", "absent")}
    meta |= {"skipped": total - len(good), "skipped_of": total, "skipped_why": dict(why)}
    return replace(log[good], meta=meta)


def full(log: Log, path: Path) -> Log:
    """``log``, which raises for a sweep without a single beam instead of passing it on."""
    load = log.load

    def checked(at: int) -> Sweep:
        sweep = load(at)
        if not sweep.n_beams:
            raise ResweepError(f"{path}, sweep {at}: {EMPTY}; fetch it again, or leave it out with --keep-going")
        return sweep

    return replace(log, load=checked)


def skipped_text(meta: Mapping[str, Any]) -> str | None:
    """``skipped 3 of 150 sweeps: 2 truncated, 1 without pose``, or None where none was."""
    count = meta.get("skipped", 0)
    if not count:
        return None
    return f"skipped {count} of {meta['skipped_of']} sweeps: {_listed(Counter(meta['skipped_why']))}"


def _listed(why: Counter[str]) -> str:
    return ", ".join(f"{count} {kind}" for kind, count in why.most_common())


def _kind(message: str) -> str:
    return next((kind for words, kind in _KINDS if words in message), "unreadable")
