"""Tables of recorded intensities against expected ones, and how alike those of neighbours are."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from resweep.calibrate.scatter.cells import COARSE_M, FINE_M, CellSums, find_textures
from resweep.calibrate.scatter.scatter_pair import ScatterPair
from resweep.calibrate.scatter.step import find_step
from resweep.pose import Array
from resweep.sensor_scatter import SURFACE, VOLUME, IntensityScatter, IntensityTable
from resweep.simulate.normal import find_normal

# Chosen on SemanticKITTI 00 and 03; a half or a double of each hardly matters there.
_MIN_OF_LABEL = 2000  # beams, for a label to have a table of its own
_MIN_OF_BIN = 300
_MAX_BINS = 10
_QUANTILES = 25
_MIN_BEAMS = 1000  # in all, for anything to be known
_MAX_CORRELATION = 0.98
_DIGITS = 5


def estimate_intensities(
    pairs: Sequence[ScatterPair], gains: Sequence[Array], labelled: bool
) -> IntensityScatter | None:
    """How recorded intensities scatter about expected ones; None if too few beams show it, or none has an intensity.

    ``gains`` (b,) of each pair are those of its beams' lasers. ``labelled`` says whether labels mean something: each
    with enough beams has a table then.
    """
    used = [np.flatnonzero(pair.same) for pair in pairs]
    label, surface, expected, recorded = (
        np.concatenate([getattr(pair, name)[rows] for pair, rows in zip(pairs, used, strict=True)])
        for name in ("label", "surface", "expected", "intensity")
    )
    if len(recorded) < _MIN_BEAMS or not recorded.any():
        return None
    raw = np.concatenate(
        [pair.intensity[rows] * gain[rows] for pair, rows, gain in zip(pairs, used, gains, strict=True)]
    )
    tables = []
    for number in np.unique(label).tolist() if labelled else ():
        own = label == number
        if number and np.count_nonzero(own) >= _MIN_OF_LABEL:
            tables.append(_tabulate(number, expected[own], recorded[own]))
    for number, own in ((SURFACE, surface), (VOLUME, ~surface)):
        enough = own if np.count_nonzero(own) >= _MIN_BEAMS else np.ones(len(own), bool)
        tables.append(_tabulate(number, expected[enough], recorded[enough]))
    step = find_step(np.round(raw.astype(np.float64), _DIGITS))  # gains were taken out in float32
    found = IntensityScatter(tables=tuple(tables), step=step, ceiling=round(float(raw.max()), _DIGITS))
    return _correlate(found, pairs, used, step)


def _tabulate(label: int, expected: Array, recorded: Array) -> IntensityTable:
    """The table of the beams (n,) of one kind."""
    bins = int(np.clip(len(expected) // _MIN_OF_BIN, 1, _MAX_BINS))
    edges = np.unique(np.quantile(expected, np.linspace(0.0, 1.0, bins + 1)[1:-1]))
    place = np.searchsorted(edges, expected, side="right")
    kept = [own for number in range(len(edges) + 1) if (own := place == number).any()]
    middles = [float(expected[own].mean(dtype=np.float64)) for own in kept]
    levels = np.linspace(0.0, 1.0, _QUANTILES)
    return IntensityTable(
        label=label,
        expected=np.maximum(np.round(middles, _DIGITS), 0.0).tolist(),
        quantiles=tuple(tuple(np.round(np.maximum(np.quantile(recorded[own], levels), 0.0), _DIGITS)) for own in kept),
    )


def _correlate(
    found: IntensityScatter, pairs: Sequence[ScatterPair], used: Sequence[Array], step: float
) -> IntensityScatter:
    """The scatter with what is alike in one place in all sweeps, and along rings."""
    random = np.random.default_rng(0)
    values = []
    for pair, rows in zip(pairs, used, strict=True):
        blurred = pair.intensity[rows] + step * (random.random(len(rows)) - 0.5)  # within a step anything is possible
        levels = find_levels(found, pair.label[rows], pair.surface[rows], pair.expected[rows], blurred)
        values.append(find_normal(levels))
    points = [pair.points[rows] for pair, rows in zip(pairs, used, strict=True)]
    shares = []
    for size in (FINE_M, COARSE_M):
        sums = CellSums(size)
        sums.add(values, points)
        shares.append(sums.find_correlation())
    textures = find_textures(*shares)
    along = _correlate_rings(pairs, used, values)
    rest = max(1.0 - sum(texture.share for texture in textures), 1e-6)
    common = sum(texture.share for texture in textures if texture.size_m >= COARSE_M)
    ring = float(np.clip((along - common) / rest, 0.0, _MAX_CORRELATION))
    return found.model_copy(update={"textures": textures, "ring_correlation": round(ring, 3)})


def _correlate_rings(pairs: Sequence[ScatterPair], used: Sequence[Array], values: Sequence[Array]) -> float:
    """The correlation of the values of neighbours on a ring."""
    product = square = 0.0
    for pair, rows, value in zip(pairs, used, values, strict=True):
        spread = np.full(len(pair.order), np.nan)
        spread[rows] = value
        left, right = (spread[part] for part in pair.find_neighbours())
        both = np.isfinite(left) & np.isfinite(right)
        product += float((left[both] * right[both]).sum())
        square += float((left[both] ** 2 + right[both] ** 2).sum()) / 2.0
    return product / square if square > 0.0 else 0.0


def find_levels(found: IntensityScatter, label: Array, surface: Array, expected: Array, recorded: Array) -> Array:
    """Where (n,), from 0 to 1, recorded intensities lie in the distribution that the tables give each."""
    which = found.find_tables(label, surface)
    levels = np.zeros(len(recorded))
    for number, table in enumerate(found.tables):
        own = np.flatnonzero(which == number)
        if len(own) == 0:
            continue
        curves = np.array(table.quantiles)
        place = np.interp(expected[own], table.expected, np.arange(len(curves)))
        # The nearest bin: its quantiles are of the beams themselves.
        nearest = np.rint(place).astype(np.int64)
        share = np.linspace(0.0, 1.0, curves.shape[1])
        for row in np.unique(nearest).tolist():
            some = own[nearest == row]
            rising = curves[row] + np.arange(curves.shape[1]) * 1e-9  # of equal quantiles any is as good
            levels[some] = np.interp(recorded[some], rising, share)
    return np.clip(levels, 0.0, 1.0)
