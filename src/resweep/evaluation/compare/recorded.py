"""The whole recorded cloud: all returns of a log in world coordinates, to find the nearest of them (C, eq. 15)."""

from __future__ import annotations

import tempfile
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import numpy as np

from resweep.evaluation.metrics.nearest import Nearest
from resweep.pose import Array
from resweep.sweep import Sweep

TILE_M = 40.0
MAX_POINTS = 30_000_000  # held in memory
POINT_BYTES = 120  # of a return that is indexed: its row, the index of all and that of its class
KEPT_BYTES = 28  # of a return that is kept
_MIN_PIECE_POINTS = 1000
_ROW = np.dtype([("point", np.float64, 3), ("label", np.int32)])


@dataclass
class _GroundSquare:
    """The returns above one square of the ground: those in memory, how many are in its file, and what they span."""

    low: Array = field(default_factory=lambda: np.full(3, np.inf))
    high: Array = field(default_factory=lambda: np.full(3, -np.inf))
    count: int = 0
    labels: set[int] = field(default_factory=set)
    parts: list[Array] = field(default_factory=list)
    file: Path | None = None

    def add(self, rows: Array) -> None:
        """Take in further returns."""
        self.parts.append(rows)
        self.count += len(rows)
        self.low = np.minimum(self.low, rows["point"].min(axis=0))
        self.high = np.maximum(self.high, rows["point"].max(axis=0))
        self.labels.update(np.unique(rows["label"]).tolist())

    def store(self, file: Path) -> None:
        """Move what is in memory to the end of a file."""
        with open(file, "ab") as stream:
            for rows in self.parts:
                stream.write(rows.tobytes())
        self.parts, self.file = [], file

    def read(self, begin: int, end: int) -> Array:
        """The returns ``begin`` to ``end`` of the tile, all of which are in memory or all in its file."""
        if self.file is None:
            return np.concatenate(self.parts)[begin:end]
        return np.fromfile(self.file, _ROW, count=end - begin, offset=begin * _ROW.itemsize)


class _Index:
    """The returns of a tile that was read: nearest of all, and nearest of a class."""

    def __init__(self, rows: Array, threads: int) -> None:
        self.points, self.label, self.threads = np.ascontiguousarray(rows["point"]), rows["label"].copy(), threads
        self._found: dict[int | None, Nearest] = {}

    def nearest(self, label: int | None) -> Nearest:
        """The index of all points, or of those with a label."""
        if label not in self._found:
            points = self.points if label is None else self.points[self.label == label]
            self._found[label] = Nearest(points, self.threads)
        return self._found[label]


class RecordedCloud:
    """The returns of many sweeps as one cloud in world coordinates; ``len(cloud)`` is their number.

    ``origin`` (3,) is a place near it. The returns lie in square tiles. More than ``max_points`` are kept in a
    temporary folder, and a tile is read when it is asked for: a drive asks for the tiles around it. A tile of more than
    that, where a vehicle stood for long, is read in pieces. Distances are exact either way. All sweeps are added before
    the first distance is asked for.
    """

    def __init__(self, origin: Array, threads: int = 0, max_points: int = MAX_POINTS) -> None:
        self.origin = np.array(origin, np.float64)  # keeps what is small in coordinates that are large
        self.threads, self.max_points = threads, max_points
        self._tiles: dict[tuple[int, int], _GroundSquare] = {}
        self._read: OrderedDict[tuple[int, int, int], _Index] = OrderedDict()
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._held = 0

    def __len__(self) -> int:
        return sum(tile.count for tile in self._tiles.values())

    def add(self, sweep: Sweep) -> None:
        """Take in the returns of a sweep; those that are not finite are left out."""
        self.add_points(sweep.world_points(), sweep.label)

    def add_points(self, points: Array, label: Array) -> None:
        """Take in points (n, 3) in the world and their labels (n,); those that are not finite are left out."""
        rows = _make_rows(points - self.origin, label)
        for key, chosen in _split_by_tile(rows["point"]):
            self._tiles.setdefault(key, _GroundSquare()).add(rows[chosen])
        self._held += len(rows)
        if self._held > self.max_points:
            self._store()

    def _store(self) -> None:
        if self._folder is None:
            self._folder = tempfile.TemporaryDirectory(prefix="resweep-cloud-")
        for (x, y), tile in self._tiles.items():
            if tile.parts:
                tile.store(Path(self._folder.name) / f"{x}_{y}.bin")
        self._held = 0

    def _pieces(self, key: tuple[int, int]) -> Iterator[_Index]:
        """The indexes that hold all returns of a tile, one after the other: one, if it fits into memory."""
        if self._folder is not None and self._held:
            self._store()
        tile, size = self._tiles[key], max(self.max_points, _MIN_PIECE_POINTS)
        for begin in range(0, tile.count, size):
            yield self._index((*key, begin), tile, min(begin + size, tile.count))

    def _index(self, key: tuple[int, int, int], tile: _GroundSquare, end: int) -> _Index:
        """Returns of a tile from a number, the last of the key, up to ``end``."""
        if key not in self._read:
            while self._folder is not None and self._read and self._n_read + end - key[2] > self.max_points:
                self._read.popitem(last=False)
            self._read[key] = _Index(tile.read(key[2], end), self.threads)
            if self._folder is None:
                tile.parts = []  # the index holds them
        self._read.move_to_end(key)
        return self._read[key]

    @property
    def _n_read(self) -> int:
        return sum(len(index.points) for index in self._read.values())

    def distances(self, points: Array) -> Array:
        """Distance (n,) metres from ``points`` (n, 3), in world coordinates, to the nearest return; inf if none is."""
        return self._search(points - self.origin, None, self._tiles)

    def class_distances(self, points: Array, label: int) -> Array:
        """The same to the nearest return with a label."""
        having = [key for key, tile in self._tiles.items() if label in tile.labels]
        return self._search(points - self.origin, label, having)

    def _search(self, points: Array, label: int | None, keys: Iterable[tuple[int, int]]) -> Array:
        """Search the tile of each point first, then the tiles whose returns could be nearer than the best so far."""
        best = np.full(len(points), np.inf)
        waiting = set(keys)
        if not len(points):
            return best

        def look(key: tuple[int, int], rows: Array) -> None:
            for index in self._pieces(key):
                best[rows] = np.minimum(best[rows], index.nearest(label).distances(points[rows]))

        own = dict(_split_by_tile(points))
        for key in sorted(waiting & own.keys()):
            look(key, own[key])
        middle, low, high = np.median(points, axis=0)[None], points.min(axis=0), points.max(axis=0)
        order = sorted((float(_find_gap(middle, self._tiles[key])[0]), key) for key in waiting)
        for _, key in order:
            if _find_box_gap(low, high, self._tiles[key]) >= best.max():
                continue  # further than what every point has: tiles far along a drive cost next to nothing
            rows = np.flatnonzero(_find_gap(points, self._tiles[key]) < best)
            if key in own:
                rows = np.setdiff1d(rows, own[key], assume_unique=True)
            if len(rows):
                look(key, rows)
        return best


@dataclass(frozen=True, eq=False)
class SweepBatch:
    """The clouds of several sweeps from number ``first`` on: ``points`` (n, 3) in the world and ``label`` (n,).

    ``begins`` (k + 1,) are the first rows of each sweep, and the end.
    """

    first: int
    begins: Array
    points: Array
    label: Array

    def rows(self, chosen: Array | None = None) -> list[slice]:
        """The rows of each sweep, or where they lie in ``chosen``, ascending rows of the batch."""
        ends = self.begins if chosen is None else np.searchsorted(chosen, self.begins)
        return [slice(int(begin), int(end)) for begin, end in pairwise(ends)]

    def class_distances(self, recorded: RecordedCloud) -> Iterator[tuple[int, Array, Array]]:
        """Of each class that the recorded cloud has: label, rows (m,) and their distances (m,) to that class."""
        for item in np.unique(self.label).tolist():
            chosen = np.flatnonzero(self.label == item)
            distance = recorded.class_distances(self.points[chosen], item)
            if np.isfinite(distance).all():  # points of a class that the recorded cloud lacks do not count
                yield item, chosen, distance


class KeptClouds:
    """The clouds of sweeps one after the other: ``kept[i]`` gives points (n, 3) float64 in the world and labels (n,).

    Those beyond ``max_points`` are kept in a temporary folder.
    """

    def __init__(self, max_points: int = MAX_POINTS) -> None:
        self.max_points = max_points
        self._clouds: list[Array | Path] = []
        self._sizes: list[int] = []
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._held = 0

    def __len__(self) -> int:
        return len(self._clouds)

    def append(self, points: Array, label: Array) -> None:
        """Keep points (n, 3) in the world and their labels (n,); those that are not finite are left out."""
        rows = _make_rows(points, label)
        self._sizes.append(len(rows))
        if self._held + len(rows) <= self.max_points:
            self._held += len(rows)
            self._clouds.append(rows)
            return
        if self._folder is None:
            self._folder = tempfile.TemporaryDirectory(prefix="resweep-clouds-")
        file = Path(self._folder.name) / f"{len(self._clouds)}.bin"
        rows.tofile(file)
        self._clouds.append(file)

    def batches(self, max_points: int) -> Iterator[SweepBatch]:
        """All clouds in order, as many at a time as have no more than ``max_points`` together, but one at least.

        A tile of the recorded cloud is then read once for many sweeps.
        """
        begin = 0
        while begin < len(self):
            end, count = begin + 1, self._sizes[begin]
            while end < len(self) and count + self._sizes[end] <= max_points:
                count += self._sizes[end]
                end += 1
            clouds = [self[at] for at in range(begin, end)]
            points, label = (np.concatenate([cloud[i] for cloud in clouds]) for i in (0, 1))
            yield SweepBatch(begin, np.cumsum([0, *self._sizes[begin:end]]), points, label)
            begin = end

    def __getitem__(self, at: int) -> tuple[Array, Array]:
        kept = self._clouds[at]
        rows = np.fromfile(kept, _ROW) if isinstance(kept, Path) else kept
        return np.ascontiguousarray(rows["point"]), rows["label"].copy()


def _make_rows(points: Array, label: Array) -> Array:
    finite = np.isfinite(points).all(axis=1)
    rows = np.empty(int(finite.sum()), _ROW)
    rows["point"], rows["label"] = points[finite], label[finite]
    return rows


def _split_by_tile(points: Array) -> list[tuple[tuple[int, int], Array]]:
    """The tiles that points (n, 3) lie in, and the rows of the points in each."""
    place = np.floor(points[:, :2] / TILE_M).astype(np.int64)
    keys, which = np.unique(place, axis=0, return_inverse=True)
    order = np.argsort(which.ravel(), kind="stable")
    rows = np.split(order, np.searchsorted(which.ravel()[order], np.arange(1, len(keys))))
    return [((int(x), int(y)), part) for (x, y), part in zip(keys.tolist(), rows, strict=True)] if len(points) else []


def _find_gap(points: Array, tile: _GroundSquare) -> Array:
    """Distance (n,) metres from points (n, 3) to the box around a tile's returns, 0 inside."""
    return np.asarray(np.linalg.norm(np.maximum(np.maximum(tile.low - points, points - tile.high), 0.0), axis=1))


def _find_box_gap(low: Array, high: Array, tile: _GroundSquare) -> float:
    """Distance in metres from the box between two corners (3,) to that around a tile's returns, 0 if they touch."""
    return float(np.linalg.norm(np.maximum(np.maximum(tile.low - high, low - tile.high), 0.0)))
