"""How each primitive was seen while its place was recorded, packed into 32 bits (`cpp/scene/seen.hpp`).

From the highest bit: 7 bits of the number of returns on it (127: that many or more), 6 bits each of the least and the
largest range, six levels to a doubling from 0.25 m, 6 bits each of the least and the largest incidence in steps of
90/63 degrees, and one bit for primitives that were completed. 0: nothing is known. Layers keep it as the column
``seen`` of their ``extra``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from resweep import portable
from resweep.pose import Array

COLUMN = "seen"
COMPLETED = np.uint32(1)  # a primitive that no beam hit: it was completed from its surroundings
_MAX_RETURNS, _MAX_LEVEL = 127, 63
_RANGE_LEVELS, _RANGE_MIN_M = 6.0, 0.25
_INCIDENCE_LEVELS = _MAX_LEVEL / 90.0
_LOG_2 = math.log(2.0)


@dataclass(frozen=True, eq=False)
class SeenRecord:
    """How primitives (n,) were seen: ``count`` of returns on each, and intervals of what these were measured from.

    ``range_min_m``, ``range_max_m`` metres; ``incidence_min_deg``, ``incidence_max_deg`` from the normal, 0 to 90 where
    a primitive has no surface. ``completed`` are those that no beam hit, completed from their surroundings.
    """

    count: Array
    range_min_m: Array
    range_max_m: Array
    incidence_min_deg: Array
    incidence_max_deg: Array
    completed: Array


def pack_seen(count: Array, ranges_m: tuple[Array, Array], cosines: tuple[Array, Array] | None) -> Array:
    """The packed record (n,) uint32 of primitives: least and largest range and cosine of the returns on each.

    ``cosines`` are None for primitives without a surface. Intervals are widened to whole levels.
    """
    low, high = (_find_level(values) for values in ranges_m)
    packed: Array = np.minimum(np.asarray(count), _MAX_RETURNS).astype(np.uint32) << np.uint32(25)
    packed |= _clip(np.floor(low)) << np.uint32(19) | _clip(np.ceil(high)) << np.uint32(13)
    if cosines is None:
        return np.asarray(packed | np.uint32(_MAX_LEVEL << 1))
    steepest, flattest = (90.0 - np.degrees(portable.arcsin(np.clip(values, 0.0, 1.0))) for values in cosines)
    least, largest = np.floor(flattest * _INCIDENCE_LEVELS), np.ceil(steepest * _INCIDENCE_LEVELS)
    return np.asarray(packed | _clip(least) << np.uint32(7) | _clip(largest) << np.uint32(1))


def unpack_seen(packed: Array) -> SeenRecord:
    """The records that a packed column (n,) holds."""
    packed = np.asarray(packed, np.uint32)

    def level(shift: int) -> Array:
        return (packed >> np.uint32(shift) & np.uint32(_MAX_LEVEL)).astype(np.float64)

    min_range_m, largest_m = (_RANGE_MIN_M * portable.power(2.0, level(shift) / _RANGE_LEVELS) for shift in (19, 13))
    return SeenRecord(
        count=(packed >> np.uint32(25)).astype(np.int32),
        range_min_m=min_range_m,
        range_max_m=largest_m,
        incidence_min_deg=level(7) / _INCIDENCE_LEVELS,
        incidence_max_deg=level(1) / _INCIDENCE_LEVELS,
        completed=(packed & COMPLETED) > 0,
    )


def _find_level(ranges_m: Array) -> Array:
    return np.asarray(_RANGE_LEVELS / _LOG_2 * portable.log(np.maximum(ranges_m, _RANGE_MIN_M) / _RANGE_MIN_M))


def _clip(level: Array) -> Array:
    return np.clip(level, 0, _MAX_LEVEL).astype(np.uint32)
