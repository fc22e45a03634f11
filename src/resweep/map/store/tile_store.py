"""The tile store: points by cell and beams by tile, as a log is scattered over them.

A batch of sweeps is one file. It holds an index, statistics of the batch, and blocks: the rows of one table in
one square, column after column, packed. A file appears whole or not at all, so that batches can be written by several
processes and a stopped build goes on with those that are missing. Its head and each of its blocks have a checksum; the
head also has the key of the build and the name of the file, so that no batch is taken for another.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numcodecs import Blosc

from resweep.errors import InputError
from resweep.files import atomic_file
from resweep.files.pieces import DAMAGE, pack_head, read_head
from resweep.files.untrusted import ANY_SIZE, open_regular
from resweep.pose import Array
from resweep.voxels import number_keys

VERSION = 3  # of the files of a store: others are not read
_MAGIC = b"resweep-tiles\n"
_SUM_BYTES = 16
_INDEX = np.dtype(
    [("x", "<i8"), ("y", "<i8"), ("rows", "<i8"), ("offset", "<i8"), ("size", "<i8"), ("sum", "u1", _SUM_BYTES)]
)
_ROW = 1 << 31  # numbers of squares in a row of them: more than there are
_PACKERS = 2  # threads that compress
_PACKING = Blosc(cname="lz4", clevel=5, shuffle=Blosc.SHUFFLE)  # three times as fast as zstd

POINT = np.dtype(
    [
        ("points", "<f4", 3),
        ("sensor", "<f4", 3),
        ("label", "<i4"),
        ("instance", "<i4"),
        ("intensity", "<f4"),
        ("sweep", "<i4"),
        ("row", "<i4"),
        ("track", "<i4"),
        ("colour", "u1", 3),
    ]
)
BEAM = np.dtype(
    [
        ("origin", "<f4", 3),
        ("direction", "<f4", 3),
        ("length", "<f4"),
        ("sweep", "<i4"),
        ("returned", "?"),
        ("shared", "u1"),
    ]
)
TABLES = {"points": POINT, "beams": BEAM}

Rows = dict[str, Array]  # the columns of some rows of a table, by the names of its type


def no_rows(table: np.dtype[Any]) -> Rows:
    """The columns of no row at all."""
    return {name: np.zeros((0, *table[name].shape), table[name].base) for name in table.names or ()}


def take_rows(rows: Rows, chosen: Array) -> Rows:
    """Some rows, by their numbers or (n,) bool."""
    if chosen.dtype == bool:
        chosen = np.flatnonzero(chosen)
    return {name: column[chosen] for name, column in rows.items()}


def join_rows(parts: Sequence[Rows]) -> Rows:
    """The rows of all parts in their order; there must be one at least."""
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def write_batch(
    file: Path, tables: Mapping[str, tuple[Rows, Array, Array | None]], stats: Mapping[str, Any], key: str = ""
) -> None:
    """Write a batch: for each table its rows (n,), and squares (m, 2) with the row that lies in each of them.

    The numbers (m,) of these rows are None where they are all rows in their order. ``stats`` are statistics of the
    batch, as JSON can hold them, ``key`` tells its build from others. Rows keep their order within a square.
    """
    blocks: list[bytes] = []
    index: dict[str, Array] = {}
    offset = 0
    for name, (rows, square, chosen) in tables.items():
        entries = []
        with ThreadPoolExecutor(_PACKERS) as pool:
            squares = list(_split(rows, square, chosen))
            packs = pool.map(_pack, [name] * len(squares), (part for _, _, _, part in squares))
            for (x, y, count, _), packed in zip(squares, packs, strict=True):
                entries.append((x, y, count, offset, len(packed), np.frombuffer(_sum(packed), np.uint8)))
                blocks.append(packed)
                offset += len(packed)
        index[name] = np.array(entries, _INDEX)
    counts = {name: len(rows) for name, rows in index.items()}
    head = {"version": VERSION, "key": key, "file": file.name, "tables": counts, "size": offset, "stats": dict(stats)}
    text = json.dumps(head).encode()
    with atomic_file(file) as temporary, temporary.open("wb") as stream:
        indices = b"".join(table.tobytes() for table in index.values())
        stream.write(pack_head(_MAGIC, len(text).to_bytes(8, "little") + text + indices))
        for packed in blocks:
            stream.write(packed)


def _sum(packed: bytes) -> bytes:
    return hashlib.blake2b(packed, digest_size=_SUM_BYTES).digest()


def _pack(table: str, rows: Rows) -> bytes:
    """The columns one after the other; words of four bytes, which the packing tells apart."""
    columns = [np.ascontiguousarray(rows[name], TABLES[table][name].base) for name in TABLES[table].names or ()]
    data = b"".join(column.tobytes() for column in columns)
    return bytes(_PACKING.encode(np.frombuffer(data + bytes(-len(data) % 4), np.uint32)))


def _unpack(table: str, packed: bytes, count: int) -> Rows:
    data = memoryview(_PACKING.decode(packed)).cast("B")
    rows, at = {}, 0
    for name in TABLES[table].names or ():
        kind = TABLES[table][name]
        values = np.frombuffer(data, kind.base, count * int(np.prod(kind.shape)), at)
        rows[name] = values.reshape(count, *kind.shape)
        at += values.nbytes
    return rows


def _split(rows: Rows, square: Array, chosen: Array | None) -> Iterator[tuple[int, int, int, Rows]]:
    """The squares with any rows, in their order: x and y, how many rows, and the rows."""
    if len(square) == 0:
        return
    low = square.min(axis=0)
    width = int(square[:, 1].max() - low[1]) + 1
    key = (square[:, 0] - low[0]) * width + square[:, 1] - low[1]
    if key.max() <= np.iinfo(np.uint16).max:
        key = key.astype(np.uint16)  # which are sorted by their digits, in one pass
    order = np.argsort(key, kind="stable")
    begins = np.flatnonzero(np.diff(key[order], prepend=key[order[:1]] ^ 1))
    for first, end in zip(begins, [*begins[1:], len(order)], strict=True):
        x, y = square[order[first]].tolist()
        block = order[first:end]
        yield x, y, int(end - first), take_rows(rows, block if chosen is None else chosen[block])


@dataclass(frozen=True, eq=False)
class Batch:
    """One file of a store: its statistics, and where the blocks of each table are."""

    file: Path
    stats: dict[str, Any]
    index: dict[str, Array]
    body: int

    @classmethod
    def open(cls, file: Path, key: str = "") -> Batch:
        """Read the index of a batch; a file that is none, or of another build or version, is an error."""
        try:
            with open_regular(file, ANY_SIZE) as stream:
                size = os.fstat(stream.fileno()).st_size
                data, _ = read_head(stream, _MAGIC, size)
                at = 8 + int.from_bytes(data[:8], "little")
                head = json.loads(data[8:at])
                if head["version"] != VERSION:
                    raise ValueError(f"it is of version {head['version']}, this Resweep has version {VERSION}")
                if (head["key"], head["file"]) != (key, file.name):
                    raise ValueError("it is of another build, or another batch")
                if stream.tell() + head["size"] != size:
                    raise ValueError("it has another length than its head says")
                index = {}
                for name, count in head["tables"].items():
                    index[name] = np.frombuffer(data, _INDEX, count, at)
                    at += count * _INDEX.itemsize
                return cls(file, head["stats"], index, stream.tell())
        except DAMAGE as error:
            raise InputError(
                f"{file}: is no batch of a tile store ({error}); remove the folder {file.parent} and build again"
            ) from error

    def check(self) -> None:
        """Raise if any block is damaged."""
        with open_regular(self.file, ANY_SIZE) as stream:
            for index in self.index.values():
                for entry in index:
                    self._read_block(stream, entry)

    def read(self, table: str, squares: set[tuple[int, int]]) -> Iterator[tuple[tuple[int, int], Rows]]:
        """The rows of each of ``squares`` that the batch has any in."""
        index = self.index[table]
        chosen = [entry for entry in index if (int(entry["x"]), int(entry["y"])) in squares]
        if not chosen:
            return
        with open_regular(self.file, ANY_SIZE) as stream:
            for entry in chosen:
                packed = self._read_block(stream, entry)
                yield (int(entry["x"]), int(entry["y"])), _unpack(table, packed, int(entry["rows"]))

    def _read_block(self, stream: BinaryIO, entry: Any) -> bytes:
        stream.seek(self.body + int(entry["offset"]))
        packed = stream.read(int(entry["size"]))
        if _sum(packed) != entry["sum"].tobytes():
            raise InputError(f"{self.file}: is damaged (a block has another checksum); run the same again")
        return packed


class TileStore:
    """The batches in ``folder``, in order."""

    def __init__(self, folder: Path, batches: list[Batch]) -> None:
        self.folder, self.batches = folder, batches

    @classmethod
    def open(cls, folder: Path, key: str = "") -> TileStore:
        """The store in a folder of the build of ``key``, whose indices are kept while the process lives."""
        files = sorted((file.name, file.stat()) for file in folder.glob("*.tiles"))
        # A process may build two worlds in one place: the files of the first are then others of the same names.
        return _open_store(str(folder), key, tuple((name, facts.st_mtime_ns, facts.st_size) for name, facts in files))

    def count(self, table: str) -> dict[tuple[int, int], int]:
        """Rows of a table in each square that has any."""
        parts = [batch.index[table] for batch in self.batches]
        joined = np.concatenate(parts) if parts else np.zeros(0, _INDEX)
        if len(joined) == 0:
            return {}
        square = np.stack([joined["x"], joined["y"]], axis=1)
        key = number_keys((square[:, 0] - square[:, 0].min()) * _ROW + square[:, 1] - square[:, 1].min())
        first = np.unique(key, return_index=True)[1]
        total = np.bincount(key, joined["rows"]).astype(np.int64)
        return {(int(x), int(y)): int(rows) for (x, y), rows in zip(square[first], total, strict=True)}

    def read(self, table: str, squares: set[tuple[int, int]]) -> Iterator[tuple[tuple[int, int], Rows]]:
        """The rows in ``squares``, block by block in the order of the sweeps, each with its square."""
        for batch in self.batches:
            yield from batch.read(table, squares)


@lru_cache(maxsize=4)
def _open_store(folder: str, key: str, files: tuple[tuple[str, int, int], ...]) -> TileStore:
    return TileStore(Path(folder), [Batch.open(Path(folder) / name, key) for name, _, _ in files])
