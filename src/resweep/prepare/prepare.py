"""A log as it is built from: beams without return known, leftover motion corrected, a cloud's points placed."""

from __future__ import annotations

from resweep.log import Log
from resweep.sensors.infer.compensation import correct_compensation


def prepare_log(log: Log) -> Log:
    """The drive with its sweeps corrected, computed as they are read; all that follows sees them so."""
    return correct_compensation(log)
