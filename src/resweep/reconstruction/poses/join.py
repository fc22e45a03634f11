"""Several logs of one place as one log."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from resweep.errors import ResweepError
from resweep.log import Log
from resweep.sweep import Sweep


def join(logs: Sequence[Log]) -> Log:
    """The sweeps of all logs, one log after another; they must share one world frame (`align`).

    Meta data is that of the first, with the paths of all under ``paths`` and what aligning changed under ``aligned``.
    """
    if not logs:
        raise ResweepError("no log given; a map needs at least one")
    if len(logs) == 1:
        return logs[0]
    owner = np.repeat(np.arange(len(logs)), [len(log) for log in logs])
    inside = np.concatenate([np.arange(len(log)) for log in logs])
    meta = {**logs[0].meta, "paths": [str(log.meta.get("path", log.name)) for log in logs]}
    changes = [log.meta["aligned"] for log in logs if "aligned" in log.meta]
    meta |= {"aligned": changes} if changes else {}
    formats = {log.meta.get("format") for log in logs}
    if len(formats) > 1:
        raise ResweepError(f"logs of several formats ({formats}) have no labels in common; build from one at a time")

    def load(at: int) -> Sweep:
        return logs[int(owner[at])].load(int(inside[at]))

    times = np.concatenate([log.times for log in logs])
    poses = np.concatenate([log.poses for log in logs])
    return replace(logs[0], load=load, times=times, poses=poses, meta=meta)
