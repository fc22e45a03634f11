"""One writer for each output: a lock that a process holds from start to end, and that ends with it.

The lock is a file beside the output, ``.NAME.lock``, held by ``flock`` (on Windows by ``msvcrt.locking``). The system
releases it when its process ends in whatever way, so the lock of a dead process is no lock. NFS passes such locks on to
its server, so that hosts which share a folder are kept apart too. On file systems without locks the file itself is the
lock (`resweep.files.lock_files`).
"""

from __future__ import annotations

import errno
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from resweep.errors import OutputError
from resweep.files.lock_files import describe_holder, describe_this_process, take_lock_file
from resweep.files.strict_json import format_json, parse_json

INSIDE = ".resweep.lock"  # within a folder whose parent cannot be written
_NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL)
_NOT_HERE = (errno.EACCES, errno.EPERM, errno.EROFS)

Check = Callable[[], None]
_owners: dict[Path, int] = {}  # what this process holds, and in which thread
_checks: dict[Path, Check] = {}  # of these, what is checked before the output takes its place
_guard = threading.Lock()


@contextmanager
def hold_lock(target: Path, named: Path, check: Check | None = None) -> Iterator[bool]:
    """Hold the lock of the output ``target``; an error that names ``named`` at once if another process does.

    Gives whether the lock is new: false within an outer hold of the same thread. Missing folders are created, and
    those that stay empty are removed. `run_check` runs ``check`` while the lock is held.
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
        raise OutputError(f"{named}: another thread of this process is writing it; wait for it or choose another name")
    created = [parent for parent in target.parents if not parent.exists()]
    try:
        place, lock = _take(target, named)
        try:
            if check is not None:
                _checks[target] = check
            yield True
        finally:
            _checks.pop(target, None)
            _release(place, lock)
    finally:
        del _owners[target]
        for parent in created:
            with suppress(OSError):  # not empty: something was written
                parent.rmdir()


def run_check(target: Path) -> None:
    """Run the check of the lock of ``target``, if it has one: its error leaves the output as it is."""
    check = _checks.get(target)
    if check is not None:
        check()


def _take(target: Path, named: Path) -> tuple[Path, int | None]:
    """The lock file and its descriptor; None where the file itself is the lock."""
    place = target.with_name(f".{target.name}.lock")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            return _lock(place, named)
        except OSError as error:
            if error.errno not in _NOT_HERE or not target.is_dir():
                raise
            place = target / INSIDE
            return _lock(place, named)
    except OSError as error:
        raise OutputError(
            f"{named}: cannot be written, {place.parent} refuses it ({error.strerror or error}); choose another folder"
        ) from error


def _lock(place: Path, named: Path) -> tuple[Path, int | None]:
    while True:
        flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0)
        descriptor = os.open(place, flags, 0o666)
        try:
            if not _try_lock(descriptor):
                raise OutputError(f"{named}: {_describe_holder(descriptor)}; wait for it or choose another name")
            if _is_same(descriptor, place):
                break
        except OSError as error:
            os.close(descriptor)
            if error.errno not in _NO_LOCKS:
                raise
            place.unlink(missing_ok=True)
            return take_lock_file(place, named), None
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)  # its last holder has just removed that file: once more with a new one
    with suppress(OSError):  # on a full disk the lock holds too, but does not name its holder
        os.ftruncate(descriptor, 0)
        os.lseek(descriptor, 0, os.SEEK_SET)
        os.write(descriptor, format_json(describe_this_process()).encode())
    return place, descriptor


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
    with suppress(OSError, ValueError):  # it has only just begun, and has no record yet
        os.lseek(descriptor, 0, os.SEEK_SET)
        return describe_holder(parse_json(os.read(descriptor, 1000)))
    return describe_holder(None)


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
