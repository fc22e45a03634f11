"""Whole logs: opened lazily from whatever holds them, written whole or not at all."""

from __future__ import annotations

import inspect
import os
import warnings
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from resweep.errors import ResweepError, nearest_names
from resweep.files import atomic_folder
from resweep.io import folder as folders
from resweep.io.empty_beams import completed
from resweep.io.faults import readable
from resweep.io.format import Format, check_frame, check_options, named_errors, read_as
from resweep.io.poses import read_poses
from resweep.io.registry import FORMATS, format_named, format_of, sweep_suffixes
from resweep.log import Log
from resweep.pose import Array, Trajectory, check_rigid
from resweep.sweep import Sweep

Poses = str | Path | Trajectory | Array


def open_log(
    path: str | Path,
    format: str | None = None,
    poses: Poses | None = None,
    rate_hz: float | None = None,
    raw: bool = False,
    keep_going: bool | Literal["poses"] = False,
    empty_beams: bool = True,
    **options: Any,
) -> Log:
    """Open a log without loading its sweeps: a folder, a dataset's sequence, or one sweep file.

    The format is guessed from the content unless given. ``poses`` (a file, a `Trajectory`, or (n, 4, 4))
    replaces the log's own; ``raw=True`` says that its points are not motion-compensated, and gives every
    sweep the motion of ``poses`` through its point times. ``rate_hz`` sets the times of a log without any
    (10 Hz if not given). A log without poses has identity poses and ``meta["poses"] == "unknown"``.

    ``keep_going=True`` leaves out sweeps that are empty, cannot be read or have no good pose, each with a warning,
    and counts them in ``meta["skipped"]`` and, by kind, ``meta["skipped_why"]``. To know them beforehand it reads
    every sweep once, one at a time, while opening; ``"poses"`` reads none and looks only at the poses.

    Where a format keeps only returns, the beams that came back empty are inferred from the LiDAR's grid;
    ``meta["empty_beams"]`` says how, or why not. ``empty_beams=False`` leaves them out.
    ``options`` are those of the format's reader, such as ``drop_nan=True`` or nuScenes' ``scene=``.
    """
    path = Path(path)
    if not path.exists():
        raise ResweepError(f"{path}: no such file or folder")
    log = _opened(path, format, rate_hz, empty_beams, bool(keep_going), options)
    if keep_going:
        log = readable(log, path, read=keep_going != "poses")
    if poses is None:
        if raw:
            raise ResweepError(f"{path}: raw=True needs poses= to know the motion during each sweep")
        return log
    return _with_poses(log, poses, raw)


def _opened(
    path: Path,
    format: str | None,
    rate_hz: float | None,
    empty_beams: bool,
    keep_going: bool,
    options: dict[str, Any],
) -> Log:
    if path.is_file() and (format is None or format_named(format).read):
        held = _known_log(path)
        if held is None:
            single = format_named(format) if format else format_of(path)
            meta = {"format": single.name, "path": str(path)}
            bare = Log.from_sweeps([read_as(single, path, **options)], path.stem, meta=meta)
            return completed(bare, empty_beams and single.spins)
    others: dict[str, int] = {}
    entry = format_named(format) if format else _guess(path, others if keep_going else None)
    reader = entry.open_log or entry.read
    if reader is not None:
        check_options(reader, options, f"reading {entry.title}")
    if entry.open_log is not None:
        with named_errors(entry, path):
            lenient = {"keep_going": True} if keep_going and _is_lenient(entry) else {}
            log = entry.open_log(path, rate_hz=rate_hz, empty_beams=empty_beams, **lenient, **options)
        log = _guarded(entry, path, log)
        record = (folders.read_record(path) if path.is_dir() else None) or {}
        meta = {**record.get("meta", {}), **log.meta}
        return replace(
            log, name=record.get("name") or log.name, sensor_name=record.get("sensor") or log.sensor_name, meta=meta
        )
    if not path.is_dir():
        raise ResweepError(f"{path}: is a file; {entry.title} logs are folders")
    files = folders.sweep_files(path, entry.suffixes)
    if not files:
        raise ResweepError(f"{path}: no {' or '.join(entry.suffixes)} file in it; give the folder that holds them")
    log = folders.open_sweeps(entry, path, files, rate_hz, empty_beams, keep_going, **options)
    return replace(log, meta={**log.meta, "absent": others}) if others else log


def _is_lenient(entry: Format) -> bool:
    """Whether a reader can open logs in which some poses are wrong."""
    return entry.open_log is not None and "keep_going" in inspect.signature(entry.open_log).parameters


def _guarded(entry: Format, path: Path, log: Log) -> Log:
    """The log with errors in loading that name it, whatever a damaged dataset causes."""
    load = log.load

    def guarded(at: int) -> Sweep:
        with named_errors(entry, path):
            return load(at)

    return replace(log, load=guarded)


def _known_log(path: Path) -> Format | None:
    return next((entry for entry in FORMATS.values() if entry.recognises and entry.recognises(path)), None)


def _guess(path: Path, others: dict[str, int] | None = None) -> Format:
    """The format of what ``path`` holds; with ``others``, the commonest of several, and how many are not in it."""
    record = folders.read_record(path) if path.is_dir() else None
    if record is not None:
        return format_named(record["layout"])
    known = _known_log(path)
    if known is not None:
        return known
    suffixes = sweep_suffixes()
    found = Counter(format_of(file).name for file in folders.sweep_files(path, suffixes))
    if len(found) == 1 or (found and others is not None):
        ((name, count), *_) = found.most_common(1)
        if others is not None and count < found.total():
            warnings.warn(f"{path}: holds sweeps in several formats; only those in {name} are read", stacklevel=5)
            others["in another format"] = found.total() - count
        return FORMATS[name]
    if found:
        raise ResweepError(f"{path}: holds sweeps in several formats; give format= one of {', '.join(sorted(found))}")
    raise ResweepError(
        f"{path}: no log in it (no log.json, no sweep files {', '.join(sorted(suffixes))}, no velodyne/*.bin); "
        f"give the folder of one sequence, or format= one of {', '.join(FORMATS)}"
    )


def _with_poses(log: Log, poses: Poses, raw: bool) -> Log:
    """The log with other poses, sampled at its times; relative motion within sweeps moves along."""
    times = log.times
    if isinstance(poses, str | Path):
        given: Trajectory | None = read_poses(poses)
    else:
        given = poses if isinstance(poses, Trajectory) else None
    if given is None:
        matrices = check_rigid(poses, "poses").reshape(-1, 4, 4)  # type: ignore[arg-type]
        if len(matrices) != len(log):
            raise ResweepError(f"poses: {len(matrices)} for the {len(log)} sweeps of '{log.name}'; they must pair up")
        given = Trajectory(times, matrices)
    if log.meta.get("times") == "assumed" and len(given) == len(log):
        times = given.times
    # Interpolation at a knot is exact only to rounding; poses given for these very times stay as they are.
    matrices = given.poses if np.array_equal(given.times, times) else given.at(times)
    motion, load = given, log.load

    def settled(at: int) -> Sweep:
        sweep = load(at).moved_to(matrices[at], float(times[at]))
        if raw and sweep.n_beams:
            first, last = float(sweep.beam_time.min()), float(sweep.beam_time.max())
            return replace(sweep, trajectory=motion.window(first, last))
        return sweep

    return replace(log, load=settled, times=np.asarray(times), poses=matrices, meta={**log.meta, "poses": "given"})


def write_log(
    log: Log,
    path: str | Path,
    format: str = "sweep",
    frame: str | None = None,
    overwrite: bool = False,
    progress: bool = True,
    **options: Any,
) -> None:
    """Write a log as a folder: sweeps, poses, and ``log.json`` with what made it.

    ``format`` is a name of `FORMATS`; ``frame`` and ``options`` are as in `write_sweep`. The folder appears
    once it is whole. One that exists and holds anything is an error; with ``overwrite`` a log there is
    replaced at the end, and anything that is no log is left alone.
    """
    path = Path(os.path.abspath(path))
    entry = format_named(format)
    if entry.write_log is None and entry.write is None:
        writable = [name for name, other in FORMATS.items() if other.write or other.write_log]
        raise ResweepError(f"format '{format}' can only be read; {nearest_names(format, writable)}")
    frame = check_frame(frame or entry.frame)
    _check_target(path, overwrite)
    if not len(log):
        raise ResweepError(f"{path}: the log holds no sweep; nothing to write")
    Trajectory(log.times, log.poses)  # wrong times are found now rather than after the last sweep
    writer = entry.write_log or entry.write
    if writer is not None:
        check_options(writer, options, f"writing {entry.title}")
    with atomic_folder(path) as temporary:
        sweeps = _tracked(log, progress, f"writing {path.name}")
        if entry.write_log is not None:
            entry.write_log(log, sweeps, temporary, frame=frame, **options)
        else:
            folders.write_sweeps(entry, log, sweeps, temporary, frame, **options)
        folders.write_record(log, temporary, entry.name, frame)


def _check_target(path: Path, overwrite: bool) -> None:
    if path.exists() and not path.is_dir():
        raise ResweepError(f"{path}: is a file; a log is written as a folder")
    if not path.is_dir() or not any(path.iterdir()):
        return
    if not overwrite:
        raise ResweepError(f"{path}: exists and is not empty; choose another name or overwrite it (overwrite=True)")
    if folders.read_record(path) is None and _known_log(path) is None:
        raise ResweepError(f"{path}: is no log, so it is not overwritten; choose another name or empty it first")


def _tracked(log: Log, progress: bool, what: str) -> Iterator[Sweep]:
    from rich.console import Console
    from rich.progress import track

    console = Console(stderr=True)
    shown = progress and console.is_terminal
    return iter(track(log, what, total=len(log), console=console, transient=True, disable=not shown))
