"""Several logs of one place as one log."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from resweep.errors import ResweepError
from resweep.log import EmptyBeams, Log
from resweep.sensors.infer.inferred_drive import prepare_drive
from resweep.sweep import Sweep


def join(logs: Sequence[Log]) -> Log:
    """The sweeps of all logs, one log after another; they must share one world frame (`align`) and one vocabulary.

    What is known is what is known of all of them: a sensor only if they share it. ``meta`` is that of the first, with
    the paths of all under ``paths`` and the corrections of `align` under ``aligned``. Each log is prepared by itself
    (`prepare_drive`): joined sweeps do not show which drive they are of.

    Example: ``log = rs.join([rs.open_log("monday"), rs.open_log("tuesday")])``
    """
    if not logs:
        raise ResweepError("join: no log given; give at least one")
    if len(logs) == 1:
        return logs[0]
    logs = [prepare_drive(log) for log in logs]
    first = logs[0]
    if any(log.labels != first.labels for log in logs):
        names = ", ".join(sorted({log.labels.name for log in logs}))
        raise ResweepError(f"join: the logs' labels are of several vocabularies ({names}); join those of one")
    owner = np.repeat(np.arange(len(logs)), [len(log) for log in logs])
    inside = np.concatenate([np.arange(len(log)) for log in logs])
    meta = {**first.meta, "paths": [str(log.meta.get("path", log.name)) for log in logs]}
    changes = [value for log in logs for name, value in log.meta.items() if name == "aligned"]
    meta |= {"aligned": changes} if changes else {}

    def load(at: int) -> Sweep:
        return logs[int(owner[at])].load(int(inside[at]))

    one_sensor = all(log.sensor == first.sensor and log.sensor_name == first.sensor_name for log in logs)
    return replace(
        first,
        load=load,
        times=np.concatenate([log.times for log in logs]),
        poses=np.concatenate([log.poses for log in logs]),
        sensor=first.sensor if one_sensor else None,
        sensor_name=first.sensor_name if one_sensor else "",
        poses_known=all(log.poses_known for log in logs),
        sensor_position_known=all(log.sensor_position_known for log in logs),
        times_known=all(log.times_known for log in logs),
        prepared=True,
        cloud=first.cloud if all(log.cloud == first.cloud for log in logs) else "no",
        empty_beams=EmptyBeams.lazy(lambda: _find_common_beams([log.empty_beams for log in logs])),
        skipped=tuple(fault for log in logs for fault in log.skipped),
        steps=(*first.steps, "join"),
        meta=meta,
    )


def _find_common_beams(beams: Sequence[EmptyBeams]) -> EmptyBeams:
    """Where the empty beams of all logs come from; unknown if they differ in it."""
    same = all(each.source == beams[0].source for each in beams)
    return beams[0] if same else EmptyBeams("unknown", "the logs differ in it")
