"""How much of a scatter stays with surfaces: the correlation of different sweeps within small cells."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from resweep.pose import Array
from resweep.sensor_scatter import Texture
from resweep.voxels import find_cells

FINE_M, COARSE_M = 0.15, 1.0  # scales of paint and leaves, and of whole things
_MIN_SHARE = 0.005  # that is worth a draw
_DIGITS = 3  # of a share


class CellSums:
    """Sums over the cells of ``size_m`` that several sweeps returned from."""

    def __init__(self, size_m: float) -> None:
        self.size_m = size_m
        self.together = self.total = self.count = 0.0
        self.number = 0

    def add(self, values: Sequence[Array], points: Sequence[Array]) -> None:
        """Count the values (n,) of the sweeps of one place, each with the points (n, 3) that it returned from."""
        value = np.concatenate([*values, np.zeros(0)])
        cell = np.concatenate([*(find_cells(part, self.size_m) for part in points), np.zeros((0, 3), np.int64)])
        sweep = np.repeat(np.arange(len(values)), [len(part) for part in values])
        cells, key = np.unique(cell, axis=0, return_inverse=True)
        of_sweep = np.unique(key.reshape(-1) * len(values) + sweep, return_inverse=True)
        sums = np.bincount(of_sweep[1].reshape(-1), value)
        counts = np.bincount(of_sweep[1].reshape(-1)).astype(np.float64)
        # One value for each sweep and cell, so that near cells, which hold many returns, do not rule.
        home, mean = of_sweep[0] // max(len(values), 1), sums / counts
        whole, sweeps = np.bincount(home, mean, len(cells)), np.bincount(home, minlength=len(cells))
        self.together += float((whole**2 - np.bincount(home, mean**2, len(cells))).sum())
        self.count += float((sweeps * (sweeps - 1)).sum())
        self.total += float((value**2).sum())
        self.number += len(value)

    def find_correlation(self) -> float:
        """The correlation of values of different sweeps in the same cell, from 0 to 1; 0 if no cell has two."""
        if self.count == 0 or self.number == 0:
            return 0.0
        return float(np.clip((self.together / self.count) / max(self.total / self.number, 1e-9), 0.0, 1.0))


def find_textures(fine: float, coarse: float) -> tuple[Texture, ...]:
    """The shares of the variance that cells of both scales have, from the correlations within them."""
    coarse = min(coarse, fine)
    parts = ((COARSE_M, coarse), (FINE_M, fine - coarse))
    return tuple(Texture(size_m=size, share=round(share, _DIGITS)) for size, share in parts if share > _MIN_SHARE)
