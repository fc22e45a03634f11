"""Outputs of object stores: written to a local folder first, then uploaded file by file, the index last.

The local folder lies in the cache (``outputs``), where work that was stopped finds its finished parts. While an upload
is under way an object ``.resweep-unfinished`` lies in the output, and readers refuse it. An upload that was stopped
goes on with the files that are not there yet.
"""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path

from resweep.errors import ResweepError
from resweep.files import atomic_file
from resweep.files.strict_json import format_json, parse_json
from resweep.files.write_file import explain_errors
from resweep.progress import track
from resweep.remote.cache import find_cache
from resweep.remote.leases import confirm_lock, lock_output
from resweep.remote.paths import RemotePath

UNFINISHED = ".resweep-unfinished"
_AT_ONCE = 8
_ABOVE = 3  # folders above a log in which the upload of a whole dataset may be seen


def stage(path: Path) -> Path:
    """The local path at which an output is written: itself, or for one of an object store a folder in the cache."""
    if not isinstance(path, RemotePath):
        return path
    digest = hashlib.sha256(str(path).encode()).hexdigest()[:20]
    return find_cache() / "outputs" / digest / str(path.name)


@contextmanager
def stage_folder(path: RemotePath) -> Iterator[Path]:
    """Give an empty local folder for what is to be uploaded to ``path``; it is removed at the end.

    One that a killed process left is emptied. The lock of ``path`` must be held.
    """
    folder = stage(path).with_name(f"{path.name}.upload")
    shutil.rmtree(folder, ignore_errors=True)
    with explain_errors(folder):
        folder.mkdir(parents=True)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        with suppress(OSError):  # finished steps of a build may lie beside it
            folder.parent.rmdir()


def is_unfinished(path: Path) -> bool:
    """Whether an upload to ``path`` is under way, or was stopped."""
    return isinstance(path, RemotePath) and (path / UNFINISHED).is_file()


def check_finished(path: Path) -> None:
    """Raise if ``path``, or a folder that it lies in, is being uploaded; local paths are always finished."""
    if not isinstance(path, RemotePath):
        return
    for place in (path, *path.parents)[:_ABOVE]:
        if len(place.parts) > 3 and is_unfinished(place):
            raise ResweepError(
                f"{place}: its upload is under way, or was stopped; wait for it, or call again what wrote it"
            )


def publish(folder: Path, path: Path, last: str, first: Sequence[str] = ()) -> None:
    """Upload a local folder to ``path`` in place of all that is there; does nothing for a local ``path``.

    The files ``first`` are uploaded first, the one ``last`` last. The lock of ``path`` must be held.
    """
    if not isinstance(path, RemotePath):
        return
    names = sorted(file.relative_to(folder).as_posix() for file in folder.rglob("*") if file.is_file())
    bucket, root = path.bucket, path.key
    confirm_lock(path)
    bucket.write(f"{root}/{UNFINISHED}", b"{}\n")
    uploads = _Uploads(folder, path)
    for name in first:
        uploads.put(name)
    middle = [name for name in names if name != last and name not in first]
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        jobs = [pool.submit(uploads.put, name) for name in middle]
        try:
            for job in track(jobs, f"uploading {path}"):
                job.result()
        finally:
            for job in jobs:
                job.cancel()
    stale = set(bucket.list_all(root)) - {f"{root}/{name}" for name in (*names, UNFINISHED)}
    bucket.remove(sorted(stale))
    confirm_lock(path)
    uploads.put(last)
    bucket.remove([f"{root}/{UNFINISHED}"])
    uploads.remove_record()
    bucket.clear_cache(root)


@contextmanager
def write_output(path: Path) -> Iterator[Path]:
    """Give a temporary path of the same name; on success it takes its place, local (`atomic_file`) or remote."""
    if not isinstance(path, RemotePath):
        with atomic_file(path) as temporary:
            yield temporary
        return
    with lock_output(path), tempfile.TemporaryDirectory(prefix="resweep-") as folder:
        yield Path(folder, path.name)
        confirm_lock(path)
        for file in sorted(Path(folder).iterdir(), key=lambda item: item.name == path.name):  # the named one last
            path.bucket.write(path.with_name(file.name).key, file)


def discard_stage(path: Path) -> None:
    """Remove the local folder of an output that was published; does nothing for a local one."""
    if isinstance(path, RemotePath):
        shutil.rmtree(stage(path).parent, ignore_errors=True)


class _Uploads:
    """The files of ``folder`` on their way to ``path``, and a record of those that have arrived."""

    def __init__(self, folder: Path, path: RemotePath) -> None:
        self._folder, self._path = folder, path
        self._record = stage(path).with_name(f"{path.name}.uploads")
        there = {key: entry.tag for key, entry in path.bucket.list_all(path.key).items()}
        # A file counts as there if the store still has what was put, and the local one is still the same.
        self._done = {name: digest for name, digest, tag in self._read() if there.get(f"{path.key}/{name}") == tag}
        self._record.parent.mkdir(parents=True, exist_ok=True)

    def put(self, name: str) -> None:
        """Upload one file, unless it is there."""
        file = self._folder / name
        with file.open("rb") as stream:
            digest = hashlib.file_digest(stream, "sha256").hexdigest()
        if self._done.get(name) == digest:
            return
        tag = self._path.bucket.write(f"{self._path.key}/{name}", file).tag
        with self._record.open("a", encoding="utf-8") as record:
            record.write(format_json([name, digest, tag]) + "\n")

    def remove_record(self) -> None:
        """Remove the record, of an upload that is complete."""
        self._record.unlink(missing_ok=True)

    def _read(self) -> Iterator[tuple[str, str, str]]:
        if not self._record.is_file():
            return
        for line in self._record.read_text(encoding="utf-8").splitlines():
            try:
                name, digest, tag = parse_json(line)
            except ValueError:  # the last line of a process that was killed
                continue
            yield str(name), str(digest), str(tag)
