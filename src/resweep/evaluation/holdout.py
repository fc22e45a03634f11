"""Held-out sweeps: build a world from the rest of a log, trace the held-out beams in it, compare."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from resweep.errors import ResweepError
from resweep.evaluation.compare import evaluate
from resweep.evaluation.metrics import METRICS
from resweep.evaluation.report import Report
from resweep.log import Log
from resweep.pose import Array
from resweep.simulate import Retracer
from resweep.sweep import Sweep
from resweep.worlds import World


def holdout(
    log: Log,
    held: Sequence[int],
    build: Callable[[Log], World],
    mappable: Callable[[Sweep], Array] | None = None,
    **options: Any,
) -> Report:
    """Build from all sweeps but ``held``, trace the beams of those again at their poses, and compare.

    ``mappable(sweep)`` (n,) says which returns a map of the place could hold; beams that returned from
    anything else, such as moving cars, are left out on both sides, and the report says how many.
    The held-out poses are first aligned with the world (`resweep.simulate.align`), since calibrating the
    lasers and poses of the others moves the map by centimetres. Every beam is given its most likely return, since
    even a perfect stochastic world scatters; ``log_likelihood`` is that of the whole distribution. The recorded cloud
    of ``c2c_m`` is the whole log. ``options`` go to `evaluate`.
    """
    chosen = sorted({int(index) for index in held})
    for index in chosen:
        if not 0 <= index < len(log):
            raise ResweepError(f"holdout: the log has sweeps 0 to {len(log) - 1}, there is no sweep {index}")
    rest = [index for index in range(len(log)) if index not in set(chosen)]
    if not chosen or not rest:
        raise ResweepError(f"holdout: {len(chosen)} of {len(log)} sweeps are held out; keep some on either side")
    begun = time.perf_counter()
    world = build(log[rest])
    build_s = time.perf_counter() - begun
    slope = None if log.sensor is None else log.sensor.beam_slope
    retracer = Retracer(world, aligned=True, beam_slope=slope)
    real, simulated, left_out, tracing_s, likelihoods = [], [], 0, 0.0, []
    for index in chosen:
        sweep = log[index]
        if mappable is not None:
            keep = np.ones(sweep.n_beams, bool)
            keep[sweep.beam[~mappable(sweep)]] = False
            left_out += int((~keep).sum())
            sweep = sweep.select_beams(keep)
        pose = retracer.find_pose(sweep)
        begun = time.perf_counter()
        simulated.append(retracer.predict(sweep, pose))
        tracing_s += time.perf_counter() - begun
        likelihoods.append(retracer.log_likelihood(sweep, pose))
        real.append(sweep)
    known = {"primitives": world.n_primitives, "build_s": build_s, "sweeps_per_s": len(real) / tracing_s}
    # A vocabulary that the build was given for an unknown log is that of the log.
    labels = log.labels if log.labels.known else world.labels
    report = evaluate(
        log.with_sweeps(simulated, name="simulated", labels=world.labels),
        log.with_sweeps(real, labels=labels),
        extra=known,
        recorded=log,
        **options,
    )
    values = {**report.metrics, "log_likelihood": float(np.concatenate(likelihoods).mean())}
    metrics = {name: values[name] for name in METRICS if name in values}
    beams = sum(sweep.n_beams for sweep in real) + left_out
    note = (
        f"held out: sweeps {', '.join(map(str, chosen))}; built from {len(rest)} others; {left_out:,} of {beams:,} "
        "beams left out, as they returned from what no map holds (moving, outliers, the vehicle itself)"
    )
    return replace(report, metrics=metrics, notes=[*report.notes, note])
