"""A folder of sweep files as a log: ``000000.pcd`` ..., ``poses.txt`` (TUM) and ``log.json``.

``log.json`` says what the folder holds and what made it. A folder without it is opened all the same: files
in natural order, times from names that are times, poses from a file of a usual name (``poses.txt``,
``trajectory.csv`` ...) in TUM, KITTI or CSV, or from the files themselves.
"""

from __future__ import annotations

import json
import platform
import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, is_dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import resweep
from resweep.errors import ResweepError
from resweep.io import poses
from resweep.io.empty_beams import completed
from resweep.io.faults import Faults
from resweep.io.files.header import Header
from resweep.io.folder_poses import placed_by, placed_in_spite, pose_file, stamps_of
from resweep.io.format import Format, named_errors, peek_as, read_as
from resweep.log import Log
from resweep.pose import Array, Trajectory
from resweep.sweep import Sweep

VERSION = 1
RATE_HZ = 10.0  # assumed where neither poses nor files say when a sweep was taken
# No sweep lasts this long, so point times below it count from its start.
_RELATIVE_S = 10.0
_SLACK_S = 0.1
_COMPARED = 20  # files whose fields are compared to know what a log's points have


def write_sweeps(entry: Format, log: Log, sweeps: Iterable[Sweep], folder: Path, frame: str, **options: Any) -> None:
    """Fill ``folder`` with one file a sweep, and their poses."""
    assert entry.write is not None
    for at, sweep in enumerate(sweeps):
        entry.write(sweep, folder / f"{at:06d}{entry.suffixes[0]}", frame=frame, **options)
    trajectory = log.trajectory
    if frame == "world" and entry.peek is None:  # bare points already in the world must not be moved again
        trajectory = Trajectory(log.times, np.tile(np.eye(4), (len(log), 1, 1)))
    poses.write_poses(trajectory, folder / "poses.txt", "tum")


def write_record(log: Log, folder: Path, layout: str, frame: str) -> None:
    """Write log.json: the layout, and the configuration, seed and versions behind the log."""
    record = {
        "format": "resweep-log",
        "version": VERSION,
        "layout": layout,
        "frame": frame,
        "sweeps": len(log),
        "name": log.name,
        "sensor": log.sensor_name,
        "versions": {"resweep": resweep.__version__, "numpy": np.__version__, "python": platform.python_version()},
        "meta": _plain(log.meta),
    }
    (folder / "log.json").write_text(json.dumps(record, indent=1) + "\n")


def read_record(folder: Path) -> dict[str, Any] | None:
    """The contents of log.json, or None where there is none of ours."""
    file = folder / "log.json"
    if not file.is_file():
        return None
    try:
        record = json.loads(file.read_text())
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise ResweepError(f"{file}: damaged ({error}); write the log again") from error
    if not isinstance(record, dict) or record.get("format") != "resweep-log":
        return None
    if record.get("version", 0) > VERSION:
        raise ResweepError(f"{file}: version {record['version']}, this Resweep reads {VERSION}; upgrade Resweep")
    return record


def _plain(value: Any) -> Any:
    """``value`` as JSON can hold it."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(item) for item in value]
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if is_dataclass(value) and not isinstance(value, type):
        return _plain(asdict(value))
    if callable(dump := getattr(value, "model_dump", None)):
        return _plain(dump(mode="json"))
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


def sweep_files(folder: Path, suffixes: Iterable[str]) -> list[Path]:
    """The sweep files of a folder in natural order (2 before 10)."""
    known = tuple(suffixes)
    files = [file for file in folder.iterdir() if file.name.lower().endswith(known) and file.is_file()]
    return sorted(files, key=lambda file: [int(p) if p.isdigit() else p for p in re.split(r"(\d+)", file.name)])


def open_sweeps(
    entry: Format,
    folder: Path,
    files: list[Path],
    rate_hz: float | None = None,
    empty_beams: bool = True,
    keep_going: bool = False,
    **options: Any,
) -> Log:
    """The sweep ``files`` of a folder as a log; poses from poses.txt, else from the files, else unknown.

    With ``keep_going``, sweeps without a good pose raise only when they are loaded.
    """
    record = read_record(folder) or {}
    meta: dict[str, Any] = {**record.get("meta", {}), "format": entry.name, "path": str(folder)}
    if record and record["sweeps"] != len(files):
        if not keep_going:
            raise ResweepError(
                f"{folder}: log.json counts {record['sweeps']} sweeps, the folder holds {len(files)}; some are missing"
            )
        warnings.warn(f"{folder}: log.json counts {record['sweeps']} sweeps, it holds {len(files)}", stacklevel=5)
        meta["absent"] = {"missing": max(0, record["sweeps"] - len(files))}
    faults = Faults()
    heads = None if pose_file(folder) is not None else _heads(entry, files, faults if keep_going else None)
    times, all_poses = _placing(folder, files, heads, rate_hz, meta, faults if keep_going else None)
    check = _same_fields(entry, files)

    def load(at: int) -> Sweep:
        check(files[at])
        sweep = read_as(entry, files[at], **options)
        if peek_as(entry, files[at]) is None:
            return place_sweep(sweep, all_poses[at], float(times[at]))
        return sweep.moved_to(all_poses[at], float(times[at]))

    sensor = record.get("sensor", "") or (heads[0].sensor if heads else "")
    bare = Log(load, times, all_poses, record.get("name") or folder.name, sensor_name=sensor, meta=meta)
    return faults.guarded(completed(bare, empty_beams and entry.spins))


def _same_fields(entry: Format, files: list[Path]) -> Callable[[Path], None]:
    """What raises for a file that lacks a field which most of the ``files`` have: points of mixed types."""

    @cache
    def common() -> tuple[frozenset[str], str]:
        heads: Counter[frozenset[str]] = Counter()
        example: dict[frozenset[str], str] = {}
        for file in files[:: max(1, len(files) // _COMPARED)]:
            try:
                names = frozenset(entry.fields(file)) if entry.fields is not None else frozenset()
            except (ResweepError, OSError, ValueError):  # reading that file itself will say so
                continue
            heads[names] += 1
            example.setdefault(names, file.name)
        return (names := heads.most_common(1)[0][0], example[names])[:2] if heads else (frozenset(), "")

    def check(file: Path) -> None:
        if entry.fields is None or not file.is_file():  # reading a file that is gone says so
            return
        wanted, example = common()
        with named_errors(entry, file):
            missing = sorted(wanted - frozenset(entry.fields(file)))
        if missing:
            raise ResweepError(f"{file}: no field '{missing[0]}', which {example} has; sweeps of a log must be alike")

    return check


def _heads(entry: Format, files: list[Path], faults: Faults | None) -> list[Header] | None:
    """The files' own poses and times, if every one has them; a damaged one stands as the one before, at fault."""
    heads: list[Header] = []
    for at, file in enumerate(files):
        try:
            head = peek_as(entry, file)
        except ResweepError as error:
            if faults is None:
                raise
            faults[at] = str(error)
            head = replace(heads[-1], timestamp=heads[-1].timestamp + 1e-6) if heads else Header("sensor", np.eye(4))
        if head is None:
            return None
        heads.append(head)
    return heads


def _placing(
    folder: Path,
    files: list[Path],
    heads: list[Header] | None,
    rate_hz: float | None,
    meta: dict[str, Any],
    faults: Faults | None,
) -> tuple[Array, Array]:
    count, stamps = len(files), stamps_of(files)
    file = pose_file(folder)
    if file is not None:
        meta.setdefault("poses", file.name)
        if faults is not None:
            return placed_in_spite(file, files, stamps, rate_hz or RATE_HZ, faults)
        return placed_by(file, count, files, stamps, rate_hz)
    if heads is None:
        meta["poses"] = "unknown"
    all_poses = np.tile(np.eye(4), (count, 1, 1)) if heads is None else np.stack([head.pose for head in heads])
    times = np.array([head.timestamp for head in heads or ()])
    if heads is None and stamps is not None and rate_hz is None:
        times = stamps
    elif heads is None or rate_hz is not None or (np.diff(times) <= 0).any():
        meta["times"] = "assumed"
        times = np.arange(count) / (rate_hz or RATE_HZ)
    return times, all_poses


def place_sweep(sweep: Sweep, pose: Array, time: float) -> Sweep:
    """A bare sweep put at ``pose`` and ``time``.

    Firing times that do not vary become ``time``; small ones that vary but lie away from it count from the
    start of the sweep, and are moved there.
    """
    stamps = sweep.beam_time
    if len(stamps):
        first, last = float(stamps.min()), float(stamps.max())
        if first == last:
            stamps = np.full(len(stamps), time)
        elif max(abs(first), abs(last)) < _RELATIVE_S and not first - _SLACK_S <= time <= last + _SLACK_S:
            stamps = stamps + time
    return replace(sweep, pose=pose, timestamp=time, beam_time=stamps)
