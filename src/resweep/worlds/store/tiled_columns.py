"""Columns of a layer on disk, their rows grouped by square tiles so that a part can be read alone.

Rows of one tile follow each other in every column, and the column ``tiles`` says where: one row a tile
with its place in the grid, its numbers of rows and of points, and the box around what it holds. A
column that repeats one value is kept as that value in world.json instead, and one that counts its
own rows (0, 1, 2, ...) by its name alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import zarr
from zarr.codecs import BloscCodec, Crc32cCodec

from resweep.errors import InputError, ResweepError
from resweep.pose import Array
from resweep.worlds.layers import Layer
from resweep.worlds.layers.square_tiles import TileTable
from resweep.worlds.store.stored_arrays import CHUNK_ROWS, DTYPES, Budget, StoredArray

WRITING: Any = {"order": "C", "write_empty_chunks": True}  # a chunk that is not there is then damage
LEVEL = 1  # of compression; 0 only wraps the bytes
TILE_COLUMNS = ("x", "y", "n_rows", "n_points", "x_min", "y_min", "z_min", "x_max", "y_max", "z_max")


def write_columns(
    group: zarr.Group,
    path: str,
    columns: Mapping[str, Array],
    attributes: Mapping[str, Array],
    order: Array,
    level: int = LEVEL,
) -> dict[str, Any]:
    """Write ``columns`` as they are and ``attributes`` (n,) with their rows in ``order``, under ``path``.

    ``level`` is how hard they are compressed. Returns what world.json has to say of those that need no array.
    """
    counting = [name for name, v in columns.items() if v.ndim == 1 and np.array_equal(v, np.arange(len(v)))]
    constant = [name for name, v in attributes.items() if v.strides[0] == 0 or bool((v == v[0]).all())]
    for name, values in columns.items():
        if name not in counting:
            _write_array(group, f"{path}/{name}", values, level)
    for name, values in attributes.items():
        if name not in constant:
            _write_array(group, f"{path}/{name}", values[order], level)
    return {"counting": counting, "constants": {name: attributes[name][0].item() for name in constant}}


def _write_array(group: zarr.Group, path: str, values: Array, level: int = LEVEL) -> None:
    create_column(group, path, values.shape, values.dtype, level)[...] = values


def create_column(
    group: zarr.Group, path: str, shape: tuple[int, ...], dtype: np.dtype[Any], level: int = LEVEL
) -> zarr.Array[Any]:
    """An array for a column of ``shape``, of which no chunk is written yet."""
    if dtype.name not in DTYPES:
        raise ResweepError(f"column '{path.rpartition('/')[2]}': {dtype} cannot be saved; make it numbers")
    return group.create_array(
        path,
        shape=shape,
        dtype=dtype,
        chunks=(min(CHUNK_ROWS, max(shape[0], 1)), *shape[1:]),
        compressors=[BloscCodec(cname="zstd", clevel=level, shuffle="shuffle"), Crc32cCodec()],
        config=WRITING,
    )


@dataclass
class StoredColumns:
    """The columns of one layer in the world at ``root``; every failure names the file."""

    root: Path
    path: str
    constants: Mapping[str, Any]
    counting: Sequence[str] = ()
    budget: Budget = field(default_factory=Budget)
    _open: dict[str, StoredArray] = field(default_factory=dict)

    def read(self, name: str, runs: list[tuple[int, int]] | None = None, row: tuple[int, ...] | None = None) -> Any:
        """A column's rows, or those of ``runs`` (first, end); a constant column gives its one value.

        ``row`` is the shape that one row must have.
        """
        if name in self.constants:
            return self.constants[name]
        with self._explain(name):
            if name in self.counting and runs is not None:
                self.budget.take(8 * sum(end - first for first, end in runs))
                return np.concatenate([np.arange(first, end) for first, end in runs])
            array = self._find(name)
            total = array.shape[0]
            runs = [(0, total)] if runs is None else runs
            if any(end > total for _, end in runs):
                raise ValueError(f"has {total} rows, {max(end for _, end in runs)} are expected")
            if row is not None and array.shape[1:] != row:
                raise ValueError(f"its rows have the shape {list(array.shape[1:])}, {list(row)} is expected")
            self.budget.take(array.row_bytes * sum(end - first for first, end in runs))
            parts = [array.read(first, end) for first, end in runs]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def count(self, name: str) -> int:
        """The rows of a column that has an array, of which nothing is read."""
        with self._explain(name):
            return self._find(name).shape[0]

    def dtype(self, name: str) -> np.dtype[Any]:
        """The type of a column that has an array, of which nothing is read."""
        with self._explain(name):
            return self._find(name).dtype

    def _find(self, name: str) -> StoredArray:
        if name not in self._open:
            self._open[name] = StoredArray(self.root, self.root / self.path / name)
        return self._open[name]

    @contextmanager
    def _explain(self, name: str) -> Iterator[None]:
        """Turn whatever a column causes into one error that names its file."""
        try:
            yield
        except Exception as error:  # the array library and its codecs raise errors of any kind
            reason = " ".join(str(error).split()) or type(error).__name__
            where = self.root / self.path / name
            raise InputError(f"{where}: is damaged ({reason}); save the world again") from error


def read_tiles(columns: StoredColumns, kind: type[Layer], n_rows: int) -> TileTable:
    """The table of tiles of a layer of this kind that has ``n_rows``.

    Its first column, and that of its points, must have as many rows as the tiles say: what is not there is found before
    anything is made in its size.
    """
    table = columns.read("tiles", row=(len(TILE_COLUMNS),))
    where = columns.root / columns.path / "tiles"
    counts = table[:, 2:4]
    if not (np.isfinite(table[:, :4]).all() and (counts >= 0).all() and (counts == np.floor(counts)).all()):
        raise InputError(f"{where}: is damaged (its tiles have no true counts); save the world again")
    if counts[:, 0].sum() != n_rows:
        raise InputError(f"{where}: is damaged (its tiles do not add up to {n_rows} rows); save the world again")
    expected = {next(iter(kind.shape)): counts[:, 0].sum()}
    expected.update({name: counts[:, 1].sum() for name in list(kind.points)[-1:]})
    for name, count in expected.items():
        if columns.count(name) != count:
            raise InputError(
                f"{where.with_name(name)}: is damaged (it has {columns.count(name)} rows, the tiles {count:.0f}); "
                "save the world again"
            )
    counts = table[:, 2:4].astype(np.int64)
    return TileTable(table[:, :2].astype(np.int64), counts[:, 0], counts[:, 1], table[:, 4:].reshape(-1, 2, 3))


def find_runs(chosen: Array, counts: Array) -> list[tuple[int, int]]:
    """Stretches (first, end) of rows that the ``chosen`` tiles (t,) bool fill, neighbours joined."""
    ends = np.cumsum(counts)
    edges = np.flatnonzero(np.diff(np.concatenate([[False], chosen, [False]]).astype(np.int8)))
    starts = ends - counts
    return [(int(starts[a]), int(ends[b - 1])) for a, b in edges.reshape(-1, 2)]
