"""Recorded logs: which format a file or folder is in, and the log that its reader gives with what log.json knows."""

from __future__ import annotations

import inspect
import os
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from resweep.bounds import check_sweep, check_times
from resweep.errors import FaultKind, InputError, nearest_names
from resweep.files.untrusted import check_regular
from resweep.io.clouds.tiles import asks_for_tiles
from resweep.io.empty_beams import infer_empty_beams
from resweep.io.folders import sweep_files
from resweep.io.format import Format, check_options, explain_errors, find_crs, is_placed, peek_as, read_as
from resweep.io.log_json import LogRecord, read_record
from resweep.io.registry import FORMATS, find_format, get_format, list_sweep_suffixes
from resweep.io.source import with_source
from resweep.io.unread_files import find_log_above
from resweep.io.unread_folders import explain_folder
from resweep.log import Fault, Log
from resweep.pose import check_rigid
from resweep.remote import find_path, recover_output
from resweep.sensors import Sensor, find_sensor
from resweep.sensors.infer.known_rings import assign_rings
from resweep.sweep import Sweep


@dataclass(frozen=True)
class LogSource:
    """A recorded log as `resweep.open_log` opens it: where it lies, and the options of its reader."""

    path: str
    format: str | None = None
    rate_hz: float | None = None
    empty_beams: bool = True
    keep_going: bool = False
    options: tuple[tuple[str, Any], ...] = ()

    def open(self) -> Log:
        """The log, opened anew; its reader gave its warnings when the log was first opened."""
        if "://" not in self.path and not os.path.exists(self.path):
            raise InputError(f"{self.path}: is not there for a worker; all workers must see the same files")
        recover_output(path := find_path(self.path))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return open_recorded(self, path)


def open_recorded(source: LogSource, path: Path) -> Log:
    """The log of a source whose path is ``path``; it can be sent to other processes."""
    return with_source(_open(source, path), source)


def find_part(path: Path) -> tuple[Path, dict[str, str]]:
    """``path`` where it exists, else the dataset of which it names a part, and the options that open this part."""
    if path.exists():
        return path, {}
    for entry in FORMATS.values():
        if entry.find_part is not None and (found := entry.find_part(path)) is not None:
            return found
    raise InputError(f"{path}: no such file or folder; check the path")


def _open(source: LogSource, path: Path) -> Log:
    format, options = source.format, dict(source.options)
    rate_hz, empty_beams, keep_going = source.rate_hz, source.empty_beams, source.keep_going
    if not path.is_dir():
        check_regular(path)
    if format is None and asks_for_tiles(path, options):
        format = "tiles"
    if path.is_file() and _is_sweep(path, format):
        return _open_file(get_format(format) if format else find_format(path), path, empty_beams, options)
    record = read_record(path) if path.is_dir() else None
    absent: list[Fault] = []
    entry = get_format(format) if format else _guess(path, record, absent if keep_going else None)
    reader = entry.open_log or entry.read
    if reader is not None:
        check_options(reader, options, f"reading {entry.title}")
    if entry.open_log is not None:
        with explain_errors(entry, path):
            lenient = {"keep_going": True} if keep_going and _is_lenient(entry) else {}
            log = entry.open_log(path, rate_hz=rate_hz, empty_beams=empty_beams, **lenient, **options)
        log = _explain_reading(entry, path, log)
        return log if record is None else _name_sensor(_apply_record(log, record, entry))
    if not path.is_dir():
        raise InputError(f"{path}: is a file; {entry.title} logs are folders")
    files = sweep_files.list_sweep_files(path, entry.suffixes)
    if not files:
        raise InputError(f"{path}: no {' or '.join(entry.suffixes)} file in it; give the folder that holds them")
    if record is not None and record.layout == entry.name:
        absent += sweep_files.check_count(path, len(files), record.sweeps, keep_going)
    if record is None and (above := find_log_above(path, FORMATS.values())) is not None:
        text = f"{path}: a part of the log {above[0]} ({above[1].title}), whose poses and labels are not read from here"
        warnings.warn(f"{text}; open that folder for them", stacklevel=4)
    log = sweep_files.open_sweeps(entry, path, files, rate_hz, empty_beams, keep_going, **options)
    _check_placing(entry, path, log)
    log = replace(log, skipped=(*log.skipped, *absent))
    return log if record is None else _apply_record(log, record, entry)


def _is_sweep(path: Path, format: str | None) -> bool:
    """Whether a file is opened as one sweep: by its suffix, or in a ``format`` that has no logs."""
    if format is None:
        return recognise_log(path) is None
    entry = get_format(format)
    return entry.read is not None and entry.open_log is None


def _open_file(entry: Format, path: Path, empty_beams: bool, options: dict[str, Any]) -> Log:
    """A log of the one sweep in a file; its facts are those in the file, or of the log in its folder."""
    sweep = read_as(entry, path, **options)
    own = peek_as(entry, path) is not None
    log = Log.from_sweeps(
        [sweep],
        path.stem,
        sensor=find_sensor(sweep.sensor),
        labels=sweep_files.find_labels(entry, [path]),
        poses_known=own or bool(np.any(sweep.pose != np.eye(4))),
        times_known=own or sweep.timestamp != 0.0,
        sensor_position_known=is_placed(entry, path),
        crs=find_crs(entry, path),
        meta={"format": entry.name, "path": str(path)},
    )
    if entry.spins:
        log = infer_empty_beams(log, empty_beams)
    facts = None if entry.facts is None else entry.facts(path)
    if facts is None:
        record = read_record(path.parent)
        facts = record.facts if record is not None and record.layout == entry.name else None
    return log if facts is None else facts.apply(log, entry.keeps_beams)


def _apply_record(log: Log, record: LogRecord, entry: Format) -> Log:
    """``log`` as its reader opened it, with what its log.json knows."""
    log = record.facts.apply(log, entry.keeps_beams)
    unknown = {} if log.poses_known else {"poses": "unknown"}
    log = replace(log, name=record.name or log.name, meta={**record.meta, **log.meta, **unknown})
    return log if entry.keeps_beams or log.sensor is None else _find_rings(log, log.sensor)


def _find_rings(log: Log, sensor: Sensor) -> Log:
    """``log`` with the rings of ``sensor`` on sweeps that carry none: KITTI's layouts cannot hold them."""
    motion = log.trajectory.extended(sensor.sweep_period_s) if log.poses_known and len(log) > 1 else None
    return log.map(lambda sweep: assign_rings(sweep, sensor, motion), "find the rings of the sensor")


def _name_sensor(log: Log) -> Log:
    """``log``, whose sweeps have its sensor's name: layouts of whole logs store none for each sweep."""
    name = log.sensor_name
    return log.map(lambda sweep: sweep if sweep.sensor == name else replace(sweep, sensor=name), "name the sensor")


def _is_lenient(entry: Format) -> bool:
    """Whether a reader can open logs in which some poses are wrong."""
    return entry.open_log is not None and "keep_going" in inspect.signature(entry.open_log).parameters


def _explain_reading(entry: Format, path: Path, log: Log) -> Log:
    """The log with errors in loading that name it, whatever a damaged dataset causes."""
    _check_placing(entry, path, log)

    def explain(read: Callable[[], Sweep], at: int) -> Sweep:
        with explain_errors(entry, path):
            return check_sweep(read(), log.sensor_position_known)

    return log.guard(explain, "explain errors")


def _check_placing(entry: Format, path: Path, log: Log) -> None:
    """Raise unless all sweeps have times and poses that can be."""
    with explain_errors(entry, path):
        check_times("sweep", log.times)
        check_rigid(log.poses, "pose of sweep")


def recognise_log(path: Path) -> Format | None:
    return next((entry for entry in FORMATS.values() if entry.recognises and entry.recognises(path)), None)


def _guess(path: Path, record: LogRecord | None, others: list[Fault] | None = None) -> Format:
    """The format of what ``path`` holds; with ``others``, the commonest of several, and the files not in it."""
    if record is not None:
        if record.layout not in FORMATS:
            raise InputError(f"{path / 'log.json'}: layout '{record.layout}': {nearest_names(record.layout, FORMATS)}")
        return FORMATS[record.layout]
    known = recognise_log(path)
    if known is not None:
        return known
    suffixes = list_sweep_suffixes()
    formats = {file: find_format(file).name for file in sweep_files.list_sweep_files(path, suffixes)}
    found = Counter(formats.values())
    if len(found) == 1 or (found and others is not None):
        ((name, count), *_) = found.most_common(1)
        if others is not None and count < found.total():
            warnings.warn(f"{path}: holds sweeps in several formats; only those in {name} are read", stacklevel=5)
            others += [
                Fault(FaultKind.OTHER_FORMAT, f"{file}: in another format than {name}, which most sweeps here have")
                for file, other in formats.items()
                if other != name
            ]
        return FORMATS[name]
    if found:
        raise InputError(
            f"{path}: holds sweeps in several formats; give format= one of {', '.join(sorted(found))}, or a "
            "folder with the files of one"
        )
    if (path / "run.json").is_file():
        raise InputError(f"{path}: a drive without its sweeps; `resweep drive {path} -o OUT` makes them again")
    raise InputError(f"{path}: {explain_folder(path, FORMATS.values())}")
