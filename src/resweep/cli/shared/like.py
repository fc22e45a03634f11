"""``resweep simulate --like LOG``: the log to drive like, and the drive in a world."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from resweep.errors import ResweepError

if TYPE_CHECKING:
    from resweep.log import Log

RECORDED = "recorded"  # the name of the beams of the log itself, in place of a sensor


def check_recorded(sensor: str, like: str | None, options: dict[str, object]) -> None:
    """Raise if ``recorded`` is asked for without a log, or with an ``option`` that recorded beams do not have."""
    if sensor != RECORDED:
        return
    if like is None:
        raise ResweepError("--sensor recorded: fires the beams of a log; give that with --like LOG")
    for name, value in options.items():
        if value:
            raise ResweepError(
                f"{name}: recorded beams leave as they were recorded; leave it out, or name another --sensor"
            )


def open_like(
    like: str, sensor: str, poses: str | None, pose_rate: float | None, sweeps: int | None, keep_going: bool
) -> Log:
    """The log to drive like, or its first ``sweeps``; with poses of a file in place of its own, if given."""
    from resweep.cli.shared.inputs import open_posed, report_skipped
    from resweep.remote import find_path

    path = find_path(like)
    # Another sensor takes the poses alone: no sweep is read for it, and no empty beam looked for.
    fired = sensor == RECORDED
    log = open_posed(path, keep_going, poses, pose_rate, poses_only=not fired, empty_beams=fired)
    report_skipped(like, log)
    if len(log) > 1 or not fired:
        log.require_poses()
    if sweeps is not None and sweeps > len(log):
        raise ResweepError(f"{like}: holds {len(log)} sweeps, {sweeps} are asked for; lower --sweeps")
    if log.sensor_name == sensor:
        typer.echo(
            f"{sensor} fires its catalog pattern, not the beams of {like}; leave --sensor out to fire those", err=True
        )
    return log[:sweeps]
