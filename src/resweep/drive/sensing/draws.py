"""Random numbers of instruments: each depends on the seed, the instrument and the number of the reading alone."""

from __future__ import annotations

from enum import IntEnum

import numpy as np

from resweep.pose import Array
from resweep.simulate.philox import key, normal, philox, uniform

_READINGS_AHEAD = 64  # readings


class DrawPurpose(IntEnum):
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
        self._ahead: dict[tuple[str, int, int], tuple[int, Array]] = {}

    def normal(self, index: Array, width: int, purpose: DrawPurpose) -> Array:
        """Standard normal numbers (n, width) of readings (n,), which follow each other."""
        return self._take("normal", index, width, purpose)

    def uniform(self, index: Array, width: int, purpose: DrawPurpose) -> Array:
        """Numbers between 0 and 1 (n, width) of readings (n,), which follow each other."""
        return self._take("uniform", index, width, purpose)

    def _take(self, law: str, index: Array, width: int, purpose: DrawPurpose) -> Array:
        """Numbers of readings, of which many are drawn at once: a call for each step would cost far more."""
        first, last = int(index[0]), int(index[-1])
        begin, drawn = self._ahead.get((law, width, int(purpose)), (0, np.zeros((0, width))))
        if first < begin or last >= begin + len(drawn):
            begin = first
            words = self._words(np.arange(first, max(last + 1, first + _READINGS_AHEAD)), width, purpose)
            drawn = normal(words) if law == "normal" else uniform(words)
            self._ahead[law, width, int(purpose)] = (begin, drawn)
        return drawn[first - begin : last + 1 - begin]

    def _words(self, index: Array, width: int, purpose: DrawPurpose) -> Array:
        blocks = -(-width // 4)
        rows, columns = np.meshgrid(np.asarray(index, np.int64), np.arange(blocks), indexing="ij")
        counter = np.stack(
            [rows, columns, np.full(rows.shape, int(purpose)), np.full(rows.shape, self._stream)], axis=-1
        )
        return philox(counter, *self._key).reshape(len(rows), -1)[:, :width]
