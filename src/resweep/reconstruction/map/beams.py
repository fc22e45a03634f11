"""The beams of a sweep as a map sees them: where each began, where it ended, and whether the map holds that end."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from resweep import portable
from resweep.pose import Array, transform
from resweep.sweep import Sweep


@dataclass(frozen=True, eq=False)
class Beams:
    """Beams (n,) in the world, as far as they went.

    ``origin`` and ``direction`` (n, 3) float32, metres from an origin and unit; ``length`` metres to where the
    beam ended; ``returned`` is false where nothing that the map holds ended it.
    """

    origin: Array
    direction: Array
    length: Array
    returned: Array


def extract_beams(sweep: Sweep, origin: Array, kept: Array, empty_range_m: float) -> Beams:
    """The beams of a sweep, motion undone, around ``origin`` (3,).

    ``kept`` (n,) are the returns that the map holds: a beam that ended on anything else passed up to there. One
    without return passed up to ``empty_range_m``. Of several returns on a beam the nearest counts.
    """
    shift = sweep.pose.copy()
    shift[:3, 3] -= origin
    start, direction = sweep.deskewed_beams()
    length = np.full(sweep.n_beams, empty_range_m, np.float32)
    returned = np.zeros(sweep.n_beams, bool)
    rows = np.lexsort((-sweep.range, sweep.beam))  # the nearest of a beam is written last
    length[sweep.beam[rows]] = sweep.range[rows]
    returned[sweep.beam[rows]] = kept[rows]
    return Beams(
        transform(shift, start.astype(np.float64)).astype(np.float32),
        np.ascontiguousarray(portable.matmul(direction.astype(np.float64), shift[:3, :3].T), np.float32),
        length,
        returned,
    )
