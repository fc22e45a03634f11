"""One number for each beam of a drive: in memory while there are few, in a temporary file beyond that.

Figures of all beams together stay exact: sums add up in NumPy's own order, so that they have the same bytes as those of
one array in memory, and the median is found by counting.
"""

from __future__ import annotations

import os
import tempfile
import weakref
from collections.abc import Callable, Iterator
from typing import IO, Any

import numpy as np

from resweep.pose import Array

MAX_NUMBERS = 4_000_000  # held in memory
CHUNK = 1 << 20  # read at a time
_RADIX_BITS = 16


class Column:
    """Numbers (n,) of one ``dtype`` that are appended in order; more than ``max_held`` lie in a temporary file."""

    def __init__(self, dtype: type[np.floating[Any]] = np.float32, max_held: int = MAX_NUMBERS) -> None:
        self.dtype, self.max_held = np.dtype(dtype), max_held
        self._parts: list[Array] = []
        self._held = self._stored = 0
        self._file: IO[bytes] | None = None

    def __len__(self) -> int:
        return self._stored + self._held

    def append(self, numbers: Array) -> None:
        """Take in further numbers (m,)."""
        self._parts.append(np.asarray(numbers, self.dtype))
        self._held += len(numbers)
        if self._held > self.max_held:
            self._store()

    def _store(self) -> None:
        """Move what is in memory to the end of the file."""
        if self._file is None:
            self._file = tempfile.TemporaryFile(prefix="resweep-column-")  # noqa: SIM115  (lives as long as this)
            weakref.finalize(self, self._file.close)
        self._file.seek(0, os.SEEK_END)
        for part in self._parts:
            self._file.write(part.tobytes())
        self._parts, self._stored, self._held = [], self._stored + self._held, 0

    def chunks(self) -> Iterator[Array]:
        """All numbers in order, at most `CHUNK` at a time."""
        for begin in range(0, len(self), CHUNK):
            yield self.read(begin, min(begin + CHUNK, len(self)))

    def read(self, begin: int, end: int) -> Array:
        """The numbers ``begin`` to ``end``."""
        self._parts = [np.concatenate([np.empty(0, self.dtype), *self._parts])]
        held = self._parts[0][max(begin - self._stored, 0) : max(end - self._stored, 0)]
        if begin >= self._stored:
            return held
        assert self._file is not None
        self._file.seek(begin * self.dtype.itemsize)
        size = (min(end, self._stored) - begin) * self.dtype.itemsize
        return np.concatenate([np.frombuffer(self._file.read(size), self.dtype), held])

    def sum(self, of: Callable[[Array], Array] = lambda numbers: numbers) -> float:
        """The sum of ``of(numbers)``, float64: what NumPy gives for all of them in one array, to the last bit."""
        return float(self._sum_part(lambda numbers: of(numbers.astype(np.float64)), 0, len(self)))

    def mean(self) -> float:
        """What NumPy's mean of all numbers in one array is, to the last bit: sums have the column's own precision."""
        return float(self.dtype.type(self._sum_part(lambda numbers: numbers, 0, len(self)) / len(self)))

    def _sum_part(self, of: Callable[[Array], Array], begin: int, count: int) -> Any:
        if count <= CHUNK:
            return of(self.read(begin, begin + count)).sum()
        half = count // 2
        half -= half % 8  # NumPy's pairwise summation halves so
        return self._sum_part(of, begin, half) + self._sum_part(of, begin + half, count - half)

    def count(self, of: Callable[[Array], Array]) -> int:
        """How many numbers satisfy ``of(numbers)``, which gets them as float64."""
        return sum(int(np.count_nonzero(of(chunk.astype(np.float64)))) for chunk in self.chunks())

    def median_size(self) -> float:
        """The median of the absolute values of a float32 column; NaN if it is empty.

        The bits of numbers from 0 up, read as whole numbers, are in the order of the numbers. So the middle one is
        found by counting their upper bits, then the lower ones of those that have its upper bits.
        """
        assert self.dtype == np.float32
        if not len(self):
            return float("nan")
        low, high = self._find_rank((len(self) - 1) // 2), self._find_rank(len(self) // 2)
        return (low + high) / 2

    def _find_rank(self, rank: int) -> float:
        """The absolute value with ``rank`` smaller ones before it, in order of size."""
        upper = np.zeros(1 << _RADIX_BITS, np.int64)
        for chunk in self.chunks():
            upper += np.bincount(_read_bits(chunk) >> _RADIX_BITS, minlength=len(upper))
        first = int(np.searchsorted(np.cumsum(upper), rank, side="right"))
        rank -= int(upper[:first].sum())
        lower = np.zeros(1 << _RADIX_BITS, np.int64)
        for chunk in self.chunks():
            bits = _read_bits(chunk)
            lower += np.bincount(bits[bits >> _RADIX_BITS == first] & ((1 << _RADIX_BITS) - 1), minlength=len(lower))
        second = int(np.searchsorted(np.cumsum(lower), rank, side="right"))
        return float(np.array([first << _RADIX_BITS | second], np.uint32).view(np.float32)[0])


def _read_bits(numbers: Array) -> Array:
    return np.abs(numbers).view(np.uint32)
