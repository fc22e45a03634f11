"""The clouds that a model reads of one recorded sweep and its simulated pair, part by part swapped for each other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from resweep.evaluation.compare.beam_comparison import find_first_returns, make_comparable, match_beams
from resweep.pose import Array
from resweep.sweep import Sweep

REAL, SHARED, OURS, IDEAL, LIKELY = (
    "real",
    "real, only our beams",
    "ours",
    "ours, no noise",
    "ours, most likely returns",
)
NULL_NOISE, NULL_NEXT, CONTROL = "null: noise on ranges", "null: next real sweep", "negative control"
OUR_INTENSITY, OUR_GEOMETRY = "real geometry, our intensities", "our geometry, recorded intensities"
OUR_DROPS, REAL_DROPS = "recorded values, our drops", "our values, recorded drops"

# What each cloud is, in the order of tables.
CLOUDS: Mapping[str, str] = {
    REAL: "the recorded sweep, all beams",
    NULL_NOISE: "the recorded sweep with noise on its ranges: a judge's answers differ by that much in any case",
    NULL_NEXT: "the next recorded sweep, return by return at the nearest return of this one",
    SHARED: "the recorded sweep without the beams that we do not return",
    OURS: "the simulated sweep as it is by default, drawn",
    IDEAL: "the simulated sweep without noise",
    LIKELY: "the most likely return of each beam",
    OUR_INTENSITY: "the recorded sweep, only our beams, with our intensities",
    OUR_GEOMETRY: "our sweep with the recorded intensities, where the beam has one",
    OUR_DROPS: "our beams with the recorded ranges and intensities, where the beam has them",
    REAL_DROPS: "the recorded beams with our ranges and intensities, where we have them",
    CONTROL: "boxes and CAD on a plane, one noiseless ray a beam, constant intensity, no drop",
}
# What a part costs: the agreement of the first cloud, less that of the second, which differs in that part alone.
PARTS: Mapping[str, tuple[str, str]] = {
    "intensities": (SHARED, OUR_INTENSITY),
    "geometry": (SHARED, OUR_GEOMETRY),
    "drops": (REAL, OUR_DROPS),
}
_NEEDS_INTENSITY = (OUR_INTENSITY, OUR_GEOMETRY)


@dataclass(frozen=True, eq=False)
class JudgedCloud:
    """A sweep for a model to read, and which recorded return each of its own stands for.

    ``real_row`` (n,) is the row of that return in the recorded sweep, -1 where its beam did not return there.
    """

    sweep: Sweep
    real_row: Array

    def of(self, values: Array, missing: float) -> Array:
        """Values of the recorded returns, for the returns of this cloud; ``missing`` where there is none."""
        found = np.full(len(self.real_row), missing, np.asarray(values).dtype)
        known = self.real_row >= 0
        found[known] = values[self.real_row[known]]
        return found


@dataclass(frozen=True, eq=False)
class SimulatedSweep:
    """A simulated sweep and its recorded pair: the row of the other's return on the same beam, -1 for none."""

    sim: Sweep
    real: Sweep
    real_row: Array
    sim_row: Array

    @classmethod
    def pair(cls, sim: Sweep, real: Sweep) -> SimulatedSweep:
        """Two sweeps of first returns, from one place; beams are matched as `resweep.evaluate` matches them."""
        beams = make_comparable(sim, real, np.eye(4))
        match = match_beams(sim, real, beams, None, np.eye(4))
        first_sim, first_real = find_first_returns(sim)[match.sim], find_first_returns(real)[match.real]
        both = (first_sim >= 0) & (first_real >= 0)
        real_row, sim_row = np.full(len(sim), -1, np.int64), np.full(len(real), -1, np.int64)
        real_row[first_sim[both]], sim_row[first_real[both]] = first_real[both], first_sim[both]
        return cls(sim, real, real_row, sim_row)

    @property
    def cloud(self) -> JudgedCloud:
        """The simulated sweep itself."""
        return JudgedCloud(self.sim, self.real_row)

    def swap(self, intensities: bool) -> dict[str, JudgedCloud]:
        """Clouds of which some parts are recorded and others simulated; without ``intensities`` no swaps of those."""
        shared = self.sim_row >= 0
        rows, at_sim = np.flatnonzero(shared), self.sim_row[shared]
        only = self.real.select(shared)
        ours = self.cloud
        found = {
            SHARED: JudgedCloud(only, rows),
            OUR_INTENSITY: JudgedCloud(replace(only, intensity=self.sim.intensity[at_sim]), rows),
            OUR_GEOMETRY: JudgedCloud(_with(self.sim, self.real, self.real_row, ("intensity",)), ours.real_row),
            OUR_DROPS: JudgedCloud(_with(self.sim, self.real, self.real_row), ours.real_row),
            REAL_DROPS: JudgedCloud(_with(self.real, self.sim, self.sim_row), np.arange(len(self.real))),
        }
        return {name: cloud for name, cloud in found.items() if intensities or name not in _NEEDS_INTENSITY}


def _with(sweep: Sweep, other: Sweep, row: Array, columns: tuple[str, ...] = ("range", "intensity")) -> Sweep:
    """The sweep with columns of another, whose return ``row`` (n,) is on the same beam; its own where that is -1."""
    known = row >= 0
    changed = {}
    for name in columns:
        values = getattr(sweep, name).copy()
        values[known] = getattr(other, name)[row[known]]
        changed[name] = values
    return replace(sweep, **changed)


def take_first_returns(sweep: Sweep) -> Sweep:
    """The sweep with the first return of each beam; further ones do not count."""
    first = np.zeros(len(sweep), bool)
    rows = find_first_returns(sweep)
    first[rows[rows >= 0]] = True
    return sweep if first.all() else sweep.select(first)
