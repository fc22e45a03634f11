"""Random numbers that resemble each other along a ring: what beams side by side have in common within one sweep."""

from __future__ import annotations

import numpy as np
from scipy.signal import lfilter

from resweep import _core
from resweep.pose import Array
from resweep.simulate.realism.channels import BeamChannels
from resweep.simulate.realism.normal import find_normal


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
