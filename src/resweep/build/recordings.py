"""Several recordings of one place as the one log that a world is built from."""

from __future__ import annotations

from collections.abc import Sequence

from resweep.build.settings.base import BuildConfig
from resweep.log import Log
from resweep.map.accumulate import find_mappable
from resweep.register import Shift
from resweep.register import align as align_logs
from resweep.register import odometry as find_poses
from resweep.register.join import join
from resweep.sensors.infer.inferred_drive import prepare_drive


def join_recordings(
    logs: Sequence[Log],
    config: BuildConfig,
    *,
    odometry: bool = False,
    align: bool = True,
    left_out: list[str] | None = None,
    progress: bool = True,
) -> tuple[Log, list[Shift]]:
    """The sweeps of all logs as one log, and how the poses of each but the first were corrected.

    Each is prepared by itself (`prepare_drive`): joined sweeps do not show which drive they are of. With ``odometry``
    the poses of each are found from its sweeps; with ``align`` those of further logs are corrected
    onto the map of the first, by the returns that a map of ``config`` holds. With a list in ``left_out``, logs that do
    not fit are noted there and left out.
    """
    if odometry:
        logs = [find_poses(log, progress=progress) for log in logs]
    for log in logs:
        if len(log) > 1 or len(logs) > 1:
            log.require_poses()
    if len(logs) > 1:
        logs = [prepare_drive(log) for log in logs]
    if not align or len(logs) < 2:
        return join(logs), []
    labels = config.map.choose_labels(logs[0])
    done, shifts = align_logs(
        logs, keep=lambda sweep: find_mappable(sweep, config.map, labels), left_out=left_out, progress=progress
    )
    return join(done), shifts
