"""How drops are drawn: where volumes returned by chance, and how often neighbours share a draw."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from resweep.learn.beam_pairs import BeamPair
from resweep.pose import Array
from resweep.simulate.beam_channels import number_beams
from resweep.simulate.raydrop import DropPatches, draw_drop_levels

# Shares of shared draws that are tried; between them the number of single beams is nearly linear.
_TRIED_SHARES = (0.0, 0.2, 0.4, 0.55, 0.7, 0.8, 0.87, 0.92, 0.95, 0.98)
_MAX_SHARE = 0.98  # of draws that neighbours share: with 1 a ring would be one draw


def estimate_volume_drops(pairs: Sequence[BeamPair], probability: Sequence[Array]) -> float:
    """The share of the predicted drops that are drawn where a volume returned, so that as many beams return as did.

    ``probability`` (b,) is that of a drop, by pair. Which beams a hedge lets pass is chance: simulation returns where
    the recording passed, which is predicted as a drop, and passes where the recording returned. The latter make up for
    as many of the former.
    """
    predicted = passed = 0.0
    for pair, chance in zip(pairs, probability, strict=True):
        occupied, known = pair.channels.occupied, pair.counted & pair.known
        predicted += float(chance[known & occupied & ~pair.channels.surface].sum(dtype=np.float64))
        passed += float(np.count_nonzero(known & pair.returned & ~occupied))
    return round(min(max(1.0 - passed / predicted, 0.0), 1.0), 3) if predicted > 0.0 else 1.0


def estimate_patches(pairs: Sequence[BeamPair], probability: Sequence[Array]) -> DropPatches:
    """How often neighbours must share a draw for sweeps with drops to look as they did.

    ``probability`` (b,) is the chance of a drop, by pair. Draws of their own give too many single drops and returns, as
    what takes a return (a pane of glass, a mount) often takes those beside it too. Along rings the number of single
    returns and single gaps, with those that simulation has by itself, shows how often draws are shared; from ring to
    ring it is how often neighbours on surfaces were dropped together.
    """
    true = sum(_count_singles(_to_field(pair, pair.returned, pair.counted & pair.known)) for pair in pairs)
    drawn = [
        sum(
            _count_singles(_to_field(pair, _draw_returns(pair, chance, tried, at), pair.counted & pair.known))
            for at, (pair, chance) in enumerate(zip(pairs, probability, strict=True))
        )
        for tried in _TRIED_SHARES
    ]
    # The number falls with the share but for chance.
    falling = np.minimum.accumulate(drawn)
    along = float(np.interp(true, falling[::-1], _TRIED_SHARES[::-1]))
    # A patch that begins with the number of the ring below keeps it while that one's patch lasts.
    across = min(_find_share(pairs, probability) * (1.0 + along), _MAX_SHARE)
    return DropPatches(along=round(along, 3), across=round(across, 3))


def _draw_returns(pair: BeamPair, probability: Array, along: float, index: int) -> Array:
    """Which beams (b,) of a pair return in simulation, with drops drawn."""
    level = draw_drop_levels(pair.channels, DropPatches(along=along, across=0.0), seed=0, index=index)
    return np.asarray(pair.channels.occupied & (level >= probability))


def _count_singles(returned: Array) -> int:
    """Beams (rings, columns) between two known ones on their ring that differ from both, NaN for unknown ones."""
    left, middle, right = returned[:, :-2], returned[:, 1:-1], returned[:, 2:]
    return int(np.count_nonzero((left == right) & (np.abs(middle - left) == 1.0)))


def _to_field(pair: BeamPair, values: Array, known: Array) -> Array:
    """Values (b,) of the beams of a pair that are ``known`` (b,), as rings × columns; NaN elsewhere."""
    number, ring = number_beams(pair.channels), pair.channels.laser
    field = np.full((int(ring.max(initial=0)) + 1, int(number.max(initial=0)) + 1), np.nan)
    field[ring[known], number[known]] = values[known]
    return field


def _find_share(pairs: Sequence[BeamPair], probability: Sequence[Array]) -> float:
    """The share of beams above each other, both on surfaces, that have one draw, from 0 to 1.

    Two beams are dropped together with the product of their probabilities, and if they share a draw with the smaller.
    """
    together = apart = shared = 0.0
    for pair, predicted in zip(pairs, probability, strict=True):
        known = pair.channels.occupied & pair.counted & pair.channels.surface
        chance, dropped = (_to_field(pair, values, known) for values in (predicted, ~pair.returned))
        first, second = chance[:-1], chance[1:]
        both = np.isfinite(first) & np.isfinite(second)
        together += float((dropped[:-1] * dropped[1:])[both].sum())
        apart += float((first * second)[both].sum())
        shared += float(np.minimum(first, second)[both].sum())
    return max((together - apart) / max(shared - apart, 1e-9), 0.0) if shared > apart else 0.0
