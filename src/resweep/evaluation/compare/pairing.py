"""Which simulated sweep is compared with which real one."""

from __future__ import annotations

import numpy as np

from resweep.errors import ResweepError
from resweep.log import Log
from resweep.pose import Array

_TABLE = 1_000_000  # differences of times that are held at once


def pair_sweeps(sim: Log, real: Log, max_gap_s: float | None = None) -> list[tuple[int, int]]:
    """Which sweeps to compare, as (simulated, real) indices in order of time.

    By index where the logs are equally long; else each sweep of the shorter log takes the one nearest in
    time of the longer, if it is within ``max_gap_s`` and no other is nearer to that.
    """
    if len(sim) == len(real) and max_gap_s is None:
        return [(at, at) for at in range(len(sim))]
    swap = len(sim) > len(real)
    few, many = (real.times, sim.times) if swap else (sim.times, real.times)
    gap_s = _find_half_period(sim.times, real.times) if max_gap_s is None else max_gap_s
    nearest, apart = _find_nearest(few, many)
    taken: dict[int, int] = {}
    for at in np.argsort(apart, kind="stable").tolist():
        if apart[at] <= gap_s:
            taken.setdefault(int(nearest[at]), at)
    if not taken:
        raise ResweepError(
            f"evaluate: no simulated sweep ({sim.times[0]:.3f} to {sim.times[-1]:.3f} s) lies within {gap_s:.3f} s of "
            f"a real one ({real.times[0]:.3f} to {real.times[-1]:.3f} s); give logs of equal length or matching times"
        )
    both = [(other, at) if swap else (at, other) for other, at in taken.items()]
    return sorted(both)


def _find_nearest(few: Array, many: Array) -> tuple[Array, Array]:
    """Which of ``many`` times is nearest to each of ``few``, the first of several, and how far apart they are."""
    nearest, apart = np.empty(len(few), np.int64), np.empty(len(few))
    rows = max(1, _TABLE // len(many))
    for begin in range(0, len(few), rows):
        part = np.abs(few[begin : begin + rows, None] - many[None, :])
        nearest[begin : begin + rows], apart[begin : begin + rows] = part.argmin(axis=1), part.min(axis=1)
    return nearest, apart


def _find_half_period(*times: Array) -> float:
    periods = [float(np.median(np.diff(np.sort(each)))) for each in times if len(each) > 1]
    return min(periods) / 2
