"""Random numbers that resemble each other along rings and across them: what neighbours have in common in one sweep."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from pydantic import Field
from scipy.signal import lfilter

from resweep import _core
from resweep.config import Spec
from resweep.pose import Array
from resweep.simulate.realism.channels import BeamChannels
from resweep.simulate.realism.normal import find_normal
from resweep.simulate.realism.scatter import number_beams

_FIELD = 2**32  # added to the number of a sweep
_Chance = Annotated[float, Field(ge=0.0, le=1.0)]


class Patches(Spec):
    """How numbers of neighbouring beams come to be the same."""

    along: _Chance
    """Chance that a beam has the number of the one before it on its ring."""
    across: _Chance
    """Chance that it has that of the ring below, if not that."""


def draw_patches(channels: BeamChannels, patches: Patches, purpose: _core.Purpose, *, seed: int, index: int) -> Array:
    """A number (b,) from 0 to 1 for each beam of sweep ``index``, the same in patches of beams side by side.

    Each by itself is uniform. Beams of different rings are neighbours if their numbers on the rings are.
    """
    ring, number = channels.laser, number_beams(channels)
    if len(ring) == 0:
        return np.zeros(0)
    rings, columns = int(ring.max()) + 1, int(number.max()) + 1
    cells = np.arange(3 * rings * columns, dtype=np.int32)
    # Of another sweep, as it were, so that these numbers are none of the beams' own.
    drawn = _core.draw_uniform(seed, index + _FIELD, cells, purpose).reshape(3, rings, columns)
    level, new, own = drawn[0].copy(), drawn[1] >= patches.along, drawn[2] >= patches.across
    new[:, 0] = True
    first = np.maximum.accumulate(np.where(new, np.arange(columns), 0), axis=1)  # where the patch of a beam begins
    level[0] = level[0, first[0]]
    for row in range(1, rings):
        level[row] = np.where(own[row], level[row], level[row - 1])[first[row]]
    return np.asarray(level[ring, number])


def draw_along_rings(
    channels: BeamChannels, correlation: float, purpose: _core.Purpose, *, seed: int, index: int
) -> Array:
    """A standard normal number (b,) for each beam of sweep ``index``.

    Those of neighbours on a ring correlate by ``correlation``, and those of beams n steps apart by its n-th power. With
    0 each depends on the number of its beam alone.
    """
    beams = np.arange(len(channels), dtype=np.int32)
    own = find_normal(_core.draw_uniform(seed, index, beams, purpose))
    if correlation == 0.0 or len(own) == 0:
        return own
    order = np.lexsort((channels.turn, channels.laser))
    found = np.empty_like(own)
    start = [correlation * own[order[0]]]  # as if a number like the first went before
    found[order] = lfilter([np.sqrt(1.0 - correlation**2)], [1.0, -correlation], own[order], zi=start)[0]
    return found
