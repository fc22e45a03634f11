"""The command that a user may want after a world was built."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from resweep.log import Log
    from resweep.pose import Array


def name_drive(path: Path, log: Log, chosen: slice) -> list[str] | None:
    """The options that drive like the sweeps that were built from; None where no option names them."""
    start, stop, step = chosen.start or 0, chosen.stop, chosen.step or 1
    if log.cloud != "no" or not (log.poses_known and log.beams_known) or start != 0 or step != 1:
        return None
    return ["--like", str(path), *([] if stop is None else ["--sweeps", str(len(log))])]


def suggest_simulation(
    output: Path, log: Log, is_cloud: bool, like: list[str] | None, given: Mapping[str, object], keep_going: bool
) -> str:
    """The command that sweeps the new world: as the log drove, else from its first pose."""
    import numpy as np

    command = ["resweep", "simulate", str(output)]
    if like is not None:
        command += like
        command += [str(part) for name, value in given.items() if value is not None for part in (name, value)]
        command += ["--keep-going"] if keep_going else []
    else:
        pose = log.poses[0]
        yaw_deg = np.degrees(np.arctan2(pose[1, 0], pose[0, 0]))
        start = _find_middle(log) if is_cloud else pose[:3, 3]
        pose_text = ",".join(f"{value:.2f}" for value in (*start, yaw_deg))
        command += ["--sensor", "velodyne-hdl-32e", "--poses", pose_text]
    return shlex.join([*command, "-o", "out"])


def _find_middle(log: Log) -> Array:
    """A place (3,) in the middle of a cloud, 1.8 m above the lowest points around it."""
    import numpy as np

    points = log[len(log) // 2].world_points()
    middle = np.median(points, axis=0)
    near = points[
        np.argsort(np.abs(points[:, :2] - middle[:2]).max(axis=1), kind="stable")[: max(100, len(points) // 50)]
    ]
    return np.array([*middle[:2], np.quantile(near[:, 2], 0.05) + 1.8])
