"""Tables of recorded intensities against expected ones, by kind and range, and how those of lasers differ."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from resweep.calibrate.scatter.scatter_pair import ScatterPair
from resweep.calibrate.scatter.step import find_step
from resweep.normal import find_share
from resweep.pose import Array
from resweep.sensor_scatter import NORMALS, SURFACE, VOLUME, IntensityScatter, IntensityTable, find_bins, split_beyond

RANGE_EDGES_M = (5.0, 8.0, 12.0, 18.0, 26.0, 40.0)  # so that bins hold alike many returns of a drive
# Chosen by hand: a half or a double of each hardly matters.
_MIN_OF_KIND, _MIN_AT_RANGE = 2000, 1000  # returns, for tables of their own
_MIN_OF_BIN = 300
_MAX_BINS = 10  # of expected intensity
_MIN_RETURNS = 1000  # in all, for anything to be known
_PRIOR_OF_RESPONSE = 300.0  # returns with the response of the laser at all ranges
_PRIOR_OF_SHIFT = 30.0  # returns with a shift of 0 and a spread of 1
_MIN_SPREAD = 0.2
_MEDIAN_OF_NORMAL = 0.6745  # of the absolute values of standard normal numbers
_BLOCK = 1 << 16  # returns whose distributions are held at once
_MIN_FACTOR = 0.1  # of what is expected beyond the ends of a table
_DIGITS, _SHIFT_DIGITS = 5, 2


@dataclass(frozen=True)
class _PairedReturns:
    """Columns (n,) of the returns of all pairs from the same surface as in simulation."""

    label: Array
    surface: Array
    expected: Array
    recorded: Array
    ring: Array
    range_bin: Array


def estimate_intensities(
    pairs: Sequence[ScatterPair], gains: Sequence[Array], labelled: bool
) -> IntensityScatter | None:
    """How recorded intensities scatter about expected ones; None if too few returns show it, or none has an intensity.

    ``gains`` (b,) of each pair are those of its beams' lasers. ``labelled`` says whether labels mean something: each
    with enough returns has tables then.
    """
    used = [np.flatnonzero(pair.same) for pair in pairs]
    label, surface, expected, recorded, ring, ranges = (
        np.concatenate([getattr(pair, name)[rows] for pair, rows in zip(pairs, used, strict=True)])
        for name in ("label", "surface", "expected", "intensity", "ring", "simulated")
    )
    if len(recorded) < _MIN_RETURNS or not recorded.any():
        return None
    returns = _PairedReturns(
        label, surface, expected, recorded, ring.astype(np.int64), find_bins(ranges, RANGE_EDGES_M)
    )
    gain = np.concatenate([gain[rows] for gain, rows in zip(gains, used, strict=True)])
    raw = np.round((recorded * gain).astype(np.float64), _DIGITS)  # gains were taken out in float32
    response = _find_response(returns)
    expected = expected * response[returns.ring, returns.range_bin]
    found = _tabulate(returns, expected, labelled)
    found = found.model_copy(
        update={
            "response": _to_tuple(np.round(response, _DIGITS)),
            "step": find_step(raw),
            "ceiling": round(float(raw.max()), _DIGITS),
        }
    )
    return _describe_lasers(found, pairs, used, returns, expected)


def _find_response(returns: _PairedReturns) -> Array:
    """What each laser reports at each range (k, r) over what is expected of it."""
    lasers, bins = int(returns.ring.max()) + 1, len(RANGE_EDGES_M) + 1
    cell, size = returns.ring * bins + returns.range_bin, lasers * bins
    recorded = np.bincount(cell, returns.recorded, size).reshape(lasers, bins)
    expected = np.bincount(cell, returns.expected, size).reshape(lasers, bins)
    mean = expected.sum() / len(returns.ring)
    prior = _PRIOR_OF_RESPONSE * max(float(mean), 1e-9)
    whole = float(recorded.sum() / max(expected.sum(), 1e-9))
    of_laser = (recorded.sum(axis=1) + prior * whole) / (expected.sum(axis=1) + prior)
    return np.asarray((recorded + prior * of_laser[:, None]) / (expected + prior))


def _tabulate(returns: _PairedReturns, expected: Array, labelled: bool) -> IntensityScatter:
    """The tables of all kinds; of ranges with few returns that of the kind at all ranges."""
    bins = len(RANGE_EDGES_M) + 1
    labels, counts = np.unique(returns.label, return_counts=True)
    own = [int(label) for label, count in zip(labels, counts, strict=True) if label and count >= _MIN_OF_KIND]
    kinds = (*(own if labelled else ()), SURFACE, VOLUME)
    tables: list[IntensityTable] = []
    numbers: list[tuple[int, ...]] = []
    for kind in kinds:
        rows = {SURFACE: returns.surface, VOLUME: ~returns.surface}.get(kind, returns.label == kind)
        rows = rows if np.count_nonzero(rows) >= _MIN_RETURNS else np.ones(len(rows), bool)
        tables.append(_make_table(expected[rows], returns.recorded[rows]))
        whole, line = len(tables) - 1, []
        for at in range(bins):
            near = rows & (returns.range_bin == at)
            if np.count_nonzero(near) < _MIN_AT_RANGE:
                line.append(whole)
                continue
            tables.append(_make_table(expected[near], returns.recorded[near]))
            line.append(len(tables) - 1)
        numbers.append(tuple(line))
    return IntensityScatter(kinds=kinds, range_edges_m=RANGE_EDGES_M, tables=tuple(tables), table_of=tuple(numbers))


def _make_table(expected: Array, recorded: Array) -> IntensityTable:
    """The table of returns (n,): in each bin, how they lie about the mean that is interpolated between bins.

    About the mean of its whole bin, a return would also scatter as expected intensities differ within the bin.
    """
    bins = int(np.clip(len(expected) // _MIN_OF_BIN, 1, _MAX_BINS))
    edges = np.unique(np.quantile(expected, np.linspace(0.0, 1.0, bins + 1)[1:-1]))
    place = np.unique(np.searchsorted(edges, expected, side="right"), return_inverse=True)[1].reshape(-1)
    count = np.bincount(place)
    knots = np.bincount(place, expected) / count
    means = np.bincount(place, recorded) / count
    within, factor = split_beyond(expected, knots[0], knots[-1])
    about = recorded / np.maximum(factor, _MIN_FACTOR) - np.interp(within, knots, means) + means[place]
    shares = find_share(NORMALS)
    rows = [np.maximum(np.quantile(about[place == number], shares), 0.0) for number in range(len(knots))]
    return IntensityTable(
        expected=tuple(np.maximum(np.round(knots, _DIGITS), 0.0).tolist()),
        quantiles=_to_tuple(np.round(rows, _DIGITS)),
        even=False,
    )


def _describe_lasers(
    found: IntensityScatter,
    pairs: Sequence[ScatterPair],
    used: Sequence[Array],
    returns: _PairedReturns,
    expected: Array,
) -> IntensityScatter:
    """The scatter with the shift and spread of lasers, and with what a return does to the next one of its laser."""
    kind = found.find_kinds(returns.label, returns.surface)
    normal = find_normals(found, kind, returns.range_bin, expected, returns.recorded)
    kinds, lasers, bins = len(found.kinds), len(found.response), len(found.range_edges_m) + 1
    cell, size = (kind * lasers + returns.ring) * bins + returns.range_bin, kinds * lasers * bins
    count = np.bincount(cell, minlength=size) + _PRIOR_OF_SHIFT
    shift = np.bincount(cell, normal, size) / count
    spread = np.sqrt((np.bincount(cell, normal**2, size) + _PRIOR_OF_SHIFT) / count - shift**2)
    spread = np.maximum(spread, _MIN_SPREAD)
    rest = np.split((normal - shift[cell]) / spread[cell], np.cumsum([len(rows) for rows in used])[:-1])
    shape = (kinds, lasers, bins)
    return found.model_copy(
        update={
            "shift": _to_tuple(np.round(shift, _SHIFT_DIGITS).reshape(shape)),
            "spread": _to_tuple(np.round(spread, _SHIFT_DIGITS).reshape(shape)),
            "next_weight": _find_next_weight(pairs, used, rest),
            "independent": _find_independent(pairs, used, rest, kind, kinds),
        }
    )


def _find_next_weight(pairs: Sequence[ScatterPair], used: Sequence[Array], values: Sequence[Array]) -> float:
    """The weight of a number in the next one of its laser, by how much less the next is alike than the one after.

    Numbers of one place are alike, which fades slowly along a ring and belongs to the surface. If the next one is less
    alike than the one after it, the laser remembers its last return.
    """
    one, two = (_correlate(pairs, used, values, step) for step in (1, 2))
    alike = np.clip((one - two) / max(1.0 - two, 1e-6), -0.49, 0.0)  # w / (1 + w²)
    return round(float(-(1.0 - np.sqrt(1.0 - 4.0 * alike**2)) / (2.0 * -alike)) if alike < 0.0 else 0.0, 3)


def _find_independent(
    pairs: Sequence[ScatterPair], used: Sequence[Array], values: Sequence[Array], kind: Array, kinds: int
) -> tuple[float, ...]:
    """The spread (l,) of the part of the numbers of each kind that is independent from beam to beam.

    By how far returns lie apart that are next but one on a ring: a laser's memory reaches the next one only. The median
    is that of most places: those that scatter more get too little.
    """
    apart: list[Array] = []
    of: list[Array] = []
    parts = np.split(kind, np.cumsum([len(rows) for rows in used])[:-1])
    for pair, rows, value, own in zip(pairs, used, values, parts, strict=True):
        spread, kind_of = np.full(len(pair.order), np.nan), np.full(len(pair.order), -1)
        spread[rows], kind_of[rows] = value, own
        first, second = pair.order[:-2], pair.order[2:]
        both = (pair.ring[first] == pair.ring[second]) & (kind_of[first] == kind_of[second]) & (kind_of[first] >= 0)
        apart.append(np.abs(spread[first[both]] - spread[second[both]]))
        of.append(kind_of[first[both]])
    step, home = np.concatenate(apart), np.concatenate(of)
    whole = _find_spread(step) if len(step) else 1.0
    found = []
    for number in range(kinds):
        mine = step[home == number]
        found.append(_find_spread(mine) if len(mine) >= _MIN_RETURNS else whole)
    return tuple(round(min(float(spread), 1.0), _SHIFT_DIGITS) for spread in found)


def _find_spread(step: Array) -> float:
    """The spread of independent normal numbers whose differences have the absolute values ``step`` (n,)."""
    return float(np.median(step)) / (_MEDIAN_OF_NORMAL * math.sqrt(2.0))


def _correlate(pairs: Sequence[ScatterPair], used: Sequence[Array], values: Sequence[Array], step: int) -> float:
    """The correlation of the values of beams that lie ``step`` apart on a ring."""
    product = square = 0.0
    for pair, rows, value in zip(pairs, used, values, strict=True):
        spread = np.full(len(pair.order), np.nan)
        spread[rows] = value
        first, second = pair.order[:-step], pair.order[step:]
        both = (pair.ring[first] == pair.ring[second]) & np.isfinite(spread[first]) & np.isfinite(spread[second])
        left, right = spread[first[both]], spread[second[both]]
        product += float((left * right).sum())
        square += float((left**2 + right**2).sum()) / 2.0
    return product / square if square > 0.0 else 0.0


def find_normals(found: IntensityScatter, kind: Array, range_bin: Array, expected: Array, recorded: Array) -> Array:
    """The normal numbers (n,) at which the tables hold the ``recorded`` intensities (n,), without gains.

    Simulation draws such numbers and reads the intensities (`cpp/trace/scatter.hpp`).
    """
    _, knots, curves = found.stack_tables()
    random = np.random.default_rng(0)
    recorded = recorded + found.step * (random.random(len(recorded)) - 0.5)  # within a step anything is possible
    which = np.array(found.table_of)[kind, range_bin]
    normal = np.empty(len(recorded))
    for part in (slice(begin, begin + _BLOCK) for begin in range(0, len(normal), _BLOCK)):
        own = knots[which[part]]
        low = np.minimum((own[:, 1:-1] <= expected[part, None]).sum(axis=1), max(own.shape[1] - 2, 0))
        high, row = np.minimum(low + 1, own.shape[1] - 1), np.arange(len(low))
        left, right = own[row, low], own[row, high]
        within, factor = split_beyond(expected[part], left, right)
        share = (within - left) / np.where(right > left, right - left, 1.0)
        below, above = curves[which[part], low], curves[which[part], high]
        rising = below + share[:, None] * (above - below) + 1e-9 * np.arange(len(NORMALS))  # equal values
        value = recorded[part] / np.maximum(factor, _MIN_FACTOR)
        column = np.clip((rising <= value[:, None]).sum(axis=1) - 1, 0, len(NORMALS) - 2)
        first, last = rising[row, column], rising[row, column + 1]
        rest = np.clip((value - first) / (last - first), 0.0, 1.0)
        normal[part] = NORMALS[column] + rest * (NORMALS[column + 1] - NORMALS[column])
    return normal


def _to_tuple(values: Array) -> Any:
    """Nested tuples of the values of an array."""
    return tuple(_to_tuple(row) if np.ndim(row) else float(row) for row in values)
