"""Drops come in patches: how often neighbours share a draw, so that as many are dropped together."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from resweep.learn.pairs import Pair
from resweep.pose import Array
from resweep.simulate.realism.model import draw_drop_levels
from resweep.simulate.realism.rings import Patches
from resweep.simulate.realism.scatter import number_beams

_TRIED = (0.0, 0.2, 0.4, 0.55, 0.7, 0.8, 0.87, 0.92, 0.95, 0.98)
_MOST = 0.98


def estimate_patches(pairs: Sequence[Pair], probability: Sequence[Array]) -> Patches:
    """How often neighbours must share a draw for drops to look as they did.

    ``probability`` (b,) is that of a drop, by pair. Draws of their own give too many single drops and returns, as what
    takes a return (a pane of glass, a mount) often takes those beside it too. Along rings their number says how often
    draws are shared; from ring to ring it is how often neighbours were dropped together.
    """
    fields = [_to_field(pair, said) for pair, said in zip(pairs, probability, strict=True)]
    true = sum(_count_singles(field[1]) for field in fields)
    drawn = [
        sum(
            _count_singles(
                _to_field(
                    pair, draw_drop_levels(pair.channels, Patches(along=tried, across=0.0), seed=0, index=at) < said
                )[0]
            )
            for at, (pair, said) in enumerate(zip(pairs, probability, strict=True))
        )
        for tried in _TRIED
    ]
    # The number falls with the share but for chance.
    falling = np.minimum.accumulate(drawn)
    along = float(np.interp(true, falling[::-1], _TRIED[::-1]))
    # A patch that begins with the number of the ring below keeps it while that one's patch lasts.
    across = min(_find_share(fields, 1, 0) * (1.0 + along), _MOST)
    return Patches(along=round(along, 3), across=round(across, 3))


def _count_singles(dropped: Array) -> int:
    """Beams (rings, columns) between two known ones on their ring that differ from both, NaN for unknown ones."""
    left, middle, right = dropped[:, :-2], dropped[:, 1:-1], dropped[:, 2:]
    return int(np.count_nonzero((left == right) & (np.abs(middle - left) == 1.0)))


def _to_field(pair: Pair, said: Array) -> Array:
    """What is said of beams that could be dropped, and which were (2, rings, columns); NaN elsewhere."""
    number, ring, chosen = number_beams(pair.channels), pair.channels.laser, pair.chosen
    field = np.full((2, int(ring.max(initial=0)) + 1, int(number.max(initial=0)) + 1), np.nan)
    field[:, ring[chosen], number[chosen]] = said[chosen], ~pair.returned[chosen]
    return field


def _find_share(fields: Sequence[Array], rings: int, columns: int) -> float:
    """The share of beams so many rings and columns apart that have one draw, from 0 to 1.

    Two beams are dropped together with the product of their probabilities, and if they share a draw with the smaller.
    """
    together = apart = shared = 0.0
    for field in fields:
        first = field[:, : field.shape[1] - rings, : field.shape[2] - columns].reshape(2, -1)
        second = field[:, rings:, columns:].reshape(2, -1)
        known = np.isfinite(first[0]) & np.isfinite(second[0])
        said, also = first[0, known], second[0, known]
        together += float((first[1, known] * second[1, known]).sum())
        apart += float((said * also).sum())
        shared += float(np.minimum(said, also).sum())
    return max((together - apart) / max(shared - apart, 1e-9), 0.0) if shared > apart else 0.0
