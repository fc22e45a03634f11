"""Nearest points: the one search behind all distances between clouds and all matches of directions."""

from __future__ import annotations

import numpy as np

from resweep.neighbours import Neighbours
from resweep.pose import Array


class Nearest:
    """Points (m, 3) to find the nearest of.

    The native index finds which point it is; its distance is then computed in float64 from the points as they were
    given, so that equal points are at a distance of exactly 0 wherever in the world they lie.
    ``threads``: 0 for all cores.
    """

    def __init__(self, points: Array, threads: int = 0) -> None:
        self.points = points
        self._index = Neighbours(points, threads) if len(points) else None

    def find(self, places: Array, k: int = 1) -> tuple[Array, Array]:
        """Distance (n,) float64 metres and row (n,) of the ``k``-th nearest point of each of ``places`` (n, 3).

        Infinity and -1 where there are fewer points.
        """
        if self._index is None or not len(places):
            return np.full(len(places), np.inf), np.full(len(places), -1)
        row = self._index.knn(places, k).index[:, -1].astype(np.int64)
        offset = places.astype(np.float64) - self.points[row]
        distance = np.sqrt(np.einsum("ni,ni->n", offset, offset))
        return np.where(row >= 0, distance, np.inf), row

    def distances(self, places: Array) -> Array:
        """Distance (n,) float64 metres from each of ``places`` (n, 3) to the nearest point; infinity without points."""
        return self.find(places)[0]


def find_nearest_distances(source: Array, target: Array, threads: int = 0) -> Array:
    """Distance (n,) float64 from each of ``source`` (n, 3) to the nearest of ``target`` (m, 3); inf if m is 0."""
    return Nearest(target, threads).distances(source)
