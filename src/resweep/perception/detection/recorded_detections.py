"""Detections that others computed, sweep by sweep, as a model that gives them back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from resweep.errors import InputError
from resweep.log import Log
from resweep.perception.models import Detections
from resweep.pose import Array
from resweep.sweep import Sweep

_SAME_TIME_S = 1e-3  # no sensor has two sweeps within a millisecond


@dataclass(frozen=True, eq=False)
class RecordedDetections:
    """Detections of the sweeps of a log, found by their ``times`` (n,); ``where`` names their files in errors."""

    classes: tuple[str, ...]
    times: Array
    detections: tuple[Detections, ...]
    where: str

    def covers(self, sweep: Sweep) -> bool:
        """Whether there are detections of a sweep, or none were found in it."""
        return self._find(sweep) is not None

    def detect(self, sweep: Sweep) -> Detections:
        """The objects that were found in a sweep; an error if its frame was not looked at."""
        at = self._find(sweep)
        if at is None:
            raise InputError(
                f"{self.where}: holds no frame for the sweep at {sweep.timestamp:.6f} s; these are results of other "
                "frames, so give those of this recording"
            )
        return self.detections[at]

    def _find(self, sweep: Sweep) -> int | None:
        if not len(self.times):
            return None
        at = int(np.abs(self.times - sweep.timestamp).argmin())
        return at if abs(float(self.times[at]) - sweep.timestamp) <= _SAME_TIME_S else None


def collect_classes(found: Sequence[Detections]) -> tuple[str, ...]:
    """The classes that occur in detections, by name."""
    return tuple(sorted({name for item in found for name in item.boxes.name}))


def check_whole(log: Log, frames: int, recording: object) -> None:
    """Raise unless a recording has as many frames as the whole log that was opened from it."""
    if frames != len(log.whole):
        raise InputError(
            f"{recording}: has {frames} scans, but the log '{log.name}' has {len(log.whole)} sweeps; "
            "give the folder that the log was opened from"
        )
