"""`judge`: what frozen models make of recorded sweeps and of their simulated pairs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

import resweep
from resweep.build import BuildConfig
from resweep.errors import ResweepError
from resweep.evaluation.compare.pairing import pair_sweeps
from resweep.evaluation.holdout import build_without, split_sweeps
from resweep.log import Log
from resweep.perception.judging.asking import Model, ModelJudges, WorstSweep, name_models
from resweep.perception.judging.cloud_sources import CloudSource, FiredAgain, Simulated, SimulatedLog
from resweep.perception.judging.config import JudgingConfig
from resweep.perception.judging.judged_drive import JudgedDrive
from resweep.perception.judging.judgement import Judgement, JudgementSettings
from resweep.perception.judging.judgement_notes import list_notes
from resweep.perception.judging.negative_control import NegativeControl
from resweep.perception.judging.places import Places, draw_weights
from resweep.progress import open_progress
from resweep.sensors.infer.inferred_drive import prepare_drive
from resweep.simulate import RealismModel
from resweep.worlds import StreamedWorld, World


def judge(
    log: Log,
    models: Model | Sequence[Model] | Mapping[str, Model],
    *,
    world: World | StreamedWorld | None = None,
    sim: Log | None = None,
    held: Sequence[int] | None = None,
    build: BuildConfig | None = None,
    realism: RealismModel | None = None,
    noise: bool = True,
    seed: int = 0,
    config: JudgingConfig | None = None,
    memory: int | str | None = None,
    partial: str | Path | None = None,
    threads: int = 0,
    progress: bool = False,
) -> Judgement:
    """What frozen models make of the sweeps of a log, and of the simulated pair of each.

    The pair is what ``rs.resimulate(log, world)`` gives: the same beams in ``world``, drawn. In place of a world,
    ``sim`` is a log that was simulated before, or ``held`` are sweeps to judge in a world built from all others, by the
    settings ``build`` and within ``memory`` (`resweep.holdout`, also for ``partial``). ``realism``, ``noise`` and
    ``seed`` are those of `resweep.resimulate`. Models are those of `resweep.perception.models`, by name or alone; none
    is trained or changed.

    Beside the simulated sweeps every model reads clouds with parts swapped for the recorded ones, the recorded sweeps
    with noise and the next ones (the null), and a scene of boxes (the negative control): see `CLOUDS`. Of several
    returns of a beam the first counts. Figures are of the beams that return in the recorded sweep and in the cloud;
    their intervals are over places (`JudgingConfig`).

    Example: ``print(rs.judge(log, model, world=rs.load_world("seq00.world")))``
    """
    config, named = config or JudgingConfig(), name_models(models)
    _check_given(
        log, {"world": world, "sim": sim, "held": held}, {"build": build, "memory": memory, "partial": partial}
    )
    drive = JudgedDrive(log)
    numbers = drive.numbers.tolist()
    if held is not None:
        chosen, rest = split_sweeps(drive.log, held)
        numbers = drive.numbers[chosen].tolist()
        world, _ = build_without(drive.log, rest, build, memory, partial, progress)
    simulated: Simulated
    if sim is not None:
        _check_unchanged({"realism": realism is not None, "noise": not noise})
        pairs = {int(drive.numbers[real]): ours for ours, real in pair_sweeps(sim, drive.log)}
        numbers, simulated = sorted(pairs), SimulatedLog(prepare_drive(sim), pairs)
    else:
        assert world is not None
        simulated = FiredAgain(drive.log, world, realism=realism, noise=noise, seed=seed, threads=threads)
    labels = log.labels if log.labels.known or world is None else world.labels
    source = CloudSource(drive, simulated, NegativeControl(drive, labels, world, threads), config, seed, threads)
    judges = [ModelJudges(name, model, drive, labels, config) for name, model in named.items()]
    return _read_clouds(drive, numbers, source, judges, labels.name, seed, progress)


def _read_clouds(
    drive: JudgedDrive,
    numbers: list[int],
    source: CloudSource,
    judges: Sequence[ModelJudges],
    labels: str,
    seed: int,
    progress: bool,
) -> Judgement:
    """Let all judges read all clouds of the sweeps ``numbers``, and put their figures together."""
    config = source.config
    places, worst = Places(drive, np.array(numbers), config), WorstSweep()
    with open_progress(progress) as shown:
        shown.start("judging sweeps", len(numbers))
        for at, number in enumerate(numbers):
            clouds = source.list_clouds(number)
            for item in judges:
                item.read(clouds, places, at, number, worst)
            shown.advance(1, f"{at + 1}/{len(numbers)}")
    settings = JudgementSettings(
        resweep=resweep.__version__,
        real=drive.log.name,
        simulated=source.simulated.title,
        sweeps=numbers,
        places=places.count,
        seed=seed,
        noise=source.simulated.noise,
        labels=labels,
        control=source.control.kind,
    )
    weights = draw_weights(places.count, config.resamples, seed)
    found = [item.score(weights) for item in judges]
    notes = list_notes(found, source, config, settings)
    return Judgement(settings=settings, models=found, notes=notes).with_pictures(worst.list_kept)


def _check_given(log: Log, one_of: Mapping[str, object], of_held: Mapping[str, object]) -> None:
    """Raise unless it is given exactly once what is simulated, and nothing that goes unused."""
    given = [name for name, value in one_of.items() if value is not None]
    if len(given) != 1:
        raise ResweepError(f"judge: {' and '.join(given) or 'nothing'} given; give one of {', '.join(one_of)}")
    for name, value in of_held.items():
        if value is not None and "held" not in given:
            raise ResweepError(f"judge: {name} is for the world that is built with held; leave it out")
    if len(log) == 0:
        raise ResweepError(f"judge: log '{log.name}' holds no sweep; choose a longer part of it")


def _check_unchanged(given: Mapping[str, bool]) -> None:
    for name, value in given.items():
        if value:
            raise ResweepError(f"judge: {name} changes what is simulated, but sim was simulated before; leave it out")
