"""The stored beams that cross a square of the ground."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from resweep.map.beams import Beams
from resweep.map.store.grid import Square
from resweep.map.store.scatter import BEAM_MARGIN_M
from resweep.map.store.tile_store import TileStore
from resweep.pose import Array

_MAX_KEPT = 6_000_000  # beams, of some 30 bytes each


@dataclass(frozen=True, eq=False)
class SquareBeams:
    """The beams that come near a square of a tile or to the tile itself, each block with the sweep (n,) of its beams.

    They are read from the store once and kept while there is need of them, unless they are too many.
    """

    store: TileStore
    tile_m: float
    square: Square
    _kept: list[tuple[Array, Beams]] = field(default_factory=list)

    def __iter__(self) -> Iterator[tuple[Array, Beams]]:
        if self._kept:
            yield from self._kept
            return
        kept: list[tuple[Array, Beams]] = []
        count = 0
        for block in self._read():
            count += len(block[1])
            if count <= _MAX_KEPT:
                kept.append(block)
            else:
                kept.clear()
            yield block
        if count <= _MAX_KEPT:
            self._kept.extend(kept)

    def _read(self) -> Iterator[tuple[Array, Beams]]:
        ratio = round(self.tile_m / self.square.size_m)
        tile = self.square.x // ratio, self.square.y // ratio
        for _, block in self.store.read("beams", {tile}):
            beams = Beams(*(block[name] for name in ("origin", "direction", "length", "returned", "shared")))
            sweep = block["sweep"]
            if ratio > 1:
                rows = self.square.find_beams(beams.origin, beams.direction, beams.length, BEAM_MARGIN_M)
                beams, sweep = beams[rows], sweep[rows]
            if len(beams):
                yield sweep, beams


@dataclass(frozen=True, eq=False)
class StoredBeams:
    """The beams of a square, ``slope`` metres wide at 1 m; of some ``chosen`` sweeps (m,), or of all."""

    square: SquareBeams
    slope: float
    chosen: Array | None = None

    @cached_property
    def sweeps(self) -> Array:
        """Numbers (m,) of the sweeps that cross the square."""
        numbers = [np.unique(sweep) for sweep, _ in self._choose()]
        return np.unique(np.concatenate(numbers)) if numbers else np.zeros(0, np.int64)

    def select(self, sweeps: Array) -> StoredBeams:
        """The beams of some sweeps."""
        return replace(self, chosen=np.asarray(sweeps))

    def blocks(self, what: str, empty_range_m: float, show: bool) -> Iterator[Beams]:
        """The beams, batch by batch, as they were scattered."""
        for _, beams in self._choose():
            yield beams

    def _choose(self) -> Iterator[tuple[Array, Beams]]:
        for sweep, beams in self.square:
            if self.chosen is None:
                yield sweep, beams
                continue
            rows = np.flatnonzero(np.isin(sweep, self.chosen))
            if len(rows):
                yield sweep[rows], beams[rows]
