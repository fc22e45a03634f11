"""A world as the tracer sees it: divided into cells, a layer's part in a tile each, that are at hand or not.

A divided scene knows the boxes of all cells of its world, so a ray visits those it crosses in the same order whichever
others are at hand. Sweeps in a world that is read tile by tile therefore have the same bytes as in one that is in
memory as a whole. Worlds of few tiles are not divided.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from resweep import _core
from resweep.embree_library import open_embree
from resweep.pose import Array
from resweep.worlds.layers import KINDS, Layer, Mesh
from resweep.worlds.layers.layer import Traits
from resweep.worlds.layers.square_tiles import TileTable
from resweep.worlds.native import NUMBERS, add_part
from resweep.worlds.world import World

# Tiles along each axis up to which a world is one scene: a sweep needs most of it, and one hierarchy is the fastest.
MAX_WHOLE = 8


class LayerCells(Protocol):
    """A layer that gives its parts tile by tile."""

    @property
    def kind(self) -> str:
        """Its kind, as `Layer.kind`."""
        ...

    @property
    def traits(self) -> Traits:
        """What the native scene must know of it."""
        ...

    @property
    def table(self) -> TileTable:
        """Its tiles."""
        ...

    @property
    def prototype(self) -> Mesh | None:
        """The mesh that it has copies of, if so."""
        ...

    def read(self, tile: int) -> Layer:
        """The part of the layer in one tile."""
        ...


class CellsInMemory:
    """A layer in memory, tile by tile; ``first`` is the number of its first row in the world, of numbered kinds."""

    def __init__(self, layer: Layer, tile_size_m: float, first: int) -> None:
        self.kind = layer.kind
        self.traits = layer.traits(layer.list_settings(), layer.extra)
        self.prototype = layer.mesh if layer.copies else None
        self._layer, self._first = layer, first
        self._division = layer.divide(tile_size_m)
        self.table = self._division.table

    def read(self, tile: int) -> Layer:
        """The part of the layer in one tile."""
        rows = self._division.rows(tile)
        part = self._layer.take_part(rows)
        if part.numbered and self._layer.number is None:
            part.number = (self._first + rows).astype(np.uint32)
        return part


def make_cells(world: World) -> list[CellsInMemory] | None:
    """The layers of a world tile by tile, or None if it has so few tiles that it is not divided."""
    low, high = (np.floor((corner - world.origin)[:2] / world.tile_size_m) for corner in world.bounds)
    if (high - low < MAX_WHOLE).all():
        return None
    layers, n_numbered = [], 0
    for layer in world.layers:
        layers.append(CellsInMemory(layer, world.tile_size_m, n_numbered))
        n_numbered += len(layer) if layer.numbered else 0
    return layers if is_divided([layer.table for layer in layers]) else None


def is_divided(tables: Sequence[TileTable]) -> bool:
    """Whether a world with these tables of tiles is traced as cells."""
    places = np.concatenate([table.place for table in tables])
    return bool((np.ptp(places, axis=0) >= MAX_WHOLE).any())


class DividedScene:
    """The native scene of a world with many tiles. ``native`` is traced; its cells are put into it and taken out.

    ``boxes`` (n, 2, 3) float32 are those of the cells, metres from the origin.
    """

    def __init__(self, layers: Sequence[LayerCells]) -> None:
        open_embree()
        self.layers = list(layers)
        self.cells = [(i, tile) for i, layer in enumerate(layers) for tile in range(len(layer.table.n_rows))]
        self.boxes = _widen(np.concatenate([layer.table.bounds for layer in layers]))
        self.native = _core.Scene()
        for layer in layers:
            traits = layer.traits
            number = NUMBERS[KINDS[layer.kind].native]
            self.native.declare(number, gathers=traits.gathers, permeable=traits.permeable)
        self.native.divide(self.boxes.reshape(-1, 6))
        self.native.commit()
        self._prototypes: dict[int, _core.Prototype] = {}
        for i, layer in enumerate(layers):
            if layer.prototype is not None:
                copies = int(layer.table.n_rows.sum())
                self._prototypes[i] = _core.Prototype(layer.prototype.lower(), copies)

    def build(self, cell: int) -> _core.Scene:
        """The scene of one cell, which `put` takes; may be called from any thread."""
        i, tile = self.cells[cell]
        scene = _core.Scene(cell=True)
        add_part(scene, self.layers[i].read(tile).lower(), group=i, prototype=self._prototypes.get(i))
        scene.commit()
        return scene

    def put(self, cell: int, scene: _core.Scene | None) -> None:
        """Set the scene of a cell, or None to take it out; no ray that is being traced may need it."""
        self.native.put(cell, scene)

    def n_rows(self) -> Array:
        """The number of primitives (n,) of each cell; of copies, the number of those."""
        return np.concatenate([layer.table.n_rows for layer in self.layers])


def build_divided_scene(layers: Sequence[LayerCells]) -> Any:
    """The native scene of a divided world with all of its cells."""
    scene = DividedScene(layers)
    for cell in range(len(scene.cells)):
        scene.put(cell, scene.build(cell))
    return scene.native


def _widen(boxes: Array) -> Array:
    """Boxes (n, 2, 3) as float32, wider by more than rounding: what is in them is found whatever their hierarchy is."""
    margin = 1e-6 * np.abs(boxes).max(axis=(1, 2), keepdims=True, initial=1.0)
    return np.asarray(boxes + np.array([-1.0, 1.0])[:, None] * margin, np.float32)
