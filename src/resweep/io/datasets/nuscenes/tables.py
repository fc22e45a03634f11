"""The relational tables of nuScenes: JSON lists of records that name each other by token.

The full set's tables come to gigabytes, of which one scene needs thousandths: they are read record by record,
and only what the scene needs is kept.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from resweep.errors import InputError, ResweepError, nearest_names
from resweep.files.strict_json import format_json, make_decoder
from resweep.files.untrusted import open_regular
from resweep.io.datasets.json_files import is_inside

TableRecord = dict[str, Any]
_BLOCK = 1 << 20
# The longest record of nuScenes has a few kilobytes; longer text is no record.
_MAX_RECORD = 1 << 22
_SPACE = " \t\r\n"
_BETWEEN = _SPACE + ","


def read_records(file: Path) -> Iterator[TableRecord]:
    """The records of one table, in order, without holding the table."""
    if not file.is_file():
        raise InputError(f"{file}: missing; fetch the metadata of this version of nuScenes again")
    decoder, fields, number = make_decoder(), _FIELDS.get(file.stem, {}), 0
    with io.TextIOWrapper(open_regular(file), encoding="utf-8", errors="replace") as stream:
        text = stream.read(_BLOCK).lstrip(_SPACE)
        if not text.startswith("["):
            raise InputError(f"{file}: not a nuScenes table (a JSON list of records)")
        at = 1
        while True:
            while at < len(text) and text[at] in _BETWEEN:
                at += 1
            if text.startswith("]", at):
                return
            try:
                record, at = decoder.raw_decode(text, at)
            except (ValueError, RecursionError) as error:  # the record goes on in the next block
                block = stream.read(_BLOCK) if len(text) - at < _MAX_RECORD else ""
                if not block:
                    raise InputError(f"{file}: truncated or damaged ({error}); fetch it again") from error
                text, at = text[at:] + block, 0
                continue
            if type(record) is not dict or not all(fits(record.get(name)) for name, fits in fields.items()):
                raise _explain_mismatch(record, fields, f"{file}, record {number}")
            number += 1
            yield record


def _is_text(value: Any) -> bool:
    """a text"""
    return type(value) is str


def _is_number(value: Any) -> bool:
    """a number"""
    return type(value) in (int, float) and abs(value) < _MAX_NUMBER


def _is_flag(value: Any) -> bool:
    """true or false"""
    return type(value) is bool


def _are_three(value: Any) -> bool:
    """three numbers"""
    return type(value) is list and len(value) == 3 and all(map(_is_number, value))


def _are_four(value: Any) -> bool:
    """four numbers"""
    return type(value) is list and len(value) == 4 and all(map(_is_number, value))


def _is_path(value: Any) -> bool:
    """the path of a file in the dataset"""
    return type(value) is str and bool(value) and is_inside(value)


_MAX_NUMBER = 1e300
_PLACE = {"translation": _are_three, "rotation": _are_four}
# What the reader needs of each table: the schema of nuScenes, less what is not used.
_FIELDS: dict[str, dict[str, Callable[[Any], bool]]] = {
    "scene": {"token": _is_text, "name": _is_text},
    "sample": {"token": _is_text, "scene_token": _is_text},
    "sensor": {"token": _is_text, "channel": _is_text},
    "calibrated_sensor": {"token": _is_text, "sensor_token": _is_text, **_PLACE},
    "ego_pose": {"token": _is_text, **_PLACE},
    "sample_data": {
        **dict.fromkeys(("token", "sample_token", "calibrated_sensor_token", "ego_pose_token"), _is_text),
        **{"filename": _is_path, "timestamp": _is_number, "is_key_frame": _is_flag},
    },
    "sample_annotation": {
        **dict.fromkeys(("token", "sample_token", "instance_token"), _is_text),
        **{**_PLACE, "size": _are_three},
    },
    "instance": {"token": _is_text, "category_token": _is_text},
    "category": {"token": _is_text, "name": _is_text},
    "lidarseg": {"token": _is_text, "sample_data_token": _is_text, "filename": _is_path},
    "panoptic": {"token": _is_text, "sample_data_token": _is_text, "filename": _is_path},
}


def _explain_mismatch(record: Any, fields: dict[str, Callable[[Any], bool]], where: str) -> ResweepError:
    """What is wrong with a record; the docstring of each check is what it expects."""
    if type(record) is not dict:
        return InputError(f"{where}: expected an object, got {type(record).__name__}; fetch the metadata again")
    name, fits = next((name, fits) for name, fits in fields.items() if not fits(record.get(name)))
    shown = format_json(record[name])[:40] if name in record else "nothing"
    return InputError(f"{where}: '{name}' must be {fits.__doc__}, got {shown}; fetch the metadata again")


@dataclass(frozen=True)
class Tables:
    """One version's folder of tables, such as ``v1.0-mini``."""

    folder: Path

    def select(self, table: str, wanted: Callable[[TableRecord], bool]) -> dict[str, TableRecord]:
        """The records of ``table`` that are wanted, by token."""
        return {record["token"]: record for record in read_records(self.folder / f"{table}.json") if wanted(record)}

    def look_up(self, table: str, tokens: set[str]) -> dict[str, TableRecord]:
        """The records of ``table`` with these tokens; a missing one is an error."""
        found = self.select(table, lambda record: record["token"] in tokens)
        missing = tokens - set(found)
        if missing:
            raise InputError(f"{self.folder / table}.json: no record {min(missing)}, which another table names")
        return found

    def look_up_all(self, table: str, tokens: set[str]) -> dict[str, list[TableRecord]]:
        """All records of ``table`` with these tokens, of which each should be the only one of its token."""
        found: dict[str, list[TableRecord]] = {}
        for record in read_records(self.folder / f"{table}.json"):
            if record["token"] in tokens:
                found.setdefault(record["token"], []).append(record)
        return found

    def has(self, table: str) -> bool:
        """Whether there is such a table; those of annotations and labels are optional."""
        return (self.folder / f"{table}.json").is_file()


def take_single(found: list[TableRecord], where: str) -> TableRecord:
    """The one record of a token; none, or several that differ, are an error."""
    if not found:
        raise InputError(f"{where}: no such record, which another table names; fetch the metadata again")
    if any(record != found[0] for record in found):
        raise InputError(f"{where}: {len(found)} different records of one token; fetch the metadata again")
    return found[0]


def find_tables(path: Path, version: str | None) -> Tables | None:
    """The tables of a dataset's root, or None where there are none. Several versions need ``version``."""
    folders = sorted(file.parent for file in path.glob("*/scene.json")) if path.is_dir() else []
    if version is not None:
        named = [folder for folder in folders if folder.name == version]
        if not named:
            raise InputError(f"{path}: no version '{version}'; {nearest_names(version, [f.name for f in folders])}")
        return Tables(named[0])
    if len(folders) > 1:
        names = ", ".join(folder.name for folder in folders)
        raise InputError(f"{path}: several versions ({names}); choose one with version=")
    return Tables(folders[0]) if folders else None
