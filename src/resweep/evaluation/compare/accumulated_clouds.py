"""The paired sweeps of two logs as one cloud each, and the distances between the two."""

from __future__ import annotations

import numpy as np

from resweep.evaluation.compare.pair import PairCloud
from resweep.evaluation.compare.recorded import KEPT_BYTES, POINT_BYTES, KeptClouds, RecordedCloud
from resweep.evaluation.metrics.column import Column
from resweep.evaluation.metrics.sums import MetricSums
from resweep.pose import Array, inverse, transform


def count_points(size: int) -> int:
    """How many returns are indexed in a third of ``size`` bytes; the rest is for points that are kept and searched."""
    return size // 3 // POINT_BYTES


class AccumulatedClouds:
    """Both clouds, in the frame of a pose ``origin`` (4, 4), in about ``size`` bytes of memory and in files beyond."""

    def __init__(self, origin: Array, threads: int, size: int) -> None:
        self.T_origin_world = inverse(origin)
        self.real = RecordedCloud(np.zeros(3), threads, count_points(size))
        self.sim = KeptClouds(size // 4 // KEPT_BYTES)

    def add(self, sim: PairCloud, real: PairCloud, pose: Array) -> None:
        """Take in both clouds of a pair, in the frame of the real sweep's ``pose``."""
        T_origin_real = self.T_origin_world @ pose
        self.sim.append(_move_points(T_origin_real, sim), sim.label)
        self.real.add_points(_move_points(T_origin_real, real), real.label)

    def sum_into(self, total: MetricSums) -> None:
        """Add the distances from all simulated points to the nearest real one, in all and by class."""
        if not len(self.real):
            return
        every = Column(np.float64)
        classes: dict[int, Column] = {}
        for batch in self.sim.batches(self.real.max_points // 2):
            every.append(self.real.distances(batch.points))
            for item, _, distance in batch.class_distances(self.real):
                classes.setdefault(item, Column(np.float64)).append(distance)
        if len(every):
            total.totals["map_n"], total.totals["map"] = len(every), every.sum()
            for item, column in classes.items():
                total.classes[item]["map_n"], total.classes[item]["map"] = len(column), column.sum()


def _move_points(T_origin_real: Array, cloud: PairCloud) -> Array:
    """Points (n, 3) float64 that float32 holds too."""
    return transform(T_origin_real, cloud.points.astype(np.float64)).astype(np.float32).astype(np.float64)
