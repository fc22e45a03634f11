"""How often beams come back empty from surfaces that the world holds: by range, incidence and expected intensity."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from resweep.calibrate.scatter.scatter_pair import ScatterPair
from resweep.calibrate.scatter.world_blocks import find_inflation, number_blocks
from resweep.pose import Array
from resweep.sensor_scatter import DropTable, find_bins

RANGE_EDGES_M = (8.0, 15.0, 25.0, 40.0, 60.0)
INCIDENCE_EDGES_DEG = (60.0, 75.0, 82.0, 86.0)
_SHARES = (0.1, 0.3, 0.7)  # of the beams, by whose expected intensity bins are told apart
_PRIOR_BEAMS = 200.0  # with the chance of the beams of the same range and incidence, and those with that of all
_MIN_BEAMS = 1000
_DIGITS, _ERROR_DIGITS = 4, 5


def estimate_drops(pairs: Sequence[ScatterPair]) -> DropTable | None:
    """The chance that a surface's return is lost, beyond what blind sectors take; None if too few beams show it."""
    rows = [np.flatnonzero(pair.counted & pair.surface & np.isfinite(pair.simulated)) for pair in pairs]
    ranges, incidence, expected, recorded, blind = (
        np.concatenate([getattr(pair, name)[own] for pair, own in zip(pairs, rows, strict=True)])
        for name in ("simulated", "incidence_deg", "expected", "recorded", "blind")
    )
    if len(ranges) < _MIN_BEAMS:
        return None
    edges = tuple(float(edge) for edge in np.unique(np.round(np.quantile(expected, _SHARES), _DIGITS)))
    place = (find_bins(ranges, RANGE_EDGES_M), find_bins(incidence, INCIDENCE_EDGES_DEG), find_bins(expected, edges))
    shape = (len(RANGE_EDGES_M) + 1, len(INCIDENCE_EDGES_DEG) + 1, len(edges) + 1)
    cell = np.ravel_multi_index(tuple(part.astype(np.int64) for part in place), shape)
    # Of the beams that blind sectors leave, those that are empty and not by them.
    seeing = np.bincount(cell, 1.0 - blind, int(np.prod(shape))).reshape(shape)
    lost = np.bincount(cell, np.isnan(recorded) - blind, int(np.prod(shape))).reshape(shape)
    chance = _shrink(np.maximum(lost, 0.0), seeing)
    rest = np.isnan(recorded) - blind - (1.0 - blind) * chance.reshape(-1)[cell]
    block = number_blocks([pair.points[own] for pair, own in zip(pairs, rows, strict=True)])
    inflation = find_inflation(rest, cell, chance.size, block).reshape(shape)
    return DropTable(
        range_edges_m=RANGE_EDGES_M,
        incidence_edges_deg=INCIDENCE_EDGES_DEG,
        intensity_edges=edges,
        probability=np.round(chance, _DIGITS).tolist(),
        error=np.round(_find_errors(chance, lost, seeing, inflation), _ERROR_DIGITS).tolist(),
    )


def _find_errors(chance: Array, lost: Array, seeing: Array, inflation: Array) -> Array:
    """Standard errors (r, i, j) of chances: of a binomial share, and of what it was drawn towards others."""
    raw = (np.maximum(lost, 0.0) + 0.5) / (seeing + 1.0)  # a half more, or no loss would be known for sure
    share = np.clip((seeing * raw + _PRIOR_BEAMS * chance) / (seeing + _PRIOR_BEAMS), 0.0, 1.0)
    drawn = np.where(seeing > 0, chance - np.clip(raw, 0.0, 1.0), 0.0) * _PRIOR_BEAMS / (seeing + _PRIOR_BEAMS)
    variance = share * (1.0 - share) * np.maximum(inflation, 1.0) / (seeing + _PRIOR_BEAMS)
    return np.asarray(np.clip(np.sqrt(variance + drawn**2), 0.0, 1.0))


def _shrink(lost: Array, seeing: Array) -> Array:
    """Shares (r, i, j) of lost beams, those of few drawn towards that of their range and incidence."""
    whole = lost.sum() / max(float(seeing.sum()), 1.0)
    pair = (lost.sum(axis=2) + _PRIOR_BEAMS * whole) / (seeing.sum(axis=2) + _PRIOR_BEAMS)
    return np.asarray(np.clip((lost + _PRIOR_BEAMS * pair[:, :, None]) / (seeing + _PRIOR_BEAMS), 0.0, 1.0))
