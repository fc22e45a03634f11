"""`evaluate`: a simulated log or sweep against a real one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from resweep.errors import ResweepError, nearest_names
from resweep.evaluation.compare.pairing import pair_sweeps
from resweep.evaluation.metrics.column import Column
from resweep.evaluation.metrics.metrics import COST_METRICS
from resweep.evaluation.metrics.sums import Values
from resweep.evaluation.pair_totals import PairTotals
from resweep.evaluation.report.report import Report
from resweep.labels import UNKNOWN_LABELS, LabelSet, load_labels
from resweep.log import Log
from resweep.map_filter import MapFilter
from resweep.memory import parse_memory
from resweep.progress import open_progress
from resweep.sensors.infer.inferred_drive import prepare_drive
from resweep.simulate import Retracer
from resweep.sweep import Sweep
from resweep.work import OneProcess, Workers
from resweep.worlds import StreamedWorld, World


def evaluate(
    sim: Log | Sweep,
    real: Log | Sweep,
    *,
    extra: Mapping[str, float] | None = None,
    recorded: Log | None = None,
    accumulate: bool = False,
    labels: LabelSet | str | Path | None = None,
    thin_labels: Iterable[int] | None = None,
    range_max_m: float | None = None,
    tolerance_rad: float | None = None,
    max_gap_s: float | None = None,
    world: World | StreamedWorld | None = None,
    threads: int = 0,
    memory: int | str | None = None,
    workers: Workers | None = None,
    progress: bool = False,
) -> Report:
    """Compare simulated sweeps with real ones; every metric is defined in `METRICS`.

    Logs of equal length pair up by index, others by nearest timestamp within ``max_gap_s`` (default: half the shorter
    sweep period). Both logs are prepared (`prepare_drive`). Where the simulated one fired the beams of a recording
    (`resweep.resimulate`), its sweeps have the motion of the real ones, and beams that returned from what the map of
    its world left out do not count; the report says how many. Clouds are compared in world coordinates with motion
    undone, or in the sensor's frame where a log does not know its poses. ``c2c_m`` is to the whole recorded cloud: all
    sweeps of ``recorded`` (default: of ``real``), which is labelled like ``real``. ``accumulate`` also compares the
    paired sweeps as one cloud each.

    Classes are named by the vocabulary of ``real``; simulated labels of another one are mapped to it. ``labels`` is
    the vocabulary of a side that does not know its own. ``thin_labels`` are the ids of thin structures (default:
    those of the vocabulary). ``range_max_m`` is the data range of the range images (default: that of the real sensor,
    then of the simulated one, then the largest real range). ``tolerance_rad`` is how far apart beams matched by
    direction may be. ``extra`` takes figures that the caller knows: primitives, build_s, sweeps_per_s. With a
    ``world``, ``log_likelihood`` is that of the real beams in it, each sweep registered to it by its pose
    (`resweep.Retracer.for_log`).
    ``threads``: 0 for all cores. ``memory`` bounds what is held, such as "4GB" or a number of bytes (default: half of
    the machine's): clouds beyond it are kept in temporary files, and figures do not depend on it.
    ``workers`` load and compare the pairs (default: this process); figures do not depend on them either.
    ``progress`` shows how many pairs are compared.

    Example: ``print(rs.evaluate(rs.open_log("simulated"), rs.open_log("recorded"))["c2c_m"])``
    """
    sim_log, real_log = _to_log(sim, "the simulated", labels), _to_log(real, "the real", labels)
    if labels is not None and sim_log.labels.known and real_log.labels.known:
        _check_needed(load_labels(labels), sim_log.labels, real_log.labels)
    known = _check_extra(extra or {})
    _check_positive(range_max_m=range_max_m, tolerance_rad=tolerance_rad, max_gap_s=max_gap_s)
    sim_log = sim_log if sim_log.map_filter is not None else prepare_drive(sim_log)
    real_log = prepare_drive(real_log)
    recorded = None if recorded is None else prepare_drive(recorded)
    pairs = pair_sweeps(sim_log, real_log, max_gap_s)
    limits = (thin_labels, range_max_m, threads, parse_memory(memory))
    totals = PairTotals(sim_log, real_log, recorded, len(pairs), *limits, _choose_left_out(sim_log, real_log))
    if accumulate:
        if totals.same_frame:
            raise ResweepError("evaluate: accumulate needs poses, and a log has none; open it with poses=")
        totals.accumulate = True
    with open_progress(progress) as shown:
        shown.start("comparing sweeps", len(pairs))
        totals.compare_pairs(
            pairs, tolerance_rad, workers or OneProcess(), lambda done, total: shown.advance(1, f"{done}/{total}")
        )
    totals.compare_with_recorded()
    if totals.accumulated is not None:
        totals.accumulated.sum_into(totals.total)
    if world is not None:
        known["log_likelihood"] = _average_likelihood(world, real_log, [at_real for _, at_real in pairs])
    return totals.report(known)


def _choose_left_out(sim: Log, real: Log) -> MapFilter | None:
    """The recorded returns without counterpart in a simulated log that fired recorded beams; None for other logs."""
    if sim.map_filter is None:
        return None
    foreign = sim.labels.known and real.labels.known and not sim.labels.same_as(real.labels)
    return MapFilter(near_m=sim.map_filter.near_m) if foreign else sim.map_filter  # ids of another vocabulary


def _average_likelihood(world: World | StreamedWorld, real: Log, numbers: list[int]) -> float:
    """The mean log-likelihood of the beams of some sweeps, but those that returned from what no map holds."""
    retracer, beams = Retracer.for_log(world, real), Column()
    for at in numbers:
        sweep = real[at]
        found = retracer.log_likelihood(sweep)
        beams.append(found if world.map_filter is None else found[world.map_filter.keeps_beams(sweep)])
    return beams.mean()


def _to_log(given: Any, which: str, labels: LabelSet | str | Path | None) -> Log:
    """A log, with the vocabulary ``labels`` where it does not know its own."""
    if isinstance(given, Sweep):
        given = Log.from_sweeps([given])
    if not isinstance(given, Log):
        raise ResweepError(
            f"evaluate: {which} side is a {type(given).__name__}; give a Log (rs.open_log) or a Sweep (rs.load_sweep)"
        )
    if len(given) == 0:
        raise ResweepError(f"evaluate: {which} log '{given.name}' holds no sweep; choose a longer part of it")
    if labels is not None and given.labels.same_as(UNKNOWN_LABELS):
        return replace(given, labels=load_labels(labels))
    return given


def _check_needed(labels: LabelSet, *own: LabelSet) -> None:
    if not any(labels.same_as(item) for item in own):
        raise ResweepError(
            f"evaluate: labels is {labels.name}, but both logs know theirs ({', '.join(item.name for item in own)}); "
            "leave it out"
        )


def _check_extra(extra: Mapping[str, float]) -> Values:
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
