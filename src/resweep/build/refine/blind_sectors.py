"""Blind sectors of a sensor and the limit of its range: why beams have no return where the world has a surface.

The vehicle itself and mounts take the returns of the same beams in every sweep, and so does what lies nearer than a
sensor measures. Sensors, and writers of datasets, cut off at a range. A world cannot show that: it would return beams
that come back empty.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from resweep import _core
from resweep.build.refine.refine_beams import RANGE_MAX_M as PREDICTED_M
from resweep.calibration import BLIND_BINS, find_blind_bins
from resweep.map.beams import Beams
from resweep.map.predicted import predict_beams
from resweep.pose import Array
from resweep.simulate.loss_map import LossMap
from resweep.sweep import Sweep

# Chosen by hand where a line names no source.
RANGE_MAX_M = 60.0  # beyond it, beams come back empty because what they hit is far
_PRIOR_BEAMS = 2.0  # with the share of all beams that come back empty
_MIN_SHARE = 0.01  # a bin with less counts as seeing; chosen by hand
_MARGIN_M = 0.5  # beyond the farthest return, by which a predicted one is certainly farther
_MIN_BEYOND = 30  # empty beams, each likelier to return than not: a billion to one that it is not chance
_STEPS = 200  # to which shares are rounded, so that a world stays small


class BlindSectors:
    """Beams that hit the world, by ring and azimuth, and which of them have no return.

    Rows (m,): ``row`` is the ring times `BLIND_BINS` plus the bin of azimuth, ``empty`` marks those without return, and
    ``place`` (m, 3) is where in the scene a beam ended, or would have ended.
    """

    def __init__(self) -> None:
        self._parts: list[tuple[Array, Array, Array]] = []

    def add(self, sweep: Sweep, beams: Beams, scene: _core.Scene, slope: float, empty_range_m: float) -> None:
        """Take the beams of a sweep, given in its own frame and as ``beams`` around the scene's origin.

        A beam that returned hit something; whether an empty one should have, the scene shows. Beams that ended on what
        the map does not hold do not count.
        """
        returned = np.flatnonzero(beams.returned & (beams.length <= RANGE_MAX_M))
        none = np.flatnonzero(~beams.returned & ~beams.find_hidden(empty_range_m))
        expected = predict_beams(scene, beams[none], slope, RANGE_MAX_M)["range"]
        hit = np.isfinite(expected)
        beam = np.concatenate([returned, none[hit]])
        reach = np.concatenate([beams.length[returned], expected[hit]])
        row = sweep.beam_ring[beam].astype(np.int64) * BLIND_BINS + find_blind_bins(sweep.beam_direction[beam])
        place = np.asarray(beams.origin[beam] + beams.direction[beam] * reach[:, None], np.float32)
        self._parts.append((row, np.arange(len(beam)) >= len(returned), place))
        self.__dict__.pop("_columns", None)

    @property
    def row(self) -> Array:
        """The ring and bin (m,) of each beam."""
        return self._columns[0]

    @property
    def empty(self) -> Array:
        """Whether each beam (m,) has no return."""
        return self._columns[1]

    @property
    def place(self) -> Array:
        """Where each beam ended or would have (m, 3) float32."""
        return self._columns[2]

    @cached_property
    def _columns(self) -> tuple[Array, Array, Array]:
        nothing = (np.zeros(0, np.int64), np.zeros(0, bool), np.zeros((0, 3), np.float32))
        row, empty, place = (np.concatenate(columns) for columns in zip(nothing, *self._parts, strict=True))
        return row, empty, place

    def find_shares(self, losses: LossMap | None = None) -> Array | None:
        """The share (k, bins) of beams that come back empty; None if hardly any does.

        What beams lose on what they hit, by ``losses``, is no fault of the sensor.
        """
        lost = np.zeros(len(self.row)) if losses is None else losses.find(self.place)
        size = (int(self.row.max(initial=-1)) // BLIND_BINS + 1) * BLIND_BINS
        hits, empty = (np.bincount(self.row, values, size) for values in (1.0 - lost, self.empty - lost))
        if hits.sum() == 0 or empty.sum() < _MIN_SHARE * hits.sum():
            return None
        mean = empty.sum() / hits.sum()
        share = np.maximum(empty + _PRIOR_BEAMS * mean, 0.0) / (hits + _PRIOR_BEAMS)
        share = np.where((share >= _MIN_SHARE) & (hits > 0), share, 0.0)
        return np.asarray(np.round(share * _STEPS) / _STEPS).reshape(-1, BLIND_BINS)


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
