"""`evaluate`: a simulated log or sweep against a real one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

import resweep
from resweep.errors import ResweepError, nearest_names
from resweep.evaluation.caveats import Notes
from resweep.evaluation.classes import THIN_LABELS
from resweep.evaluation.metrics import COST_METRICS, METRICS, nearest_distances
from resweep.evaluation.pair import Cloud, Pair, compare_pair, tally_classes
from resweep.evaluation.report import Report
from resweep.evaluation.sums import Tally, Values
from resweep.log import Log
from resweep.pose import Array, inverse, transform
from resweep.simulate.retrace import Retracer
from resweep.sweep import Sweep
from resweep.worlds import World


def evaluate(
    sim: Log | Sweep,
    real: Log | Sweep,
    *,
    extra: Mapping[str, float] | None = None,
    accumulate: bool = False,
    thin_labels: Iterable[int] = THIN_LABELS,
    range_max_m: float | None = None,
    tolerance_rad: float | None = None,
    max_gap_s: float | None = None,
    world: World | None = None,
    workers: int = -1,
    progress: Callable[[int, int], None] | None = None,
) -> Report:
    """Compare simulated sweeps with real ones; every metric is defined in `METRICS`.

    Logs of equal length pair up by index, others by nearest timestamp within ``max_gap_s`` (default: half
    the shorter sweep period). Clouds are compared in world coordinates with motion undone, or in the
    sensor's frame where a log does not know its poses. ``accumulate`` also compares all sweeps as one
    cloud, which takes memory for all of their points. ``range_max_m`` is the data range of the range images
    (default: that of the real sensor, then of the simulated one, then the largest real range).
    ``tolerance_rad`` is how far apart beams matched by direction may be. ``extra`` takes figures that the
    caller knows: primitives, build_s, sweeps_per_s. With a ``world``, ``log_likelihood`` says how likely it holds
    the real beams to be (`resweep.simulate.Retracer`). ``progress(done, total)`` is called after each pair.
    """
    sim_log, real_log = _as_log(sim, "the simulated"), _as_log(real, "the real")
    known = _checked_extra(extra or {})
    _check_positive(range_max_m=range_max_m, tolerance_rad=tolerance_rad, max_gap_s=max_gap_s)
    pairs = pair_sweeps(sim_log, real_log, max_gap_s)
    run = _Run(sim_log, real_log, len(pairs), tuple(int(label) for label in thin_labels), range_max_m)
    if accumulate and run.same_frame:
        raise ResweepError("evaluate: accumulate needs poses, and a log knows none; open it with poses=")
    for done, (at_sim, at_real) in enumerate(pairs, start=1):
        run.add(at_sim, at_real, accumulate, tolerance_rad=tolerance_rad, workers=workers)
        if progress is not None:
            progress(done, len(pairs))
    if accumulate:
        _tally_map(run.total, run.clouds, workers)
    if world is not None:
        slope = None if real_log.sensor is None else real_log.sensor.beam_slope
        retracer = Retracer(world, beam_slope=slope)
        beams = np.concatenate([retracer.log_likelihood(real_log[at_real]) for _, at_real in pairs])
        known["log_likelihood"] = float(beams.mean())
    return run.report(known)


class _Run:
    """Pairs compared so far: their sums, a row of metrics each, and the worst of them for drawing."""

    def __init__(self, sim: Log, real: Log, n_pairs: int, thin: tuple[int, ...], range_max_m: float | None) -> None:
        self.sim, self.real, self.thin, self.range_max_m = sim, real, thin, range_max_m
        self.same_frame = "unknown" in (sim.meta.get("poses"), real.meta.get("poses"))
        self.total = Tally()
        self.rows: list[dict[str, Any]] = []
        self.clouds: list[tuple[Cloud, Cloud]] = []
        self.notes = Notes(len(sim), len(real), n_pairs, self.same_frame)
        self.worst: tuple[float, int, Pair] | None = None

    def add(self, at_sim: int, at_real: int, keep_clouds: bool, **options: Any) -> None:
        """Compare one pair; ``keep_clouds`` for the accumulated clouds."""
        sim, real = self.sim[at_sim], self.real[at_real]
        if self.range_max_m is None:
            self.range_max_m = _range_max(self.sim, sim, self.real, real)
        pair = compare_pair(sim, real, self.range_max_m, same_frame=self.same_frame, **options)
        self.notes.see(sim, real, pair)
        self.total.add(pair.tally)
        values = pair.tally.metrics(self.thin, self.range_max_m)
        badness = values["c2c_m"] or 0.0
        if self.worst is None or badness > self.worst[0]:
            self.worst = (badness, len(self.rows), pair)
        self.rows.append({"sim": at_sim, "real": at_real, "time_s": float(self.real.times[at_real]), **values})
        if keep_clouds:
            self.clouds.append(_in_world(pair, real, self.real.poses[self.rows[0]["real"]]))

    def report(self, known: Values) -> Report:
        """The report of all pairs, with figures that the caller knew."""
        assert self.worst is not None
        assert self.range_max_m is not None
        _, drawn_row, drawn = self.worst
        values = {**self.total.metrics(self.thin, self.range_max_m), **known}
        return Report(
            metrics={name: values[name] for name in METRICS if name in values},
            per_sweep=self.rows,
            per_class=self.total.per_class(),
            range_errors=self.total.error_curves(),
            notes=self.notes.lines(),
            settings={
                "resweep": resweep.__version__,
                "sim": _title(self.sim),
                "real": _title(self.real),
                "sweeps": len(self.rows),
                "range_max_m": self.range_max_m,
                "thin_labels": list(self.thin),
                "drawn_row": drawn_row,
            },
            drawn=drawn,
        )


def _as_log(given: Any, which: str) -> Log:
    if isinstance(given, Sweep):
        return Log.from_sweeps([given])
    if not isinstance(given, Log):
        raise ResweepError(
            f"evaluate: {which} side is a {type(given).__name__}; give a Log (rs.open_log) or a Sweep (rs.read_sweep)"
        )
    if len(given) == 0:
        raise ResweepError(f"evaluate: {which} log '{given.name}' holds no sweep; choose a longer part of it")
    return given


def _checked_extra(extra: Mapping[str, float]) -> Values:
    for name, value in extra.items():
        if name not in COST_METRICS:
            raise ResweepError(f"evaluate: extra figure '{name}' is unknown; {nearest_names(name, COST_METRICS)}")
        if not np.isfinite(value) or value < 0:
            raise ResweepError(f"evaluate: extra figure '{name}' is {value}; give a number from 0 up")
    return {name: float(value) for name, value in extra.items()}


def _check_positive(**options: float | None) -> None:
    for name, value in options.items():
        if value is not None and not (np.isfinite(value) and value > 0):
            raise ResweepError(f"evaluate: {name} is {value}; give a number above 0")


def pair_sweeps(sim: Log, real: Log, max_gap_s: float | None = None) -> list[tuple[int, int]]:
    """Which sweeps to compare, as (simulated, real) indices in order of time.

    By index where the logs are equally long; else each sweep of the shorter log takes the one nearest in
    time of the longer, if it is within ``max_gap_s`` and no other is nearer to that.
    """
    if len(sim) == len(real) and max_gap_s is None:
        return [(at, at) for at in range(len(sim))]
    swap = len(sim) > len(real)
    few, many = (real.times, sim.times) if swap else (sim.times, real.times)
    gap_s = _half_period(sim.times, real.times) if max_gap_s is None else max_gap_s
    apart = np.abs(few[:, None] - many[None, :])
    nearest = apart.argmin(axis=1)
    taken: dict[int, int] = {}
    for at in np.argsort(apart.min(axis=1), kind="stable").tolist():
        if apart[at, nearest[at]] <= gap_s:
            taken.setdefault(int(nearest[at]), at)
    if not taken:
        raise ResweepError(
            f"evaluate: no simulated sweep ({sim.times[0]:.3f} to {sim.times[-1]:.3f} s) lies within {gap_s:.3f} s of "
            f"a real one ({real.times[0]:.3f} to {real.times[-1]:.3f} s); give logs of equal length or matching times"
        )
    both = [(other, at) if swap else (at, other) for other, at in taken.items()]
    return sorted(both)


def _half_period(*times: Array) -> float:
    periods = [float(np.median(np.diff(np.sort(each)))) for each in times if len(each) > 1]
    return min(periods) / 2


def _range_max(sim_log: Log, sim: Sweep, real_log: Log, real: Sweep) -> float:
    from resweep.sensors import load_sensor, sensor_names

    for log, sweep in ((real_log, real), (sim_log, sim)):
        spec = log.meta.get("sensor")
        if isinstance(spec, Mapping) and "range_max_m" in spec:
            return float(spec["range_max_m"])
        if sweep.sensor in sensor_names():
            return float(load_sensor(sweep.sensor).range_max_m)
    largest = [float(np.nanmax(sweep.range)) for sweep in (real, sim) if len(sweep)]
    return max(float(np.ceil(largest[0])), 1.0) if largest else 1.0


def _in_world(pair: Pair, real: Sweep, origin: Array) -> tuple[Cloud, Cloud]:
    """Both clouds in the frame of the first real pose, which keeps float32 exact in any world."""
    T_origin_real = inverse(origin) @ real.pose
    moved = [transform(T_origin_real, cloud.points.astype(np.float64)) for cloud in (pair.sim, pair.real)]
    return Cloud(moved[0].astype(np.float32), pair.sim.label), Cloud(moved[1].astype(np.float32), pair.real.label)


def _tally_map(total: Tally, clouds: list[tuple[Cloud, Cloud]], workers: int) -> None:
    sim, real = (
        Cloud(
            np.concatenate([both[side].points for both in clouds]),
            np.concatenate([both[side].label for both in clouds]),
        )
        for side in (0, 1)
    )
    if len(sim.points) and len(real.points):
        total.sums["map_n"] = len(sim.points)
        total.sums["map"] = float(nearest_distances(sim.points, real.points, workers).sum())
        tally_classes(total, sim, real, "map", workers)


def _title(log: Log) -> str:
    names = dict.fromkeys(part for part in (log.name, log.sensor_name) if part)
    return " · ".join(names) or "sweep"
