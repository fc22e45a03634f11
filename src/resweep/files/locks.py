"""One writer for each output: a lock that a process holds from start to end, and that ends with it.

The lock is a file beside the output, ``.NAME.lock``, held by ``flock`` (on Windows by ``msvcrt.locking``). The system
releases it when its process ends in whatever way, so the lock of a dead process is no lock. On file systems without
locks a warning says so, and two processes are not kept apart.
"""

from __future__ import annotations

import errno
import json
import os
import socket
import sys
import threading
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from resweep.errors import ResweepError

INSIDE = ".resweep.lock"  # within a folder whose parent cannot be written
_NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL)
_NOT_HERE = (errno.EACCES, errno.EPERM, errno.EROFS)

_owners: dict[Path, int] = {}  # what this process holds, and in which thread
_guard = threading.Lock()


@contextmanager
def hold_lock(target: Path, named: Path) -> Iterator[bool]:
    """Hold the lock of the output ``target``; an error that names ``named`` at once if another process does.

    Gives whether the lock is new and real: false within an outer hold of the same thread, and on file systems without
    locks. Folders that are missing are made, and those that stay empty go in the end.
    """
    me = threading.get_ident()
    with _guard:
        owner = _owners.get(target)
        if owner is None:
            _owners[target] = me
    if owner == me:
        yield False
        return
    if owner is not None:
        raise ResweepError(f"{named}: another thread of this process is writing it; wait for it or choose another name")
    made = [parent for parent in target.parents if not parent.exists()]
    try:
        place, lock = _take(target, named)
        try:
            yield lock is not None
        finally:
            _release(place, lock)
    finally:
        del _owners[target]
        for parent in made:
            with suppress(OSError):  # not empty: something was written
                parent.rmdir()


def _take(target: Path, named: Path) -> tuple[Path, int | None]:
    """The lock file and its descriptor; None on file systems without locks."""
    place = target.with_name(f".{target.name}.lock")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            return place, _lock(place, named)
        except OSError as error:
            if error.errno not in _NOT_HERE or not target.is_dir():
                raise
            place = target / INSIDE
            return place, _lock(place, named)
    except OSError as error:
        raise ResweepError(
            f"{named}: cannot be written, {place.parent} refuses it ({error.strerror or error}); choose another folder"
        ) from error


def _lock(place: Path, named: Path) -> int | None:
    while True:
        flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0)
        descriptor = os.open(place, flags, 0o666)
        try:
            if not _try_lock(descriptor):
                raise ResweepError(f"{named}: {_describe_holder(descriptor)}; wait for it or choose another name")
            if _is_same(descriptor, place):
                break
        except OSError as error:
            os.close(descriptor)
            if error.errno not in _NO_LOCKS:
                raise
            warnings.warn(
                f"{named}: its file system has no locks; make sure that no other process writes there", stacklevel=6
            )
            return None
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)  # its last holder has just removed that file: once more with a new one
    holder = {"pid": os.getpid(), "host": socket.gethostname(), "since": time.strftime("%Y-%m-%d %H:%M:%S %z")}
    os.ftruncate(descriptor, 0)
    os.lseek(descriptor, 0, os.SEEK_SET)
    os.write(descriptor, json.dumps(holder).encode())
    return descriptor


def _release(place: Path, descriptor: int | None) -> None:
    with suppress(OSError):  # Windows removes no file that is open, and the lock counts, not the file
        place.unlink()
    if descriptor is not None:
        os.close(descriptor)


def _is_same(descriptor: int, place: Path) -> bool:
    """Whether the locked file is still the one of that name."""
    try:
        return os.path.samestat(os.fstat(descriptor), os.stat(place))
    except FileNotFoundError:
        return False


def _describe_holder(descriptor: int) -> str:
    text = "another process is writing it"
    with suppress(OSError, ValueError, KeyError, TypeError):  # it has only just begun, and says nothing yet
        os.lseek(descriptor, 0, os.SEEK_SET)
        holder = json.loads(os.read(descriptor, 1000))
        here = "" if holder["host"] == socket.gethostname() else f" on {holder['host']}"
        text += f" (pid {int(holder['pid'])}{here}, since {holder['since']})"
    return text


if sys.platform == "win32":
    import msvcrt

    def _try_lock(descriptor: int) -> bool:
        os.lseek(descriptor, 1 << 30, os.SEEK_SET)  # far beyond the text, which others may then read
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True
else:
    import fcntl

    def _try_lock(descriptor: int) -> bool:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True
