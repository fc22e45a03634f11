"""The kinds of layer as columns on disk: each is written and read by one pair of functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import zarr

from resweep.errors import InputError
from resweep.files.untrusted import check_name
from resweep.pose import Array
from resweep.worlds.layers.mesh import Instances, Material, Mesh
from resweep.worlds.layers.splats import Splats
from resweep.worlds.layers.volumes import Volumes
from resweep.worlds.store.stored_arrays import Budget
from resweep.worlds.store.tiled_columns import LEVEL, StoredColumns, TileTable, runs_of, write_columns
from resweep.worlds.stream.divide import divide, divide_mesh
from resweep.worlds.world import Layer

T = TypeVar("T")
_MESH_ATTRIBUTES = ("label", "reflectance", "material", "instance")
_COUNTING = ("order", "source")  # columns that may count their own rows
_IDS = ("label", "instance", "material")
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
class Writing:
    """A world being written: its Zarr group, where meshes that layers share already are, and the ``level`` of
    compression."""

    group: zarr.Group
    tile_size_m: float
    shared: dict[int, dict[str, Any]] = field(default_factory=dict)
    level: int = LEVEL


@dataclass
class Reading:
    """A world being read: its folder, what chooses the tiles of a layer (None: all), shared meshes, and its size.

    ``opened`` keeps the columns and tables of layers, for those who read tile by tile. ``n_volumes`` counts those of
    the layers so far, which the numbers of further ones follow.
    """

    root: Path
    choose: Callable[[TileTable], Array] | None = None
    shared: dict[str, Mesh] = field(default_factory=dict)
    budget: Budget = field(default_factory=Budget)
    opened: dict[str, tuple[StoredColumns, TileTable]] = field(default_factory=dict)
    n_volumes: int = 0

    def chosen(self, tiles: TileTable) -> Array:
        """The tiles (t,) bool to read."""
        return np.ones(len(tiles.n_rows), bool) if self.choose is None else self.choose(tiles)


def write_mesh(mesh: Mesh, path: str, writing: Writing) -> dict[str, Any]:
    """Write triangles by the tile of their centroid, each tile with a vertex list of its own."""
    divided = divide_mesh(mesh, writing.tile_size_m)
    order, table = divided.division.order, divided.division.table
    source = np.concatenate(divided.sources)
    columns = {
        "tiles": table.column(),
        "order": order.astype(np.uint32),
        "faces": np.concatenate(divided.faces),
        "source": source,
        "vertices": mesh.vertices[source],
    }
    attributes = {name: getattr(mesh, name) for name in _MESH_ATTRIBUTES}
    return {
        "kind": mesh.kind,
        "name": mesh.name,
        "path": path,
        "n_faces": len(mesh.faces),
        "n_vertices": len(mesh.vertices),
        "n_tiles": len(table.n_rows),
        "bounds": mesh.bounds.tolist(),
        "materials": [asdict(material) for material in mesh.materials],
        **write_columns(writing.group, path, columns, attributes, order, writing.level),
    }


def read_mesh(entry: Mapping[str, Any], where: str, reading: Reading) -> Mesh | None:
    """Read the triangles of the tiles within bounds, in their first order; None if there are none."""
    columns, tiles = open_layer(entry, where, reading)
    chosen = reading.chosen(tiles)
    if not chosen.any():
        return None
    face_runs, vertex_runs = runs_of(chosen, tiles.n_rows), runs_of(chosen, tiles.n_points)
    order = _in_order(columns, face_runs)
    source = columns.read("source", vertex_runs, row=())
    local = columns.read("faces", face_runs, row=(3,))
    vertices = columns.read("vertices", vertex_runs, row=(3,))
    n_points, n_rows, total = tiles.n_points[chosen], tiles.n_rows[chosen], need(entry, "n_vertices", int, where)
    _check_indices(columns, np.repeat(n_points, n_rows), local, source, total)
    # Tiles that share a vertex have a copy each: back to one, in the first order.
    number = _renumber(source, total)
    joined = np.empty((int(number.max()) + 1, 3), np.float32)
    joined[number] = vertices
    first = np.repeat(np.cumsum(n_points) - n_points, n_rows)
    faces = number[local + first[:, None]]
    attributes = {name: columns.read(name, face_runs, row=()) for name in _MESH_ATTRIBUTES}
    attributes = {name: v[order] if isinstance(v, np.ndarray) else v for name, v in attributes.items()}
    materials = [Material(**row) for row in need(entry, "materials", list, where)]
    return Mesh(joined, faces[order], materials=materials, name=need(entry, "name", str, where), **attributes)


def _renumber(source: Array, total: int) -> Array:
    """Numbers (n,) uint32 from 0 without gaps, in the order of ``source`` (n,), whose values are below ``total``."""
    if total > 8 * len(source) + 1000:  # mostly gaps, or a wrong total: nothing is made in its size
        return np.unique(source, return_inverse=True)[1].astype(np.uint32)
    used = np.zeros(total, bool)
    used[source] = True
    return (np.cumsum(used, dtype=np.uint32) - np.uint32(1))[source]


def write_instances(layer: Instances, path: str, writing: Writing) -> dict[str, Any]:
    """Write the mesh once and whole, and its copies by the tile of their position."""
    division = divide(layer, writing.tile_size_m)
    order, table = division.order, division.table
    if id(layer.mesh) not in writing.shared:
        whole = Writing(writing.group, np.inf)
        writing.shared[id(layer.mesh)] = write_mesh(layer.mesh, f"{path}/mesh", whole)
    columns = {
        "tiles": table.column(),
        "order": order.astype(np.uint32),
        "transforms": layer.transforms[order],
    }
    attributes = {"instance": layer.instance, "label": layer.label}
    return {
        "kind": layer.kind,
        "name": layer.name,
        "path": path,
        "n_instances": len(order),
        "n_tiles": len(table.n_rows),
        "bounds": layer.bounds.tolist(),
        "mesh": writing.shared[id(layer.mesh)],
        **write_columns(writing.group, path, columns, attributes, order, writing.level),
    }


def read_instances(entry: Mapping[str, Any], where: str, reading: Reading) -> Instances | None:
    """Read the copies in the tiles within bounds, in their first order; None if there are none."""
    columns, tiles = open_layer(entry, where, reading)
    chosen = reading.chosen(tiles)
    if not chosen.any():
        return None
    mesh = read_prototype(entry, where, reading)
    runs = runs_of(chosen, tiles.n_rows)
    order = _in_order(columns, runs)
    instance, label = (columns.read(name, runs, row=()) for name in ("instance", "label"))
    instance, label = (v[order] if isinstance(v, np.ndarray) else v for v in (instance, label))
    transforms = columns.read("transforms", runs)[order]
    return Instances(mesh, transforms, instance, label, need(entry, "name", str, where))


def read_prototype(entry: Mapping[str, Any], where: str, reading: Reading) -> Mesh:
    """The mesh that instances are copies of, read once for all layers that share it."""
    prototype = need(entry, "mesh", dict, where)
    place = need(prototype, "path", str, f"{where}.mesh")
    if place not in reading.shared:
        mesh = read_mesh({**prototype, "kind": "mesh"}, f"{where}.mesh", Reading(reading.root, budget=reading.budget))
        if mesh is None:
            raise InputError(f"{where}.mesh: has no face; save the world again")
        reading.shared[place] = mesh
    return reading.shared[place]


@dataclass(frozen=True)
class _Scattered:
    """A kind of layer that is rows of primitives, each at one place: its columns and settings by name."""

    layer: Callable[..., Any]
    count: str
    place: str
    shape: tuple[str, ...]
    attributes: tuple[str, ...]
    settings: dict[str, type]


_SPLATS = _Scattered(
    Splats,
    count="n_splats",
    place="centre",
    shape=("centre", "normal", "radius"),
    attributes=("label", "reflectance", "instance"),
    settings={"depth": int, "gap_m": float, "incidence_exponent": float},
)
_VOLUMES = _Scattered(
    Volumes,
    count="n_volumes",
    place="mean",
    shape=("mean", "covariance"),
    attributes=("permeability", "exposure_m", "label", "reflectance", "instance"),
    settings={"tau": float, "element_m": float},
)


_OLDER = {"incidence_exponent": 1.0}  # settings that older worlds do not list
_SCATTERED = {"splats": _SPLATS, "volumes": _VOLUMES}


def _write_scattered(what: _Scattered, layer: Splats | Volumes, path: str, writing: Writing) -> dict[str, Any]:
    """Write primitives by the tile of their place."""
    division = divide(layer, writing.tile_size_m)
    order, table = division.order, division.table
    columns = {
        "tiles": table.column(),
        "order": order.astype(np.uint32),
        **{name: getattr(layer, name)[order] for name in what.shape},
    }
    attributes = {name: getattr(layer, name) for name in what.attributes if getattr(layer, name) is not None}
    attributes.update({f"extra-{name}": values for name, values in layer.extra.items()})
    return {
        "kind": layer.kind,
        "name": layer.name,
        "path": path,
        what.count: len(layer),
        "n_tiles": len(table.n_rows),
        "bounds": layer.bounds.tolist(),
        "attributes": [name for name in what.attributes if name in attributes],
        "extra": list(layer.extra),
        **{name: getattr(layer, name) for name in what.settings},
        **write_columns(writing.group, path, columns, attributes, order, writing.level),
    }


def _read_scattered(what: _Scattered, entry: Mapping[str, Any], where: str, reading: Reading) -> Any:
    """Read the primitives in the tiles within bounds, in their first order; None if there are none."""
    columns, tiles = open_layer(entry, where, reading)
    before = reading.n_volumes
    reading.n_volumes += int(tiles.n_rows.sum()) if what is _VOLUMES else 0
    chosen = reading.chosen(tiles)
    if not chosen.any():
        return None
    runs = runs_of(chosen, tiles.n_rows)
    order = _in_order(columns, runs)
    stored = entry.get("attributes", what.attributes)  # worlds of version 0.1 do not list them: they have all

    def column(name: str) -> Any:
        values = columns.read(name, runs)
        return values[order] if isinstance(values, np.ndarray) else values

    layer = what.layer(
        **{name: column(name) for name in (*what.shape, *stored)},
        extra={name: column(f"extra-{name}") for name in entry["extra"]},
        name=need(entry, "name", str, where),
        **{name: need({**_OLDER, **entry}, name, kind, where) for name, kind in what.settings.items()},
    )
    if what is _VOLUMES and not chosen.all():
        layer.number = (before + columns.read("order", runs, row=())[order]).astype(np.uint32)
    return layer


def open_layer(entry: Mapping[str, Any], where: str, reading: Reading) -> tuple[StoredColumns, TileTable]:
    """The columns of a layer and its table of tiles, which are checked; nothing else is read."""
    path = need(entry, "path", str, where)
    if path not in reading.opened:
        kind = need(entry, "kind", str, where)
        points = None
        if kind in _SCATTERED:
            what = _SCATTERED[kind]
            attributes = (*what.attributes, *(f"extra-{name}" for name in need(entry, "extra", list, where)))
            _check_listed(entry.get("attributes", what.attributes), what.attributes, f"{where}: attributes")
            count, rows = what.count, what.place
        elif kind == "mesh":
            attributes, count, rows, points = _MESH_ATTRIBUTES, "n_faces", "faces", "vertices"
        else:
            attributes, count, rows = ("instance", "label"), "n_instances", "transforms"
        columns = _columns(entry, where, reading, attributes)
        reading.opened[path] = columns, TileTable.of(columns, need(entry, count, int, where), rows, points)
    columns, tiles = reading.opened[path]
    columns.budget = reading.budget
    return columns, tiles


# A kind of layer is written and read by one pair of functions; a further kind is one line here.
KINDS: dict[str, tuple[Callable[..., dict[str, Any]], Callable[..., Layer | None]]] = {
    "mesh": (write_mesh, read_mesh),
    "instances": (write_instances, read_instances),
    "splats": (partial(_write_scattered, _SPLATS), partial(_read_scattered, _SPLATS)),
    "volumes": (partial(_write_scattered, _VOLUMES), partial(_read_scattered, _VOLUMES)),
}


def _columns(entry: Mapping[str, Any], where: str, reading: Reading, attributes: Sequence[str]) -> StoredColumns:
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
        if not _is_constant(name, value):
            raise InputError(f"{where}: constants: '{name}' cannot be {value!r:.60}; save the world again")
    return StoredColumns(reading.root, path, constants, counting, reading.budget)


def _is_constant(name: str, value: Any) -> bool:
    """Whether a value of JSON can be that of a column: a whole number for ids, else any that float32 holds."""
    if isinstance(value, int):
        return -(2**31) <= value < 2**31 or (name.startswith("extra-") and -(2**63) <= value < 2**64)
    return isinstance(value, float) and name not in _IDS and not _LARGEST < abs(value) < np.inf


def _check_listed(names: Any, known: Sequence[str], where: str) -> None:
    """Raise unless ``names`` are some of the ``known``."""
    for name in names:
        if name not in known:
            raise InputError(f"{where}: '{name!s:.60}' is no column of this kind of layer; save the world again")


def _in_order(columns: StoredColumns, runs: list[tuple[int, int]]) -> Array:
    """The order (n,) int64 that puts the rows of ``runs`` back as they were saved."""
    return np.argsort(columns.read("order", runs, row=()), kind="stable")


def _check_indices(columns: StoredColumns, counts: Array, local: Array, source: Array, total: int) -> None:
    """Raise if a face points outside its tile's vertices (of which it has ``counts`` (m,))."""
    true = local.dtype.kind in "iu" and source.dtype.kind in "iu"
    if not true or (local >= counts[:, None]).any() or (source >= total).any() or min(local.min(), source.min()) < 0:
        where = columns.root / columns.path / "faces"
        raise InputError(f"{where}: is damaged (a face points at a vertex that is not there); save the world again")
