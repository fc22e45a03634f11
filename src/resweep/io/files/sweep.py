"""``.sweep``, Resweep's own file: a sweep whole, every beam and return, equal again when read.

A zip of ``sweep.json`` (version, sensor, timestamp) and one ``.npy`` a column, so that any zip program and
NumPy open it. The same sweep gives the same bytes: entries come in fixed order with a fixed date, and are
stored as they are unless ``compress``. A column whose rows are all equal is stored as its one row.
"""

from __future__ import annotations

import io
import json
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np

from resweep.boxes import Boxes
from resweep.errors import FaultKind, ResweepError, SweepError
from resweep.io.files.header import Header
from resweep.io.format import Format
from resweep.io.record import Facts
from resweep.log import Log
from resweep.pose import Array, Trajectory
from resweep.sweep import Sweep

VERSION = 1
_BEAM = ("beam_origin", "beam_direction", "beam_time", "beam_ring", "beam_column", "beam_status")
_RETURN = ("beam", "range", "intensity", "return_index", "label", "instance")
_EPOCH = (1980, 1, 1, 0, 0, 0)  # the earliest date of a zip entry
_EXTRA = "extra/"
_BOXES = "boxes/"
_BOX = ("centre", "size", "yaw", "track", "label", "velocity", "n_points", "known")


def write(sweep: Sweep, path: Path, frame: str = "sensor", compress: bool = False, part_of: Log | None = None) -> None:
    """Write all of ``sweep``; ``compress`` makes the file about half as large and slower to write.

    ``part_of`` is the log that the sweep is from: what is known of it (labels, sensor ...) is then kept too.
    """
    if frame != "sensor":
        raise ResweepError(f"{path.name}: .sweep keeps the beams as fired; frame='{frame}' needs another format")
    arrays: dict[str, Array] = {name: getattr(sweep, name) for name in (*_BEAM, *_RETURN)}
    for name, values in sweep.extra.items():
        arrays[_EXTRA + name] = np.asarray(values)
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
    if part_of is not None:
        record["log"] = Facts.of(part_of).to_dict()
    kind = zipfile.ZIP_DEFLATED if compress else zipfile.ZIP_STORED
    with zipfile.ZipFile(path, "w", kind, compresslevel=1) as archive:
        archive.writestr(_make_entry("sweep.json", kind), json.dumps(record, indent=1))
        for name, values in arrays.items():
            buffer = io.BytesIO()
            if values.dtype.hasobject:
                raise ResweepError(
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
        with zipfile.ZipFile(path) as archive:
            record = _read_record(archive, path)
            constant: dict[str, int] = record["constant"]
            columns = {name: _read_array(archive, name, constant.get(name)) for name in (*_BEAM, *_RETURN)}
            extra = {name: _read_array(archive, _EXTRA + name, constant.get(_EXTRA + name)) for name in record["extra"]}
            return Sweep(
                pose=_read_array(archive, "pose"),
                trajectory=_read_motion(archive),
                timestamp=record["timestamp"],
                sensor=record["sensor"],
                extra=extra,
                boxes=_read_boxes(archive, record),
                **columns,
            )
    except (zipfile.BadZipFile, KeyError, EOFError, RuntimeError, zlib.error) as error:
        raise _damage_error(path, error) from error
    except ValueError as error:
        raise error if isinstance(error, ResweepError) else _damage_error(path, error) from error


def peek(path: Path) -> Header | None:
    """Pose, time and sensor without the columns."""
    try:
        with zipfile.ZipFile(path) as archive:
            record = _read_record(archive, path)
            return Header(
                "sensor",
                _read_array(archive, "pose"),
                record["timestamp"],
                record["sensor"],
                trajectory=_read_motion(archive),
            )
    except (zipfile.BadZipFile, KeyError, EOFError, RuntimeError, zlib.error) as error:
        raise _damage_error(path, error) from error


def read_facts(path: Path) -> Facts | None:
    """What is known of the log that the sweep was written from, or None if the file does not say."""
    try:
        with zipfile.ZipFile(path) as archive:
            data = _read_record(archive, path).get("log")
    except (zipfile.BadZipFile, KeyError, EOFError, RuntimeError, zlib.error) as error:
        raise _damage_error(path, error) from error
    return None if data is None else Facts.from_dict(data, str(path))


def _read_boxes(archive: zipfile.ZipFile, record: dict[str, Any]) -> Boxes | None:
    names = record.get("boxes")
    if names is None:
        return None
    held = set(archive.namelist())  # earlier files lack the last columns
    return Boxes(
        name=names, **{name: _read_array(archive, _BOXES + name) for name in _BOX if f"{_BOXES}{name}.npy" in held}
    )


def _damage_error(path: Path, error: Exception) -> ResweepError:
    return SweepError(f"{path}: truncated or not a .sweep file ({error}); fetch or write it again", FaultKind.TRUNCATED)


def _read_record(archive: zipfile.ZipFile, path: Path) -> dict[str, Any]:
    record: dict[str, Any] = json.loads(archive.read("sweep.json"))
    if record["version"] > VERSION:
        raise ResweepError(
            f"{path}: .sweep version {record['version']}, this Resweep reads up to {VERSION}; upgrade Resweep"
        )
    return record


def _read_array(archive: zipfile.ZipFile, name: str, rows: int | None = None) -> Array:
    values: Array = np.lib.format.read_array(io.BytesIO(archive.read(f"{name}.npy")), allow_pickle=False)
    if rows is None:
        return values
    spread = np.broadcast_to(values, (rows, *values.shape[1:]))
    # One shared origin stays one row in memory; other columns are the reader's to change.
    return spread if name == "beam_origin" else spread.copy()


def _read_motion(archive: zipfile.ZipFile) -> Trajectory | None:
    if "trajectory_times.npy" not in archive.namelist():
        return None
    return Trajectory(_read_array(archive, "trajectory_times"), _read_array(archive, "trajectory_poses"))


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
