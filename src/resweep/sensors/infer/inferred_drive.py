"""A prepared drive: what is corrected in a recording before its beams are used.

Building, firing beams again, cutting out objects, learning and comparing all take a recording as `prepare_drive`
gives it. Empty beams are there already: readers infer them when a log is opened.
"""

from __future__ import annotations

from dataclasses import dataclass

from resweep.log import Log
from resweep.pose import Array
from resweep.sensors.infer.compensation import Compensation
from resweep.sweep import Sweep


def prepare_drive(log: Log) -> Log:
    """The log with the motion that its maker's compensation left in the sweeps corrected, by lasers and poses.

    Points, and all else that a file holds, stay as they are: sweeps get times and a ``trajectory`` (`Compensation`). A
    slice gives the same sweeps as the whole log does: ``prepare_drive(log[5:6])`` is ``prepare_drive(log)[5:6]``. A
    log that was prepared comes back as it is.
    """
    if log.prepared:
        return log
    return log.map(Preparation.of(log), "prepare", indexed=True, prepared=True)


@dataclass(frozen=True, eq=False)
class Preparation:
    """Prepares the sweeps of one log: ``prepare(sweep, at)`` is sweep ``at`` as `prepare_drive` gives it."""

    compensation: Compensation | None
    numbers: Array

    @classmethod
    def of(cls, log: Log) -> Preparation:
        """That of a log, which knows the whole drive if the log is a slice."""
        return cls(None if log.prepared else Compensation(log.whole), log.numbers)

    def __call__(self, sweep: Sweep, at: int) -> Sweep:
        return sweep if self.compensation is None else self.compensation(sweep, int(self.numbers[at]))
