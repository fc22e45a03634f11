"""Untrusted files: contents are checked before they are used, sizes before memory is reserved.

All that users give is opened here: a FIFO would wait for ever, a device never end, and a huge file fill the memory.
"""

from __future__ import annotations

import io
import os
import stat
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any, BinaryIO

from resweep.errors import InputError, UnreadableFileError
from resweep.files.strict_json import parse_json

MAX_JSON_BYTES = 64 << 20  # of an index; the largest of ours have a few hundred kilobytes
MAX_TEXT_BYTES = 1 << 30  # of poses, times and settings: a million poses have 200 megabytes
_KINDS = {
    stat.S_IFIFO: "a FIFO",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFSOCK: "a socket",
    stat.S_IFDIR: "a folder",
}
# Opened so, a FIFO that took the place of a file in that moment does not wait for its writer.
_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)


def check_regular(file: str | os.PathLike[str], max_bytes: int | None = None) -> None:
    """Raise `UnreadableFileError` unless ``file`` is a regular one of at most ``max_bytes`` (default: all memory)."""
    _check_found(file, os.stat(os.fspath(file)), max_bytes)


ANY_SIZE = 2**63 - 1  # bytes, for files that are read part by part


def open_regular(file: str | os.PathLike[str], max_bytes: int | None = None) -> BinaryIO:
    """``file`` open for reading; it is a regular one of at most ``max_bytes`` (default: the memory of this machine).

    OSError if it cannot be opened, and `UnreadableFileError`, which is one, for all that is no such file.
    """
    check_regular(file, max_bytes)
    descriptor = os.open(os.fspath(file), _FLAGS)
    try:
        _check_found(file, os.fstat(descriptor), max_bytes)
        return os.fdopen(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def _check_found(file: object, found: os.stat_result, max_bytes: int | None) -> None:
    if not stat.S_ISREG(found.st_mode):
        kind = _KINDS.get(stat.S_IFMT(found.st_mode), "no file of data")
        raise UnreadableFileError(str(file), f"is {kind}; give a regular file")
    bound = total_memory() if max_bytes is None else max_bytes
    if found.st_size > bound:
        raise UnreadableFileError(
            str(file), f"has {found.st_size:,} bytes, at most {bound:,} are read; check that it is the right file"
        )


def read_bytes(file: str | os.PathLike[str], max_bytes: int | None = None) -> bytes:
    """The bytes of a regular file of at most ``max_bytes``; errors are those of `open_regular`."""
    with open_regular(file, max_bytes) as stream:
        return stream.read()


def read_plain_text(file: str | os.PathLike[str], max_bytes: int = MAX_TEXT_BYTES, errors: str = "strict") -> str:
    """The UTF-8 text of a regular file, with ``\\n`` for every line end; errors are those of `open_regular`.

    ``errors`` says what becomes of bytes that are no text, as for `bytes.decode`: they are a ValueError.
    """
    with io.TextIOWrapper(open_regular(file, max_bytes), encoding="utf-8", errors=errors) as stream:
        return stream.read()


def read_json(file: Path, what_to_do: str) -> Any:
    """The JSON in ``file``; one error that names it and says ``what_to_do`` if there is none that can be read."""
    try:
        return parse_json(read_bytes(file, MAX_JSON_BYTES))
    except UnreadableFileError:
        raise
    except (OSError, ValueError) as error:
        reason = " ".join(str(error).split())
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
