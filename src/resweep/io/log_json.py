"""log.json: the layout of a written log, its facts, and the versions and settings that wrote it."""

from __future__ import annotations

import platform
import warnings
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, is_dataclass, replace
from pathlib import Path
from typing import Any, TypeVar, cast, get_args

import numpy as np

import resweep
from resweep.config import validate
from resweep.errors import InputError, ResweepError, nearest_names
from resweep.files.strict_json import format_json
from resweep.files.untrusted import read_json
from resweep.labels import LabelSet
from resweep.log import UNKNOWN_BEAMS, BeamSource, CloudState, EmptyBeams, Log
from resweep.map_filter import MapFilter
from resweep.sensors import Sensor, find_sensor

T = TypeVar("T")
VERSION = 2
FILE = "log.json"


@dataclass(frozen=True)
class Facts:
    """What is known of a log besides its sweeps, as log.json and .sweep files keep it.

    ``labels`` is None in older files, which do not have it; the other fields are those of `Log`.
    """

    sensor_name: str = ""
    sensor: Sensor | None = None
    labels: LabelSet | None = None
    poses_known: bool = True
    times_known: bool = True
    sensor_position_known: bool = True
    empty_beams: EmptyBeams = UNKNOWN_BEAMS
    crs: str = ""
    cloud: CloudState = "no"
    intensity_scale: float | None = None
    map_filter: MapFilter | None = None

    @classmethod
    def of(cls, log: Log) -> Facts:
        """The facts of a log; finds where its empty beams come from, if need be."""
        known = (log.poses_known, log.times_known, log.sensor_position_known)
        return cls(
            log.sensor_name,
            log.sensor,
            log.labels,
            *known,
            log.empty_beams,
            log.crs,
            log.cloud,
            log.intensity_scale,
            log.map_filter,
        )

    def to_dict(self) -> dict[str, Any]:
        """The facts as JSON can hold them: the whole vocabulary, and the whole spec of the sensor."""
        return {
            "sensor_name": self.sensor_name,
            "sensor": None if self.sensor is None else self.sensor.model_dump(mode="json", exclude_none=True),
            "labels": None if self.labels is None else self.labels.to_dict(),
            "poses_known": self.poses_known,
            "times_known": self.times_known,
            "sensor_position_known": self.sensor_position_known,
            "empty_beams": {"source": self.empty_beams.source, "detail": self.empty_beams.detail},
            **({"crs": self.crs} if self.crs else {}),
            **({"cloud": self.cloud} if self.cloud != "no" else {}),
            **({} if self.intensity_scale is None else {"intensity_scale": self.intensity_scale}),
            **({} if self.map_filter is None else {"map_filter": self.map_filter.model_dump(mode="json")}),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], where: str) -> Facts:
        """The facts written by `to_dict`; ``where`` names the file in errors."""
        for name in ("sensor", "labels"):
            if name not in data:
                raise InputError(f"{where}: damaged (no field '{name}'); write the log again")
        sensor, labels = data["sensor"], data["labels"]
        beams = _take(data, "empty_beams", dict, where)
        return cls(
            _take(data, "sensor_name", str, where),
            None if sensor is None else validate(sensor, Sensor, f"{where}, sensor"),
            None if labels is None else validate(labels, LabelSet, f"{where}, labels"),
            _take(data, "poses_known", bool, where),
            _take(data, "times_known", bool, where),
            # Older files do not have it.
            _take({"sensor_position_known": True, **data}, "sensor_position_known", bool, where),
            _parse_beams(_take(beams, "source", str, where), _take(beams, "detail", str, where), where),
            _take({"crs": "", **data}, "crs", str, where),
            _parse_cloud(_take({"cloud": "no", **data}, "cloud", str, where), where),
            _parse_scale(data.get("intensity_scale"), where),
            validate(data["map_filter"], MapFilter, f"{where}, map_filter") if "map_filter" in data else None,
        )

    def apply(self, log: Log, keeps_beams: bool) -> Log:
        """``log``, as its reader opened it, with the facts that it lacks.

        A reader that had to assume times, or found no poses, knows best that they are gone. Empty beams are those of
        the facts only in a layout that ``keeps_beams``: others were written without.
        """
        return replace(
            log,
            sensor_name=self.sensor_name,
            sensor=self.sensor,
            labels=log.labels if self.labels is None else self.labels,
            poses_known=log.poses_known and self.poses_known,
            times_known=log.times_known and self.times_known,
            sensor_position_known=log.sensor_position_known and self.sensor_position_known,
            empty_beams=self.empty_beams if keeps_beams else log.empty_beams,
            crs=self.crs or log.crs,
            cloud=log.cloud if self.cloud == "no" else self.cloud,
            # A reader that knows its format's unit knows how the writer scaled it.
            intensity_scale=self.intensity_scale if log.intensity_scale is None else log.intensity_scale,
            map_filter=self.map_filter,
        )


def _parse_scale(value: object, where: str) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < float("inf"):
        raise InputError(f"{where}: damaged (intensity_scale is {value!r}); write the log again")
    return float(value)


@dataclass(frozen=True)
class LogRecord:
    """The content of log.json: the ``layout`` (a name of `FORMATS`), how many ``sweeps``, and the facts of the log."""

    layout: str
    sweeps: int
    name: str = ""
    facts: Facts = Facts()
    meta: Mapping[str, Any] = field(default_factory=dict)


def write_record(log: Log, folder: Path, layout: str, frame: str) -> None:
    """Write log.json: the layout, the facts of the log, and the configuration, seed and versions behind it."""
    record = {
        "format": "resweep-log",
        "version": VERSION,
        "layout": layout,
        "frame": frame,
        "sweeps": len(log),
        "name": log.name,
        **Facts.of(log).to_dict(),
        "versions": {"resweep": resweep.__version__, "numpy": np.__version__, "python": platform.python_version()},
        "meta": _to_plain(log.meta),
    }
    (folder / FILE).write_text(format_json(record, indent=1) + "\n")


def read_record(folder: Path) -> LogRecord | None:
    """The record in the log.json of a folder, or None where there is none of ours."""
    file = folder / FILE
    if not file.is_file():
        return None
    data = read_json(file, "write the log again")
    if not isinstance(data, dict) or data.get("format") != "resweep-log":
        return None
    version = _take(data, "version", int, str(file))
    if version > VERSION:
        raise InputError(f"{file}: version {version}, this Resweep reads up to {VERSION}; upgrade Resweep")
    layout, sweeps = _take(data, "layout", str, str(file)), _take(data, "sweeps", int, str(file))
    name, meta = (
        _take({"name": "", **data}, "name", str, str(file)),
        _take({"meta": {}, **data}, "meta", dict, str(file)),
    )
    facts = Facts.from_dict(data, str(file)) if version > 1 else _read_first_facts(data, meta, str(file))
    # The paths of its input are no facts of this log, and may name any place on the disk.
    return LogRecord(layout, sweeps, name, facts, {key: value for key, value in meta.items() if key != "paths"})


def _take(data: Mapping[str, Any], name: str, kind: type[T], where: str) -> T:
    """A field of log.json, or an error that names it."""
    if name not in data:
        raise InputError(f"{where}: damaged (no field '{name}'); write the log again")
    value = data[name]
    if type(value) is not kind:
        raise InputError(
            f"{where}: damaged (field '{name}' is {value!r:.60}, {kind.__name__} expected); write the log again"
        )
    return value


def _parse_beams(source: str, detail: str, where: str) -> EmptyBeams:
    for known in get_args(BeamSource):
        if source == known:
            return EmptyBeams(known, detail)
    raise InputError(f"{where}: empty_beams.source '{source}': {nearest_names(source, get_args(BeamSource))}")


def _parse_cloud(name: str, where: str) -> CloudState:
    for known in get_args(CloudState):
        if name == known:
            return cast(CloudState, known)
    raise InputError(f"{where}: cloud '{name}': {nearest_names(name, get_args(CloudState))}")


def _read_first_facts(data: Mapping[str, Any], meta: Mapping[str, Any], where: str) -> Facts:
    """The facts in a log.json of version 1, which kept some of them in its meta data, and others not at all."""
    name, spec = str(data.get("sensor", "")), meta.get("sensor")
    sensor = None
    try:
        sensor = find_sensor(name) if spec is None else validate(spec, Sensor, where)
    except ResweepError as error:  # a spec of that time may have other fields
        warnings.warn(f"{where}: its sensor '{name}' is unknown here ({error})", stacklevel=4)
    return Facts(
        name,
        sensor,
        None,
        meta.get("poses") != "unknown",
        meta.get("times") != "assumed",
        empty_beams=EmptyBeams("unknown", str(meta.get("empty_beams", ""))),
    )


def _to_plain(value: Any) -> Any:
    """``value`` as JSON can hold it."""
    if isinstance(value, Mapping):
        return {str(key): _to_plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_to_plain(item) for item in value]
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if is_dataclass(value) and not isinstance(value, type):
        return _to_plain(asdict(value))
    if callable(dump := getattr(value, "model_dump", None)):
        return _to_plain(dump(mode="json"))
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)
