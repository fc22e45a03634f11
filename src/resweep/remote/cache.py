"""The cache of fetched objects: bounded, shared by processes, never with a file that is not whole.

It lies in ``$RESWEEP_CACHE``, else in ``resweep`` of the user's cache folder, and holds ``$RESWEEP_CACHE_SIZE``
(20 GB). An entry is named by a hash over URL, tag and size, so what is there is true; it is written beside its place
and renamed. Those not used for longest go first. What was used in the last minutes stays, even beyond the size.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from resweep.errors import OutputError, ResweepError
from resweep.memory import format_memory, parse_memory

DEFAULT_BYTES = 20 * 10**9
_IN_USE_S = 120.0  # between a name that was handed out and the file that was opened by it
_STALE_S = 3600.0  # after which a part is that of a dead process
_KEPT_SHARE = 0.9  # of the size, after an eviction
_EVICTION_SHARE = 0.05  # of the size, fetched between two evictions

_guard = threading.Lock()
_fetched = {"bytes": float("inf")}  # by this process since the last eviction; the first fetch looks at once


def find_cache() -> Path:
    """The folder of the cache, which may not exist yet."""
    if given := os.environ.get("RESWEEP_CACHE"):
        return Path(given).expanduser().absolute()
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache").absolute() / "resweep"


def find_size() -> int:
    """Bytes that the cache may hold."""
    given = os.environ.get("RESWEEP_CACHE_SIZE")
    try:
        return DEFAULT_BYTES if given is None else parse_memory(given)
    except ResweepError as error:
        raise ResweepError(f"RESWEEP_CACHE_SIZE: {error}") from error


def cache_item(identity: str, size: int, make: Callable[[Path], Path]) -> Path:
    """The file or folder of that ``identity``, of ``size`` bytes; ``make`` fills an empty folder with it if need be.

    ``make`` returns the path of what it made there.
    """
    root = find_cache() / "fetched"
    digest = hashlib.sha256(identity.encode()).hexdigest()[:40]
    place = root / digest[:2] / digest
    if (found := _use(place)) is not None:
        return found
    with _explain(root):
        root.mkdir(parents=True, exist_ok=True)
        free = shutil.disk_usage(root).free
        if size > free:
            raise ResweepError(
                f"{root}: has {format_memory(free)} free, {format_memory(size)} are to be fetched; make room, or set "
                "RESWEEP_CACHE to a folder on another disk"
            )
        part = Path(tempfile.mkdtemp(prefix=".part-", dir=root))
        try:
            filled = make(part)
            place.parent.mkdir(exist_ok=True)
            try:
                os.rename(part, place)
            except OSError:  # another process was first, with the same bytes
                if (found := _use(place)) is None:
                    raise
                return found
        finally:
            shutil.rmtree(part, ignore_errors=True)
    _count(root, size)
    return place / filled.name


def _use(place: Path) -> Path | None:
    """What an entry holds, marked as used now; None if it is not there."""
    try:
        os.utime(place)
        return next(place.iterdir(), None)
    except FileNotFoundError:
        return None


def _count(root: Path, size: int) -> None:
    """Count what was fetched, and evict now and then."""
    limit = find_size()
    with _guard:
        _fetched["bytes"] += size
        if _fetched["bytes"] < _EVICTION_SHARE * limit:
            return
        _fetched["bytes"] = 0.0
    evict(root, limit)


def evict(root: Path, limit: int, in_use_s: float = _IN_USE_S) -> None:
    """Remove the entries not used for longest until the rest has less than ``limit`` bytes."""
    now, entries = time.time(), []
    for part in root.glob(".part-*"):
        with suppress(OSError):
            if now - part.stat().st_mtime > _STALE_S:
                shutil.rmtree(part, ignore_errors=True)
    for place in root.glob("[0-9a-f][0-9a-f]/*"):
        with suppress(OSError):
            entries.append((place.stat().st_mtime, _measure(place), place))
    total = sum(size for _, size, _ in entries)
    if total <= limit:
        return
    for used, size, place in sorted(entries):
        if total <= _KEPT_SHARE * limit or now - used < in_use_s:
            return
        with suppress(OSError):
            if place.stat().st_mtime == used:  # else another process has just taken it
                gone = Path(tempfile.mkdtemp(prefix=".part-", dir=root))
                os.rename(place, gone / "gone")  # whole or not at all: what is half removed has no name
                shutil.rmtree(gone, ignore_errors=True)
                total -= size


def _measure(place: Path) -> int:
    return sum(file.stat().st_size for file in place.rglob("*") if file.is_file())


@contextmanager
def _explain(root: Path) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError as error:
        if str(error.filename or "").startswith(str(root)):
            raise ResweepError(f"{root}: changed while it was written ({error}); try again") from error
        raise
    except OSError as error:
        raise OutputError(
            f"{root}: cannot be written ({error.strerror or error}); make room, or set RESWEEP_CACHE to another folder"
        ) from error
