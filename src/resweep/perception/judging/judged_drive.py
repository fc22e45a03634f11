"""The recording that is judged: its sweeps by their numbers, and the sweeps around them."""

from __future__ import annotations

import numpy as np

from resweep.log import Log
from resweep.pose import Array
from resweep.sensors.infer.inferred_drive import prepare_drive
from resweep.sweep import Sweep


class JudgedDrive:
    """The prepared sweeps of a log, and those of the drive that it is a slice of, by their numbers there.

    ``numbers`` (n,) are those of the log's own sweeps, ``times`` and ``poses`` are those of the whole drive.
    """

    def __init__(self, log: Log) -> None:
        self.log, self._whole = prepare_drive(log), prepare_drive(log.whole)
        self.numbers = np.asarray(log.numbers)
        self._at = {number: at for at, number in enumerate(self.numbers.tolist())}

    def __len__(self) -> int:
        """Number of sweeps of the whole drive."""
        return len(self._whole)

    @property
    def times(self) -> Array:
        """When the sweeps of the whole drive were taken (n,), seconds."""
        return self._whole.times

    @property
    def poses(self) -> Array:
        """Where they were taken (n, 4, 4)."""
        return self._whole.poses

    @property
    def poses_known(self) -> bool:
        """Whether the poses mean anything."""
        return self.log.poses_known and self._whole.poses_known

    def load(self, number: int) -> Sweep:
        """Sweep ``number`` of the drive: that of the log where it has it."""
        at = self._at.get(number)
        return self._whole[number] if at is None else self.log[at]
