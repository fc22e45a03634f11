"""What is done for each tile by itself, wherever its task runs: classify its points, and build its layers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from resweep.build.parts import Layers
from resweep.build.store import FindKinds, Step
from resweep.build.tiles.layers import cut_layers, join_layers
from resweep.files.pieces import Pieces, remove
from resweep.map.store.grid import Square
from resweep.map.store.part import PERMEABLE, STILL, SquarePart, TiledLog, name_tile, write_flags
from resweep.pose import Array
from resweep.worlds import World
from resweep.worlds.store.save import save_world


@dataclass(frozen=True, eq=False)
class TileTask:
    """A tile, the squares that it is built in, and how far around a square points are read with it."""

    tiled: TiledLog
    tile: Square
    squares: tuple[Square, ...]
    margin_m: float
    parts: Path

    @property
    def part(self) -> Path:
        """Where the tile's layers are saved, as a world."""
        return self.parts / f"{self.name}.world"

    @property
    def name(self) -> str:
        """The name of the tile; so is the seal called that says that it is finished."""
        return name_tile((self.tile.x, self.tile.y))

    @property
    def seals(self) -> Pieces:
        """The seals of finished tiles; that of an empty one names no world."""
        return Pieces(self.parts, self.tiled.key)


def classify_tile(task: TileTask, find: FindKinds | None) -> int:
    """Write the flags of a tile's points, if they are not there yet; how many of them stand still."""
    known = task.tiled.flags.find(task.name)
    if known is not None:
        found = known.arrays
    else:
        parts = []
        for square in task.squares:
            part = SquarePart.read(task.tiled, square, task.margin_m)
            parts.append((part, _find_flags(task.tiled, part, find)))
        found = write_flags(task.tiled, (task.tile.x, task.tile.y), parts)
    return int(sum(((flags & STILL) > 0).sum() for flags in found.values()))


def _find_flags(tiled: TiledLog, part: SquarePart, find: FindKinds | None) -> Array:
    """The flags (n,) uint8 of the points of a part."""
    flags = np.full(len(part), STILL, np.uint8)
    if not part.own.any():
        return flags
    still = tiled.moving.find_static(part.cloud, part.rows["track"].astype(np.int64))
    rows = np.arange(len(part))
    if still is not None:
        flags[~still] = 0
        rows = np.flatnonzero(still)
    if find is not None and len(rows):
        flags[rows[find(part[rows])]] |= PERMEABLE
    return flags


def build_tile(task: TileTask, steps: Sequence[Step]) -> bool:
    """Do all steps for a tile and save its layers as a world, if that is not done yet; whether it has any."""
    sealed = task.seals.find_sealed(task.name, task.parts)
    if sealed is not None:
        return bool(sealed)
    remove(task.part)
    parts = []
    for square in task.squares:
        part = SquarePart.read(task.tiled, square, task.margin_m)
        if part.own.any():
            layers: Layers = ()
            for step in steps:
                layers = step(part, layers)
            parts.append(cut_layers(layers, square))
    joined = join_layers(parts)
    if not joined:
        task.seals.seal(task.name, task.parts, [])
        return False
    world = World(joined, task.tiled.origin, labels=task.tiled.labels)
    save_world(world, task.part, tile_size_m=task.tile.size_m, level=0)
    task.seals.seal(task.name, task.parts, [task.part])
    return True
