"""Blind sectors of a sensor as a channel: how often each laser came back empty towards each azimuth.

The vehicle and mounts take the returns of the same beams in every sweep.
A network that looks at beams without their azimuth cannot know that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from resweep.calibration import BLIND_BINS
from resweep.learn.beam_pairs import BeamPair
from resweep.pose import Array

_PRIOR_BEAMS = 4.0  # with the share of all beams that came back empty
_PERMILLE = 1000.0


class BlindCounts:
    """Counts, by laser and azimuth, of beams that return in simulation, and of those that did not in reality."""

    def __init__(self, rings: int) -> None:
        self.hit = np.zeros((rings, BLIND_BINS))
        self.empty = np.zeros((rings, BLIND_BINS))

    def add(self, pair: BeamPair, sign: float = 1.0) -> None:
        """Count the beams of a pair; with ``sign`` -1, subtract them."""
        chosen = pair.chosen
        cell = pair.channels.laser[chosen] * BLIND_BINS + pair.channels.azimuth[chosen]
        self.hit += sign * np.bincount(cell, minlength=self.hit.size).reshape(self.hit.shape)
        self.empty += sign * np.bincount(cell[pair.dropped], minlength=self.hit.size).reshape(self.hit.shape)

    def find_share(self) -> Array:
        """The share (rings, bins) float32 of beams that came back empty, in thousandths."""
        mean = self.empty.sum() / max(float(self.hit.sum()), 1.0)
        share = (self.empty + _PRIOR_BEAMS * mean) / (self.hit + _PRIOR_BEAMS)
        return np.asarray(np.round(share * _PERMILLE) / _PERMILLE, np.float32)


def add_blindness(
    pairs: Sequence[BeamPair], held_out: Sequence[BeamPair], rings: int
) -> tuple[list[BeamPair], list[BeamPair], Array]:
    """Both lists with the channel ``blind`` filled in, and the share (rings, bins) behind it, that of all ``pairs``.

    A pair itself is not among those that its own channel is counted from, nor are others of its place if there are
    several: a network then learns how far to trust what other places show.
    """
    whole = BlindCounts(rings)
    for pair in pairs:
        whole.add(pair)
    several = len({pair.place for pair in pairs}) > 1
    filled: dict[int, BeamPair] = {}
    for group in _group(pairs, several):
        for pair in group:
            whole.add(pair, -1.0)
        share = whole.find_share()
        for pair in group:
            filled[id(pair)] = fill_blindness(pair, share)
            whole.add(pair)
    share = whole.find_share()
    return [filled[id(pair)] for pair in pairs], [fill_blindness(pair, share) for pair in held_out], share


def _group(pairs: Sequence[BeamPair], by_place: bool) -> list[list[BeamPair]]:
    if not by_place:
        return [[pair] for pair in pairs]
    places = dict.fromkeys(pair.place for pair in pairs)
    return [[pair for pair in pairs if pair.place == place] for place in places]


def fill_blindness(pair: BeamPair, share: Array | None) -> BeamPair:
    """The pair with the channel ``blind`` of a share (rings, bins)."""
    return replace(pair, channels=pair.channels.with_blind(share))
