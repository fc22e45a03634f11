"""How long a build will take: the work of its stages, counted in beams and sweeps, at the pace of this machine."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from resweep.build import limits
from resweep.build.hybrid.hybrid import uses_beams
from resweep.build.parts import STAGES
from resweep.build.plan import Plan
from resweep.build.refine import refine
from resweep.build.settings.hybrid import HybridConfig
from resweep.build.settings.refine import REFINEMENTS
from resweep.build.settings.splats import LONG_SWEEPS, SplatConfig
from resweep.build.stationary import fit as stationary
from resweep.calibrate.config import CalibrateConfig
from resweep.log import Log
from resweep.neighbours import Neighbours
from resweep.progress import MIN_STATED_S, ExpectedTime, Stages, is_shown, write_line
from resweep.progress.expected import format_about

LONG_S = 300.0  # from which on a command says what would take less
_MEASURED_S = 5.0  # of work, from which on it is worth measuring the machine; chosen by hand

# Processor seconds of each million returns, by the profiles of ten labelled sweeps of SemanticKITTI 05 and of ten
# unlabelled ones of KITTI raw 0051, and of four of the former for the other methods. They are within a factor of two.
_READ = 0.9
_LABELLED, _DESCRIBED, _PERMEABILITY, _LIKELIHOOD = 0.6, 2.0, 3.0, 15.0
_COVER = {"SplatConfig": 7.0, "SurfelConfig": 3.0, "VolumeConfig": 3.0, "MeshConfig": 14.0}
_SPLATS, _VOLUMES = 5.5, 2.5  # of a hybrid
_THINNED = 0.6  # of the splats of a long log
_AT_REST = (6.0, 12.0)
_REFINED, _TRIED = 10.0, 60.0  # of the sweeps that take part
_LIMITS = 4.5  # of the sweeps that are looked at
_WRITE = 0.2
_OVERLAP = 1.4  # of tiles, whose surroundings are fitted with them
# Of the calibration, for each million returns or samples and each iteration.
_PLACED, _SAMPLED, _BIAS = 0.5, 10.0, 8.0
_KNN_S, _SORT_S = 0.7e-6, 0.06e-6  # of a point, by the same processor
_PARALLEL = 0.6  # share of the work that runs on all cores
_PROBED, _PROBE_S = 20_000, 0.2  # points, and seconds that each of two measurements takes at least


@dataclass(frozen=True)
class TimeEstimate:
    """The ``seconds`` that each stage of a build is expected to take, in order, for ``sweeps`` of ``beams`` each."""

    seconds: dict[str, float]
    sweeps: int
    beams: int

    @property
    def total_s(self) -> float:
        """Seconds of all stages."""
        return sum(self.seconds.values())

    @property
    def is_long(self) -> bool:
        """Whether one would rather do something else meanwhile."""
        return self.total_s > LONG_S

    def __str__(self) -> str:
        longest = sorted(self.seconds, key=lambda name: -self.seconds[name])[:2]
        parts = ", ".join(f"{name} {format_about(self.seconds[name])}" for name in longest)
        size = f"{self.sweeps:,} sweep{'s' if self.sweeps > 1 else ''} of about {self.beams:,} beams"
        return f"expected to take about {format_about(self.total_s)}: {size}; longest: {parts}"


OnEstimate = Callable[[TimeEstimate], None]


def open_stages(
    log: Log, plan: Plan, stages: Sequence[str], show: bool, on_estimate: OnEstimate | None = None
) -> Stages:
    """The ``stages`` of a build as a context; says first how long they are expected to take, if that is long."""
    shown = show and is_shown()
    if not shown and on_estimate is None:
        return Stages(stages, show=False)
    estimate = estimate_time(log, plan, stages)
    if shown and estimate.total_s >= MIN_STATED_S:
        write_line(str(estimate))
    if on_estimate is not None:
        on_estimate(estimate)
    return Stages(stages, show=show, expected=ExpectedTime(estimate.seconds))


def estimate_time(log: Log, plan: Plan, stages: Sequence[str]) -> TimeEstimate:
    """How long the ``stages`` of a build will take, within a factor of two or so; decodes two sweeps.

    A machine that is busy is measured so: what it has left for this process counts.
    """
    first = log[0]  # the grid and the compensation of a log are estimated with it, once
    begun = time.perf_counter()
    _ = log[min(1, len(log) - 1)]
    decode_s = time.perf_counter() - begun
    work = count_work(plan, len(first), len(log))
    pace = 1.0
    if sum(work.values()) + len(log) * decode_s > _MEASURED_S:
        pace = measure_pace()
    if plan.calibrates and len(stages) > 1:  # limits are estimated once the layers are there
        looked_at = limits.count_sweeps(len(log), plan.config.quick)
        work[stages[-2]] = work.get(stages[-2], 0.0) + _LIMITS * looked_at * len(first) / 1e6
    seconds = {name: pace * work.get(name, 0.0) for name in stages}
    seconds[stages[0]] += len(log) * decode_s
    return TimeEstimate(seconds, len(log), first.n_beams)


def count_work(plan: Plan, returns: int, sweeps: int) -> dict[str, float]:
    """Processor seconds of each stage of a plan for ``sweeps`` of so many ``returns``, by its name."""
    config, each = plan.config, returns / 1e6
    points = sweeps * each
    work = {"calibrating lasers": _count_calibration(config.calibrate, returns, sweeps)}
    work["reading sweeps"] = _READ * points
    kept = points * (_THINNED if sweeps > LONG_SWEEPS else 1.0)
    if plan.stationary:
        work |= dict(zip(stationary.STAGES, (seconds * points for seconds in _AT_REST), strict=True))
    elif isinstance(config, HybridConfig):
        finding, covering, learning = STAGES[plan.method]
        work |= {finding: _count_finding(config) * points, covering: _SPLATS * kept, learning: _VOLUMES * points}
    else:
        work |= {STAGES[plan.method][0]: _COVER[plan.method] * (kept if isinstance(config, SplatConfig) else points)}
    if config.refine != "none":
        taking = min(sweeps, REFINEMENTS[config.refine].sweeps)
        work[refine.STAGE] = (_TRIED if config.refine == "full" else _REFINED) * taking * each
    work["writing the world"] = _WRITE * points
    if plan.tile_m is not None:
        fitted = [*STAGES[plan.method][isinstance(config, HybridConfig) :], refine.STAGE]
        work["building tiles"] = _OVERLAP * sum(work.pop(name, 0.0) for name in fitted)
    return work


def _count_finding(config: HybridConfig) -> float:
    """Processor seconds a million returns until it is known what beams pass through."""
    if config.splats.method == "labels" and not uses_beams(0.0, config):
        return _LABELLED
    asked = {"permeability": _PERMEABILITY, "likelihood": _LIKELIHOOD, "flatness": _DESCRIBED}
    return _DESCRIBED + sum(asked[kind] for kind in config.evidence)


def _count_calibration(config: CalibrateConfig | None, returns: int, sweeps: int) -> float:
    if config is None:
        return 0.0
    samples = config.samples / 1e6
    placed = min(sweeps, config.sweeps) * min(returns, config.points_per_sweep) / 1e6
    found = config.iterations * (_PLACED * placed + _SAMPLED * min(samples, placed))
    found += _BIAS * 4 * samples if config.azimuth_bias_prior_m > 0 else 0.0
    if sweeps > config.sweeps and config.window is not None:
        of_windows = 2 * sweeps * min(returns, config.window_points) / 1e6  # which overlap
        found += config.window_iterations * (_PLACED + _SAMPLED / 10) * of_windows
    return found


def measure_pace() -> float:
    """How many seconds pass here while the reference processor works for one, by two short pieces of work.

    The first runs on all cores, the second on one. What else the machine does meanwhile counts.
    """
    points = np.random.default_rng(0).random((_PROBED, 3))
    parallel = _measure(lambda: Neighbours(points).knn(None, 20), _KNN_S * len(points))
    serial = _measure(lambda: np.argsort(points.ravel(), kind="stable"), _SORT_S * points.size)
    return _PARALLEL * parallel + (1 - _PARALLEL) * serial


def _measure(work: Callable[[], object], reference_s: float) -> float:
    """Seconds that ``work`` takes, over those that it takes the reference processor."""
    work()  # the first time, memory is taken too
    begun, count = time.perf_counter(), 0
    while (passed := time.perf_counter() - begun) < _PROBE_S:
        work()
        count += 1
    return passed / (count * reference_s)
