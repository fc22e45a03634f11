"""The user's own recording, in place of the street."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from resweep.errors import ResweepError

if TYPE_CHECKING:
    from resweep.log import Log


def open_own(path: Path, max_sweeps: int, odometry: bool) -> Log:
    """The log, or its first sweeps: ``max_sweeps`` of them. With ``odometry`` it gets poses if it has none."""
    from resweep.cli.shared.inputs import find_poses, open_posed, report_skipped

    log = open_posed(path, True)
    report_skipped(path, log)
    if len(log) < 3:
        raise ResweepError(f"{path}: holds {len(log)} sweeps; the demo needs at least 3, one of which is held out")
    if len(log) > max_sweeps:
        typer.echo(f"{path}: takes the first {max_sweeps} of {len(log)} sweeps; --sweeps N takes more", err=True)
    log = log[:max_sweeps]
    if odometry and not log.poses_known:
        log = find_poses(log)
    log.require_poses("no world can be built from it")
    return log
