"""Pairs of sweeps as tasks: each is loaded and compared where a worker is, and comes back as little as is needed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from resweep.evaluation.compare.beam_comparison import find_relative_pose
from resweep.evaluation.compare.breakdown import Breakdown
from resweep.evaluation.compare.pair import Pair, PairCloud, compare_pair
from resweep.evaluation.compare.recorded_beams import pair_recorded
from resweep.evaluation.metrics.sums import MetricSums
from resweep.intensity_scale import to_relative
from resweep.label_mapping import relabel
from resweep.labels import LabelSet
from resweep.log import Log
from resweep.map_filter import MapFilter
from resweep.pose import Array
from resweep.sensors import load_sensor, sensor_names
from resweep.sweep import Sweep


@dataclass(frozen=True, eq=False)
class Comparison:
    """What all pairs of two logs have in common; ``labels`` is the vocabulary of both once ``maps`` has mapped ``sim``.

    ``left_out`` is there where the simulated sweeps fired the beams of a recording: the returns of it that have no
    counterpart (`pair_recorded`). ``keeps_sim`` and ``keeps_real`` say whether the clouds of a side in the world are
    asked for, ``keeps_frame`` whether those in the frame of the real sweep are, ``keeps_pair`` whether all of a pair
    is. ``full_scales`` are those of the intensities of both sides, which are compared as shares of them.
    """

    sim: Log
    real: Log
    labels: LabelSet
    maps: bool
    range_max_m: float
    same_frame: bool
    beams_known: bool
    tolerance_rad: float | None
    threads: int
    left_out: MapFilter | None
    keeps_sim: bool
    keeps_real: bool
    keeps_frame: bool
    keeps_pair: bool
    full_scales: tuple[float | None, float | None] = (1.0, 1.0)


@dataclass(frozen=True)
class PairFacts:
    """How a pair was compared: see `Caveats`. Sides are (simulated, real); ``left_out`` counts recorded beams."""

    how: str
    layout: str
    beams: tuple[int, int]
    matched: int
    between_rad: float
    returned: tuple[int, int]
    all_returned: tuple[bool, bool]
    apart_m: float
    left_out: int


@dataclass(frozen=True, eq=False)
class PairResult:
    """A pair that was compared: its sums, and what was asked for of it.

    ``seen`` are the labels of the simulated sweep before they were mapped. Clouds are points (n, 3) and labels (n,):
    ``sim`` and ``real`` in the world, ``in_frame`` both of them in the frame of the real sweep's pose, and that.
    """

    sums: MetricSums
    breakdown: Breakdown
    facts: PairFacts
    seen: tuple[int, ...]
    sim: tuple[Array, Array] | None
    real: tuple[Array, Array] | None
    in_frame: tuple[PairCloud, PairCloud, Array] | None
    pair: Pair | None


def compare_at(comparison: Comparison, numbers: tuple[int, int]) -> PairResult:
    """Load and compare the sweeps of two ``numbers``, the simulated one's and the real one's."""
    seen: set[int] = set()
    log = relabel(comparison.sim, comparison.labels, seen=seen) if comparison.maps else comparison.sim
    sim = _scale_intensity(log[numbers[0]], comparison.full_scales[0])
    real = _scale_intensity(comparison.real[numbers[1]], comparison.full_scales[1])
    fired = real.n_beams
    if comparison.left_out is not None:
        sim, real = pair_recorded(sim, real, comparison.left_out)
    pair = compare_pair(
        sim,
        real,
        comparison.range_max_m,
        comparison.labels,
        same_frame=comparison.same_frame,
        beams_known=comparison.beams_known,
        tolerance_rad=comparison.tolerance_rad,
        threads=comparison.threads,
    )
    hits = [beams.returned for beams in pair.beams]
    facts = PairFacts(
        how=pair.match.how,
        layout=pair.images.layout,
        beams=(sim.n_beams, real.n_beams),
        matched=len(pair.match.real),
        between_rad=pair.match.apart_rad,
        returned=(int(hits[0].sum()), int(hits[1].sum())),
        all_returned=(bool(hits[0].all()), bool(hits[1].all())),
        apart_m=0.0 if comparison.same_frame else float(np.linalg.norm(find_relative_pose(sim, real)[:3, 3])),
        left_out=fired - real.n_beams,
    )
    return PairResult(
        pair.sums,
        pair.breakdown,
        facts,
        tuple(sorted(seen)),
        (sim.world_points(), sim.label) if comparison.keeps_sim else None,
        (real.world_points(), real.label) if comparison.keeps_real else None,
        (pair.sim, pair.real, real.pose) if comparison.keeps_frame else None,
        pair if comparison.keeps_pair else None,
    )


def _scale_intensity(sweep: Sweep, scale: float | None) -> Sweep:
    return sweep if scale in (None, 1.0) else replace(sweep, intensity=to_relative(sweep.intensity, scale))


def find_full_scales(sim: Log, real: Log) -> tuple[float | None, float | None]:
    """What intensities of the two logs are divided by to compare them: the full scale of each.

    Counts of which only one log knows the scale, or none, have the same: noise may carry one of them beyond a bound.
    """
    scales = (sim.full_scale, real.full_scale)
    known = [log.intensity_scale for log in (sim, real) if log.intensity_scale is not None]
    if len(known) < 2 and all(scale is not None and scale > 1.0 for scale in scales):
        same = known[0] if known else max(scale for scale in scales if scale is not None)
        return same, same
    return scales


def find_range_max(sim_log: Log, sim: Sweep, real_log: Log, real: Sweep) -> float:
    """The data range of range images: that of the real sensor, of the simulated one, or of what a first pair holds."""
    for log, sweep in ((real_log, real), (sim_log, sim)):
        if log.sensor is not None:
            return float(log.sensor.range_max_m)
        if sweep.sensor in sensor_names():
            return float(load_sensor(sweep.sensor).range_max_m)
    largest = [float(np.nanmax(sweep.range)) for sweep in (real, sim) if len(sweep)]
    return max(float(np.ceil(largest[0])), 1.0) if largest else 1.0


def hold_sweep(log: Log, at: int, sweep: Sweep) -> Log:
    """The log, whose sweep ``at`` was loaded already, and is not loaded again the first time that it is asked for."""
    held = {at: sweep}

    def load(read: Callable[[], Sweep], number: int) -> Sweep:
        return held.pop(number) if number in held else read()

    return log.guard(load, "hold a sweep")
