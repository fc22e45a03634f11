"""A world on disk that is opened without reading its primitives, and read tile by tile."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from resweep.errors import InputError
from resweep.memory import parse_memory
from resweep.pose import Array
from resweep.remote import find_path, recover_output
from resweep.worlds.layers import Layer, Mesh, find_kind
from resweep.worlds.layers.relabel import count_labels
from resweep.worlds.load import load_world
from resweep.worlds.store.generations import find_arrays, read_generation
from resweep.worlds.store.index import (
    INDEX,
    read_calibration,
    read_index,
    read_label_counts,
    read_labels,
    read_map_filter,
    read_origin,
    read_tile_size,
)
from resweep.worlds.store.layer_files import ReadState, need, open_layer, read_layer, read_prototype, read_settings
from resweep.worlds.store.observed_files import read_observed
from resweep.worlds.store.stored_arrays import Budget
from resweep.worlds.stream.cells import is_divided
from resweep.worlds.world import World

if TYPE_CHECKING:
    from resweep.labels import LabelSet


class StreamedLayer:
    """A layer of a world on disk, of which the table of tiles is read: gives the part in one tile at a time."""

    def __init__(self, entry: dict[str, Any], where: str, root: Path, n_numbered: int) -> None:
        self._entry, self._where, self._root, self._n_numbered = entry, where, root, n_numbered
        self.kind = need(entry, "kind", str, where)
        self._kind = find_kind(self.kind, where)
        self.name = need(entry, "name", str, where)
        extra = need(entry, "extra", list, where) if self._kind.keeps_extra else []
        self.traits = self._kind.traits(read_settings(self._kind, entry, where), extra)
        self._opened = ReadState(root)
        self.columns, self.table = open_layer(entry, where, self._opened)
        self.bounds = np.array(entry["bounds"], np.float64) if _is_box(entry.get("bounds")) else self._find_bounds()

    @cached_property
    def prototype(self) -> Mesh | None:
        """The mesh that the layer has copies of, if so."""
        if not self._kind.copies:
            return None
        self._opened.budget = Budget()
        return read_prototype(self._entry, self._where, self._opened)

    @property
    def is_numbered(self) -> bool:
        """Whether its primitives have numbers in the world."""
        return self._kind.numbered

    @property
    def n_rows(self) -> int:
        """Number of primitives; of copies, the number of those."""
        return int(self.table.n_rows.sum())

    def read(self, tile: int) -> Layer:
        """The part of the layer in one tile; may be called from any thread."""
        chosen = np.zeros(len(self.table.n_rows), bool)
        chosen[tile] = True
        reading = ReadState(self._root, lambda _: chosen, self._opened.shared, n_numbered=self._n_numbered)
        columns = replace(self.columns, budget=reading.budget)  # arrays that are open stay open
        reading.opened[self._entry["path"]] = columns, self.table
        part = read_layer(self._entry, self._where, reading)
        assert part is not None
        return part

    def instances(self) -> Iterator[Array]:
        """The instance ids in use (k,), tile by tile."""
        if self.prototype is not None:
            yield np.unique(self.prototype.instance)
        ends = np.cumsum(self.table.n_rows)
        for first, end in zip((ends - self.table.n_rows).tolist(), ends.tolist(), strict=True):
            columns = replace(self.columns, budget=Budget())
            yield np.unique(columns.read("instance", [(first, end)]))
            if "instance" in self.columns.constants:
                break

    def _find_bounds(self) -> Array:
        boxes = self.table.bounds
        return np.array([boxes[:, 0].min(axis=0), boxes[:, 1].max(axis=0)])


class StreamedWorld:
    """A saved world that a `Simulator` reads tile by tile while a sensor drives through it.

    Opening it reads its index and tables of tiles only. ``memory`` bounds what a simulator keeps of it, in bytes or as
    ``"4GB"`` (default: half of the machine's memory). Sweeps have the same bytes as in the whole world
    (`resweep.load_world`). ``path`` may be a URL of an object store: tiles are then fetched as they are read, and not
    kept on disk. A world there that is replaced twice while it is driven through is gone, and an error.

    Example: ``rs.Simulator(rs.StreamedWorld("city.world", memory="4GB"), "velodyne-hdl-64e")``
    """

    def __init__(self, path: str | Path, *, memory: int | str | None = None) -> None:
        self.path = find_path(path)
        recover_output(self.path)
        self.memory_bytes = memory if isinstance(memory, int) else parse_memory(memory)
        read_generation(self.path, lambda: read_index(self.path), self._open)

    def _open(self, data: dict[str, Any]) -> None:
        """Open the layers of which ``data`` is the index."""
        self._data, where = data, str(self.path / INDEX)
        arrays = find_arrays(self.path, data, where)
        self.origin = read_origin(self._data, where)
        self.labels: LabelSet = read_labels(self._data, where)
        self.meta: dict[str, Any] = need(self._data, "meta", dict, where)
        self.calibration = read_calibration(self._data, where)
        self.map_filter = read_map_filter(self._data, where)
        self.tile_size_m = read_tile_size(self._data, where)
        self.observed = read_observed(self._data, where, arrays, Budget())
        layers: list[StreamedLayer] = []
        for number, entry in enumerate(need(self._data, "layers", list, where)):
            n_numbered = sum(layer.n_rows for layer in layers if layer.is_numbered)
            layers.append(StreamedLayer(entry, f"{where}: layers[{number}]", arrays, n_numbered))
        if not layers:
            raise InputError(f"{where}: has no layer; save the world again")
        self.layers = tuple(layers)

    def load(self) -> World:
        """The whole world in memory."""
        return load_world(self.path)

    @property
    def is_divided(self) -> bool:
        """Whether it has so many tiles that a simulator reads them one by one; else it reads the whole."""
        return is_divided([layer.table for layer in self.layers])

    @property
    def bounds(self) -> Array:
        """Lowest and highest corner (2, 3) float64 in world coordinates."""
        boxes = np.array([layer.bounds for layer in self.layers])
        return np.array([boxes[:, 0].min(axis=0), boxes[:, 1].max(axis=0)]) + self.origin

    @cached_property
    def label_counts(self) -> dict[int, int]:
        """Number of primitives with each label id, counted in every instance."""
        if "label_counts" in self._data:
            return read_label_counts(self._data, str(self.path / INDEX))
        counts: Counter[int] = Counter()
        for layer in self.layers:
            for tile in range(len(layer.table.n_rows)):
                counts.update(count_labels([layer.read(tile)]))
        return dict(sorted(counts.items()))

    @property
    def has_labels(self) -> bool:
        """Whether any primitive has a label other than 0."""
        return any(label > 0 for label in self.label_counts)

    @property
    def n_primitives(self) -> int:
        """Number of primitives of all kinds, counted in every instance."""
        return sum(
            layer.n_rows * (1 if layer.prototype is None else layer.prototype.n_primitives) for layer in self.layers
        )

    def find_instance(self, wanted: Array) -> tuple[int, str] | None:
        """The first of the instance ids ``wanted`` (k,) that is in use, and the name of the layer that uses it."""
        for layer in self.layers:
            for used in (np.intersect1d(wanted, ids) for ids in layer.instances()):
                if len(used):
                    return int(used[0]), layer.name
        return None

    @property
    def largest_instance(self) -> int:
        """The largest instance id in use."""
        return max(int(ids[-1]) for layer in self.layers for ids in layer.instances())

    def __repr__(self) -> str:
        size = self.bounds[1] - self.bounds[0]
        kinds = ", ".join(f"{layer.kind} '{layer.name}'" for layer in self.layers[:6])
        return f"StreamedWorld({str(self.path)!r}: {kinds}; {size[0]:.1f} x {size[1]:.1f} x {size[2]:.1f} m)"


def _is_box(value: Any) -> bool:
    try:
        box = np.asarray(value, np.float64)
    except (TypeError, ValueError):
        return False
    return box.shape == (2, 3) and bool(np.isfinite(box).all())
