"""Sweeps that cannot be used: refused when they are read, or left out of the log and counted."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from resweep.errors import FaultKind, InputError, ResweepError, SweepError
from resweep.log import Fault, Log
from resweep.sweep import Sweep


class Faults(dict[int, Fault]):
    """Sweeps of a log that have no good pose, by their number; a reader fills it if it is to keep going."""

    def add(self, sweep: int, problem: str, kind: FaultKind = FaultKind.NO_POSE) -> None:
        """Note what is wrong with a sweep."""
        self[sweep] = Fault(kind, problem, sweep)


def refuse_faulty(log: Log, faults: Faults) -> Log:
    """``log``, whose faulty sweeps raise instead of loading and are listed in ``skipped``; their poses mean nothing."""
    if not faults:
        return log

    def refuse(read: Callable[[], Sweep], at: int) -> Sweep:
        if at in faults:
            raise SweepError(faults[at].message, faults[at].kind)
        return read()

    return log.guard(refuse, "refuse sweeps without pose", skipped=(*log.skipped, *faults.values()))


def refuse_empty(log: Log, path: Path) -> Log:
    """``log``, which raises for a sweep without a single beam instead of passing it on."""

    def refuse(sweep: Sweep, at: int) -> Sweep:
        if not sweep.n_beams:
            raise SweepError(f"{path}, sweep {at}: holds no point; fetch it again", FaultKind.EMPTY)
        return sweep

    return log.map(refuse, "refuse empty sweeps", indexed=True)


def skip_faulty(log: Log, path: Path, read: bool = True) -> Log:
    """``log`` without the sweeps that have no pose or, if ``read``, cannot be read; each gives a warning.

    The result lists them in ``skipped``.
    """
    known = {fault.sweep: fault for fault in log.skipped if fault.sweep is not None}
    skipped = [fault for fault in log.skipped if fault.sweep is None]
    good: list[int] = []
    whole = refuse_empty(log, path)
    for at in range(len(log)):
        fault = known.get(at) or (_find_fault(whole, at) if read else None)
        if fault is None:
            good.append(at)
            continue
        warnings.warn(f"sweep {at} of {path} is left out: {fault.message}", stacklevel=3)
        skipped.append(fault)
    if not good:
        count = len(skipped)
        raise InputError(f"{path}: none of its {count} sweeps can be read ({_count_kinds(skipped)})")
    meta = {**log.meta, "skipped": [fault.message for fault in skipped]} if skipped else log.meta
    # What is left is a log of its own: nothing is to be found out from sweeps that cannot be read.
    return replace(log[good], skipped=tuple(skipped), meta=meta, part=None)


def _find_fault(log: Log, at: int) -> Fault | None:
    """What is wrong with a sweep, found by reading it."""
    try:
        log.load(at)
    except ResweepError as error:
        kind = error.kind if isinstance(error, SweepError) else FaultKind.UNREADABLE
        return Fault(kind, str(error), at)
    return None


def describe_skipped(log: Log) -> str | None:
    """``skipped 3 of 150 sweeps: 2 truncated, 1 without pose``, or None; for a log as it was opened, not a part."""
    if not log.skipped:
        return None
    total = len(log) + len(log.skipped)
    return f"skipped {len(log.skipped)} of {total} sweeps: {_count_kinds(log.skipped)}"


def _count_kinds(faults: tuple[Fault, ...] | list[Fault]) -> str:
    kinds = Counter(fault.kind.value for fault in faults)
    return ", ".join(f"{count} {kind}" for kind, count in kinds.most_common())
