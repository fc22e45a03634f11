"""A part of a scattered map: the points of a square and around it, with the beams that cross it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path

import numpy as np

from resweep.files.pieces import Pieces
from resweep.labels import LabelSet
from resweep.map.cloud import Cloud
from resweep.map.config import MapConfig
from resweep.map.map import Map
from resweep.map.moving import MovingRule
from resweep.map.store.grid import CELLS, Square
from resweep.map.store.scatter import read_observed
from resweep.map.store.square_beams import SquareBeams, StoredBeams
from resweep.map.store.tile_store import POINT, Rows, TileStore, join_rows, no_rows, take_rows
from resweep.pose import Array
from resweep.worlds.observed import ObservedSpace

STILL, PERMEABLE = 1, 2  # flags of a point
_SLACK_CELLS, _SLACK_SHARE = 1e-6, 1e-9  # room for rounding, in sides of a cell and as a share of coordinates


@dataclass(frozen=True, eq=False)
class TiledLog:
    """A log that is scattered over tiles of ``tile_m``: its store, and what holds for all of it.

    ``classes`` says whether the flags of the points were found and written, tile by tile, ``coloured`` whether points
    have colours. ``key`` tells the build from others.
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
    key: str = ""

    @property
    def cell_m(self) -> float:
        """Side of the cells that points are stored by."""
        return self.tile_m / CELLS

    @property
    def store(self) -> TileStore:
        """The store of points and beams."""
        return TileStore.open(self.folder, self.key)

    @property
    def flags(self) -> Pieces:
        """The flags of the points, a piece for each tile, called `name_tile`."""
        return Pieces(self.folder / "classes", self.key)


@dataclass(frozen=True, eq=False)
class SquarePart:
    """Points (n,) of a square and of ``margin_m`` around it, in the order of sweeps and returns.

    ``cell`` (n, 2) is the one that each is stored in, ``own`` (n,) bool whether it lies in the square, ``flags`` (n,)
    uint8 what was found of it, None if nothing was yet.
    """

    tiled: TiledLog
    square: Square
    rows: Rows
    cell: Array
    own: Array
    flags: Array | None

    @classmethod
    def read(cls, tiled: TiledLog, square: Square, margin_m: float) -> SquarePart:
        """The part from the store; only points that stand still, where that is known."""
        wanted = set(square.cells(tiled.cell_m, margin_m))
        flags = _Flags(tiled) if tiled.classes else None
        rows, cells, found = [no_rows(POINT)], [np.zeros((0, 2), np.int64)], [np.zeros(0, np.uint8)]
        for cell, block in tiled.store.read("points", wanted):
            count = len(block["points"])
            inside = (
                None
                if _lies_within(cell, tiled.cell_m, square, margin_m)
                else square.reaches(block["points"], margin_m)
            )
            if flags is not None:
                of_block = flags.take(cell, count)
                still = (of_block & STILL) > 0
                inside = still if inside is None else inside & still
                found.append(of_block[inside])
            if inside is not None and not inside.all():
                block = take_rows(block, inside)
                count = len(block["points"])
            rows.append(block)
            cells.append(np.tile(np.array(cell, np.int64), (count, 1)))
        joined = join_rows(rows)
        order = np.argsort(_number_rows(joined), kind="stable")
        joined = take_rows(joined, order)
        own = square.contains(joined["points"])
        known = None if flags is None else np.concatenate(found)[order]
        return cls(tiled, square, joined, np.concatenate(cells)[order], own, known)

    @property
    def sequence(self) -> Array:
        """Numbers (n,) int64 that rise in the order of sweeps and returns."""
        return _number_rows(self.rows)

    def __len__(self) -> int:
        return len(self.own)

    def __getitem__(self, chosen: Array) -> SquarePart:
        flags = None if self.flags is None else self.flags[chosen]
        return replace(
            self, rows=take_rows(self.rows, chosen), cell=self.cell[chosen], own=self.own[chosen], flags=flags
        )

    @cached_property
    def cloud(self) -> Cloud:
        """The points as a cloud."""
        columns: tuple[str, ...] = ("points", "sensor", "label", "instance", "intensity", "sweep")
        columns += ("colour",) if self.tiled.coloured else ()
        given = {name: self.rows[name] for name in columns}
        return Cloud(self.tiled.origin, **given, seen=np.ones(len(self), bool))

    def map(self) -> Map:
        """The part as a map, with the stored beams that cross the square."""
        tiled = self.tiled
        beams = StoredBeams(SquareBeams(tiled.store, tiled.tile_m, self.square), tiled.slope)
        return Map(self.cloud, tiled.labels, config=tiled.config, stored=beams)

    @property
    def observed(self) -> ObservedSpace | None:
        """The space that all beams of the log crossed."""
        return _read_observed(self.tiled.folder, self.tiled.key)

    @property
    def is_whole(self) -> bool:
        """Never: there are other squares around it."""
        return False


@lru_cache(maxsize=1)
def _read_observed(folder: Path, key: str) -> ObservedSpace | None:
    return read_observed(folder, key)


def name_tile(tile: tuple[int, int]) -> str:
    """The name of the piece that has the flags of a tile's points."""
    return f"{tile[0]}_{tile[1]}"


def _number_rows(rows: Rows) -> Array:
    return np.asarray((rows["sweep"].astype(np.int64) << 32) + rows["row"])


def _lies_within(cell: tuple[int, int], cell_m: float, square: Square, margin_m: float) -> bool:
    """Whether all of a cell lies within ``margin_m`` of a square, to the rounding of its points."""
    low, high = np.array(cell) * cell_m, (np.array(cell) + 1) * cell_m
    slack = _SLACK_CELLS * cell_m + _SLACK_SHARE * np.abs(high).max()
    return bool((low >= square.low - margin_m + slack).all() and (high <= square.high + margin_m - slack).all())


class _Flags:
    """The flags of points as blocks of cells are read in their order."""

    def __init__(self, tiled: TiledLog) -> None:
        self._ground = tiled
        self._tiles: dict[tuple[int, int], dict[str, Array]] = {}
        self._taken: dict[tuple[int, int], int] = {}

    def take(self, cell: tuple[int, int], count: int) -> Array:
        """The flags of the next ``count`` points of a cell."""
        tile = cell[0] // CELLS, cell[1] // CELLS
        if tile not in self._tiles:
            self._tiles[tile] = self._ground.flags.read(name_tile(tile)).arrays
        first = self._taken.get(cell, 0)
        self._taken[cell] = first + count
        return self._tiles[tile][f"{cell[0]}_{cell[1]}"][first : first + count]


def write_flags(tiled: TiledLog, tile: tuple[int, int], parts: list[tuple[SquarePart, Array]]) -> dict[str, Array]:
    """Keep the flags (n,) of the points of a tile: those that each part owns, by cell, in the order of the store.

    Returns what is kept.
    """
    found: dict[tuple[int, int], list[tuple[Array, Array]]] = {}
    for part, flags in parts:
        rows = np.flatnonzero(part.own)
        cells, number = np.unique(part.cell[rows], axis=0, return_inverse=True)
        for at, (x, y) in enumerate(cells.tolist()):
            of_cell = rows[number.reshape(-1) == at]
            found.setdefault((x, y), []).append((part.sequence[of_cell], flags[of_cell].astype(np.uint8)))
    arrays: dict[str, Array] = {}
    for (x, y), pieces in found.items():  # a cell may have points of several parts
        order = np.argsort(np.concatenate([sequence for sequence, _ in pieces]), kind="stable")
        arrays[f"{x}_{y}"] = np.concatenate([flags for _, flags in pieces])[order]
    tiled.flags.write(name_tile(tile), arrays)
    return arrays
