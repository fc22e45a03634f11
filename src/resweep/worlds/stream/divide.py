"""Layers divided into square tiles: on disk, and in the scenes that rays are traced in.

A primitive belongs to the tile that its position lies in. It may reach beyond, which the box of the tile includes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from resweep.pose import Array
from resweep.worlds.layers.mesh import Instances, Mesh
from resweep.worlds.layers.seen import COLUMN
from resweep.worlds.layers.splats import PERMEABILITY, Splats
from resweep.worlds.layers.volumes import Volumes
from resweep.worlds.store.tiled_columns import TileTable, group_by_tile

_ROWS = {
    Splats: ("centre", "normal", "radius", "label", "reflectance", "instance"),
    Volumes: ("mean", "covariance", "permeability", "exposure_m", "label", "reflectance", "instance"),
    Instances: ("transforms", "instance", "label"),
    Mesh: ("label", "reflectance", "material", "instance"),
}
_TRACED = (COLUMN, PERMEABILITY)  # columns of ``extra`` that the tracer reads
_SETTINGS = {
    Splats: ("name", "depth", "gap_m", "incidence_exponent"),
    Volumes: ("name", "tau", "element_m"),
    Instances: ("mesh", "name"),
    Mesh: ("materials", "name"),
}


@dataclass(frozen=True)
class Division:
    """How a layer is divided: the order (n,) that brings the rows of each tile together, and the table of tiles."""

    order: Array
    table: TileTable

    def rows(self, tile: int) -> Array:
        """The rows (k,) of one tile, in the order of the layer."""
        end = int(self.table.n_rows[: tile + 1].sum())
        return self.order[end - int(self.table.n_rows[tile]) : end]


@dataclass(frozen=True)
class DividedMesh:
    """A mesh whose tiles have vertices of their own: which ones, and each tile's faces between them."""

    division: Division
    sources: list[Array]
    faces: list[Array]


def divide(layer: Mesh | Instances | Splats | Volumes, tile_size_m: float) -> Division:
    """Divide a layer into tiles of this size, metres."""
    if isinstance(layer, Mesh):
        return divide_mesh(layer, tile_size_m).division
    if isinstance(layer, Instances):
        order, place, counts = group_by_tile(layer.transforms[:, :2, 3], tile_size_m)
        low, high = layer.boxes[:, 0], layer.boxes[:, 1]
    else:
        at = layer.centre if isinstance(layer, Splats) else layer.mean
        order, place, counts = group_by_tile(at[:, :2], tile_size_m)
        low, high = at - layer.half_size, at + layer.half_size
    starts = np.cumsum(counts) - counts
    boxes = np.stack(
        [np.minimum.reduceat(low[order], starts), np.maximum.reduceat(high[order], starts)], axis=1, dtype=np.float64
    )
    return Division(order, TileTable(place, counts, np.zeros_like(counts), boxes))


def divide_mesh(mesh: Mesh, tile_size_m: float) -> DividedMesh:
    """Divide triangles by the tile of their centroid, each tile with a vertex list of its own."""
    centroid = mesh.vertices[mesh.faces, :2].mean(axis=1)
    order, place, counts = group_by_tile(centroid, tile_size_m)
    slot = np.empty(len(mesh.vertices), np.uint32)
    sources, faces, boxes = [], [], []
    for rows in np.split(order, np.cumsum(counts)[:-1]):
        corners = mesh.faces[rows].reshape(-1)
        slot[corners] = np.arange(len(corners), dtype=np.uint32)
        used = np.sort(corners[slot[corners] == np.arange(len(corners))])  # each vertex once
        slot[used] = np.arange(len(used), dtype=np.uint32)
        sources.append(used)
        faces.append(slot[corners].reshape(-1, 3))
        boxes.append([mesh.vertices[used].min(axis=0), mesh.vertices[used].max(axis=0)])
    table = TileTable(place, counts, np.array([len(used) for used in sources]), np.array(boxes))
    return DividedMesh(Division(order, table), sources, faces)


def take_rows(layer: Any, rows: Array, **given: Any) -> Any:
    """A layer with some rows of another, of its ``extra`` only what is traced; ``given`` are further columns."""
    kind = type(layer)
    columns = {name: _pick(getattr(layer, name), rows) for name in _ROWS[kind]}
    extra = {name: _pick(layer.extra[name], rows) for name in _TRACED if name in getattr(layer, "extra", ())}
    if extra:
        columns["extra"] = extra
    return kind(**columns, **{name: getattr(layer, name) for name in _SETTINGS[kind]}, **given)


def _pick(column: Any, rows: Array) -> Any:
    """Some rows of a column; its one value if all rows share one."""
    if column is None:
        return None
    return column[0] if column.strides[0] == 0 and len(column) else column[rows]
