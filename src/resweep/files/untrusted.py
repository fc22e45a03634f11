"""Untrusted files: contents are checked before they are used, sizes before memory is reserved."""

from __future__ import annotations

import json
import os
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any

from resweep.errors import InputError

MAX_JSON_BYTES = 64 << 20  # of an index; the largest of ours have a few hundred kilobytes


def read_json(file: Path, what_to_do: str) -> Any:
    """The JSON in ``file``; one error that names it and says ``what_to_do`` if there is none that can be read."""
    try:
        size = file.stat().st_size
        if size > MAX_JSON_BYTES:
            raise ValueError(f"{size:,} bytes, at most {MAX_JSON_BYTES:,} are read")
        return json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        reason = "nested too deeply" if isinstance(error, RecursionError) else " ".join(str(error).split())
        raise InputError(f"{file}: cannot be read ({reason}); {what_to_do}") from error


def check_name(name: str) -> None:
    """Raise ValueError unless ``name`` is a relative path that stays below the folder it is taken in."""
    parts = PurePosixPath(name).parts
    outside = name.startswith("/") or ".." in parts or "\\" in name or bool(PureWindowsPath(name).drive)
    if outside or not parts or "\0" in name:
        raise ValueError(f"path {name!r:.80} is not allowed; paths are relative, without '..'")


def check_no_link(root: Path, path: Path) -> None:
    """Raise ValueError if any name of ``path`` below ``root`` is a link; ``root`` itself may lie behind one."""
    inside = path.relative_to(root)
    if os.path.realpath(path) != os.path.join(os.path.realpath(root), inside):
        raise ValueError(f"{inside} is or lies behind a link, which is not followed")


def total_memory() -> int:
    """Bytes of memory of this machine; a terabyte where the system does not say."""
    try:
        return int(os.sysconf("SC_PAGE_SIZE")) * int(os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, ValueError, OSError):
        return 1 << 40
