"""Drops come in runs: how far the draws of beams side by side correlate, so that as many are dropped together."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from resweep.learn.light import find_neighbours
from resweep.learn.pairs import Pair
from resweep.pose import Array
from resweep.simulate.realism.model import draw_drop_levels

_TRIED = (0.0, 0.3, 0.5, 0.65, 0.8, 0.9, 0.95, 0.98)


def estimate_runs(pairs: Sequence[Pair], probability: Sequence[Array]) -> float:
    """The correlation of draws along a ring with which two neighbours are dropped together as often as they were.

    ``probability`` (b,) is that of a drop, by pair. Draws without correlation give too few, as what takes a return (a
    pane of glass, a mount) often takes the next one too.
    """
    true = sum(_count(pair, ~pair.returned) for pair in pairs)
    drawn = [
        sum(
            _count(pair, draw_drop_levels(pair.channels, tried, seed=0, index=at) < said)
            for at, (pair, said) in enumerate(zip(pairs, probability, strict=True))
        )
        for tried in _TRIED
    ]
    # The number grows with the correlation but for chance.
    return round(float(np.interp(true, np.maximum.accumulate(drawn), _TRIED)), 3)


def _count(pair: Pair, dropped: Array) -> int:
    """How many neighbours that both could be dropped were."""
    could = pair.channels.occupied & pair.counted
    left, right = find_neighbours(pair)
    return int(np.count_nonzero((could & dropped)[left] & (could & dropped)[right]))
