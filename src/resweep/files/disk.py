"""What the system does for whole outputs: data synced to the disk, and two names exchanged in one step."""

from __future__ import annotations

import ctypes
import errno
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any

_AT_FDCWD, _RENAME_EXCHANGE = -100, 2  # Linux, fcntl.h and linux/fs.h
# The file system cannot exchange names, or the kernel is older than 3.15.
_CANNOT = (errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP, errno.EPERM)
_AT_ONCE = 8  # waiting for several files at once costs little more than for one


def sync_tree(folder: Path) -> None:
    """Wait until every file and folder below ``folder``, and itself, is on the disk."""
    places: list[Path] = [folder]
    for at, folders, files in os.walk(folder):
        places += [Path(at, name) for name in (*folders, *files)]
    with ThreadPoolExecutor(min(_AT_ONCE, len(places))) as pool:
        list(pool.map(sync, places))


def sync(path: Path) -> None:
    """Wait until a file, or the names in a folder, are on the disk."""
    windows = sys.platform == "win32"  # it opens no folders, and syncs only what may be written
    if path.is_symlink() or (windows and path.is_dir()):
        return
    descriptor = os.open(path, os.O_RDWR if windows else os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def exchange(one: Path, other: Path) -> bool:
    """Exchange what two names lead to in one step; False where the system or the file system cannot."""
    rename = _find_renameat2()
    if rename is None:
        return False
    if rename(_AT_FDCWD, os.fsencode(one), _AT_FDCWD, os.fsencode(other), _RENAME_EXCHANGE) == 0:
        return True
    number = ctypes.get_errno()
    if number in _CANNOT:
        return False
    raise OSError(number, os.strerror(number), str(other))


@cache
def _find_renameat2() -> Any:
    """The C library's renameat2, None where there is none."""
    if not sys.platform.startswith("linux"):
        return None
    try:
        function = ctypes.CDLL(None, use_errno=True).renameat2
    except (OSError, AttributeError):
        return None
    function.argtypes = [ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint]
    return function
