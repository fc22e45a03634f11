"""Histograms of the ranges that the same beams read again and again, and their distance (A, VI-A and Table I).

A scans a target from one place for minutes and bins every laser's shots by the angle of its encoder and by range,
with one bin more at each angle for the shots without return. Real and simulated histograms are compared by their
Bhattacharyya distance. The paper has "the Bhattacharyya distance between the 2D histograms": here it is that of the
whole histogram of a laser, normalised to one, D = -ln Σ √(p·q), not a mean over directions.
Where several lasers are compared, the figure is the mean of theirs.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from resweep.errors import ResweepError
from resweep.log import Log
from resweep.pose import Array
from resweep.sweep import Sweep

ANGLE_DEG = 0.09  # A, VI-A: a step of the HDL-64E's encoder
RANGE_M = 0.002  # A, VI-A: the resolution of its ranges
_TURN = 1 << 20  # more angles than a turn has
NO_RETURN = -1  # the range bin of shots without return


@dataclass(frozen=True, eq=False)
class Shots:
    """Shots (n,) by bin: ``laser``, ``angle`` (of azimuth) and ``bin`` (of range, `NO_RETURN` for none), all int64.

    Angle a covers ``angle_deg`` around a · ``angle_deg``; bin b begins at b · ``range_m``.
    """

    laser: Array
    angle: Array
    bin: Array
    angle_deg: float = ANGLE_DEG
    range_m: float = RANGE_M

    def __len__(self) -> int:
        return len(self.bin)

    def __getitem__(self, rows: Any) -> Shots:
        return Shots(self.laser[rows], self.angle[rows], self.bin[rows], self.angle_deg, self.range_m)

    @property
    def direction(self) -> Array:
        """A number (n,) for each laser and angle."""
        return np.asarray(self.laser << 32 | self.angle & 0xFFFFFFFF)

    def pooled(self) -> Shots:
        """The shots of all lasers as one histogram, for targets of which single lasers have too few shots."""
        return replace(self, laser=np.zeros_like(self.laser), angle=self.laser * _TURN + self.angle)

    def counts(self, laser: int) -> tuple[Array, Array]:
        """The bins (k,) of one laser that hold shots, as a number for each, ascending, and their counts (k,)."""
        mine = self.laser == laser
        return np.unique(self.angle[mine] << 32 | self.bin[mine] & 0xFFFFFFFF, return_counts=True)

    def image(self, laser: int, angles: Array, near_m: float, far_m: float) -> Array:
        """Shots (ranges, angles) of one laser between two ranges, for a picture; those without return are left out."""
        low, high = round(near_m / self.range_m), round(far_m / self.range_m)
        mine = (self.laser == laser) & (self.bin >= low) & (self.bin < high) & np.isin(self.angle, angles)
        made = np.zeros((high - low, len(angles)), np.int64)
        np.add.at(made, (self.bin[mine] - low, np.searchsorted(angles, self.angle[mine])), 1)
        return made


def shots_of(source: Sweep | Log | Iterable[Sweep], angle_deg: float = ANGLE_DEG, range_m: float = RANGE_M) -> Shots:
    """The shots of sweeps taken from one place, binned; of several returns on a beam the first reported counts."""
    if not (angle_deg > 0 and range_m > 0):
        raise ResweepError(f"histogram: bins of {angle_deg} deg and {range_m} m; give sizes above 0")
    sweeps = [source] if isinstance(source, Sweep) else source
    parts = [_read_columns(sweep, angle_deg, range_m) for sweep in sweeps]
    if not parts:
        raise ResweepError("histogram: no sweep given; give at least one")
    laser, angle, bins = (np.concatenate([part[i] for part in parts]) for i in range(3))
    return Shots(laser, angle, bins, angle_deg, range_m)


def _read_columns(sweep: Sweep, angle_deg: float, range_m: float) -> tuple[Array, Array, Array]:
    direction = sweep.beam_direction.astype(np.float64)
    angle = np.rint(np.degrees(np.arctan2(direction[:, 1], direction[:, 0])) / angle_deg).astype(np.int64)
    bins = np.full(sweep.n_beams, NO_RETURN, np.int64)
    latest_first = np.argsort(-sweep.return_index.astype(np.int16), kind="stable")
    # Half a bin up, so that ranges the sensor rounded to multiples of a bin do not straddle two.
    found = np.floor(sweep.range.astype(np.float64) / range_m + 0.5).astype(np.int64)
    bins[sweep.beam[latest_first]] = found[latest_first]
    return sweep.beam_ring.astype(np.int64), angle, bins


def bhattacharyya(first: Array, second: Array) -> float:
    """The Bhattacharyya distance -ln Σ √(p·q) of two histograms of counts over the same bins.

    Both are normalised to one. Infinity where they share no bin.
    """
    p, q = (np.asarray(counts, np.float64).ravel() for counts in (first, second))
    if p.shape != q.shape or p.sum() <= 0 or q.sum() <= 0 or (p < 0).any() or (q < 0).any():
        raise ResweepError(
            f"bhattacharyya: needs two histograms of the same bins with counts, got {p.size} and {q.size} bins"
        )
    return _minus_log(float(np.sqrt(p / p.sum() * (q / q.sum())).sum()))


def histogram_distance(simulated: Shots, real: Shots) -> float:
    """The mean over lasers of the Bhattacharyya distance of their whole 2D histograms (A, Table I)."""
    _check_bins(simulated, real)
    return float(np.mean([_compare_laser(simulated, real, int(laser)) for laser in np.unique(real.laser)]))


def direction_distances(simulated: Shots, real: Shots) -> Array:
    """The Bhattacharyya distance (d,) of the range histograms in each direction that has real shots, ascending.

    Infinity where no range bin is shared, or nothing was simulated.
    """
    _check_bins(simulated, real)
    coefficient = []
    for laser in np.unique(real.laser):
        bins, share_real, share_sim = _count_shared(simulated, real, int(laser), by_direction=True)
        directions = np.unique(real.angle[real.laser == laser])
        sums = np.zeros(len(directions))
        np.add.at(sums, np.searchsorted(directions, bins >> 32), np.sqrt(share_real * share_sim))
        coefficient.append(sums)
    with np.errstate(divide="ignore"):
        return np.maximum(-np.log(np.concatenate(coefficient)), 0.0)


def noise_floor(real: Shots, seed: int = 0) -> float:
    """The distance of two disjoint halves of ``real``: what shots of the same target have by chance.

    The shots of each direction are split at random; of an odd number one is left out, so that both halves have as many.
    """
    order = np.random.default_rng([seed, 0x666C6F6F]).permutation(len(real))
    direction = real.direction[order]
    rows = order[np.argsort(direction, kind="stable")]
    _, begin, count = np.unique(real.direction[rows], return_index=True, return_counts=True)
    place = np.arange(len(rows)) - np.repeat(begin, count)
    half = np.repeat(count // 2, count)
    if not half.any():
        raise ResweepError("noise floor: no direction has two shots; give more sweeps from one place")
    return histogram_distance(real[rows[place < half]], real[rows[(place >= half) & (place < 2 * half)]])


def _compare_laser(simulated: Shots, real: Shots, laser: int) -> float:
    _, share_real, share_sim = _count_shared(simulated, real, laser)
    return _minus_log(float(np.sqrt(share_real * share_sim).sum()))


def _count_shared(simulated: Shots, real: Shots, laser: int, by_direction: bool = False) -> tuple[Array, Array, Array]:
    """Bins (k,) of a laser that hold shots of both, and the share (k,) of the shots of each that they hold.

    The share is of the laser's shots or, ``by_direction``, of those in the bin's own direction.
    """
    shares = []
    for shots in (real, simulated):
        bins, count = shots.counts(laser)
        total = np.full(len(bins), count.sum())
        if by_direction:
            _, direction = np.unique(bins >> 32, return_inverse=True)
            total = np.bincount(direction, count)[direction]
        shares.append((bins, count / total))
    (bins_real, real_share), (bins_sim, sim_share) = shares
    bins, at_real, at_sim = np.intersect1d(bins_real, bins_sim, assume_unique=True, return_indices=True)
    return bins, real_share[at_real], sim_share[at_sim]


def _check_bins(simulated: Shots, real: Shots) -> None:
    if (simulated.angle_deg, simulated.range_m) != (real.angle_deg, real.range_m):
        raise ResweepError("histogram: real and simulated shots have bins of different sizes; use the same for both")
    if len(real) == 0:
        raise ResweepError("histogram: no real shot; give sweeps with beams")


def _minus_log(coefficient: float) -> float:
    return max(float(-np.log(coefficient)), 0.0) if coefficient > 0 else float("inf")
