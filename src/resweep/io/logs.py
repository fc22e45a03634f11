"""Whole logs, opened lazily from whatever holds them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from resweep.errors import InputError
from resweep.io.folders.faults import skip_faulty
from resweep.io.folders.pose_files import read_poses_of
from resweep.io.format import list_options
from resweep.io.recorded_log import LogSource, find_part, open_recorded
from resweep.io.registry import FORMATS
from resweep.io.source import make_absolute_name
from resweep.labels import LabelSet, load_labels
from resweep.log import Log
from resweep.pose import Array, Trajectory, check_rigid
from resweep.remote import check_finished, find_path, recover_output
from resweep.sweep import Sweep

Poses = str | Path | Trajectory | Array
_REACH_S = 0.25  # how far the first and last sweep may reach out of given poses


@list_options(reader for entry in FORMATS.values() for reader in (entry.read, entry.open_log))
def open_log(
    path: str | Path,
    format: str | None = None,
    poses: Poses | None = None,
    rate_hz: float | None = None,
    raw: bool = False,
    keep_going: bool | Literal["poses"] = False,
    empty_beams: bool = True,
    labels: str | Path | LabelSet | None = None,
    pose_rate_hz: float | None = None,
    **options: Any,
) -> Log:
    """Open a log without loading its sweeps: a folder, a dataset's sequence, or one sweep file.

    The format is guessed from the content unless given. ``poses`` (a file, a `Trajectory`, or (n, 4, 4))
    replaces the log's own; ``raw=True`` marks its points as not motion-compensated, and gives every
    sweep the motion of ``poses`` through its point times. ``rate_hz`` sets the times of a log without any
    (10 Hz if not given). A log without poses has identity poses, and ``poses_known`` is false.
    Poses of a KITTI file have no times: line i is the pose of sweep i, or with ``pose_rate_hz`` so many lines are a
    second, the first at the first sweep's time.

    ``labels`` is the vocabulary of the label ids, where the format has none or a wrong one: a `LabelSet`, its name or a
    YAML file of it.

    ``keep_going=True`` leaves out sweeps that are empty, cannot be read or have no good pose, each with a warning;
    ``log.skipped`` has them. To know them beforehand it reads every sweep once, one at a time, while opening;
    ``"poses"`` reads none and looks only at the poses.

    Where a format keeps only returns, the beams that came back empty are inferred from the LiDAR's grid;
    ``log.empty_beams`` notes how, or why not. ``empty_beams=False`` leaves them out.
    ``options`` are those of the format's reader, such as ``drop_nan=True`` or nuScenes' ``scene=``; a scene may also be
    opened like a folder of its dataset, as ``nuscenes/scene-0061``.

    ``path`` may be a URL of an object store, as ``s3://drives/seq00``: what a sweep needs is fetched when it is loaded.

    Example: ``first = rs.open_log("kitti/sequences/00", poses="poses.txt", rate_hz=10)[0]``
    """
    path = find_path(path)
    recover_output(path)
    path, part = find_part(path)
    check_finished(path)
    options = {**part, **options}
    source = LogSource(make_absolute_name(path), format, rate_hz, empty_beams, bool(keep_going), tuple(options.items()))
    log = open_recorded(source, path)
    if labels is not None:
        log = replace(log, labels=labels if isinstance(labels, LabelSet) else load_labels(labels))
    if keep_going:
        log = skip_faulty(log, path, read=keep_going != "poses")
    if poses is None:
        if raw:
            raise InputError(f"{path}: raw=True needs poses= to know the motion during each sweep")
        if pose_rate_hz is not None:
            raise InputError(f"{path}: a rate of poses, but no poses; give both, or neither")
        return log
    return _replace_poses(log, poses, raw, pose_rate_hz)


def _replace_poses(log: Log, poses: Poses, raw: bool, rate_hz: float | None) -> Log:
    """The log with other poses, sampled at its times; relative motion within sweeps moves along."""
    times, times_known = log.times, log.times_known
    if isinstance(poses, str | Path | Trajectory):
        motion = poses if isinstance(poses, Trajectory) else read_poses_of(log, find_path(poses), rate_hz)
        if not times_known and len(motion) == len(log):  # they pair up, and the poses' times are real
            times, times_known = motion.times, True
    else:
        matrices = check_rigid(poses, "poses").reshape(-1, 4, 4)
        if len(matrices) != len(log):
            raise InputError(f"poses: {len(matrices)} for the {len(log)} sweeps of '{log.name}'; they must pair up")
        motion = Trajectory(times, matrices)
    _check_clock(log, poses, motion, times)
    # Interpolation at a knot is exact only to rounding; poses given for these very times stay as they are.
    matrices = motion.poses if np.array_equal(motion.times, times) else motion.at(times)

    wide = motion.extended(_REACH_S)

    def place(sweep: Sweep, at: int) -> Sweep:
        # A log that has no poses has motion in its sweeps only where its points are raw.
        unplaced = not log.poses_known and sweep.trajectory is not None
        sweep = sweep.moved_to(matrices[at], float(times[at]))
        if unplaced and sweep.n_beams:
            return sweep.with_motion(wide, float(times[at]))
        if raw and sweep.n_beams:
            first, last = float(sweep.beam_time.min()), float(sweep.beam_time.max())
            return replace(sweep, trajectory=motion.window(first, last))
        return sweep

    known = {"poses_known": True, "times_known": times_known, "sensor_position_known": True}
    facts = {"times": np.asarray(times), "poses": matrices, **known}
    return log.map(place, "other poses", indexed=True, **facts, meta={**log.meta, "poses": "given"})


def _check_clock(log: Log, poses: Poses, motion: Trajectory, times: Array) -> None:
    """Raise if none of the sweeps was taken while the poses were: they are of another clock."""
    first, last = float(times[0]), float(times[-1])
    if motion.extended(_REACH_S).start <= last and first <= motion.extended(_REACH_S).end:
        return
    name = str(poses) if isinstance(poses, str | Path) else "poses"
    raise InputError(
        f"{name}: its times, {motion.start:.6f} to {motion.end:.6f} s, are not those of the sweeps of '{log.name}', "
        f"{first:.6f} to {last:.6f} s; give poses of the same clock, or a KITTI file: line i is the pose of sweep i"
    )
