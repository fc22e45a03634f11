"""The relational tables of nuScenes: JSON lists of records that name each other by token.

The full set's tables come to gigabytes, of which one scene needs thousandths: they are read record by record,
and only what the scene needs is kept.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from resweep.errors import ResweepError, nearest_names

Record = dict[str, Any]
_BLOCK = 1 << 20
_SPACE = " \t\r\n"
_BETWEEN = _SPACE + ","


def read_records(file: Path) -> Iterator[Record]:
    """The records of one table, in order, without holding the table."""
    if not file.is_file():
        raise ResweepError(f"{file}: missing; fetch the metadata of this version of nuScenes again")
    decoder = json.JSONDecoder()
    with file.open(encoding="utf-8") as stream:
        text = stream.read(_BLOCK).lstrip(_SPACE)
        if not text.startswith("["):
            raise ResweepError(f"{file}: not a nuScenes table (a JSON list of records)")
        at = 1
        while True:
            while at < len(text) and text[at] in _BETWEEN:
                at += 1
            if text.startswith("]", at):
                return
            try:
                record, at = decoder.raw_decode(text, at)
            except ValueError as error:  # the record goes on in the next block
                block = stream.read(_BLOCK)
                if not block:
                    raise ResweepError(f"{file}: truncated or damaged ({error}); fetch it again") from error
                text, at = text[at:] + block, 0
                continue
            yield record


@dataclass(frozen=True)
class Tables:
    """One version's folder of tables, such as ``v1.0-mini``."""

    folder: Path

    def select(self, table: str, wanted: Callable[[Record], bool]) -> dict[str, Record]:
        """The records of ``table`` that are wanted, by token."""
        return {record["token"]: record for record in read_records(self.folder / f"{table}.json") if wanted(record)}

    def look_up(self, table: str, tokens: set[str]) -> dict[str, Record]:
        """The records of ``table`` with these tokens; a missing one is an error."""
        found = self.select(table, lambda record: record["token"] in tokens)
        missing = tokens - set(found)
        if missing:
            raise ResweepError(f"{self.folder / table}.json: no record {min(missing)}, which another table names")
        return found

    def look_up_all(self, table: str, tokens: set[str]) -> dict[str, list[Record]]:
        """All records of ``table`` with these tokens, of which each should be the only one of its token."""
        found: dict[str, list[Record]] = {}
        for record in read_records(self.folder / f"{table}.json"):
            if record["token"] in tokens:
                found.setdefault(record["token"], []).append(record)
        return found

    def has(self, table: str) -> bool:
        """Whether there is such a table; those of annotations and labels are optional."""
        return (self.folder / f"{table}.json").is_file()


def take_single(found: list[Record], where: str) -> Record:
    """The one record of a token; none, or several that differ, are an error."""
    if not found:
        raise ResweepError(f"{where}: no such record, which another table names; fetch the metadata again")
    if any(record != found[0] for record in found):
        raise ResweepError(f"{where}: {len(found)} different records of one token; fetch the metadata again")
    return found[0]


def find_tables(path: Path, version: str | None) -> Tables | None:
    """The tables of a dataset's root, or None where there are none. Several versions need ``version``."""
    folders = sorted(file.parent for file in path.glob("*/scene.json")) if path.is_dir() else []
    if version is not None:
        named = [folder for folder in folders if folder.name == version]
        if not named:
            raise ResweepError(f"{path}: no version '{version}'; {nearest_names(version, [f.name for f in folders])}")
        return Tables(named[0])
    if len(folders) > 1:
        names = ", ".join(folder.name for folder in folders)
        raise ResweepError(f"{path}: several versions ({names}); choose one with version=")
    return Tables(folders[0]) if folders else None
