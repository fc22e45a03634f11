"""What returns show by themselves: the smallest range, and how near two returns of a pulse may be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from resweep.calibrate.sensor.quantity import Quantity
from resweep.pose import Array
from resweep.sweep import Sweep

# Chosen by hand where a line names no source.
_WINDOW_M, _CELLS = 0.4, 20  # after the smallest value, in which an edge is looked for
_MIN_IN_CELL = 8  # returns, for a cell to count; chosen by hand
_SHARP_CELLS = 4  # in which counts must rise from a tenth to half of what follows
_STRAY = 3.0  # values before an edge that are none
_EDGE_SHARE, _RISE_SHARE = 0.5, 0.1  # of what follows: where an edge is, and where it begins
_MAX_PER_BEAM = 4  # rows of one laser and time: with more, times are useless
_MIN_RINGS = 3  # that must share an edge of ranges: ground gives each ring one of its own
RANGE_MIN, SEPARATION, SHARE = "range_min_m", "receiver.return_separation_m", "second_return_share"


def fit_range_min(sweeps: Sequence[Sweep]) -> Quantity:
    """The smallest range that is reported, where returns of several rings end at the same one."""
    ranges = np.concatenate([sweep.range for sweep in sweeps]).astype(np.float64)
    if not len(ranges):
        return Quantity(RANGE_MIN, "m", note="the log has no returns")
    rings = np.concatenate([sweep.ring for sweep in sweeps]).astype(np.int64)
    bound = float(ranges.min())
    edge = find_edge(ranges)
    if edge is None:
        return Quantity(RANGE_MIN, "m", note="no object near enough: ranges have no sharp edge", bound=bound)
    at = np.bincount(rings[(ranges >= edge[0]) & (ranges < edge[0] + _WINDOW_M / 2)])
    share = int(np.count_nonzero(at >= _MIN_IN_CELL))
    if share < _MIN_RINGS:
        return Quantity(RANGE_MIN, "m", note=f"the nearest returns are of {share} rings: ground, maybe", bound=bound)
    return Quantity(RANGE_MIN, "m", *edge, note=f"returns of {share} rings end there")


def fit_returns(sweeps: Sequence[Sweep]) -> list[Quantity]:
    """How near two returns of a pulse are at least, and the share of beams with a return that have a second."""
    paired = [pair_returns(sweep) for sweep in sweeps]
    if not any((sweep.return_index > 0).any() for sweep in paired):
        why = "the log has one return a beam"
        return [Quantity(SEPARATION, "m", note=why), Quantity(SHARE, "", note=why)]
    gaps = np.concatenate([find_gaps(sweep) for sweep in paired])
    beams = sum(len(np.unique(sweep.beam)) for sweep in paired)
    second = sum(int(np.count_nonzero(sweep.return_index == 1)) for sweep in paired)
    share = second / beams
    of_beams = Quantity(
        SHARE, "", share, float(np.sqrt(share * (1 - share) / beams)), f"of {beams} beams with a return; of this place"
    )
    edge = find_edge(gaps)
    if edge is None:
        bound = float(gaps.min()) if len(gaps) else None
        return [Quantity(SEPARATION, "m", note="no sharp edge of the gaps between returns", bound=bound), of_beams]
    return [Quantity(SEPARATION, "m", *edge, note=f"{len(gaps)} pairs of returns"), of_beams]


def find_gaps(sweep: Sweep) -> Array:
    """Metres from each return of a beam to the next one behind it (n,)."""
    order = np.lexsort((sweep.range, sweep.beam))
    same = np.diff(sweep.beam[order]) == 0
    gap = np.diff(sweep.range[order].astype(np.float64))[same]
    return np.asarray(gap[gap > 0])


def pair_returns(sweep: Sweep) -> Sweep:
    """The sweep with rows that one laser measured at one time as returns of one beam.

    Formats of points store each return as a row; those of a pulse share its ring and time. A sweep that has second
    returns, or whose times are useless, is returned as it is.
    """
    if sweep.n_beams == 0 or (sweep.return_index > 0).any() or len(np.unique(sweep.beam_ring)) < 2:
        return sweep
    key = np.stack([sweep.beam_time, sweep.beam_ring], axis=1)
    _, first, number = np.unique(key, axis=0, return_index=True, return_inverse=True)
    if len(first) == sweep.n_beams or len(first) < sweep.n_beams / _MAX_PER_BEAM:
        return sweep
    beam = first[number.reshape(-1)][sweep.beam]
    order = np.argsort(beam, kind="stable")
    begin = np.flatnonzero(np.diff(beam[order], prepend=-1))
    index: Array = np.zeros(len(beam), np.int64)
    index[order] = np.arange(len(beam)) - np.repeat(begin, np.diff(np.append(begin, len(beam))))
    rows = np.lexsort((index, beam))
    index = np.minimum(index, np.iinfo(np.uint8).max)
    return replace(sweep, beam=beam.astype(np.int32), return_index=index.astype(np.uint8)).select(rows)


def find_edge(values: Array) -> tuple[float, float] | None:
    """Where the density of positive values (n,) rises sharply from nothing, and the uncertainty of it; None if nowhere.

    The edge is where counts reach half of what follows, so that noise on the values does not move it.
    """
    if len(values) < _MIN_IN_CELL * _CELLS // 2:
        return None
    low = float(np.quantile(values, min(_STRAY / len(values), 1.0)))
    width = _WINDOW_M / _CELLS
    count, bounds = np.histogram(values, bins=_CELLS, range=(low - 2 * width, low - 2 * width + _WINDOW_M))
    level = float(np.median(count[_CELLS // 2 :]))
    if level < _MIN_IN_CELL:
        return None
    half, tenth = int(np.argmax(count >= _EDGE_SHARE * level)), int(np.argmax(count >= _RISE_SHARE * level))
    if half - tenth > _SHARP_CELLS:
        return None
    before = float(count[half - 1]) if half else 0.0
    share = (_EDGE_SHARE * level - before) / max(float(count[half]) - before, 1.0)
    return float(bounds[half] + width * (np.clip(share, 0.0, 1.0) - 0.5)), width / 2.0
