"""Held-out sweeps: build a world from the rest of a log, trace the held-out beams in it, compare."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from resweep.errors import ResweepError
from resweep.evaluation.compare.breakdown import Breakdown, rate_confidence
from resweep.evaluation.evaluate_logs import evaluate
from resweep.evaluation.metrics.column import Column
from resweep.evaluation.metrics.metrics import METRICS
from resweep.evaluation.report.report import Report
from resweep.log import Log
from resweep.memory import parse_memory, resident_memory
from resweep.pose import Array
from resweep.sensors.infer.drive import prepare_drive
from resweep.simulate import RealismModel, Retracer
from resweep.sweep import Sweep
from resweep.worlds import StreamedWorld, World

_COMPARING = 500 * 10**6  # bytes for a pair of sweeps and what is near it


def holdout(
    log: Log,
    held: Sequence[int],
    build: Callable[[Log], World | StreamedWorld],
    mappable: Callable[[Sweep], Array] | None = None,
    *,
    memory: int | str | None = None,
    realism: RealismModel | None = None,
    motion: bool = True,
    **options: Any,
) -> Report:
    """Build from all sweeps but ``held``, trace the beams of those again at their poses, and compare.

    ``mappable(sweep)`` (n,) says which returns a map of the place could hold; beams that returned from
    anything else, such as moving cars, are left out on both sides, and the report says how many.
    Motion that compensation left in sweeps is corrected by the poses (`prepare_drive`), in those held out too.
    Held-out sweeps are first aligned with the world by their own ranges (`Retracer.register`), since calibrating the
    lasers and poses of the others moves the map by centimetres: their poses and, with ``motion``, the motion within
    them. Every beam is given its most likely return, since
    even a perfect stochastic world scatters; ``log_likelihood`` is that of the whole distribution. The recorded cloud
    of ``c2c_m`` is the whole log. Held-out sweeps are traced as they are compared, none is kept. ``memory``
    bounds what the comparison holds beside the world; it and ``options`` are those of `evaluate`. With a learned model
    ``realism`` the beams are simulated once, as it says, in place of predicted; likelihoods stay those of the world.
    """
    chosen = sorted({int(index) for index in held})
    for index in chosen:
        if not 0 <= index < len(log):
            raise ResweepError(f"holdout: the log has sweeps 0 to {len(log) - 1}, there is no sweep {index}")
    rest = [index for index in range(len(log)) if index not in set(chosen)]
    if not chosen or not rest:
        raise ResweepError(f"holdout: {len(chosen)} of {len(log)} sweeps are held out; keep some on either side")
    if realism is not None:
        realism.check_scale(log.intensity_scale)
    log = prepare_drive(log)
    begun = time.perf_counter()
    world = build(log[rest])
    build_s = time.perf_counter() - begun
    slope = None if log.sensor is None else log.sensor.beam_slope
    held_out = _HeldOut(log, chosen, Retracer(world, beam_slope=slope, realism=realism), mappable, motion)
    # A vocabulary that the build was given for an unknown log is that of the log.
    labels = log.labels if log.labels.known else world.labels
    real = replace(log[chosen], load=held_out.real, labels=labels)
    simulated = replace(log[chosen], load=held_out.simulated, name="simulated", labels=world.labels)
    # What the world takes beyond the bound was the build's to say.
    memory = max(parse_memory(memory), resident_memory() + _COMPARING)
    report = evaluate(simulated, real, recorded=log, memory=memory, **options)
    sweeps_per_s = len(chosen) / held_out.tracing_s
    known = {"primitives": float(world.n_primitives), "build_s": build_s, "sweeps_per_s": sweeps_per_s}
    values = {**report.metrics, **known, "log_likelihood": held_out.likelihoods.mean()}
    metrics = {name: values[name] for name in METRICS if name in values}
    left_out, beams = held_out.left_out, held_out.beams
    note = (
        f"held out: sweeps {', '.join(map(str, chosen))}; built from {len(rest)} others; {left_out:,} of {beams:,} "
        "beams left out, as they returned from what no map holds (moving, outliers, the vehicle itself)"
    )
    # Sweeps go by their numbers in the log.
    rows = [{**row, "sim": chosen[row["sim"]], "real": chosen[row["real"]]} for row in report.per_sweep]
    calibration = report.calibration or held_out.stated.calibration()
    return replace(report, metrics=metrics, per_sweep=rows, calibration=calibration, notes=[*report.notes, note])


class _HeldOut:
    """The held-out sweeps of a log and what the world predicts for them, computed as they are asked for.

    Comparing asks for both of a pair one after the other, so the latest pair is kept.
    """

    def __init__(
        self,
        log: Log,
        chosen: Sequence[int],
        retracer: Retracer,
        mappable: Callable[[Sweep], Array] | None,
        motion: bool,
    ) -> None:
        self.log, self.chosen, self.retracer, self.mappable, self.motion = log, chosen, retracer, mappable, motion
        self.left_out = self.beams = 0
        self.tracing_s = 0.0
        self.likelihoods = Column()
        self.stated = Breakdown()
        self._traced: set[int] = set()
        self._latest: tuple[int, Sweep, Sweep] | None = None

    def real(self, at: int) -> Sweep:
        """The beams of held-out sweep ``at`` that a map could hold."""
        return self._pair(at)[1]

    def simulated(self, at: int) -> Sweep:
        """The same beams, each with the most likely return of the world."""
        return self._pair(at)[2]

    def _pair(self, at: int) -> tuple[int, Sweep, Sweep]:
        if self._latest is None or self._latest[0] != at:
            self._latest = self._trace(at)
        return self._latest

    def _trace(self, at: int) -> tuple[int, Sweep, Sweep]:
        sweep = whole = self.log[self.chosen[at]]
        if self.mappable is not None:
            keep = np.ones(sweep.n_beams, bool)
            keep[sweep.beam[~self.mappable(sweep)]] = False
            sweep = sweep.select_beams(keep)
        placed = self.retracer.register(sweep, self.motion)
        begun = time.perf_counter()
        learned = self.retracer.realism is not None
        simulated = self.retracer.sweep(sweep, at, placed) if learned else self.retracer.predict(sweep, placed)
        if at not in self._traced:  # figures count a sweep once, however often it is asked for
            self.tracing_s += time.perf_counter() - begun
            self.likelihoods.append(self.retracer.log_likelihood(sweep, placed))
            if not learned:  # predictions state no confidence, simulated returns do
                self.stated.add(rate_confidence(self.retracer.sweep(sweep, at, placed), sweep))
            self.left_out += whole.n_beams - sweep.n_beams
            self.beams += whole.n_beams
            self._traced.add(at)
        return at, sweep, simulated
