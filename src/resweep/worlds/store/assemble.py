"""Many saved worlds put together as one on disk, which is never in memory as a whole.

The parts are worlds of one place, such as one for each tile of a large build. What is written has the bytes that
`save_world` gives for one world with the primitives of all parts, in the order of the parts. Tasks write the chunks of
its arrays, each a range of rows that no other task writes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import zarr

from resweep.calibration import Calibration
from resweep.errors import InputError, ResweepError
from resweep.labels import LabelSet
from resweep.map_filter import MapFilter
from resweep.pose import Array
from resweep.remote import find_path
from resweep.work import OneProcess, Workers
from resweep.worlds.layers import KINDS, find_kind
from resweep.worlds.layers.layer import ColumnType
from resweep.worlds.layers.square_tiles import TileTable
from resweep.worlds.observed import ObservedSpace
from resweep.worlds.store.index import INDEX, read_index, read_label_counts, write_index
from resweep.worlds.store.layer_files import need
from resweep.worlds.store.row_tasks import Column, LayerPart, Piece, RowsTask, counts_on, cut_pieces, write_rows
from resweep.worlds.store.save import check_name, create_world
from resweep.worlds.store.stored_arrays import CHUNK_ROWS
from resweep.worlds.store.tiled_columns import create_column, read_tiles

_TASK_BYTES = 16 << 20  # what one task writes, before it is compressed
_MAX_ROWS = 1 << 32  # that a column of row numbers can tell apart


def assemble_world(
    parts: Sequence[Path],
    path: str | Path,
    *,
    origin: Array,
    tile_size_m: float,
    meta: Mapping[str, Any],
    labels: LabelSet,
    calibration: Calibration | None,
    map_filter: MapFilter | None = None,
    overwrite: bool = True,
    workers: Workers | None = None,
    layer_order: Sequence[tuple[str, str]] = (),
    observed: ObservedSpace | None = None,
) -> Path:
    """Write the world at ``path`` whose primitives are those of all ``parts``, in their order; returns the path.

    Parts have the same ``origin`` and ``tile_size_m`` as the world. Their layers are matched by kind and name, and a
    part may lack some; matched layers have the same settings and columns. Layers follow each other as they do in the
    parts; ``layer_order``, kinds and names, decides where no part has both. Layers of instances are refused.
    ``meta``, ``labels``, ``calibration``, ``map_filter`` and ``observed`` are those of the new world. It appears whole
    or not at all, also at a URL: it is then put together in a local folder first (`resweep.remote.stage`), which all
    ``workers`` must see.
    """
    path = find_path(path)
    check_name(path)
    if not parts:
        raise InputError(f"{path}: there is no part to put together; give at least one saved world")
    found, counts = _read_parts([Path(part) for part in parts], np.asarray(origin, np.float64), tile_size_m)
    layers = [_AssembledLayer(f"layers/{i:04d}", found[key]) for i, key in enumerate(_put_in_order(found, layer_order))]
    with create_world(path, overwrite) as folder:
        group = zarr.create_group(store=str(folder))
        entries, tasks = [], []
        for layer in layers:
            entry, more = layer.create(group, str(folder))
            entries.append(entry)
            tasks.extend(more)
        for _ in (OneProcess() if workers is None else workers).map(write_rows, tasks, "assembling the world"):
            pass
        boxes = np.array([entry["bounds"] for entry in entries])
        write_index(
            folder,
            origin=np.asarray(origin, np.float64),
            bounds=np.array([boxes[:, 0].min(axis=0), boxes[:, 1].max(axis=0)]) + np.asarray(origin, np.float64),
            tile_size_m=tile_size_m,
            calibration=calibration,
            map_filter=map_filter,
            labels=labels,
            label_counts=dict(sorted(counts.items())),
            meta=meta,
            layers=entries,
            observed=observed,
        )
    return path


class _AssembledLayer:
    """One layer of the new world, with what each part has of it."""

    def __init__(self, path: str, parts: Sequence[LayerPart]) -> None:
        self.path, self.parts = path, parts
        self.kind = find_kind(parts[0].entry["kind"], parts[0].where)
        if self.kind.copies:
            known = ", ".join(name for name, kind in KINDS.items() if not kind.copies)
            raise ResweepError(
                f"{parts[0].where}: layers of kind '{self.kind.kind}' cannot be put together; {known} can"
            )
        self.columns = {"order": ColumnType("uint32"), **self.kind.shape, **self.kind.points}
        self._check_alike()
        tables = [
            read_tiles(part.columns(), self.kind, need(part.entry, self.kind.count_field, int, part.where))
            for part in parts
        ]
        self.n_rows = [int(table.n_rows.sum()) for table in tables]
        self.n_points = [int(part.entry.get("n_vertices", 0)) for part in parts]
        if sum(self.n_rows) > _MAX_ROWS or sum(self.n_points) > _MAX_ROWS:
            raise ResweepError(f"layer '{parts[0].entry['name']}': has more than {_MAX_ROWS:,} rows; split the world")
        self._lay_out(tables)

    def _check_alike(self) -> None:
        first = self.parts[0]
        for part in self.parts[1:]:
            for name in ("attributes", "extra", "materials", *self.kind.settings):
                if part.entry.get(name) != first.entry.get(name):
                    raise ResweepError(
                        f"{part.where}: {name} are {part.entry.get(name)!r:.60}, those of {first.where} are "
                        f"{first.entry.get(name)!r:.60}; parts of one world must have the same"
                    )

    def _lay_out(self, tables: Sequence[TileTable]) -> None:
        """Where each tile of each part goes: by the place of the tile, then by the order of the parts."""
        part = np.concatenate([np.full(len(table.n_rows), i) for i, table in enumerate(tables)])
        place = np.concatenate([table.place for table in tables])
        n_rows = np.concatenate([table.n_rows for table in tables])
        n_points = np.concatenate([table.n_points for table in tables])
        boxes = np.concatenate([table.bounds for table in tables])
        row = np.concatenate([np.cumsum(table.n_rows) - table.n_rows for table in tables])
        point = np.concatenate([np.cumsum(table.n_points) - table.n_points for table in tables])
        order = np.lexsort((part, place[:, 1], place[:, 0]))
        begins = np.flatnonzero(np.r_[True, (np.diff(place[order], axis=0) != 0).any(axis=1)])
        self.table = TileTable(
            place[order][begins],
            np.add.reduceat(n_rows[order], begins),
            np.add.reduceat(n_points[order], begins),
            np.stack(
                [
                    np.minimum.reduceat(boxes[order, 0], begins),
                    np.maximum.reduceat(boxes[order, 1], begins),
                ],
                axis=1,
            ),
        )
        tile = np.searchsorted(begins, np.arange(len(order)), side="right") - 1
        before = np.cumsum(n_points[order]) - n_points[order]  # points before each piece
        within = before - before[begins][tile]
        rows_before, points_before = np.cumsum([0, *self.n_rows]), np.cumsum([0, *self.n_points])
        self.rows: list[Piece] = []
        self.points: list[Piece] = []
        for at, one in enumerate(order.tolist()):
            which, first = int(part[one]), int(row[one])
            added = {"order": int(rows_before[which]), "faces": int(within[at])}
            self.rows.append(Piece(self.parts[which], first, first + int(n_rows[one]), added))
            first = int(point[one])
            added = {"source": int(points_before[which])}
            self.points.append(Piece(self.parts[which], first, first + int(n_points[one]), added))

    def create(self, group: zarr.Group, folder: str) -> tuple[dict[str, Any], list[RowsTask]]:
        """Make the arrays of the layer and write its tiles; returns its entry in world.json and what is left to do."""
        create_column(group, f"{self.path}/tiles", (len(self.table.n_rows), 10), np.dtype(np.float64))[...] = (
            self.table.column()
        )
        counting = [name for name, pieces in self._numbering() if counts_on(name, pieces)]
        constants: dict[str, Any] = {}
        row_columns: list[Column] = []
        point_columns: list[Column] = []
        extra = [f"extra-{name}" for name in self.parts[0].entry.get("extra", [])]
        listed = self.parts[0].entry.get("attributes", self.kind.attributes)
        for name in (*self.columns, *listed, *extra):
            if name in counting:
                continue
            if name not in self.columns and (value := self._constant(name)) is not None:
                constants[name] = value
                continue
            column = (name, self._dtype(name), self.columns[name].row if name in self.columns else ())
            (point_columns if name in self.kind.points else row_columns).append(column)
        tasks = [
            *self._tasks(group, folder, row_columns, self.rows),
            *self._tasks(group, folder, point_columns, self.points),
        ]
        boxes = np.array([part.entry["bounds"] for part in self.parts])
        entry = {
            **self.parts[0].entry,
            "path": self.path,
            self.kind.count_field: sum(self.n_rows),
            "n_tiles": len(self.table.n_rows),
            "bounds": np.array([boxes[:, 0].min(axis=0), boxes[:, 1].max(axis=0)]).tolist(),
            "counting": counting,
            "constants": constants,
        }
        if "n_vertices" in entry:
            entry["n_vertices"] = sum(self.n_points)
        return entry, tasks

    def _numbering(self) -> list[tuple[str, list[Piece]]]:
        """The columns that may count their own rows, in the order of world.json."""
        return [("order", self.rows), *((name, self.points) for name in self.kind.points if name == "source")]

    def _constant(self, name: str) -> Any:
        """The one value of a column in all parts, or None if there is none."""
        values = [part.entry["constants"].get(name) for part in self.parts]
        first = values[0]
        same = all(value is not None and (value == first or (value != value and first != first)) for value in values)
        return first if same else None

    def _dtype(self, name: str) -> str:
        """The type of a column: that of the parts that have an array, else of their constants."""
        known = self.columns.get(name) or self.kind.attributes.get(name)
        if known is not None:
            return known.dtype
        dtypes = {
            part.columns().dtype(name).name: part.where for part in self.parts if name not in part.entry["constants"]
        }
        if len(dtypes) > 1:
            (one, here), (other, there) = sorted(dtypes.items())[:2]
            raise ResweepError(
                f"{here}: column '{name}' is of {one}, that of {there} of {other}; save both as one type"
            )
        if dtypes:
            return next(iter(dtypes))
        return str(np.result_type(*(np.asarray(part.entry["constants"][name]) for part in self.parts)))

    def _tasks(self, group: zarr.Group, folder: str, columns: list[Column], pieces: list[Piece]) -> list[RowsTask]:
        """The rows of some columns in stretches of whole chunks."""
        ends = np.cumsum([piece.end - piece.first for piece in pieces])
        total = int(ends[-1])
        for name, dtype, row in columns:
            create_column(group, f"{self.path}/{name}", (total, *row), np.dtype(dtype))
        width = sum(np.dtype(dtype).itemsize * int(np.prod(row)) for _, dtype, row in columns)
        if not columns:
            return []
        step = CHUNK_ROWS * max(1, _TASK_BYTES // (width * CHUNK_ROWS))
        place = str(Path(folder) / self.path)
        return [
            RowsTask(place, tuple(columns), first, cut_pieces(pieces, ends, first, min(first + step, total)))
            for first in range(0, total, step)
        ]


def _read_parts(
    parts: Sequence[Path], origin: Array, tile_size_m: float
) -> tuple[dict[tuple[str, str], list[LayerPart]], Counter[int]]:
    """What the parts have of each layer, by kind and name, and the labels of all of them."""
    found: dict[tuple[str, str], list[LayerPart]] = {}
    counts: Counter[int] = Counter()
    for root in parts:
        data = read_index(root)
        where = str(root / INDEX)
        for name, wanted in (("origin", origin.tolist()), ("tile_size_m", tile_size_m)):
            if data.get(name) != wanted:
                raise ResweepError(f"{where}: field '{name}' is {data.get(name)}, that of the whole is {wanted}")
        counts.update(read_label_counts(data, where))
        for number, entry in enumerate(need(data, "layers", list, where)):
            here = f"{where}: layers[{number}]"
            key = need(entry, "kind", str, here), need(entry, "name", str, here)
            if key in found and found[key][-1].root == root:
                raise ResweepError(f"{here}: is the second layer of kind '{key[0]}' named '{key[1]}'; give names")
            found.setdefault(key, []).append(LayerPart(entry, root, number, here))
    return found, counts


def _put_in_order(
    found: Mapping[tuple[str, str], Sequence[LayerPart]], wanted: Sequence[tuple[str, str]]
) -> list[tuple[str, str]]:
    """Kinds and names of layers such that those of each part keep their order, if they can."""
    order = [key for key in wanted if key in found]
    of_part: dict[Path, dict[int, tuple[str, str]]] = {}
    for key, parts in found.items():
        for part in parts:
            of_part.setdefault(part.root, {})[part.number] = key
    for numbered in of_part.values():
        keys = [numbered[number] for number in sorted(numbered)]
        for key in keys:
            if key not in order:
                later = [order.index(other) for other in keys[keys.index(key) :] if other in order]
                order.insert(min(later, default=len(order)), key)
    return order
