"""Whole logs, written whole or not at all."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

import resweep
from resweep.errors import InputError, OutputError, ResweepError, nearest_names
from resweep.files import atomic_folder
from resweep.files.partial import hash_text, resumable_folder
from resweep.files.publication import NEW
from resweep.io.folders import sweep_files
from resweep.io.folders.pending import OnSweep, PendingSweeps
from resweep.io.format import Format, check_frame, check_options, list_options
from resweep.io.log_json import FILE, read_record, write_record
from resweep.io.recorded_log import recognise_log
from resweep.io.registry import FORMATS, get_format
from resweep.log import Log
from resweep.pose import Trajectory
from resweep.remote import discard_stage, find_path, is_remote, is_unfinished, lock_output, publish, stage
from resweep.work import Workers


@list_options(writer for entry in FORMATS.values() for writer in (entry.write, entry.write_log))
def write_log(
    log: Log,
    path: str | Path,
    format: str = "sweep",
    frame: str | None = None,
    overwrite: bool = False,
    progress: bool = True,
    resume: bool = False,
    workers: Workers | None = None,
    on_sweep: OnSweep | None = None,
    finish: Callable[[Path], None] | None = None,
    made_from: Mapping[str, str] | None = None,
    **options: Any,
) -> None:
    """Write a log as a folder: sweeps, poses, and ``log.json`` with its facts, versions and settings.

    ``format`` is a name of `FORMATS`; ``frame`` and ``options`` are as in `write_sweep`. The folder appears
    once it is whole. One that exists and holds anything is an error; with ``overwrite`` a log there is
    replaced at the end, and anything that is no log is left alone. Another process that writes there is an error.

    With ``resume`` sweeps that are finished are kept beside ``path``, in a folder of its name and ``.partial``, until
    the log is whole. A write that was stopped goes on after them if it is called again with the same log.
    Formats whose files depend on all sweeps (nuscenes, ros2) keep copies of the sweeps there, and are written anew from
    these. Of a log that is computed as it is read, ``made_from`` gives what its sweeps depend on beside its times and
    poses, as texts: "inputs" and "config". With others, finished sweeps are not used.

    ``workers`` load and write the sweeps (default: this process); the bytes are the same.
    ``on_sweep(returns, beams, unknown)`` is called once a sweep is written, in their order; unknown ones are the
    beams that look where nothing was recorded.
    ``finish(folder)`` may add files to the finished log before it appears.

    ``path`` may be a URL of an object store. The log is then written to a local folder first (`resweep.remote.stage`),
    which all ``workers`` must see, and uploaded, its log.json last.

    Example: ``rs.write_log(rs.Simulator(world, "velodyne-vlp-16").run(path), "out", format="semantickitti")``
    """
    path = find_path(path)
    path = path if is_remote(path) else Path(os.path.abspath(path))
    entry = get_format(format)
    if entry.elsewhere:
        raise ResweepError(f"format '{format}': no folder of sweeps; it is written by {entry.elsewhere}")
    if entry.write_log is None and entry.write is None:
        writable = [name for name, other in FORMATS.items() if other.write or other.write_log]
        raise ResweepError(f"format '{format}' can only be read; {nearest_names(format, writable)}")
    frame = check_frame(frame or entry.frame)
    if not len(log):
        raise ResweepError(f"{path}: the log holds no sweep; nothing to write")
    Trajectory(log.times, log.poses)  # wrong times are found now rather than after the last sweep
    writer = entry.write_log or entry.write
    if writer is not None:
        check_options(writer, options, f"writing {entry.title}")
    shared: dict[str, Any] = {"workers": workers, "on_sweep": on_sweep}
    with lock_output(path):
        _check_target(path, overwrite)
        if not resume:
            with atomic_folder(stage(path)) as folder:
                pending = PendingSweeps(log, f"writing {path.name}", None, progress, **shared)
                _complete(folder, path, log, entry, frame, pending, options, finish)
        else:
            key = _make_key(log, format, frame, options, made_from or {})
            with resumable_folder(stage(path), key, "finished sweeps of a log") as partial:
                folder = partial / NEW
                if entry.write_log is not None and not entry.resumes:
                    shutil.rmtree(folder)
                    folder.mkdir()
                shared["key"] = hash_text(*key.values())
                pending = PendingSweeps(log, f"writing {path.name}", partial, progress, **shared)
                _complete(folder, path, log, entry, frame, pending, options, finish)
        discard_stage(path)


def _complete(
    folder: Path,
    path: Path,
    log: Log,
    entry: Format,
    frame: str,
    sweeps: PendingSweeps,
    options: dict[str, Any],
    finish: Callable[[Path], None] | None,
) -> None:
    """Fill ``folder`` with all of a log, and upload it if ``path`` is a URL."""
    _fill(folder, log, entry, frame, sweeps, options)
    if finish is not None:
        finish(folder)
    publish(folder, path, last=FILE)


def _fill(folder: Path, log: Log, entry: Format, frame: str, sweeps: PendingSweeps, options: dict[str, Any]) -> None:
    """Fill ``folder`` with the sweeps that are not there yet, and all else of a log."""
    if entry.write_log is not None:
        log = entry.write_log(log, sweeps, folder, frame=frame, **options) or log
    else:
        sweep_files.write_sweeps(entry, log, sweeps, folder, frame, **options)
    write_record(log, folder, entry.name, frame)


def _make_key(
    log: Log, format: str, frame: str, options: dict[str, Any], made_from: Mapping[str, str]
) -> dict[str, str]:
    """What decides the bytes of a written log."""
    facts = [None if fact is None else fact.model_dump_json() for fact in (log.labels, log.sensor)]
    arrays = [np.ascontiguousarray(values).tobytes().hex() for values in (log.times, log.poses)]
    return {
        "version": resweep.__version__,
        "config": hash_text(format, frame, sorted(options.items()), log.name, *facts, made_from.get("config")),
        "inputs": hash_text(len(log), *arrays, made_from.get("inputs")),
    }


def _check_target(path: Path, overwrite: bool) -> None:
    if path.exists() and not path.is_dir():
        raise InputError(f"{path}: is a file; a log is written as a folder")
    if not path.is_dir() or not any(path.iterdir()) or is_unfinished(path):
        return
    if not overwrite:
        raise OutputError(f"{path}: exists and is not empty; choose another name or overwrite it (overwrite=True)")
    if read_record(path) is None and recognise_log(path) is None:
        raise OutputError(f"{path}: is no log, so it is not overwritten; choose another name or empty it first")
