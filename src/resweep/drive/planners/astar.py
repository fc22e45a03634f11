"""A* on a grid (Hart, Nilsson and Raphael 1968), with eight neighbours."""

from __future__ import annotations

import heapq
import math

import numpy as np

from resweep.pose import Array

_STEPS = [(i, j, math.hypot(i, j)) for i in (-1, 0, 1) for j in (-1, 0, 1) if i or j]


def find_path(
    price: Array, start: tuple[int, int], goal: tuple[int, int]
) -> tuple[list[tuple[int, int]], float] | None:
    """The cheapest path between two cells, and what it costs; None if there is none.

    ``price`` (n, m) is what a step of one cell costs in each cell, at least 1; infinity where nothing passes. A step
    between two cells costs its length times the mean of their prices. The heuristic is the length of the shortest
    way along eight directions on a grid of price 1: never more than the true cost (admissible), and consistent, so that
    no cell is expanded twice. A diagonal step passes only if both cells beside it do.
    """
    rows, columns = price.shape
    values: list[float] = price.reshape(-1).tolist()
    blocked = math.inf
    first, last = start[0] * columns + start[1], goal[0] * columns + goal[1]
    if values[last] == blocked or values[first] == blocked:
        return None
    neighbours = [(i, j, i * columns + j, length) for i, j, length in _STEPS]
    best = {first: 0.0}
    before: dict[int, int] = {}
    closed: set[int] = set()
    heap = [(_measure_octile(start[0] - goal[0], start[1] - goal[1]), first)]
    while heap:
        _, here = heapq.heappop(heap)
        if here == last:
            return _trace(before, here, columns), best[here]
        if here in closed:
            continue
        closed.add(here)
        row, column = divmod(here, columns)
        cost, own = best[here], values[here]
        for i, j, offset, length in neighbours:
            if not (0 <= row + i < rows and 0 <= column + j < columns):
                continue
            there = here + offset
            value = values[there]
            if value == blocked or there in closed:
                continue
            if i and j and blocked in (values[here + i * columns], values[here + j]):
                continue
            reached = cost + length * 0.5 * (own + value)
            if reached < best.get(there, blocked):
                best[there], before[there] = reached, here
                heapq.heappush(heap, (reached + _measure_octile(row + i - goal[0], column + j - goal[1]), there))
    return None


def _measure_octile(rows: int, columns: int) -> float:
    a, b = abs(rows), abs(columns)
    return max(a, b) + (math.sqrt(2.0) - 1.0) * min(a, b)


def _trace(before: dict[int, int], here: int, columns: int) -> list[tuple[int, int]]:
    cells = [here]
    while here in before:
        here = before[here]
        cells.append(here)
    return [divmod(cell, columns) for cell in reversed(cells)]


def inflate(blocked: Array, radius_cells: float) -> Array:
    """Cells (n, m) within a radius of blocked ones, those included."""
    reach = math.floor(radius_cells)
    wide = blocked.copy()
    rows, columns = blocked.shape
    for i in range(-reach, reach + 1):
        for j in range(-reach, reach + 1):
            if (i or j) and i * i + j * j <= radius_cells * radius_cells:
                to, of = _make_shift(rows, i), _make_shift(columns, j)
                wide[to[0], of[0]] |= blocked[to[1], of[1]]
    return np.asarray(wide)


def _make_shift(size: int, by: int) -> tuple[slice, slice]:
    return slice(max(0, by), size + min(0, by)), slice(max(0, -by), size - max(0, by))
