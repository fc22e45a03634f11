"""Random numbers of instruments: each depends on the seed, the instrument and the number of the reading alone."""

from __future__ import annotations

from enum import IntEnum

import numpy as np

from resweep.pose import Array
from resweep.simulate.reference.random import key, normal, philox, uniform


class Purpose(IntEnum):
    """What a random number of an instrument is for."""

    NOISE = 1
    BIAS = 2
    WALK = 3
    OUTAGE = 4


class Draws:
    """The random numbers of one instrument, which ``name`` tells from the others."""

    def __init__(self, seed: int, name: str) -> None:
        self._stream = int.from_bytes(name.encode()[:4].ljust(4, b"\0"), "big")
        self._key = key(seed, 0x64726976)

    def normal(self, index: Array, width: int, purpose: Purpose) -> Array:
        """Standard normal numbers (n, width) of readings (n,)."""
        return normal(self._words(index, width, purpose))

    def uniform(self, index: Array, width: int, purpose: Purpose) -> Array:
        """Numbers between 0 and 1 (n, width) of readings (n,)."""
        return uniform(self._words(index, width, purpose))

    def _words(self, index: Array, width: int, purpose: Purpose) -> Array:
        blocks = -(-width // 4)
        rows, columns = np.meshgrid(np.asarray(index, np.int64), np.arange(blocks), indexing="ij")
        counter = np.stack(
            [rows, columns, np.full(rows.shape, int(purpose)), np.full(rows.shape, self._stream)], axis=-1
        )
        return philox(counter, *self._key).reshape(len(rows), -1)[:, :width]
