"""Folders that hold no log: where the logs are, what the files are, and what the nearest formats miss."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from resweep.io.files.ply import is_mesh
from resweep.io.format import Format
from resweep.io.unread_files import (
    advise_unread,
    find_kind_unread,
    find_log_above,
    find_unread,
    is_incidental,
    recognise,
)
from resweep.remote import is_remote

_DEPTH = 4
_MAX_ENTRIES = 3000  # files and folders that are looked at; a folder of everything must not make the user wait
_MAX_FILES = 50  # of a folder, among which a sweep file must be found
_LISTED = 5


@dataclass
class _Inventory:
    """What lies below a folder: logs with their formats, and by kind the files not read, with their endings."""

    logs: list[tuple[Path, Format]] = field(default_factory=list)
    unread: dict[str, list[tuple[Path, str]]] = field(default_factory=dict)


def explain_folder(path: Path, formats: Iterable[Format]) -> str:
    """Why the folder is no log, and what to give in its place."""
    formats = tuple(formats)
    if (above := find_log_above(path, formats)) is not None:
        return f"no log, but a part of the log {above[0]} ({above[1].title}); give that folder"
    found = _Inventory() if is_remote(path) else _take_inventory(path, formats)
    if found.logs:
        listed = ", ".join(f"{log} ({entry.name})" for log, entry in found.logs[:_LISTED])
        more = f" and {len(found.logs) - _LISTED} more" if len(found.logs) > _LISTED else ""
        return f"no log in it itself; give one of the logs below: {listed}{more}"
    reasons = [*_describe_near(path, formats), *_describe_unread(found)]
    if not reasons:
        reasons = ["a log is the folder of a dataset's sequence, a ROS bag, or a folder of sweep files"]
    suffixes = sorted(suffix for entry in formats if entry.read for suffix in entry.suffixes)
    return f"no log in it; {'; '.join(reasons)}; sweep files are {', '.join(suffixes)}"


def _take_inventory(path: Path, formats: tuple[Format, ...]) -> _Inventory:
    """What is in the folder and a few levels below it, level by level, as far as `_MAX_ENTRIES` lead."""
    suffixes = {suffix: entry for entry in formats if entry.read for suffix in entry.suffixes}
    found, seen, folders = _Inventory(), 0, deque([(path, 1)])
    while folders and seen < _MAX_ENTRIES:
        folder, depth = folders.popleft()
        for entry in _list_entries(folder, _MAX_ENTRIES - seen):
            seen += 1
            if entry.is_dir():
                if (log := _find_log(entry, formats, suffixes)) is not None:
                    found.logs.append((entry, log))
                elif depth < _DEPTH:
                    folders.append((entry, depth + 1))
            elif (ending := find_unread(entry)) is not None:
                found.unread.setdefault(find_kind_unread(ending), []).append((entry, ending))
            elif (own := recognise(entry, formats)) is not None:
                found.logs.append((entry, own))
    return found


def _list_entries(folder: Path, most: int) -> list[Path]:
    """The first entries of a folder in order of their names; none if it cannot be read."""
    try:
        entries = sorted(entry for entry in folder.iterdir() if not entry.name.startswith("."))
    except OSError:  # nothing can be said of what belongs to others
        return []
    return entries[:most]


def _find_log(folder: Path, formats: tuple[Format, ...], suffixes: dict[str, Format]) -> Format | None:
    """The format of the log in a folder, or None."""
    if (entry := recognise(folder, formats)) is not None:
        return entry
    for file in _list_entries(folder, _MAX_FILES):
        known = [suffix for suffix in suffixes if file.name.lower().endswith(suffix)]
        if known and file.is_file() and not (file.suffix.lower() == ".ply" and is_mesh(file)):
            return suffixes[max(known, key=len)]
    return None


def _describe_near(path: Path, formats: tuple[Format, ...]) -> list[str]:
    """The formats of which most parts are there, and what is missing of each."""
    near = []
    for entry in formats:
        there = [part for part in entry.parts if next(path.glob(part), None) is not None]
        if there:
            missing = [part for part in entry.parts if part not in there]
            near.append((len(there) / len(entry.parts), entry, there, missing))
    if not near:
        return []
    most = max(share for share, *_ in near)
    return [
        f"nearest is {entry.title} ({entry.name}): {' and '.join(there)} are there, {' and '.join(missing)} are not"
        for share, entry, there, missing in near
        if share == most
    ][:2]


def _describe_unread(found: _Inventory) -> list[str]:
    """What the commonest files are that are not read."""
    kinds = sorted(found.unread.items(), key=lambda item: -len(item[1]))
    telling = [files for kind, files in kinds if not is_incidental(kind)]
    # One text is a README; several may be the sweeps.
    shown = telling or [files for _, files in kinds if len(files) > 1]
    return [f"{len(files)} {files[0][1]} below it: {advise_unread(*files[0])}" for files in shown[:2]]
