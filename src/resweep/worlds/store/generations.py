"""Worlds in object stores, published in one step: readers see the old world or the new one, never a mixture.

The arrays of a world lie under ``NAME.world/generations/HASH``, where the hash is over their names and bytes, so that
nothing there ever changes. ``NAME.world/world.json`` names the generation that it belongs to and is put last, in one
request. The generation that it replaces stays until the next save, for readers that have begun with it; all others are
removed. A reader that loses its generation nevertheless begins again with the new one. A save that was stopped leaves
the old world; the next save goes on with its objects if it is of the same world, and removes them if not.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

from resweep.errors import InputError, OutputError, ResweepError
from resweep.files.strict_json import format_json, parse_json
from resweep.progress import track
from resweep.remote import RemotePath, is_remote
from resweep.remote.buckets import ChangedError, Version
from resweep.remote.leases import confirm_lock

FOLDER = "generations"
FIELD, REPLACED = "generation", "replaces"
_NAME = re.compile(r"[0-9a-f]{64}")
_AT_ONCE = 8
_TRIES = 5

T = TypeVar("T")


def find_arrays(path: Path, data: Mapping[str, Any], where: str) -> Path:
    """The folder that holds the arrays of a world, of which ``data`` is the index."""
    name = data.get(FIELD)
    if name is None:
        return path
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise InputError(f"{where}: field '{FIELD}' cannot be {name!r:.60}; save the world again")
    return path / FOLDER / name


def is_taken(path: Path) -> bool:
    """Whether anything is at ``path``; in an object store, beside what a first save that was stopped left there."""
    if not is_remote(path) or not path.is_dir():
        return path.exists()
    return any(item.name != FOLDER for item in path.iterdir())


def read_generation(path: Path, read_index: Callable[[], dict[str, Any]], read: Callable[[dict[str, Any]], T]) -> T:
    """What ``read`` makes of the index; again if the world was replaced meanwhile and its arrays are gone."""
    data = read_index()
    for _ in range(_TRIES):
        try:
            return read(data)
        except ResweepError:
            now = read_index() if is_remote(path) else data
            if now.get(FIELD) == data.get(FIELD):
                raise
            data = now
    raise InputError(f"{path}: was replaced {_TRIES} times while it was read; open it again")


def publish_world(folder: Path, path: RemotePath, index: str) -> None:
    """Upload the world in ``folder``, whose file ``index`` is put last, in place of the one at ``path``.

    The lock of ``path`` must be held.
    """
    names = sorted(file.relative_to(folder).as_posix() for file in folder.rglob("*") if file.is_file())
    names.remove(index)
    generation = _hash_files(folder, names)
    bucket, root = path.bucket, path.key
    old, version = _read_old(path, index)
    replaced = old.get(REPLACED) if old.get(FIELD) == generation else old.get(FIELD)
    _upload(folder, names, path, f"{root}/{FOLDER}/{generation}")
    data = parse_json((folder / index).read_text(encoding="utf-8"))
    data.update({FIELD: generation, REPLACED: replaced})
    text = (format_json(data, indent=1) + "\n").encode()
    confirm_lock(path)
    try:
        bucket.write(f"{root}/{index}", text, new=version is None, replaces=version)
    except ChangedError as error:
        if bucket.read(f"{root}/{index}") != text:  # else the answer was lost, and the request repeated
            raise OutputError(f"{path}: another process has replaced it meanwhile; nothing was changed") from error
    kept = [f"{root}/{FOLDER}/{name}/" for name in (generation, replaced) if name] + [f"{root}/{index}"]
    if "layers" in old and not old.get(FIELD):  # arrays beside the index, of a world that was copied there
        kept.append(f"{root}/")
    bucket.remove([key for key in bucket.list_all(root) if not key.startswith(tuple(kept))])


def _upload(folder: Path, names: list[str], path: RemotePath, prefix: str) -> None:
    """Put the files that are not there yet: a generation's name decides their bytes."""
    bucket = path.bucket
    there = {key: entry.size for key, entry in bucket.list_all(prefix).items()}
    missing = [name for name in names if there.get(f"{prefix}/{name}") != (folder / name).stat().st_size]
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        jobs = [pool.submit(bucket.write, f"{prefix}/{name}", folder / name) for name in missing]
        try:
            for job in track(jobs, f"uploading {path}"):
                job.result()
        finally:
            for job in jobs:
                job.cancel()


def _hash_files(folder: Path, names: list[str]) -> str:
    """The SHA-256 over the names and bytes of files."""
    digest = hashlib.sha256()
    for name in names:
        with (folder / name).open("rb") as file:
            digest.update(f"{name} {hashlib.file_digest(file, 'sha256').hexdigest()}\n".encode())
    return digest.hexdigest()


def _read_old(path: RemotePath, index: str) -> tuple[dict[str, Any], Version | None]:
    """The index of the world that is there, and its version; nothing and None if there is none."""
    try:
        text, version = path.bucket.read_version(f"{path.key}/{index}")
    except FileNotFoundError:
        return {}, None
    try:
        data = parse_json(text)
    except ValueError:
        data = None
    return data if isinstance(data, dict) else {}, version
