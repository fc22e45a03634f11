"""Held-out sweeps: build a world from the rest of a log, fire the held-out beams again in it, compare."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from resweep.build import BuildConfig, Checkpoints
from resweep.build.pipeline import build as rs_build
from resweep.build.pipeline import open_checkpoints
from resweep.build.plan import resolve
from resweep.errors import ResweepError
from resweep.evaluation.compare.placements import HEADLINE, Placements
from resweep.evaluation.evaluate_logs import evaluate
from resweep.evaluation.metrics.column import Column
from resweep.evaluation.metrics.metrics import METRICS
from resweep.evaluation.report.report import Report
from resweep.labels import LabelSet
from resweep.log import Log
from resweep.map_filter import MapFilter
from resweep.memory import measure_resident_memory, parse_memory
from resweep.sensors.infer.inferred_drive import prepare_drive
from resweep.simulate import RealismModel, Retracer
from resweep.sweep import Sweep
from resweep.worlds import StreamedWorld, World

_PAIR_BYTES = 500 * 10**6  # for comparing a pair of sweeps, with the recorded cloud near it


def holdout(
    log: Log,
    held: Sequence[int],
    config: BuildConfig | None = None,
    *,
    memory: int | str | None = None,
    partial: str | Path | None = None,
    progress: bool = True,
    realism: RealismModel | None = None,
    noise: bool = True,
    seed: int = 0,
    build: Callable[[Log], World | StreamedWorld] | None = None,
    accumulate: bool = False,
    labels: LabelSet | str | Path | None = None,
    threads: int = 0,
) -> Report:
    """Build from all sweeps of a log but ``held``, fire the beams of those again in the world, and compare.

    The figures are those of ``rs.evaluate(rs.resimulate(log[held], world), log)`` with the ``world`` that ``rs.build``
    makes of the other sweeps by ``config`` (default: `HybridConfig`): returns are drawn as simulation draws them, and
    each sweep is registered to the world by its pose. ``report.placements`` has two more placements beside that: at the
    recorded pose, and registered with the motion within the sweep. For each placement it also has the figures of the
    most likely returns, since drawn ones scatter even in a perfect world. ``log_likelihood`` is that of the whole
    distribution.

    Beams that returned from what the map leaves out (``config.map``), such as moving cars, do not count on either side.
    The recorded cloud of ``c2c_m`` is the whole log. Held-out sweeps are fired as they are compared, none is kept.

    ``memory`` bounds the build and the comparison. ``partial`` names a folder in which finished stages of the build are
    kept, and found by the same call; it stays until its caller removes it.
    ``progress`` shows the stages. A learned model ``realism`` changes drawn returns; without ``noise`` they do not
    scatter as the recording does. ``seed`` is that of drawn returns. ``build`` gives the world of the other sweeps in
    place of all this. ``accumulate``, ``labels`` and ``threads`` are those of `evaluate`.

    Example: ``print(rs.holdout(rs.open_log("kitti/sequences/00"), [5]))``
    """
    chosen, rest = split_sweeps(log, held)
    if realism is not None:
        realism.check_scale(log.intensity_scale)
    log = prepare_drive(log)
    begun, checkpoints = time.perf_counter(), Checkpoints()
    world: World | StreamedWorld
    if build is None:
        world, checkpoints = build_without(log, rest, config, memory, partial, progress)
    else:
        world = build(log[rest])
    build_s = None if checkpoints.kept else time.perf_counter() - begun
    held_out = _HeldOut(log[chosen], Retracer.for_log(world, log, realism=realism, noise=noise, seed=seed))
    # A vocabulary that the build was given for an unknown log is that of the log.
    real = replace(log[chosen], load=held_out.real, labels=log.labels if log.labels.known else world.labels)
    fired: dict[str, Any] = {"labels": world.labels, "map_filter": held_out.left_out}
    simulated = replace(log[chosen], load=held_out.simulated, name="simulated", **fired)
    # The build has already refused a world beyond the bound.
    bound = max(parse_memory(memory), measure_resident_memory() + _PAIR_BYTES)
    how: dict[str, Any] = {"accumulate": accumulate, "labels": labels, "threads": threads}
    report = evaluate(simulated, real, recorded=log, memory=bound, progress=progress, **how)
    values = {
        **report.metrics,
        "primitives": float(world.n_primitives),
        "build_s": build_s,
        "sweeps_per_s": len(chosen) / held_out.tracing_s,
        "log_likelihood": held_out.likelihoods.mean(),
    }
    note = (
        f"held out: sweeps {', '.join(map(str, chosen))}; built from {len(rest)} others; figures are of drawn returns"
    )
    scatter = "" if noise else " without noise"
    notes = [*report.notes, f"{note}{scatter}, each sweep registered to the world by its pose."]
    if checkpoints.kept:
        notes.append(f"build_s is unknown: resumed after {', '.join(checkpoints.kept)}")
    return replace(
        report,
        metrics={name: values[name] for name in METRICS if name in values},
        # Sweeps go by their numbers in the log.
        per_sweep=[{**row, "sim": chosen[row["sim"]], "real": chosen[row["real"]]} for row in report.per_sweep],
        placements=held_out.placements.table(),
        notes=notes,
        settings={**report.settings, "noise": held_out.retracer.describe_noise()},
    )


def build_without(
    log: Log,
    rest: Sequence[int],
    config: BuildConfig | None = None,
    memory: int | str | None = None,
    partial: str | Path | None = None,
    progress: bool = False,
) -> tuple[World | StreamedWorld, Checkpoints]:
    """A world of the sweeps ``rest`` of a log, by the arguments of `holdout`, and what was found in ``partial``."""
    checkpoints = Checkpoints()
    if partial is not None:
        checkpoints = open_checkpoints(Path(partial), log[rest], resolve(log[rest], config, memory=memory))
    return rs_build(log[rest], config, memory=memory, progress=progress, checkpoints=checkpoints), checkpoints


def split_sweeps(log: Log, held: Sequence[int]) -> tuple[list[int], list[int]]:
    """The numbers of the sweeps that are held out, and those of the others."""
    chosen = sorted({int(index) for index in held})
    for index in chosen:
        if not 0 <= index < len(log):
            raise ResweepError(f"holdout: the log has sweeps 0 to {len(log) - 1}, there is no sweep {index}")
    rest = [index for index in range(len(log)) if index not in set(chosen)]
    if not chosen or not rest:
        raise ResweepError(f"holdout: {len(chosen)} of {len(log)} sweeps are held out; keep some on either side")
    return chosen, rest


class _HeldOut:
    """The prepared held-out sweeps of a log and the same fired again, computed as they are asked for.

    Comparing asks for both of a pair one after the other, so the latest pair is kept.
    """

    def __init__(self, log: Log, retracer: Retracer) -> None:
        self.log, self.retracer = log, retracer
        self.left_out = retracer.world.map_filter or MapFilter()
        self.placements = Placements(retracer, self.left_out, log.labels)
        self.tracing_s = 0.0
        self.likelihoods = Column()
        self._traced: set[int] = set()
        self._latest: tuple[int, Sweep, Sweep] | None = None

    def real(self, at: int) -> Sweep:
        """Held-out sweep ``at``."""
        return self._pair(at)[1]

    def simulated(self, at: int) -> Sweep:
        """Its beams, with what is drawn for them."""
        return self._pair(at)[2]

    def _pair(self, at: int) -> tuple[int, Sweep, Sweep]:
        if self._latest is None or self._latest[0] != at:
            self._latest = self._trace(at)
        return self._latest

    def _trace(self, at: int) -> tuple[int, Sweep, Sweep]:
        sweep, number = self.log[at], int(self.log.numbers[at])
        if at in self._traced:  # figures count a sweep once, however often it is asked for
            return at, sweep, self.retracer.sweep(sweep, number, self.retracer.register(sweep))
        placed = self.placements.place(sweep)
        begun = time.perf_counter()
        simulated = self.retracer.sweep(sweep, number, placed[HEADLINE])
        self.tracing_s += time.perf_counter() - begun
        likelihood = self.retracer.log_likelihood(sweep, placed[HEADLINE])
        self.likelihoods.append(likelihood[self.left_out.keeps_beams(sweep)])
        self.placements.add(sweep, number, placed, simulated)
        self._traced.add(at)
        return at, sweep, simulated
