"""What is done for each tile by itself, wherever its task runs: classify its points, and build its layers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from resweep.build.parts import Layers
from resweep.build.store import FindKinds, Step
from resweep.build.tiles.layers import cut_layers, join_layers
from resweep.files import write_file
from resweep.map.store.grid import Square
from resweep.map.store.part import PERMEABLE, STILL, SquarePart, TiledLog, write_flags
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
        return self.parts / f"{self.tile.x}_{self.tile.y}.world"

    @property
    def nothing(self) -> Path:
        """The file that says that there is nothing in the tile."""
        return self.parts / f"{self.tile.x}_{self.tile.y}.empty"


def classify_tile(task: TileTask, find: FindKinds | None) -> int:
    """Write the flags of a tile's points, if they are not there yet; how many of them stand still."""
    path = task.tiled.find_flags((task.tile.x, task.tile.y))
    if not path.is_file():
        parts = []
        for square in task.squares:
            part = SquarePart.read(task.tiled, square, task.margin_m)
            parts.append((part, _find_flags(task.tiled, part, find)))
        write_flags(task.tiled, (task.tile.x, task.tile.y), parts)
    with np.load(path, allow_pickle=False) as archive:
        return int(sum(((flags & STILL) > 0).sum() for flags in dict(archive).values()))


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


def build_tile(task: TileTask, steps: Sequence[Step]) -> None:
    """Do all steps for a tile and save its layers as a world, if that is not done yet."""
    if task.nothing.is_file() or (task.part / "world.json").is_file():
        return
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
        write_file(task.nothing, b"")
        return
    world = World(joined, task.tiled.origin, labels=task.tiled.labels)
    save_world(world, task.part, tile_size_m=task.tile.size_m, level=0)
