"""The normal numbers by which tables give recorded intensities: how many count, and how they are alike."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from resweep.calibrate.scatter.intensity_tables import find_normals
from resweep.calibrate.scatter.scatter_pair import ScatterPair
from resweep.calibrate.scatter.world_blocks import find_inflation, number_blocks
from resweep.pose import Array
from resweep.sensor_scatter import IntensityScatter, ScatterCorrelation, find_bins
from resweep.voxels import find_cells, make_cell_keys, number_keys

STEPS = (1, 2, 4, 8, 16)  # beams from one to the other
CELLS_M = (0.15, 0.5, 1.5)  # of paint and leaves, of parts of things, of things
_DIGITS = 4


@dataclass(frozen=True, eq=False)
class ScatterNumbers:
    """Columns (n,) of the returns of all pairs from the same surface as in simulation.

    ``number`` is a normal number, without what lasers do, ``cell`` that of kind and range, ``block`` and ``point``
    (n, 3) say where in the world, ``sweep`` in which pair. ``place`` is where on the rings of its pair a return lies,
    ``ring`` on which.
    """

    number: Array
    cell: Array
    block: Array
    point: Array
    sweep: Array
    place: Array
    ring: Array

    @classmethod
    def of(cls, found: IntensityScatter, pairs: Sequence[ScatterPair]) -> ScatterNumbers:
        """The numbers of the returns of the pairs that ``found`` was estimated from."""
        used = [np.flatnonzero(pair.same) for pair in pairs]
        label, surface, expected, recorded, ring, ranges, point = (
            np.concatenate([getattr(pair, name)[rows] for pair, rows in zip(pairs, used, strict=True)])
            for name in ("label", "surface", "expected", "intensity", "ring", "simulated", "points")
        )
        kind, far = found.find_kinds(label, surface), find_bins(ranges, found.range_edges_m).astype(np.int64)
        laser = ring.astype(np.int64)
        expected = expected * np.array(found.response)[laser, far]
        number = find_normals(found, kind, far, expected, recorded)
        number = (number - np.array(found.shift)[kind, laser, far]) / np.array(found.spread)[kind, laser, far]
        place = [np.argsort(pair.order, kind="stable")[rows] for pair, rows in zip(pairs, used, strict=True)]
        return cls(
            number,
            kind * (len(found.range_edges_m) + 1) + far,
            number_blocks([point]),
            point,
            np.repeat(np.arange(len(pairs)), [len(rows) for rows in used]),
            np.concatenate(place),
            laser,
        )

    def count_returns(self, found: IntensityScatter) -> IntensityScatter:
        """The scatter with how many returns there were of each kind and range, and as how many they count."""
        shape = (len(found.kinds), len(found.range_edges_m) + 1)
        size = shape[0] * shape[1]
        count = np.bincount(self.cell, minlength=size)
        square = self.number**2
        mean = np.bincount(self.cell, square, size) / np.maximum(count, 1)
        inflation = find_inflation(square - mean[self.cell], self.cell, size, self.block)
        effective = np.where(count > 0, np.maximum(np.floor(count / inflation), 1.0), 0.0).astype(np.int64)
        counts = {"returns": count, "effective_returns": effective}
        return found.model_copy(
            update={name: tuple(map(tuple, values.reshape(shape).tolist())) for name, values in counts.items()}
        )

    def estimate_correlation(self) -> ScatterCorrelation:
        """How much the numbers are alike along rings, and between sweeps."""
        along = [self._correlate_along(step) for step in STEPS]
        between = [self._correlate_between(size) for size in CELLS_M]
        return ScatterCorrelation(
            steps=STEPS,
            along_rings=tuple(value for value, _ in along),
            along_rings_error=tuple(error for _, error in along),
            cells_m=CELLS_M,
            between_sweeps=tuple(value for value, _ in between),
            between_sweeps_error=tuple(error for _, error in between),
        )

    def _correlate_along(self, step: int) -> tuple[float, float]:
        """The correlation of returns that lie ``step`` beams apart on a ring, and its standard error."""
        home = self.sweep * (int(self.place.max()) + 1 + max(STEPS)) + self.place
        order = np.argsort(home, kind="stable")
        at = np.searchsorted(home[order], home + step)
        other = order[np.minimum(at, len(order) - 1)]
        first = np.flatnonzero((home[other] == home + step) & (self.ring[other] == self.ring))
        second = other[first]
        left, right = self.number[first], self.number[second]
        return _divide(left * right, (left**2 + right**2) / 2.0, self.block[first])

    def _correlate_between(self, size_m: float) -> tuple[float, float]:
        """The correlation of the means of different sweeps in cells of one size, over the variance of one return."""
        cell = number_keys(make_cell_keys(find_cells(self.point, size_m)))
        sweeps = int(self.sweep.max()) + 1
        parts, place, count = np.unique(cell * sweeps + self.sweep, return_inverse=True, return_counts=True)
        mean = np.bincount(place.reshape(-1), self.number) / count
        block = np.zeros(len(parts), np.int64)
        block[place.reshape(-1)] = self.block
        cells, home, seen = np.unique(parts // sweeps, return_inverse=True, return_counts=True)
        home = home.reshape(-1)
        whole, squares = np.bincount(home, mean), np.bincount(home, mean**2)
        of_cell = np.zeros(len(cells), np.int64)
        of_cell[home] = block
        pairs = seen * (seen - 1.0)
        return _divide(whole**2 - squares, pairs * float((self.number**2).mean()), of_cell)


def _divide(above: Array, below: Array, block: Array) -> tuple[float, float]:
    """The ratio of two sums over (n,), from -1 to 1, and its standard error by ``block`` (n,); 0 and 1 of nothing."""
    total = float(below.sum())
    if total <= 0.0:
        return 0.0, 1.0
    ratio = float(above.sum()) / total
    rest = np.bincount(block, above - ratio * below)
    return round(float(np.clip(ratio, -1.0, 1.0)), _DIGITS), round(float(np.sqrt((rest**2).sum())) / total, _DIGITS)
