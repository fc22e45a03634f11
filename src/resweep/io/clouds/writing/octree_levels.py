"""Levels of detail: which points of a cloud show the whole of it when only some are read.

A cube of 2^bits units around the cloud is halved into the nodes of an octree, level by level. The nodes of a level are
divided into 128 cells along each side. Every point has a priority that nothing else has. Its level is the coarsest at
which no other point of its cell has a lower one. Cells of a level divide those of the level before, so the points up
to a level are exactly one in each cell that has any: an even sample, whatever the order of the points.

Two exceptions keep nodes useful. Few points that are left below a node are taken into it. A node that would be empty
above others takes the first of their points.
"""

from __future__ import annotations

import numpy as np

from resweep.pose import Array

CELL_BITS = 7  # 128 cells along a node
MIN_NODE_POINTS = 1024  # points below a node that make no nodes of their own


def spread_bits(values: Array) -> Array:
    """Each of the lowest 21 bits of integers followed by two zero bits, as uint64."""
    x = values.astype(np.uint64) & np.uint64(0x1FFFFF)
    # The usual masks of a Morton code: halves are moved apart until single bits are.
    for shift, mask in (
        (32, 0x1F00000000FFFF),
        (16, 0x1F0000FF0000FF),
        (8, 0x100F00F00F00F00F),
        (4, 0x10C30C30C30C30C3),
        (2, 0x1249249249249249),
    ):
        x = (x | (x << np.uint64(shift))) & np.uint64(mask)
    return x


def compute_morton_code(cells: Array) -> Array:
    """Place (n,) uint64 of cells (n, 3) along the curve that visits all of a node before the next; 21 bits each."""
    x, y, z = (spread_bits(cells[:, axis]) for axis in range(3))
    return np.asarray(x | (y << np.uint64(1)) | (z << np.uint64(2)))


def sort_morton(units: Array) -> Array:
    """The order (n,) of points (n, 3) uint32 along the Morton curve; equal points keep theirs."""
    low = compute_morton_code(units & 0x1FFFFF)
    high = compute_morton_code(units >> 21)
    if not len(units) or high.min() == high.max():
        return np.argsort(low, kind="stable")
    return np.lexsort((low, high))


def count_shared_bits(units: Array, bits: int) -> Array:
    """How many leading bits of ``bits`` each point (n, 3), in Morton order, shares with the one before; first: -1."""
    shared = np.full(len(units), -1, np.int64)
    if len(units) > 1:
        differ = units[1:] ^ units[:-1]
        _, length = np.frexp((differ[:, 0] | differ[:, 1] | differ[:, 2]).astype(np.float64))
        shared[1:] = bits - length
    return shared


def rank_priority(first: int, count: int) -> Array:
    """Priorities (count,) uint64 of the points numbered from ``first``: all different, in no order (SplitMix64)."""
    x = (np.arange(first, first + count, dtype=np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def find_levels(shared: Array, priority: Array, bits: int, depth: int) -> Array:
    """Level (n,) of each point of the node at ``depth`` in which all of them lie, in Morton order.

    Cells larger than the node are not looked at: there the caller knows which node has the lowest priority.
    """
    deepest = bits - CELL_BITS
    level = np.full(len(shared), deepest, np.int64)
    waiting = np.ones(len(shared), bool)
    for at in range(max(0, depth - CELL_BITS), deepest):
        starts = np.flatnonzero(shared < at + CELL_BITS)
        lowest = np.minimum.reduceat(priority, starts)
        first = (priority == np.repeat(lowest, np.diff(starts, append=len(shared)))) & waiting
        level[first] = at
        waiting &= ~first
        if not waiting.any():
            break
    return level


def fill_nodes(level: Array, shared: Array, priority: Array, bits: int, depth: int) -> None:
    """Change levels (n,) from ``depth`` down, so that no node is empty above others or has few points below it."""
    for at in range(depth, bits - CELL_BITS):
        below = level > at
        if not below.any():
            return
        starts = np.flatnonzero(shared < at)
        sizes = np.diff(starts, append=len(level))
        count = np.add.reduceat(below.astype(np.int64), starts)
        own = np.add.reduceat((level == at).astype(np.int64), starts)
        level[below & np.repeat(count <= MIN_NODE_POINTS, sizes)] = at
        empty = np.repeat((own == 0) & (count > MIN_NODE_POINTS), sizes)
        if empty.any():
            rank = np.where(below, priority, np.iinfo(np.uint64).max)
            lowest = np.repeat(np.minimum.reduceat(rank, starts), sizes)
            level[empty & below & (priority == lowest)] = at
