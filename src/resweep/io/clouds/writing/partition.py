"""Points of a file sorted into cubes that fit into memory, along the Morton curve, without ever holding all of them."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np

from resweep.io.clouds.writing.octree_levels import CELL_BITS, compute_morton_code, rank_priority
from resweep.pose import Array

MAX_PART_POINTS = 1_000_000  # points of a part, unless they lie in one smallest cube
_STEP, _DEEPEST = 7, 21  # levels that are counted at once, and in all: a code of 64 bits has room for 21


class SpillFile:
    """Rows of one dtype in a file without a name, which the system removes when the process ends in whatever way."""

    def __init__(self, folder: Path, dtype: np.dtype[np.void]) -> None:
        self.dtype, self.count = dtype, 0
        self._file: BinaryIO = tempfile.TemporaryFile(dir=folder, buffering=0)  # noqa: SIM115 - closed by its owner

    def append(self, rows: Array) -> None:
        """Put rows at the end."""
        self.write(self.count, rows)
        self.count += len(rows)

    def write(self, at: int, rows: Array) -> None:
        """Write rows from row ``at`` on."""
        data, place = memoryview(rows.tobytes()), at * self.dtype.itemsize
        while data:
            done = os.pwrite(self._file.fileno(), data, place)
            data, place = data[done:], place + done

    def read(self, at: int, count: int) -> Array:
        """The rows from ``at`` on."""
        self._file.seek(at * self.dtype.itemsize)
        return np.fromfile(self._file, self.dtype, count)

    def blocks(self, size: int) -> Iterator[Array]:
        """All rows, up to ``size`` at once."""
        for at in range(0, self.count, size):
            yield self.read(at, min(size, self.count - at))

    def close(self) -> None:
        """Give the space back."""
        self._file.close()


@dataclass(frozen=True)
class CloudPart:
    """The points of a node of the octree at ``depth``: rows from ``start`` on of the sorted file.

    ``top_level`` is the level of the point with the lowest priority, as far as other parts decide it.
    """

    depth: int
    start: int
    count: int
    top_level: int


def sort_parts(
    spill: SpillFile, units_of: Callable[[Array], Array], bits: int, folder: Path, max_points: int = MAX_PART_POINTS
) -> tuple[SpillFile, list[CloudPart]]:
    """The rows of ``spill`` sorted into parts of ``max_points`` points, and the parts in Morton order.

    ``units_of(rows)`` gives their places (n, 3) uint32 in the cube of 2^bits units. Parts are nodes of the octree.
    """
    depth = min(bits, _DEEPEST)

    def code_of(rows: Array) -> Array:
        return compute_morton_code(units_of(rows) >> (bits - depth))

    codes, counts = _count_cubes(spill, code_of, depth, max_points)
    edges = list(_split(codes, counts, depth, max_points))
    begins = np.array([begin for begin, _, _ in edges], np.uint64)
    sizes = np.array([size for _, _, size in edges], np.int64)
    starts = np.cumsum(sizes) - sizes
    spread, filled = SpillFile(folder, spill.dtype), starts.copy()
    spread.count = spill.count
    for rows in spill.blocks(max_points):
        part = np.searchsorted(begins, code_of(rows), side="right") - 1
        order = np.argsort(part, kind="stable")
        runs, first, length = np.unique(part[order], return_index=True, return_counts=True)
        rows = rows[order]
        for run, at, number in zip(runs, first, length, strict=True):
            spread.write(int(filled[run]), rows[at : at + number])
            filled[run] += number
    top = _find_top_levels(begins, np.array([at for _, at, _ in edges]), starts, sizes, depth, max_points)
    parts = [
        CloudPart(at, int(start), int(size), int(level))
        for (_, at, _), start, size, level in zip(edges, starts, sizes, top, strict=True)
    ]
    return spread, parts


def _count_cubes(
    spill: SpillFile, code_of: Callable[[Array], Array], deepest: int, max_points: int
) -> tuple[Array, Array]:
    """First codes and numbers of points of cubes that have any, in Morton order.

    Cubes that have more than ``max_points`` are counted once more, in smaller ones, as far as codes distinguish these.
    """
    found: list[tuple[Array, Array]] = []
    depth, full = min(_STEP, deepest), np.zeros(1, np.uint64)
    coarse = 0  # depth of the cubes in ``full``, at first the whole
    while True:
        codes, counts = np.zeros(0, np.uint64), np.zeros(0, np.int64)
        for rows in spill.blocks(max_points):
            code = code_of(rows)
            code = code[np.isin(code >> np.uint64(3 * (deepest - coarse)), full)] if coarse else code
            codes, counts = _merge(codes, counts, code >> np.uint64(3 * (deepest - depth)))
        large = (counts > max_points) & (depth < deepest)
        found.append((codes[~large] << np.uint64(3 * (deepest - depth)), counts[~large]))
        if not large.any():
            break
        full, coarse, depth = codes[large], depth, min(deepest, depth + _STEP)
    all_codes, all_counts = (np.concatenate(part) for part in zip(*found, strict=True))
    order = np.argsort(all_codes, kind="stable")
    return all_codes[order], all_counts[order]


def _merge(codes: Array, counts: Array, further: Array) -> tuple[Array, Array]:
    """Codes (c,) in order and their counts, with those of further points (n,) counted in."""
    new, number = np.unique(further, return_counts=True)
    merged, place = np.unique(np.concatenate([codes, new]), return_inverse=True)
    total = np.zeros(len(merged), np.int64)
    np.add.at(total, place, np.concatenate([counts, number]))
    return merged, total


def _split(codes: Array, counts: Array, depth: int, max_points: int) -> Iterator[tuple[int, int, int]]:
    """First code, depth and number of points of each part, in Morton order: nodes are halved until they have few."""
    total = np.concatenate([[0], np.cumsum(counts)])
    waiting = [(0, 0)]  # first code and depth of nodes, the next one last
    while waiting:
        first, at = waiting.pop()
        width = 1 << (3 * (depth - at))
        low, high = np.searchsorted(codes, np.array([first, first + width], np.uint64))
        number = int(total[high] - total[low])
        if number and (number <= max_points or at == depth):
            yield first, at, number
        elif number:
            waiting += [(first + octant * (width // 8), at + 1) for octant in range(7, -1, -1)]


def _find_top_levels(begins: Array, depths: Array, starts: Array, sizes: Array, depth: int, max_points: int) -> Array:
    """The coarsest level (p,) at which the lowest priority of each part is that of a cell of several parts."""
    lowest = np.zeros(len(begins), np.uint64)
    for at in np.flatnonzero(depths > CELL_BITS):  # cells hold several parts only where these are smaller
        first, size = int(starts[at]), int(sizes[at])
        lowest[at] = min(
            rank_priority(first + done, min(max_points, size - done)).min() for done in range(0, size, max_points)
        )
    top = np.maximum(0, depths - CELL_BITS)
    for bits in range(int(depths.max(initial=0)) - 1, CELL_BITS - 1, -1):
        inside = np.flatnonzero(depths > bits)
        cell = begins[inside] >> np.uint64(3 * (depth - bits))
        edges = np.flatnonzero(np.concatenate([[True], cell[1:] != cell[:-1]]))
        best = np.repeat(np.minimum.reduceat(lowest[inside], edges), np.diff(edges, append=len(cell)))
        top[inside[lowest[inside] == best]] = bits - CELL_BITS
    return np.asarray(top)
