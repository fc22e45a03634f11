"""Ranges of rows of an assembled layer: which rows of which parts they are made of, and the task that writes them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import zarr

from resweep.pose import Array
from resweep.worlds.store.tiled_columns import StoredColumns

Column = tuple[str, str, tuple[int, ...]]  # name, type, shape of one row


@dataclass(frozen=True)
class LayerPart:
    """A layer of one part: its entry in world.json, the part's folder, its number there, and its name in errors."""

    entry: dict[str, Any]
    root: Path
    number: int
    where: str

    def columns(self) -> StoredColumns:
        """Its columns on disk."""
        return StoredColumns(self.root, self.entry["path"], self.entry["constants"], self.entry["counting"])


@dataclass(frozen=True)
class Piece:
    """Rows of one part that follow each other in the assembled layer.

    ``added`` says by name what is added to a column, such as the number of rows before this part.
    """

    part: LayerPart
    first: int
    end: int
    added: Mapping[str, int]


@dataclass(frozen=True)
class RowsTask:
    """Columns to write from the row ``first`` on: names and types, and the pieces that they are made of."""

    folder: str
    columns: tuple[Column, ...]
    first: int
    pieces: tuple[Piece, ...]


def write_rows(task: RowsTask) -> None:
    """Write a range of rows of some columns; no other task writes to their chunks."""
    total = sum(piece.end - piece.first for piece in task.pieces)
    opened = {id(piece.part): piece.part.columns() for piece in task.pieces}
    for name, dtype, row in task.columns:
        values = np.empty((total, *row), np.dtype(dtype))
        at = 0
        for piece in task.pieces:
            rows = opened[id(piece.part)].read(name, [(piece.first, piece.end)], row=row)
            values[at : at + piece.end - piece.first] = rows
            if piece.added.get(name):
                values[at : at + piece.end - piece.first] += np.asarray(piece.added[name], values.dtype)
            at += piece.end - piece.first
        with zarr.config.set({"array.write_empty_chunks": True}):  # a chunk that is not there is then damage
            array = zarr.open_array(str(Path(task.folder) / name), mode="r+", zarr_format=3)
        array[task.first : task.first + total] = values


def cut_pieces(pieces: list[Piece], ends: Array, first: int, end: int) -> tuple[Piece, ...]:
    """The pieces of the rows from ``first`` to ``end``, of which the outer ones are cut."""
    cut = []
    for i in range(int(np.searchsorted(ends, first, side="right")), int(np.searchsorted(ends, end)) + 1):
        piece = pieces[i]
        begin = int(ends[i]) - (piece.end - piece.first)  # in the layer
        low, high = max(first, begin) - begin, min(end, int(ends[i])) - begin
        if high > low:
            cut.append(Piece(piece.part, piece.first + low, piece.first + high, piece.added))
    return tuple(cut)


def counts_on(name: str, pieces: list[Piece]) -> bool:
    """Whether a column of row numbers counts on from piece to piece."""
    at = 0
    for piece in pieces:
        if name not in piece.part.entry["counting"] or piece.added[name] + piece.first != at:
            return False
        at += piece.end - piece.first
    return True
