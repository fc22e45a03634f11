"""Blind sectors of a sensor and the limit of its range: why beams have no return where the world has a surface.

The vehicle itself and mounts take the returns of the same beams in every sweep, and so does what lies nearer than a
sensor measures. Sensors, and writers of datasets, cut off at a range. A world cannot show that: it would return beams
that come back empty.
"""

from __future__ import annotations

import numpy as np

from resweep import _core
from resweep.build.refine.refine_beams import RANGE_MAX_M as PREDICTED_M
from resweep.calibration import BLIND_BINS, find_blind_bins
from resweep.map.beams import Beams
from resweep.map.predicted import predict_beams
from resweep.pose import Array
from resweep.sweep import Sweep

# Chosen by hand where a line names no source.
RANGE_MAX_M = 60.0  # beyond it, beams come back empty because what they hit is far
_PRIOR_BEAMS = 2.0  # with the share of all beams that come back empty
_MIN_SHARE = 0.01  # a bin with less counts as seeing; chosen by hand
_MARGIN_M = 0.5  # beyond the farthest return, by which a predicted one is certainly farther
_MIN_BEYOND = 30  # empty beams, each likelier to return than not: a billion to one that it is not chance
_STEPS = 200  # to which shares are rounded, so that a world stays small


class BlindSectors:
    """Counts, by ring and azimuth, of beams that hit the world and of those of them without return."""

    def __init__(self) -> None:
        self._hit = np.zeros((0, BLIND_BINS))
        self._empty = np.zeros((0, BLIND_BINS))

    def add(self, sweep: Sweep, beams: Beams, scene: _core.Scene, slope: float, empty_range_m: float) -> None:
        """Count the beams of a sweep, given in its own frame and as ``beams`` around the scene's origin.

        A beam that returned hit something; whether an empty one should have, the scene shows. Beams that ended on what
        the map does not hold do not count.
        """
        counted = beams.returned & (beams.length <= RANGE_MAX_M)
        empty = np.flatnonzero(~beams.returned & ~beams.find_hidden(empty_range_m))
        counted[empty] = np.isfinite(predict_beams(scene, beams[empty], slope, RANGE_MAX_M)["range"])
        ring = sweep.beam_ring[counted].astype(np.int64)
        rings = max(len(self._hit), int(ring.max()) + 1 if len(ring) else 0)
        self._hit, self._empty = (_with_rows(values, rings) for values in (self._hit, self._empty))
        row = ring * BLIND_BINS + find_blind_bins(sweep.beam_direction[counted])
        size = rings * BLIND_BINS
        self._hit += np.bincount(row, minlength=size).reshape(rings, BLIND_BINS)
        self._empty += np.bincount(row[~beams.returned[counted]], minlength=size).reshape(rings, BLIND_BINS)

    def find_shares(self) -> Array | None:
        """The share (k, bins) of beams that come back empty; None if hardly any does."""
        hit = self._hit.sum()
        if hit == 0 or self._empty.sum() < _MIN_SHARE * hit:
            return None
        mean = self._empty.sum() / hit
        share = (self._empty + _PRIOR_BEAMS * mean) / (self._hit + _PRIOR_BEAMS)
        share = np.where((share >= _MIN_SHARE) & (self._hit > 0), share, 0.0)
        return np.asarray(np.round(share * _STEPS) / _STEPS)


class RangeLimit:
    """The farthest return of a recording, and how many empty beams should have returned from beyond it."""

    def __init__(self) -> None:
        self._farthest = 0.0
        self._predicted: list[Array] = []

    def add(self, beams: Beams, scene: _core.Scene, slope: float, empty_range_m: float) -> None:
        """Look at the beams of a sweep, given around the scene's origin."""
        if beams.returned.any():
            self._farthest = max(self._farthest, float(beams.length[beams.returned].max()))
        empty = beams[~beams.returned & ~beams.find_hidden(empty_range_m)]
        ranges = predict_beams(scene, empty, slope, PREDICTED_M)["range"]
        self._predicted.append(ranges[np.isfinite(ranges)])

    def find(self) -> float | None:
        """Metres beyond which nothing returns; None if too few beams show that."""
        beyond = sum(int((ranges > self._farthest + _MARGIN_M).sum()) for ranges in self._predicted)
        return self._farthest if self._farthest > 0.0 and beyond >= _MIN_BEYOND else None


def _with_rows(values: Array, rows: int) -> Array:
    return np.concatenate([values, np.zeros((rows - len(values), values.shape[1]))])
