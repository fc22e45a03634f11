"""Pieces of unfinished work on disk: each says which piece of which work it is, and its checksum that it is whole.

A piece holds arrays and facts as JSON; nothing in it is pickled. Its head has the key of the work and the name of the
piece, so that none is taken for another. A seal is a piece that holds the checksums of other files.

    magic | length of the head, 8 bytes | head, JSON | checksum of the head | arrays | checksum of head and arrays
"""

from __future__ import annotations

import hashlib
import math
import os
import shutil
import stat
import uuid
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from resweep.errors import InputError
from resweep.files import disk
from resweep.files.strict_json import format_json, parse_json
from resweep.files.untrusted import ANY_SIZE, open_regular
from resweep.files.write_file import explain_errors

SUFFIX = ".piece"
SUM_BYTES = 32
_MAGIC = b"resweep-piece-1\n"
_LENGTH_BYTES = 8
_BLOCK = 1 << 20  # bytes of a file that are read at a time
# What bytes that are no piece raise when they are read.
DAMAGE = (OSError, ValueError, KeyError, TypeError, RecursionError)

Array = NDArray[Any]
Report = Callable[[str], None]


class DamagedPieceWarning(UserWarning):
    """A piece of unfinished work is damaged, and is computed again."""


def warn_of_damage(line: str) -> None:
    """Say it as a warning, which workers elsewhere pass on."""
    warnings.warn(line, DamagedPieceWarning, stacklevel=3)


@dataclass(frozen=True)
class StoredPiece:
    """What a piece holds."""

    arrays: dict[str, Array] = field(default_factory=dict)
    facts: Any = None


@dataclass(frozen=True)
class Pieces:
    """The pieces in ``folder`` of the work that ``key`` tells from all others."""

    folder: Path
    key: str = ""

    def path(self, name: str) -> Path:
        """The file of a piece; a name may have folders."""
        return self.folder / f"{name}{SUFFIX}"

    def write(self, name: str, arrays: Mapping[str, Array] | None = None, facts: Any = None) -> None:
        """Write a piece, which appears whole or not at all; whatever has its name is replaced."""
        columns = {column: np.asarray(values, order="C") for column, values in (arrays or {}).items()}
        listed = [[column, values.dtype.str, values.shape] for column, values in columns.items()]
        if any(values.dtype.hasobject for values in columns.values()):
            raise TypeError(f"{name}: holds Python objects")
        head = format_json({"key": self.key, "name": name, "arrays": listed, "facts": facts}).encode()
        path = self.path(name)
        part = path.with_name(f"{path.name}.{uuid.uuid4().hex[:8]}.part")
        with explain_errors(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            try:
                with part.open("wb") as stream:
                    _write(stream, head, columns.values())
                disk.sync(part)
                os.replace(part, path)
            except BaseException:
                part.unlink(missing_ok=True)
                raise

    def find(self, name: str, report: Report = warn_of_damage) -> StoredPiece | None:
        """A piece that was written before; None if it was not, or is damaged: that is reported, and it is removed."""
        path = self.path(name)
        if not os.path.lexists(path):
            return None
        try:
            return _read(path, self.key, name)
        except DAMAGE as error:
            discard_damaged(path, error, report)
            return None

    def read(self, name: str) -> StoredPiece:
        """A piece that must be there; one error if it is not, or is damaged."""
        path = self.path(name)
        try:
            return _read(path, self.key, name)
        except DAMAGE as error:
            raise InputError(f"{path}: was damaged while it was in use ({error}); run the same again") from error

    def seal(self, name: str, root: Path, paths: Iterable[Path]) -> None:
        """Keep the checksums of files or folders at or below ``root`` as a piece: they are finished."""
        self.write(name, facts={str(path.relative_to(root)): _describe(path) for path in paths})

    def find_sealed(self, name: str, root: Path, report: Report = warn_of_damage) -> list[Path] | None:
        """The files and folders that a seal names; None if there is none, or if they are not as they were.

        What is damaged is reported, and stays where it is.
        """
        found = self.find(name, report)
        if found is None:
            return None
        sealed = [root / path for path in found.facts]
        for path, known in zip(sealed, found.facts.values(), strict=True):
            if not _is_as_described(path, known):
                report(f"checkpoint {path} is damaged: computed again")
                return None
        return sealed


class _OtherWorkError(ValueError):
    """A whole piece, but another than the one that was looked for."""


def discard_damaged(path: Path, error: Exception, report: Report) -> None:
    """Remove what lies at ``path`` in the place of a piece, and report it."""
    what = "of other work" if isinstance(error, _OtherWorkError) else "damaged"
    report(f"checkpoint {path} is {what}: computed again")
    remove(path)


def remove(path: Path) -> None:
    """Remove a file, a folder with all in it, or whatever else has this name, if anything has."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    elif os.path.lexists(path):
        path.unlink()


def _describe(path: Path) -> dict[str, tuple[int, str]]:
    """Size and checksum of a file, or of all files of a folder by their names in it."""
    return {name: (size, _hash_file(path / name)) for name, size in _list_sizes(path).items()}


def _is_as_described(path: Path, known: Mapping[str, Sequence[Any]]) -> bool:
    try:
        if _list_sizes(path) != {name: size for name, (size, _) in known.items()}:
            return False  # before anything of another size is read
        return all(_hash_file(path / name) == digest for name, (_, digest) in known.items())
    except OSError:
        return False


def _list_sizes(path: Path) -> dict[str, int]:
    """The sizes of a file (called "."), or of all files of a folder; OSError if there is anything else in it."""
    items = path.rglob("*") if path.is_dir() and not path.is_symlink() else [path]
    sizes = {}
    for item in sorted(items):
        state = item.lstat()
        if stat.S_ISREG(state.st_mode):
            sizes[str(item.relative_to(path))] = state.st_size
        elif not stat.S_ISDIR(state.st_mode):
            raise OSError(f"{item}: is no regular file")
    return sizes


def _hash_file(path: Path) -> str:
    digest = hashlib.blake2b(digest_size=SUM_BYTES)
    with open_regular(path, ANY_SIZE) as stream:
        while block := stream.read(_BLOCK):
            digest.update(block)
    return digest.hexdigest()


def _write(stream: BinaryIO, head: bytes, columns: Iterable[Array]) -> None:
    digest = _make_digest(head)
    stream.write(pack_head(_MAGIC, head))
    for values in columns:
        data = values.reshape(-1).view(np.uint8)
        digest.update(data)
        stream.write(data.data)
    stream.write(digest.digest())


def _read(path: Path, key: str, name: str) -> StoredPiece:
    """The piece in a file; one of `DAMAGE` for anything else."""
    with open_regular(path, ANY_SIZE) as stream:
        size = os.fstat(stream.fileno()).st_size
        head, digest = read_head(stream, _MAGIC, size)
        record = parse_json(head)
        if record["key"] != key or record["name"] != name:
            raise _OtherWorkError("it is of other work")
        kinds = [(column, np.dtype(dtype), tuple(shape)) for column, dtype, shape in record["arrays"]]
        if any(dtype.hasobject for _, dtype, _ in kinds):
            raise ValueError("it holds objects")
        length = sum(dtype.itemsize * math.prod(shape) for _, dtype, shape in kinds)
        if stream.tell() + length + SUM_BYTES != size:
            raise ValueError("it has another length than its head says")
        arrays = {}
        for column, dtype, shape in kinds:
            values = arrays[column] = np.empty(shape, dtype)
            data = values.reshape(-1).view(np.uint8)
            stream.readinto(data.data)  # type: ignore[attr-defined]  # a buffered file has it
            digest.update(data)
        if stream.read(SUM_BYTES) != digest.digest():
            raise ValueError("its checksum is another")
        return StoredPiece(arrays, record["facts"])


def _make_digest(head: bytes) -> Any:
    return hashlib.blake2b(head, digest_size=SUM_BYTES)


def read_head(stream: BinaryIO, magic: bytes, size: int) -> tuple[bytes, Any]:
    """The head of a file of ``size`` bytes that begins so, and its checksum as it goes on; ValueError for no such."""
    if stream.read(len(magic)) != magic:
        raise ValueError("it does not begin as one")
    length = int.from_bytes(stream.read(_LENGTH_BYTES), "little")
    if length > size:
        raise ValueError("it is truncated")
    head = stream.read(length)
    digest = _make_digest(head)
    if stream.read(SUM_BYTES) != digest.digest():
        raise ValueError("the checksum of its head is another")
    return head, digest


def pack_head(magic: bytes, head: bytes) -> bytes:
    """The beginning of a file that `read_head` reads."""
    return magic + len(head).to_bytes(_LENGTH_BYTES, "little") + head + bytes(_make_digest(head).digest())
