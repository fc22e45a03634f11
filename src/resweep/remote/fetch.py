"""Objects into the cache: whole files when they are opened, the next few of a folder ahead, folders of them at once."""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from pathlib import Path

from resweep.errors import InputError, ResweepError
from resweep.files.untrusted import check_name
from resweep.progress import open_progress
from resweep.remote.buckets import Bucket, ChangedError, StoredObject
from resweep.remote.cache import cache_item

PART_BYTES = 8 << 20  # of one request
AHEAD = 4  # files that are fetched before they are asked for
_MAX_AHEAD_BYTES = 1 << 28
_AT_ONCE = 8
_MB = 10**6

_guard = threading.Lock()
_last: OrderedDict[tuple[str, str], str] = OrderedDict()  # the file that was asked for last in a folder
_coming: dict[tuple[str, str], Future[Path]] = {}


@cache
def _make_pool(what: str, process: int) -> ThreadPoolExecutor:
    """Threads of this process; a forked one has none of its parent's."""
    return ThreadPoolExecutor(_AT_ONCE, thread_name_prefix=what)


def _get_pool() -> ThreadPoolExecutor:
    return _make_pool("fetch", os.getpid())


def _get_part_pool() -> ThreadPoolExecutor:
    """For parts of files: a fetch that waits for its parts must not hold what they need."""
    return _make_pool("fetch-part", os.getpid())


def fetch_file(bucket: Bucket, key: str, entry: StoredObject) -> Path:
    """The local copy of an object; those that follow it in its folder are fetched ahead if it is read in order."""
    future = _start(bucket, key, entry)
    for name, following in _find_next(bucket, key):
        _start(bucket, name, following)
    return future.result()


def fetch_folder(bucket: Bucket, key: str, name: str) -> Path:
    """A local copy of all that lies below the prefix ``key``, as a folder called ``name``."""
    entries = bucket.list_all(key)
    inside = {path.removeprefix(f"{key}/"): entry for path, entry in sorted(entries.items())}
    for path in inside:
        try:
            check_name(path)
        except ValueError as error:
            raise ResweepError(f"{bucket.url}/{key}: {error}") from error
    size = sum(entry.size for entry in inside.values())
    state = "\n".join(f"{path} {entry.tag} {entry.size}" for path, entry in inside.items())

    def make(part: Path) -> Path:
        with open_progress() as progress:
            progress.start(f"fetching {bucket.url}/{key}", len(inside))
            jobs = [
                _get_pool().submit(_save, bucket, f"{key}/{path}", inside[path], part / name / path) for path in inside
            ]
            try:
                for job in jobs:
                    job.result()
                    progress.advance()
            finally:
                for job in jobs:
                    job.cancel()
        return part / name

    return cache_item(f"folder {bucket.url}/{key}\n{state}", size, make)


def read_many(bucket: Bucket, keys: Sequence[str], limit: int) -> list[bytes]:
    """The bytes of several objects, at most ``limit`` of each, asked for at once and not kept."""
    if len(keys) == 1:
        return [bucket.read(keys[0], end=limit)]
    jobs = [_get_part_pool().submit(bucket.read, key, end=limit) for key in keys]
    try:
        return [job.result() for job in jobs]
    finally:
        for job in jobs:
            job.cancel()


def _start(bucket: Bucket, key: str, entry: StoredObject) -> Future[Path]:
    """The fetch of an object, which may be under way already."""
    place = (bucket.url, f"{key} {entry.tag}")
    with _guard:
        future = _coming.get(place)
        if future is None:
            future = _coming[place] = _get_pool().submit(_fetch, bucket, key, entry)
            future.add_done_callback(lambda _: _coming.pop(place, None))
    return future


def _fetch(bucket: Bucket, key: str, entry: StoredObject) -> Path:
    name = key.rpartition("/")[2]

    def make(part: Path) -> Path:
        _save(bucket, key, entry, part / name)
        return part / name

    return cache_item(f"file {bucket.url}/{key} {entry.tag} {entry.size}", entry.size, make)


def _save(bucket: Bucket, key: str, entry: StoredObject, file: Path) -> None:
    """Write the bytes of an object to a file, in parts of one request each."""
    file.parent.mkdir(parents=True, exist_ok=True)
    starts = range(0, max(entry.size, 1), PART_BYTES)
    url = f"{bucket.url}/{key}"
    try:
        with file.open("wb") as stream, open_progress(len(starts) > 1) as progress:
            progress.start(f"fetching {url} (MB)", entry.size // _MB)
            if len(starts) == 1:
                stream.write(bucket.read(key, entry.tag))
            for first in range(0, len(starts) if len(starts) > 1 else 0, _AT_ONCE):
                some = starts[first : first + _AT_ONCE]
                ends = [min(start + PART_BYTES, entry.size) for start in some]
                jobs = [
                    _get_part_pool().submit(bucket.read, key, entry.tag, start, end)
                    for start, end in zip(some, ends, strict=True)
                ]
                for job in jobs:
                    stream.write(job.result())
                    progress.advance(PART_BYTES // _MB)
    except ChangedError as error:
        bucket.clear_cache(key)
        raise InputError(f"{url}: was replaced while it was read; open it again") from error
    if (got := file.stat().st_size) != entry.size:
        raise ResweepError(f"{url}: {got:,} bytes arrived, the store lists {entry.size:,}; try again")


def _find_next(bucket: Bucket, key: str) -> list[tuple[str, StoredObject]]:
    """The next few files of the folder of ``key``, if the one before it was asked for last."""
    folder, _, name = key.rpartition("/")
    place = (bucket.url, folder)
    with _guard:
        before = _last.get(place)
        _last[place] = name
        _last.move_to_end(place)
        while len(_last) > 1000:
            _last.popitem(last=False)
    if before is None or before == name:
        return []
    files = bucket.list_folder(folder).files
    suffix = name.rpartition(".")[2]
    names = sorted(other for other in files if other.rpartition(".")[2] == suffix)
    at = names.index(name) if name in files else 0
    if at == 0 or names[at - 1] != before:
        return []
    ahead = names[at + 1 : at + 1 + AHEAD]
    while sum(files[other].size for other in ahead) > _MAX_AHEAD_BYTES:
        ahead.pop()
    return [(f"{folder}/{other}" if folder else other, files[other]) for other in ahead]
