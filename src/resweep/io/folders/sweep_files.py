"""A folder of sweep files as a log: ``000000.pcd`` ..., and ``poses.txt`` (TUM).

A folder that Resweep did not write is opened all the same: files in natural order, times from names that are
times, poses from a file of a usual name (``poses.txt``, ``trajectory.csv`` ...) in TUM, KITTI or CSV, or from the
files themselves.
"""

from __future__ import annotations

import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from resweep.errors import FaultKind, ResweepError, SweepError
from resweep.io import poses
from resweep.io.empty_beams import infer_empty_beams
from resweep.io.folders.faults import Faults, refuse_faulty
from resweep.io.folders.pending import OpenFile, PendingSweeps
from resweep.io.folders.pose_files import ASSUMED_RATE_HZ, find_pose_file, pair_good_poses, pair_poses, parse_stamps
from resweep.io.format import Format, explain_errors, is_placed, peek_as, read_as
from resweep.io.points.header import Header
from resweep.labels import NO_LABELS, UNKNOWN_LABELS, LabelSet
from resweep.log import Fault, Log
from resweep.pose import Array, Trajectory
from resweep.sensors import find_sensor
from resweep.sweep import Sweep

RATE_HZ = ASSUMED_RATE_HZ
# No sweep lasts this long, so point times below it count from its start.
_RELATIVE_S = 10.0
_SLACK_S = 0.1
_COMPARED_FILES = 20  # files whose fields are compared to know what a log's points have


def write_sweeps(entry: Format, log: Log, sweeps: PendingSweeps, folder: Path, frame: str, **options: Any) -> None:
    """Fill ``folder`` with one file a sweep, and their poses; intensities are put on the scale of the format."""
    assert entry.write is not None
    if entry.full_scale is not None and "intensity_scale" not in options:
        options["intensity_scale"] = entry.full_scale / (log.full_scale or 1.0)
    place = partial(_name_sweep_file, folder, entry.suffixes[0])
    write = partial(_write_sweep, partial(entry.write, frame=frame, **options), folder, entry.suffixes[0])
    for _ in sweeps.write(lambda at: place(at).is_file(), write):
        pass
    trajectory = log.trajectory
    if frame == "world" and entry.peek is None:  # bare points already in the world must not be moved again
        trajectory = Trajectory(log.times, np.tile(np.eye(4), (len(log), 1, 1)))
    poses.write_poses(trajectory, folder / "poses.txt", "tum")


def _name_sweep_file(folder: Path, suffix: str, at: int) -> Path:
    return folder / f"{at:06d}{suffix}"


def _write_sweep(
    write: Callable[[Sweep, Path], None], folder: Path, suffix: str, sweep: Sweep, at: int, open_file: OpenFile
) -> None:
    with open_file(_name_sweep_file(folder, suffix, at)) as file:
        write(sweep, file)


def list_sweep_files(folder: Path, suffixes: Iterable[str]) -> list[Path]:
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

    With ``keep_going``, sweeps without a good pose raise only when they are loaded, and are listed in ``skipped``.
    """
    faults = Faults()
    heads = None if find_pose_file(folder) is not None else _read_heads(entry, files, faults if keep_going else None)
    placing = _place_sweeps(folder, files, heads, rate_hz, faults if keep_going else None)
    check = _require_same_fields(entry, files)
    times, all_poses = placing.times, placing.poses

    def load(at: int) -> Sweep:
        check(files[at])
        sweep = read_as(entry, files[at], **options)
        if peek_as(entry, files[at]) is None:
            # A cloud far from the origin has its own pose near it, which must not be lost.
            pose = all_poses[at] if placing.poses_known else sweep.pose
            return place_sweep(sweep, pose, float(times[at]))
        return sweep.moved_to(all_poses[at], float(times[at]))

    name = heads[0].sensor if heads else ""
    log = Log(
        load,
        times,
        all_poses,
        folder.name,
        sensor=find_sensor(name),
        sensor_name=name,
        labels=find_labels(entry, files),
        poses_known=placing.poses_known,
        times_known=placing.times_known,
        sensor_position_known=placing.poses_known or _are_placed(entry, files),
        meta={"format": entry.name, "path": str(folder), "poses": placing.source},
    )
    if entry.spins:
        log = infer_empty_beams(log, empty_beams)
    return refuse_faulty(log, faults)


def _are_placed(entry: Format, files: list[Path]) -> bool:
    """Whether the files have the position of their sensor, as far as some of them show."""
    try:
        return all(is_placed(entry, file) for file in files[:: max(1, len(files) // _COMPARED_FILES)])
    except ResweepError:  # reading that file itself raises it
        return False


def check_count(folder: Path, count: int, expected: int, keep_going: bool) -> list[Fault]:
    """What is missing of the ``expected`` sweeps of a folder that holds ``count``: an error unless ``keep_going``."""
    if count == expected:
        return []
    problem = f"{folder}: log.json counts {expected} sweeps, the folder holds {count}"
    if not keep_going:
        raise ResweepError(f"{problem}; some are missing")
    warnings.warn(problem, stacklevel=5)
    return [Fault(FaultKind.MISSING, problem)] * max(0, expected - count)


def find_labels(entry: Format, files: list[Path]) -> LabelSet:
    """The vocabulary of some sweep files: that of the first that has labels; none where no file has any."""
    if entry.labels is None:
        return UNKNOWN_LABELS
    found = NO_LABELS
    for file in files[:: max(1, len(files) // _COMPARED_FILES)]:
        try:
            found = entry.labels(file)
        except (ResweepError, OSError, ValueError):  # reading that file itself raises it
            found = UNKNOWN_LABELS
        if found != NO_LABELS:
            break
    return found


def _require_same_fields(entry: Format, files: list[Path]) -> Callable[[Path], None]:
    """What raises for a file that lacks a field which most of the ``files`` have: points of mixed types."""

    @cache
    def common() -> tuple[frozenset[str], str]:
        heads: Counter[frozenset[str]] = Counter()
        example: dict[frozenset[str], str] = {}
        for file in files[:: max(1, len(files) // _COMPARED_FILES)]:
            try:
                names = frozenset(entry.fields(file)) if entry.fields is not None else frozenset()
            except (ResweepError, OSError, ValueError):  # reading that file itself raises it
                continue
            heads[names] += 1
            example.setdefault(names, file.name)
        return (names := heads.most_common(1)[0][0], example[names])[:2] if heads else (frozenset(), "")

    def check(file: Path) -> None:
        if entry.fields is None or not file.is_file():  # reading a file that is gone raises
            return
        wanted, example = common()
        with explain_errors(entry, file):
            missing = sorted(wanted - frozenset(entry.fields(file)))
        if missing:
            raise SweepError(
                f"{file}: no field '{missing[0]}', which {example} has; all sweeps of a log need the same fields",
                FaultKind.OTHER_FIELDS,
            )

    return check


def _read_heads(entry: Format, files: list[Path], faults: Faults | None) -> list[Header] | None:
    """The files' own poses and times, None unless every file has them.

    With ``faults``, a damaged file is noted there and gets the pose of the one before.
    """
    heads: list[Header] = []
    for at, file in enumerate(files):
        try:
            head = peek_as(entry, file)
        except ResweepError as error:
            if faults is None:
                raise
            faults.add(at, str(error), error.kind if isinstance(error, SweepError) else FaultKind.UNREADABLE)
            head = replace(heads[-1], timestamp=heads[-1].timestamp + 1e-6) if heads else Header("sensor", np.eye(4))
        if head is None:
            return None
        heads.append(head)
    return heads


@dataclass(frozen=True, eq=False)
class _SweepPlacement:
    """Times (n,) and poses (n, 4, 4) of the sweeps, whether they are known, and where the poses are from."""

    times: Array
    poses: Array
    source: str
    poses_known: bool = True
    times_known: bool = True


def _place_sweeps(
    folder: Path, files: list[Path], heads: list[Header] | None, rate_hz: float | None, faults: Faults | None
) -> _SweepPlacement:
    stamps = parse_stamps(files)
    if (file := find_pose_file(folder)) is not None:
        if faults is not None:
            times, all_poses, known = pair_good_poses(file, files, stamps, rate_hz or RATE_HZ, faults)
        else:
            times, all_poses, known = pair_poses(file, files, stamps, rate_hz)
        return _SweepPlacement(times, all_poses, file.name, times_known=known)
    assumed = np.arange(len(files)) / (rate_hz or RATE_HZ)
    if heads is None:
        nowhere = np.tile(np.eye(4), (len(files), 1, 1))
        if stamps is not None and rate_hz is None:
            return _SweepPlacement(stamps, nowhere, "unknown", poses_known=False)
        return _SweepPlacement(assumed, nowhere, "unknown", poses_known=False, times_known=False)
    times, all_poses = np.array([head.timestamp for head in heads]), np.stack([head.pose for head in heads])
    if rate_hz is not None or (np.diff(times) <= 0).any():
        return _SweepPlacement(assumed, all_poses, "the files", times_known=False)
    return _SweepPlacement(times, all_poses, "the files")


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
