"""Tiles of a streamed world that are at hand: those that a sweep needs, those ahead, and as many others as fit."""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from threading import Condition

import numpy as np

from resweep import _core
from resweep.errors import ResweepError
from resweep.memory import format_memory
from resweep.pose import Array
from resweep.worlds.layers import KINDS
from resweep.worlds.store.near import find_near
from resweep.worlds.stream.cells import DividedScene

_TILE_BYTES = 200_000  # of a tile by itself, beside its primitives
_RESERVED_BYTES = 300 * 10**6  # of the memory: the interpreter, its libraries, and sweeps
_READERS = 2
_MAX_KEPT_SWEEPS = 3  # times what the largest sweep needed: that, what lies ahead of it, and some of what lies behind


class TileCache:
    """The cells of a divided scene that are at hand, within a bound of memory.

    At most three times as much is kept as one sweep needs. The least recently used ones go first, never those that a
    sweep in progress needs. Several threads may trace at the
    same time. Which cells are at hand changes no result.
    """

    def __init__(self, scene: DividedScene, memory_bytes: int, name: str) -> None:
        self._scene, self._name = scene, name
        self._limit = max(0, memory_bytes - _RESERVED_BYTES)
        self._allowed = 0  # as much of that as is used
        kinds = np.array([KINDS[scene.layers[i].kind].kept_bytes for i, _ in scene.cells])
        self._cost = scene.n_rows() * kinds + _TILE_BYTES
        self._kept: OrderedDict[int, _core.Scene] = OrderedDict()  # the most recently used comes last
        self._coming: dict[int, Future[_core.Scene]] = {}
        self._users: Counter[int] = Counter()  # sweeps in progress that need a cell
        self._changed = Condition()
        self._readers: ThreadPoolExecutor | None = None
        self.n_read = 0

    @property
    def kept(self) -> list[int]:
        """The cells at hand, the least recently used first."""
        with self._changed:
            return list(self._kept)

    @property
    def size(self) -> int:
        """Bytes that the cells at hand take, as estimated, and those that are being read."""
        with self._changed:
            return self._sum({*self._kept, *self._coming})

    @contextmanager
    def holding(self, points: Array, reach_m: float) -> Iterator[None]:
        """Have all cells within ``reach_m`` of ``points`` (n, 3) at hand while the context lasts."""
        wanted = np.flatnonzero(find_near(self._scene.boxes, points, reach_m)).tolist()
        needed = self._sum(set(wanted))
        if needed > self._limit:
            raise ResweepError(
                f"{self._name}: the {len(wanted)} tiles within {reach_m:.0f} m of the sensor take about "
                f"{format_memory(needed)}, the memory allows {format_memory(self._limit)} for them; "
                "allow more memory, or take a sensor of shorter range"
            )
        with self._changed:
            self._changed.wait_for(lambda: self._sum({*wanted, *self._find_used()}) <= self._limit)
            self._users.update(wanted)
            self._allowed = min(
                self._limit, max(self._allowed, _MAX_KEPT_SWEEPS * needed, self._sum(self._find_used()))
            )
            try:
                self._get(wanted)
            except BaseException:
                self._users.subtract(wanted)
                raise
        try:
            yield
        finally:
            with self._changed:
                self._users.subtract(wanted)
                self._changed.notify_all()

    def look_ahead(self, points: Array, reach_m: float) -> None:
        """Begin to read the cells within ``reach_m`` of ``points`` (n, 3), the first points first, if there is room."""
        with self._changed:
            ahead = np.flatnonzero(find_near(self._scene.boxes, points, reach_m)).tolist()
            here = np.flatnonzero(find_near(self._scene.boxes, points[:1], reach_m)).tolist()
            self._allowed = min(self._limit, max(self._allowed, _MAX_KEPT_SWEEPS * self._sum(set(here))))
            missing = [cell for cell in ahead if cell not in self._kept and cell not in self._coming]
            if not missing:
                return
            boxes = self._scene.boxes[missing]
            away = np.maximum(np.maximum(boxes[:, 0] - points[0], points[0] - boxes[:, 1]), 0.0)
            for place in np.argsort((away**2).sum(axis=1), kind="stable").tolist():
                if not self._make_room(missing[place], {*ahead, *self._find_used()}):
                    return
                self._begin(missing[place])

    def _get(self, wanted: list[int]) -> None:
        """Put the wanted cells into the scene, and those that were read ahead by now."""
        for cell in wanted:
            if cell not in self._kept and cell not in self._coming:
                self._make_room(cell, {*wanted, *self._find_used()})
                self._begin(cell)
        needed = set(wanted)
        for cell in [cell for cell, future in self._coming.items() if cell in needed or future.done()]:
            future = self._coming.pop(cell)
            if cell not in needed and future.exception() is not None:
                continue  # whoever needs it will read it again, and get the error
            self._kept[cell] = future.result()
            self._scene.put(cell, self._kept[cell])
            self.n_read += 1
        for cell in wanted:
            self._kept.move_to_end(cell)

    def _make_room(self, cell: int, keep: set[int]) -> bool:
        """Drop cells not in ``keep``, the least recently used first, until ``cell`` fits; whether it does."""
        room = self._allowed - self._sum({*self._kept, *self._coming}) - int(self._cost[cell])
        for old in [other for other in self._kept if other not in keep]:
            if room >= 0:
                break
            self._scene.put(old, None)
            del self._kept[old]
            room += int(self._cost[old])
        return room >= 0

    def _begin(self, cell: int) -> None:
        if self._readers is None:
            self._readers = ThreadPoolExecutor(_READERS, "resweep-tiles")
        self._coming[cell] = self._readers.submit(self._scene.build, cell)

    def _find_used(self) -> set[int]:
        return {cell for cell, count in self._users.items() if count > 0}

    def _sum(self, cells: set[int]) -> int:
        return int(self._cost[list(cells)].sum()) if cells else 0
