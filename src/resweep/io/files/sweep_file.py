"""``.sweep``, Resweep's own file: a sweep whole, every beam and return, equal again when read.

A zip of ``sweep.json`` (version, sensor, timestamp) and one ``.npy`` a column, so that any zip program and
NumPy open it. The same sweep gives the same bytes: entries come in fixed order with a fixed date, and are
stored as they are unless ``compress``. A column whose rows are all equal is stored as its one row.
"""

from __future__ import annotations

import io
import math
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from resweep.boxes import Boxes
from resweep.errors import FaultKind, InputError, OutputError, ResweepError, SweepError
from resweep.files.strict_json import format_json, parse_json
from resweep.files.untrusted import open_regular
from resweep.io.format import Format
from resweep.io.log_json import Facts
from resweep.io.points.header import Header
from resweep.io.reading_limits import UNZIP_ERRORS, parse_npy, read_member
from resweep.log import Log
from resweep.pose import Array, Trajectory
from resweep.sweep import Sweep

VERSION = 1
_BEAM = ("beam_origin", "beam_direction", "beam_time", "beam_ring", "beam_column", "beam_status")
_RETURN = ("beam", "range", "intensity", "return_index", "label", "instance")
_EPOCH = (1980, 1, 1, 0, 0, 0)  # the earliest date of a zip entry
_EXTRA = "extra/"
_BEAM_EXTRA = "beam_extra/"
_BOXES = "boxes/"
_MAX_EQUAL = 1 << 20  # beams or returns that are all equal in every column
_BOX = ("centre", "size", "yaw", "track", "label", "velocity", "n_points", "known")


def write(sweep: Sweep, path: Path, frame: str = "sensor", compress: bool = False, part_of: Log | None = None) -> None:
    """Write all of ``sweep``; ``compress`` makes the file about half as large and slower to write.

    ``part_of`` is the log that the sweep is from: what is known of it (labels, sensor ...) is then kept too.
    """
    if frame != "sensor":
        raise OutputError(f"{path.name}: .sweep keeps the beams as fired; frame='{frame}' needs another format")
    arrays: dict[str, Array] = {name: getattr(sweep, name) for name in (*_BEAM, *_RETURN)}
    for name, values in sweep.extra.items():
        arrays[_EXTRA + name] = np.asarray(values)
    for name, values in sweep.beam_extra.items():
        arrays[_BEAM_EXTRA + name] = np.asarray(values)
    constant = {name: len(values) for name, values in arrays.items() if _is_constant(values)}
    arrays.update({name: arrays[name][:1] for name in constant})
    arrays["pose"] = sweep.pose
    if sweep.boxes is not None:
        arrays.update({_BOXES + name: getattr(sweep.boxes, name) for name in _BOX})
    if sweep.trajectory is not None:
        arrays["trajectory_times"], arrays["trajectory_poses"] = sweep.trajectory.times, sweep.trajectory.poses
    record: dict[str, Any] = {
        "format": "resweep-sweep",
        "version": VERSION,
        "sensor": sweep.sensor,
        "timestamp": float(sweep.timestamp),
        "extra": list(sweep.extra),
        "constant": constant,
        "boxes": None if sweep.boxes is None else list(sweep.boxes.name),
    }
    if sweep.beam_extra:
        record["beam_extra"] = list(sweep.beam_extra)
    if part_of is not None:
        record["log"] = Facts.of(part_of).to_dict()
    kind = zipfile.ZIP_DEFLATED if compress else zipfile.ZIP_STORED
    with zipfile.ZipFile(path, "w", kind, compresslevel=1) as archive:
        archive.writestr(_make_entry("sweep.json", kind), format_json(record, indent=1))
        for name, values in arrays.items():
            buffer = io.BytesIO()
            if values.dtype.hasobject:
                raise OutputError(
                    f"{path.name}: extra column '{name}' holds Python objects; make it an array of numbers"
                )
            np.lib.format.write_array(buffer, np.ascontiguousarray(values), allow_pickle=False)
            archive.writestr(_make_entry(f"{name}.npy", kind), buffer.getvalue())


def _is_constant(values: Array) -> bool:
    if len(values) < 2 or values.dtype.hasobject:
        return False
    if values.strides[0] == 0:
        return True
    # Bytes, not values, are compared: -0.0 and NaN must come back as they were.
    rows = np.ascontiguousarray(values).view(np.uint8).reshape(len(values), -1)
    return bool((rows[1] == rows[0]).all() and (rows == rows[0]).all())


def _make_entry(name: str, kind: int) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name, _EPOCH)
    entry.compress_type = kind
    entry.external_attr = 0o644 << 16
    entry.create_system = 3
    return entry


def read(path: Path, drop_nan: bool = False) -> Sweep:
    """The sweep in the file, equal to the one written in every column and type.

    ``drop_nan`` leaves out returns whose range is not finite; their beams stay.
    """
    sweep = _read(path)
    return sweep.select(np.isfinite(sweep.range)) if drop_nan else sweep


def _read(path: Path) -> Sweep:
    try:
        with open_regular(path) as stream, zipfile.ZipFile(stream) as archive:
            entries = _Entries(archive, path)
            record = entries.record
            constant: dict[str, int] = record["constant"]
            of_beams = record.get("beam_extra", [])
            beams = entries.columns((*_BEAM, *(_BEAM_EXTRA + name for name in of_beams)), constant)
            beam_extra = {name: beams.pop(_BEAM_EXTRA + name) for name in of_beams}
            returns = entries.columns((*_RETURN, *(_EXTRA + name for name in record["extra"])), constant)
            extra = {name: returns.pop(_EXTRA + name) for name in record["extra"]}
            return Sweep(
                pose=entries.array("pose"),
                trajectory=entries.motion(),
                timestamp=record["timestamp"],
                sensor=record["sensor"],
                extra=extra,
                beam_extra=beam_extra,
                boxes=_read_boxes(entries),
                **beams,
                **returns,
            )
    except ResweepError:
        raise
    except (*UNZIP_ERRORS, ValueError, TypeError, AttributeError, RecursionError) as error:
        raise _make_damage_error(path, error) from error


def peek(path: Path) -> Header | None:
    """Pose, time and sensor without the columns."""
    try:
        with open_regular(path) as stream, zipfile.ZipFile(stream) as archive:
            entries = _Entries(archive, path)
            record = entries.record
            return Header(
                "sensor", entries.array("pose"), record["timestamp"], record["sensor"], trajectory=entries.motion()
            )
    except ResweepError:
        raise
    except (*UNZIP_ERRORS, ValueError, RecursionError) as error:
        raise _make_damage_error(path, error) from error


def read_facts(path: Path) -> Facts | None:
    """What is known of the log that the sweep was written from, or None if the file does not have it."""
    try:
        with open_regular(path) as stream, zipfile.ZipFile(stream) as archive:
            data = _Entries(archive, path).record.get("log")
    except ResweepError:
        raise
    except (*UNZIP_ERRORS, ValueError, RecursionError) as error:
        raise _make_damage_error(path, error) from error
    if data is not None and not isinstance(data, dict):
        raise _make_damage_error(path, ValueError("'log' is no object"))
    return None if data is None else Facts.from_dict(data, str(path))


def _read_boxes(entries: _Entries) -> Boxes | None:
    names = entries.record.get("boxes")
    if names is None:
        return None
    # Earlier files lack the last columns.
    return Boxes(name=names, **{name: entries.array(_BOXES + name) for name in _BOX if _BOXES + name in entries})


def _make_damage_error(path: Path, error: Exception) -> ResweepError:
    return SweepError(f"{path}: truncated or not a .sweep file ({error}); fetch or write it again", FaultKind.TRUNCATED)


class _Entries:
    """The entries of an open file: its record, checked, and its arrays, none larger than the file allows."""

    def __init__(self, archive: zipfile.ZipFile, path: Path) -> None:
        self._archive, self._path, self._size = archive, path, path.stat().st_size
        self._names = set(archive.namelist())
        self.record = self._read_record()

    def __contains__(self, name: str) -> bool:
        return f"{name}.npy" in self._names

    def _read_record(self) -> dict[str, Any]:
        record: dict[str, Any] = parse_json(read_member(self._archive, "sweep.json", self._size, str(self._path)))
        kinds = {"version": int, "timestamp": int | float, "sensor": str, "extra": list, "constant": dict}
        for name, kind in kinds.items():
            if not isinstance(record, dict) or not isinstance(record.get(name), kind):
                raise ValueError(f"sweep.json has no '{name}', or one of another kind")
        if record["version"] > VERSION:
            raise InputError(
                f"{self._path}: .sweep version {record['version']}, this Resweep reads up to {VERSION}; upgrade Resweep"
            )
        if not isinstance(record.get("beam_extra", []), list):
            raise ValueError("sweep.json has a 'beam_extra' of another kind")
        names = [
            *record["extra"],
            *record.get("beam_extra", []),
            *(record["boxes"] if isinstance(record.get("boxes"), list) else ()),
        ]
        if not all(isinstance(name, str) for name in names) or not math.isfinite(record["timestamp"]):
            raise ValueError("sweep.json has names that are no texts, or a timestamp that is no time")
        return record

    def array(self, name: str) -> Array:
        """One array."""
        data = read_member(self._archive, f"{name}.npy", self._size, str(self._path))
        return parse_npy(data, f"{self._path}, {name}.npy")

    def columns(self, names: Iterable[str], constant: dict[str, Any]) -> dict[str, Array]:
        """Columns of one length; those of equal rows are stored as one, and spread."""
        stored = {name: self.array(name) for name in names}
        for name, values in stored.items():
            if not values.ndim or (name in constant and (type(constant[name]) is not int or len(values) != 1)):
                raise ValueError(f"column '{name}' has no rows")
        counts = {len(values) for name, values in stored.items() if name not in constant}
        given = {constant[name] for name in stored if name in constant}
        # What is spread is as long as a column that is stored whole; without any, the length is only claimed.
        if len(counts | given) > 1 or (not counts and max(given, default=0) > _MAX_EQUAL):
            raise ValueError(f"columns of {', '.join(map(str, sorted(counts | given)))} rows")
        return {name: _broadcast(name, values, constant.get(name)) for name, values in stored.items()}

    def motion(self) -> Trajectory | None:
        """The motion through the sweep, if there is any."""
        if "trajectory_times" not in self:
            return None
        return Trajectory(self.array("trajectory_times"), self.array("trajectory_poses"))


def _broadcast(name: str, values: Array, rows: int | None) -> Array:
    if rows is None:
        return values
    spread = np.broadcast_to(values, (rows, *values.shape[1:]))
    # One shared origin stays one row in memory; other columns are the reader's to change.
    return spread if name == "beam_origin" else spread.copy()


FORMAT = Format(
    "sweep",
    "Resweep sweep, lossless",
    (".sweep",),
    read=read,
    write=write,
    peek=peek,
    keeps_beams=True,
    facts=read_facts,
)
