"""Layers as columns on disk: one way to write and to read them for all kinds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import zarr

from resweep.errors import InputError, ResweepError
from resweep.files.untrusted import check_name
from resweep.pose import Array
from resweep.worlds.layers import Layer, Mesh, find_kind
from resweep.worlds.layers.layer import ColumnType
from resweep.worlds.layers.square_tiles import TileTable
from resweep.worlds.store.stored_arrays import Budget
from resweep.worlds.store.tiled_columns import LEVEL, StoredColumns, find_runs, read_tiles, write_columns

T = TypeVar("T")
_COUNTING = ("order", "source")  # columns that may count their own rows
_LARGEST = float(np.finfo(np.float32).max)


def need(data: Any, name: str, kind: type[T], where: str) -> T:
    """A field of world.json, or an error that names it."""
    if not isinstance(data, dict) or name not in data:
        raise InputError(f"{where}: field '{name}' is missing; save the world again")
    value = data[name]
    if not isinstance(value, kind) or isinstance(value, bool):
        raise InputError(f"{where}: field '{name}' must be {kind.__name__}, got {value!r:.60}; save the world again")
    return value


@dataclass
class WriteState:
    """A world being written: its Zarr group, where meshes that layers share already are, and the ``level`` of
    compression."""

    group: zarr.Group
    tile_size_m: float
    shared: dict[int, dict[str, Any]] = field(default_factory=dict)
    level: int = LEVEL


@dataclass
class ReadState:
    """A world being read: its folder, what chooses the tiles of a layer (None: all), shared meshes, and its size.

    ``opened`` keeps the columns and tables of layers, for those who read tile by tile. ``n_numbered`` counts the
    primitives of the layers so far that have numbers, which those of further ones follow.
    """

    root: Path
    choose: Callable[[TileTable], Array] | None = None
    shared: dict[str, Mesh] = field(default_factory=dict)
    budget: Budget = field(default_factory=Budget)
    opened: dict[str, tuple[StoredColumns, TileTable]] = field(default_factory=dict)
    n_numbered: int = 0

    def chosen(self, tiles: TileTable) -> Array:
        """The tiles (t,) bool to read."""
        return np.ones(len(tiles.n_rows), bool) if self.choose is None else self.choose(tiles)


def write_layer(layer: Layer, path: str, writing: WriteState) -> dict[str, Any]:
    """Write the columns of a layer, tile by tile; returns its entry in world.json.

    The mesh that a layer has copies of is written once and whole.
    """
    division = layer.divide(writing.tile_size_m)
    table = division.table
    mesh = layer.mesh
    if layer.copies and mesh is not None and id(mesh) not in writing.shared:
        writing.shared[id(mesh)] = write_layer(mesh, f"{path}/mesh", WriteState(writing.group, np.inf))
    columns = {"tiles": table.column(), "order": division.order.astype(np.uint32), **layer.list_columns(division)}
    attributes = {name: getattr(layer, name) for name in layer.attributes if getattr(layer, name) is not None}
    listed = {"attributes": list(attributes), "extra": list(layer.extra)} if layer.keeps_extra else {}
    attributes.update({f"extra-{name}": values for name, values in layer.extra.items()})
    return {
        "kind": layer.kind,
        "name": layer.name,
        "path": path,
        layer.count_field: len(layer),
        **({"n_vertices": layer.n_points} if layer.points else {}),
        "n_tiles": len(table.n_rows),
        "bounds": layer.bounds.tolist(),
        **listed,
        **layer.list_settings(),
        **({"mesh": writing.shared[id(mesh)]} if layer.copies else {}),
        **write_columns(writing.group, path, columns, attributes, division.order, writing.level),
    }


@dataclass
class TileRows:
    """The rows of some tiles of a layer on disk: what a kind of layer is read from (`Layer.read`).

    ``n_rows`` and ``n_points`` (t,) are those of the tiles that are read.
    """

    kind: type[Layer]
    entry: Mapping[str, Any]
    where: str
    reading: ReadState
    stored_columns: StoredColumns
    runs: list[tuple[int, int]]
    point_runs: list[tuple[int, int]]
    n_rows: Array
    n_points: Array

    @property
    def name(self) -> str:
        """The name of the layer."""
        return self.need("name", str)

    @property
    def settings(self) -> dict[str, Any]:
        """The settings of the layer, by the names of the constructor's arguments."""
        return read_settings(self.kind, self.entry, self.where)

    @property
    def attributes(self) -> Sequence[str]:
        """The attributes that the layer has; worlds of version 0.1 do not list them: they have all."""
        return list(self.entry.get("attributes", self.kind.attributes))

    @property
    def extra(self) -> Sequence[str]:
        """The names of its further columns."""
        return self.need("extra", list)

    @cached_property
    def saved_order(self) -> Array:
        """The number (n,) of each row in the whole layer, as it was saved."""
        return np.asarray(self.stored_columns.read("order", self.runs, row=()))

    @cached_property
    def order(self) -> Array:
        """The order (n,) int64 that puts the rows back as they were saved."""
        return np.argsort(self.saved_order, kind="stable")

    def need(self, name: str, kind: type[T]) -> T:
        """A field of the entry in world.json, or an error that names it."""
        return need(self.entry, name, kind, self.where)

    def stored(self, name: str) -> Any:
        """A column in the order on disk; one value if all rows share it."""
        column = self.kind.shape.get(name) or self.kind.attributes.get(name) or ColumnType()
        return self.stored_columns.read(name, self.runs, row=column.row)

    def column(self, name: str) -> Any:
        """A column in the order in which it was saved; one value if all rows share it."""
        values = self.stored(name)
        return values[self.order] if isinstance(values, np.ndarray) else values

    def points(self, name: str) -> Array:
        """A column of points, tile by tile."""
        return np.asarray(self.stored_columns.read(name, self.point_runs, row=self.kind.points[name].row))

    def mesh(self) -> Mesh:
        """The mesh that the rows are copies of."""
        return read_prototype(self.entry, self.where, self.reading)

    def damage_error(self, column: str, reason: str) -> InputError:
        """The error for a column that holds what it cannot."""
        where = self.stored_columns.root / self.stored_columns.path / column
        return InputError(f"{where}: is damaged ({reason}); save the world again")


def read_settings(kind: type[Layer], entry: Mapping[str, Any], where: str) -> dict[str, Any]:
    """The settings of a layer by its entry in world.json."""
    listed = {**kind.older_settings, **entry}
    return {name: need(listed, name, expected, where) for name, expected in kind.settings.items()}


def read_layer(entry: dict[str, Any], where: str, reading: ReadState) -> Layer | None:
    """A layer, or None if it has nothing in the chosen tiles; errors name its entry in the index."""
    try:
        return _read_rows(entry, where, reading)
    except ResweepError as error:
        known = str(error).startswith((str(reading.root), where))
        raise error if known else InputError(f"{where}: {error}") from error
    except (LookupError, TypeError, ValueError, ArithmeticError, MemoryError) as error:
        raise InputError(f"{where}: cannot be read ({error}); save the world again") from error


def _read_rows(entry: Mapping[str, Any], where: str, reading: ReadState) -> Layer | None:
    """A layer of the rows of the chosen tiles, in the order in which they were saved; None if there are none."""
    kind = find_kind(need(entry, "kind", str, where), where)
    columns, tiles = open_layer(entry, where, reading)
    before = reading.n_numbered
    reading.n_numbered += int(tiles.n_rows.sum()) if kind.numbered else 0
    chosen = reading.chosen(tiles)
    if not chosen.any():
        return None
    runs, point_runs = find_runs(chosen, tiles.n_rows), find_runs(chosen, tiles.n_points)
    n_rows, n_points = tiles.n_rows[chosen], tiles.n_points[chosen]
    rows = TileRows(kind, entry, where, reading, columns, runs, point_runs, n_rows, n_points)
    layer = kind.read(rows)
    if kind.numbered and reading.choose is not None:
        layer.number = (before + rows.saved_order[rows.order]).astype(np.uint32)
    return layer


def read_prototype(entry: Mapping[str, Any], where: str, reading: ReadState) -> Mesh:
    """The mesh that instances are copies of, read once for all layers that share it."""
    prototype = need(entry, "mesh", dict, where)
    place = need(prototype, "path", str, f"{where}.mesh")
    if place not in reading.shared:
        whole = ReadState(reading.root, budget=reading.budget)
        mesh = _read_rows({**prototype, "kind": Mesh.kind}, f"{where}.mesh", whole)
        if not isinstance(mesh, Mesh):
            raise InputError(f"{where}.mesh: has no face; save the world again")
        reading.shared[place] = mesh
    return reading.shared[place]


def open_layer(entry: Mapping[str, Any], where: str, reading: ReadState) -> tuple[StoredColumns, TileTable]:
    """The columns of a layer and its table of tiles, which are checked; nothing else is read."""
    path = need(entry, "path", str, where)
    if path not in reading.opened:
        kind = find_kind(need(entry, "kind", str, where), where)
        attributes = tuple(kind.attributes)
        if kind.keeps_extra:
            _check_listed(entry.get("attributes", attributes), attributes, f"{where}: attributes")
            attributes += tuple(f"extra-{name}" for name in need(entry, "extra", list, where))
        columns = _make_columns(entry, where, reading, kind, attributes)
        reading.opened[path] = columns, read_tiles(columns, kind, need(entry, kind.count_field, int, where))
    columns, tiles = reading.opened[path]
    columns.budget = reading.budget
    return columns, tiles


def _make_columns(
    entry: Mapping[str, Any], where: str, reading: ReadState, kind: type[Layer], attributes: Sequence[str]
) -> StoredColumns:
    """The columns of a layer, of which only ``attributes`` may be constant; names that lead elsewhere are refused."""
    path = need(entry, "path", str, where)
    constants, counting = need(entry, "constants", dict, where), need(entry, "counting", list, where)
    try:
        check_name(path)
    except ValueError as error:
        raise InputError(f"{where}: {error}") from error
    for name in attributes:
        if not isinstance(name, str) or set(name) & set("/\\\0"):
            raise InputError(f"{where}: a column cannot be called {name!r:.60}; save the world again")
    _check_listed(constants, attributes, f"{where}: constants")
    _check_listed(counting, _COUNTING, f"{where}: counting")
    for name, value in constants.items():
        if not _is_constant(kind.attributes.get(name), value):
            raise InputError(f"{where}: constants: '{name}' cannot be {value!r:.60}; save the world again")
    return StoredColumns(reading.root, path, constants, counting, reading.budget)


def _is_constant(column: ColumnType | None, value: Any) -> bool:
    """Whether a value of JSON can be that of a column: a whole number for ids, else any that float32 holds.

    Without ``column`` it is one of ``extra``.
    """
    if isinstance(value, int):
        return -(2**31) <= value < 2**31 or (column is None and -(2**63) <= value < 2**64)
    is_id = column is not None and not column.dtype.startswith("float")
    return isinstance(value, float) and not is_id and not _LARGEST < abs(value) < np.inf


def _check_listed(names: Any, known: Sequence[str], where: str) -> None:
    """Raise unless ``names`` are some of the ``known``."""
    for name in names:
        if name not in known:
            raise InputError(f"{where}: '{name!s:.60}' is no column of this kind of layer; save the world again")
