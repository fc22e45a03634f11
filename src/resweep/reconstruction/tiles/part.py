"""A part of a scattered map: the points of a square and around it, with the beams that cross it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np

from resweep.files import atomic_file
from resweep.labels import LabelSet
from resweep.pose import Array
from resweep.reconstruction.map.beams import Beams
from resweep.reconstruction.map.cloud import Cloud
from resweep.reconstruction.map.config import MapConfig
from resweep.reconstruction.map.map import Map
from resweep.reconstruction.map.moving import MovingRule
from resweep.reconstruction.tiles.grid import CELLS, Square
from resweep.reconstruction.tiles.scatter import BEAM_MARGIN_M
from resweep.reconstruction.tiles.store import POINT, TileStore, take_rows

STILL, PERMEABLE = 1, 2  # flags of a point


@dataclass(frozen=True, eq=False)
class Ground:
    """A log that is scattered over tiles of ``tile_m``: its store, and what holds for all of it.

    ``classes`` says whether the flags of the points were found and written, tile by tile, ``coloured`` whether points
    have colours.
    """

    folder: Path
    origin: Array
    tile_m: float
    config: MapConfig
    labels: LabelSet
    slope: float
    moving: MovingRule
    classes: bool = False
    coloured: bool = False

    @property
    def cell_m(self) -> float:
        """Side of the cells that points are stored by."""
        return self.tile_m / CELLS

    @property
    def store(self) -> TileStore:
        """The store of points and beams."""
        return TileStore.open(self.folder)

    def find_flags(self, tile: tuple[int, int]) -> Path:
        """Where the flags of a tile's points are."""
        return self.folder / "classes" / f"{tile[0]}_{tile[1]}.npz"


@dataclass(frozen=True, eq=False)
class Part:
    """Points (n,) of a square and of ``margin_m`` around it, in the order of sweeps and returns.

    ``cell`` (n, 2) is the one that each is stored in, ``own`` (n,) bool whether it lies in the square, ``flags`` (n,)
    uint8 what was found of it, None if nothing was yet.
    """

    ground: Ground
    square: Square
    rows: Array
    cell: Array
    own: Array
    flags: Array | None

    @classmethod
    def read(cls, ground: Ground, square: Square, margin_m: float) -> Part:
        """The part from the store; only points that stand still, where that is known."""
        wanted = set(square.cells(ground.cell_m, margin_m))
        flags = _Flags(ground) if ground.classes else None
        rows, cells, found = [np.zeros(0, POINT)], [np.zeros((0, 2), np.int64)], [np.zeros(0, np.uint8)]
        for cell, block in ground.store.read("points", wanted):
            inside = square.reaches(block["points"], margin_m)
            if flags is not None:
                of_block = flags.take(cell, len(block))
                inside &= (of_block & STILL) > 0
                found.append(of_block[inside])
            rows.append(take_rows(block, inside))
            cells.append(np.tile(np.array(cell, np.int64), (int(inside.sum()), 1)))
        joined = np.concatenate(rows)
        order = np.argsort((joined["sweep"].astype(np.int64) << 32) + joined["row"], kind="stable")
        joined = take_rows(joined, order)
        own = square.contains(joined["points"])
        known = None if flags is None else np.concatenate(found)[order]
        return cls(ground, square, joined, np.concatenate(cells)[order], own, known)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, chosen: Array) -> Part:
        flags = None if self.flags is None else self.flags[chosen]
        return replace(
            self, rows=take_rows(self.rows, chosen), cell=self.cell[chosen], own=self.own[chosen], flags=flags
        )

    @cached_property
    def cloud(self) -> Cloud:
        """The points as a cloud."""
        columns: tuple[str, ...] = ("points", "sensor", "label", "instance", "intensity", "sweep")
        columns += ("colour",) if self.ground.coloured else ()
        given = {name: np.ascontiguousarray(self.rows[name]) for name in columns}
        return Cloud(self.ground.origin, **given, seen=np.ones(len(self), bool))

    def map(self) -> Map:
        """The part as a map, with the stored beams that cross the square."""
        ground = self.ground
        beams = StoredBeams(ground, self.square)
        return Map(self.cloud, ground.labels, config=ground.config, stored=beams)


class _Flags:
    """The flags of points as blocks of cells are read in their order."""

    def __init__(self, ground: Ground) -> None:
        self._ground = ground
        self._tiles: dict[tuple[int, int], dict[str, Array]] = {}
        self._taken: dict[tuple[int, int], int] = {}

    def take(self, cell: tuple[int, int], count: int) -> Array:
        """The flags of the next ``count`` points of a cell."""
        tile = cell[0] // CELLS, cell[1] // CELLS
        if tile not in self._tiles:
            with np.load(self._ground.find_flags(tile), allow_pickle=False) as archive:
                self._tiles[tile] = dict(archive)
        first = self._taken.get(cell, 0)
        self._taken[cell] = first + count
        return self._tiles[tile][f"{cell[0]}_{cell[1]}"][first : first + count]


def write_flags(ground: Ground, tile: tuple[int, int], parts: list[tuple[Part, Array]]) -> None:
    """Keep the flags (n,) of the points of a tile: those that each part owns."""
    arrays: dict[str, Array] = {}
    for part, flags in parts:
        rows = np.flatnonzero(part.own)
        cells, number = np.unique(part.cell[rows], axis=0, return_inverse=True)
        for at, (x, y) in enumerate(cells.tolist()):
            arrays[f"{x}_{y}"] = flags[rows[number.reshape(-1) == at]].astype(np.uint8)
    with atomic_file(ground.find_flags(tile)) as temporary:
        np.savez(temporary, **arrays)  # type: ignore[arg-type]  # a dict


@dataclass(frozen=True, eq=False)
class StoredBeams:
    """The stored beams that cross a square; of some ``chosen`` sweeps (m,), or of all."""

    ground: Ground
    square: Square
    chosen: Array | None = None

    @property
    def slope(self) -> float:
        """Width of the beams at 1 m, metres."""
        return self.ground.slope

    @cached_property
    def sweeps(self) -> Array:
        """Numbers (m,) of the sweeps that cross the square."""
        numbers = [np.unique(block["sweep"]) for block in self._read()]
        return np.unique(np.concatenate(numbers)) if numbers else np.zeros(0, np.int64)

    def select(self, sweeps: Array) -> StoredBeams:
        """The beams of some sweeps."""
        return replace(self, chosen=np.asarray(sweeps))

    def blocks(self, what: str, empty_range_m: float, show: bool) -> Iterator[Beams]:
        """The beams, batch by batch, as they were scattered."""
        for block in self._read():
            columns = ("origin", "direction", "length", "returned", "shared")
            yield Beams(*(np.ascontiguousarray(block[name]) for name in columns))

    def _read(self) -> Iterator[Array]:
        tile_m = self.ground.tile_m
        ratio = round(tile_m / self.square.size_m)
        tile = self.square.x // ratio, self.square.y // ratio
        for _, block in self.ground.store.read("beams", {tile}):
            if self.chosen is not None:
                block = take_rows(block, np.isin(block["sweep"], self.chosen))
            if ratio > 1:
                near = (block["origin"], block["direction"], block["length"])
                block = take_rows(block, self.square.meets_beams(*near, BEAM_MARGIN_M))
            if len(block):
                yield block
