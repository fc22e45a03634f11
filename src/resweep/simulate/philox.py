"""The NumPy reference of the counter-based random numbers in cpp/core/random.hpp.

Philox4x32 with 10 rounds (Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3"). A number
depends on the seed, the sweep, the beam, the sub-ray and what it is for, never on thread or order.
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri

from resweep.pose import Array

_LOW = np.uint64(0xFFFFFFFF)
_SHIFT = np.uint64(32)
_MULTIPLIERS = (np.uint64(0xD2511F53), np.uint64(0xCD9E8D57))
_KEY_STEPS = (0x9E3779B9, 0xBB67AE85)


class Purpose(IntEnum):
    """What a random number is for."""

    RANGE_NOISE = 1
    SPOT = 2
    POINTING = 3
    INTENSITY_NOISE = 4
    VOLUMES = 5
    RAYDROP = 6
    DETECTION = 8


def key(seed: int, sweep: int) -> tuple[int, int]:
    """The two 32-bit words of Philox's key: seed and sweep folded by the finaliser of splitmix64."""
    mask = 2**64 - 1
    mixed = (seed + 0x9E3779B97F4A7C15 * (sweep + 1)) & mask
    mixed = ((mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9) & mask
    mixed = ((mixed ^ (mixed >> 27)) * 0x94D049BB133111EB) & mask
    mixed ^= mixed >> 31
    return mixed & 0xFFFFFFFF, mixed >> 32


def philox(counter: Array, key0: int, key1: int) -> Array:
    """Ten rounds of Philox4x32 on counters (..., 4) uint32: as many random words."""
    c0, c1, c2, c3 = np.moveaxis(np.asarray(counter).astype(np.uint64), -1, 0)
    for turn in range(10):
        k0 = np.uint64((key0 + turn * _KEY_STEPS[0]) & 0xFFFFFFFF)
        k1 = np.uint64((key1 + turn * _KEY_STEPS[1]) & 0xFFFFFFFF)
        p0, p1 = _MULTIPLIERS[0] * c0, _MULTIPLIERS[1] * c2
        c0, c1, c2, c3 = (p1 >> _SHIFT) ^ c1 ^ k0, p1 & _LOW, (p0 >> _SHIFT) ^ c3 ^ k1, p0 & _LOW
    return np.stack([c0, c1, c2, c3], axis=-1).astype(np.uint32)


def words(seed: int, sweep: int, beam: ArrayLike, ray: ArrayLike, purpose: Purpose) -> Array:
    """Four random words (..., 4) uint32 for each beam and sub-ray, which broadcast together."""
    beams, rays = np.broadcast_arrays(np.asarray(beam), np.asarray(ray))
    counter = np.stack([beams, rays, np.full(beams.shape, int(purpose)), np.zeros(beams.shape, int)], axis=-1)
    return philox(counter, *key(seed, sweep))


def uniform(word: Array) -> Array:
    """Numbers strictly inside (0, 1) from words."""
    return np.asarray((np.asarray(word, dtype=np.float64) + 0.5) / 2.0**32)


def normal(word: Array) -> Array:
    """Standard normal numbers from words: the inverse distribution at `uniform`."""
    return np.asarray(ndtri(uniform(word)))
