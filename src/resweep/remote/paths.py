"""Paths of object stores that open like local ones: each file is fetched when it is opened.

A `RemotePath` is a `pathlib.Path`, so readers take it as they take any other. ``str(path)`` is its URL, which errors
and records name; ``os.fspath(path)`` is a local file or folder with the same contents, fetched into the cache if it is
not there (as cloudpathlib does). It has no state of its own: a copy in another process connects by itself.
"""

from __future__ import annotations

import errno
import os
import re
import stat
import urllib.parse
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import Any, NoReturn

from resweep.errors import ResweepError, nearest_names
from resweep.files import recover_local
from resweep.remote.buckets import SCHEMES, Bucket, open_bucket
from resweep.remote.fetch import fetch_file, fetch_folder, read_many

_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://(.*)", re.DOTALL)
_ALIASES = {"s3a": "s3", "gcs": "gs", "azure": "az", "abfs": "az"}


def find_path(text: str | os.PathLike[str]) -> Path:
    """The path that ``text`` names: that of an object store for ``s3://``, ``gs://`` and ``az://``, else a local one.

    ``file:///folder`` is the local path.
    """
    if isinstance(text, Path):
        return text
    found = _URL.fullmatch(os.fspath(text))
    if found is None:
        return Path(text)
    scheme, rest = found[1].lower(), found[2]
    scheme = _ALIASES.get(scheme, scheme)
    if scheme == "file":
        return _find_local(str(text), rest)
    if scheme not in SCHEMES:
        raise ResweepError(f"{text}: URLs of '{scheme}' are not read; {nearest_names(scheme, [*SCHEMES, 'file'])}")
    bucket, _, key = rest.partition("/")
    parts = key.rstrip("/").split("/") if key.rstrip("/") else []
    if not bucket:
        raise ResweepError(f"{text}: names no bucket; give {scheme}://BUCKET/NAME")
    if any(part in ("", ".", "..") for part in parts) or "\0" in key:
        raise ResweepError(f"{text}: has an empty or a dotted part; give {scheme}://BUCKET/NAME without them")
    return RemotePath(f"/{scheme}:", bucket, *parts)


def recover_output(path: Path) -> None:
    """Make ``path`` ready to be opened: see `recover_local`. What is known of an object store is asked for anew."""
    if isinstance(path, RemotePath):
        path.bucket.begin(path.key)
    else:
        recover_local(path)


def is_remote(path: object) -> bool:
    """Whether a path is one of an object store."""
    return isinstance(path, RemotePath)


def _find_local(text: str, rest: str) -> Path:
    host, slash, place = rest.partition("/")
    if host not in ("", "localhost") or not slash:
        raise ResweepError(f"{text}: names no file of this machine; give file:///FOLDER/NAME")
    return Path(urllib.parse.unquote(f"/{place}"))


class RemotePath(type(Path())):  # type: ignore[misc]  # the class of this system's paths
    """A file or folder of an object store."""

    @property
    def bucket(self) -> Bucket:
        """The bucket that it lies in."""
        return open_bucket(self.parts[1].rstrip(":"), self.parts[2])

    @property
    def key(self) -> str:
        """Its name within the bucket."""
        return "/".join(self.parts[3:])

    def __str__(self) -> str:
        parts = self.parts
        if not self._is_placed():
            return "/".join(parts).replace("//", "/") or "."
        return f"{parts[1]}//{'/'.join(parts[2:])}"

    def __repr__(self) -> str:
        return f"RemotePath({str(self)!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self.parts

    def __fspath__(self) -> str:
        if not self._is_placed():
            return str(self)
        bucket, key = self.bucket, self.key
        entry = bucket.find(key) if key else None
        if entry is not None:
            return str(fetch_file(bucket, key, entry))
        if self.is_dir():
            return str(fetch_folder(bucket, key, self.name))
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(self))

    def _is_placed(self) -> bool:
        """Whether it lies in a bucket: it is neither a part of such a path nor a folder above all buckets."""
        return bool(self.root) and len(self.parts) >= 3

    def exists(self, **options: Any) -> bool:
        """Whether an object of that name is there, or any below it."""
        return self.is_dir() or self.is_file()

    def is_file(self, **options: Any) -> bool:
        """Whether an object of that name is there."""
        return self._is_placed() and bool(self.key) and self.bucket.find(self.key) is not None

    def is_dir(self, **options: Any) -> bool:
        """Whether any object lies below it."""
        return self._is_placed() and self.bucket.is_folder(self.key)

    def is_symlink(self) -> bool:
        """False: object stores have no links."""
        return False

    def stat(self, **options: Any) -> os.stat_result:
        """Size and time of change of the object."""
        entry = self.bucket.find(self.key) if self._is_placed() and self.key else None
        if entry is not None:
            mode, size, when = stat.S_IFREG | 0o444, entry.size, entry.written_ns
        elif self.is_dir():
            mode, size, when = stat.S_IFDIR | 0o555, 0, 0
        else:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(self))
        seconds = when // 10**9
        fields = (mode, 0, 0, 1, 0, 0, size, seconds, seconds, seconds)
        return os.stat_result(fields, {"st_mtime_ns": when, "st_atime_ns": when, "st_ctime_ns": when})

    lstat = stat

    def iterdir(self) -> Iterator[RemotePath]:
        """What lies directly below it, by name."""
        listing = self.bucket.list_folder(self.key)
        if not listing:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(self))
        names = {name for name in (*listing.files, *listing.folders) if name not in ("", ".", "..")}
        return iter([self / name for name in sorted(names)])

    def glob(self, pattern: str, **options: Any) -> Iterator[RemotePath]:
        """What lies below it by a pattern such as ``*.bin`` or ``*/scene.json``."""
        first, *rest = PurePosixPath(pattern).parts
        for item in list(self.iterdir()) if self.is_dir() else []:
            if not fnmatchcase(item.name, first):
                continue
            if not rest:
                yield item
            elif item.is_dir():
                yield from item.glob("/".join(rest))

    def rglob(self, pattern: str, **options: Any) -> Iterator[RemotePath]:
        """The files, at whatever depth, whose name matches; folders are only names of object stores."""
        prefix = f"{self.key}/" if self.key else ""
        for key in sorted(self.bucket.list_all(self.key)):
            parts = key.removeprefix(prefix).split("/")
            if fnmatchcase(parts[-1], pattern) and not {"", ".", ".."} & set(parts):
                yield self.joinpath(*parts)

    def open(self, mode: str = "r", *given: Any, **options: Any) -> Any:
        """The file, fetched and open for reading."""
        if set(mode) & set("wax+"):
            self._refuse()
        try:
            return open(os.fspath(self), mode, *given, **options)
        except FileNotFoundError:  # evicted by another process in that moment, or not there: fetching says which
            return open(os.fspath(self), mode, *given, **options)

    def read_bytes(self) -> bytes:
        """The bytes of the file."""
        with self.open("rb") as file:
            return bytes(file.read())

    def read_text(self, encoding: str | None = None, errors: str | None = None, newline: str | None = None) -> str:
        """The text of the file."""
        with self.open("r", encoding=encoding, errors=errors, newline=newline) as file:
            return str(file.read())

    def resolve(self, strict: bool = False) -> RemotePath:
        """Itself."""
        return self

    def absolute(self) -> RemotePath:
        """Itself."""
        return self

    def _refuse(self, *given: Any, **options: Any) -> NoReturn:
        raise OSError(errno.EROFS, "objects of a store are not written in place", str(self))

    mkdir = rmdir = unlink = rename = replace = touch = write_text = write_bytes = chmod = symlink_to = _refuse


def read_objects(paths: Sequence[Path], limit: int) -> list[bytes]:
    """The bytes of several objects of one bucket, at most ``limit`` of each; asked for at once, not kept in the cache.

    Each takes one request. FileNotFoundError if one is not there.
    """
    first = paths[0]
    assert isinstance(first, RemotePath)
    return read_many(first.bucket, [path.key for path in paths if isinstance(path, RemotePath)], limit)
