"""`generate`: a dataset from a plan, sweep by sweep, on all cores; killed and started again it goes on."""

from __future__ import annotations

import json
import os
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from resweep.dataset.annotations import annotate, class_names
from resweep.dataset.layouts import complete, finish, write_sweep
from resweep.dataset.plan import Plan, Run, digest, record_of, runs_of
from resweep.dataset.traffic import with_traffic
from resweep.errors import ResweepError
from resweep.files import atomic_file
from resweep.log import Log
from resweep.pose import Trajectory, from_xyz_rpy
from resweep.progress import Progress, open_progress
from resweep.scenario import Actor, Bank, builtin_bank, load_bank
from resweep.scenes.opening import open_world
from resweep.simulate import Simulator
from resweep.worlds import World

RECORD, RUNS = "plan.json", "runs.json"
FORMAT = "resweep-dataset"


@dataclass(frozen=True)
class Summary:
    """What a call of `generate` did: sweeps of the dataset, and how many of them were there before."""

    runs: int
    sweeps: int
    resumed: int


@dataclass(frozen=True, eq=False)
class Staged:
    """A run that is ready: its trajectory, actors and their classes, checked."""

    run: Run
    trajectory: Trajectory
    actors: list[Actor]
    names: dict[int, str]


def generate(plan: Plan, output: str | Path, *, workers: int = 0, progress: bool = True) -> Summary:
    """Make the dataset of a plan in the folder ``output``.

    A folder that the same plan left unfinished is completed; the bytes are those of an unbroken run, whatever
    ``workers`` (0: all cores). A folder of another plan, or of anything else, is an error. ``progress`` is shown on
    stderr.
    """
    output = Path(output)
    runs = runs_of(plan)
    record = record_of(plan, runs)
    check_output(output, record)
    bank = builtin_bank() if plan.bank is None else load_bank(plan.bank)
    with open_progress(progress) as shown:
        return _generate(plan, output, workers, runs, record, bank, shown)


def _generate(
    plan: Plan, output: Path, workers: int, runs: list[Run], record: dict[str, Any], bank: Bank, progress: Progress
) -> Summary:
    progress.start("placing the actors")
    worlds = {word: open_world(word, plan.seed) for word in plan.worlds}
    staged = [stage(plan, run, worlds[run.world], bank) for run in runs]
    drives = [_drive(plan, item, worlds[item.run.world]) for item in staged]
    output.mkdir(parents=True, exist_ok=True)
    _write_json(output / RECORD, {"format": FORMAT, "hash": digest(record), "record": record})
    total, done, resumed = sum(len(log) for _, log in drives), 0, 0
    progress.start("sweeping", total)
    shared: Simulator | None = None
    # One more than cores, as some wait for the disk; the sweeps of the next run begin before the last of one end.
    with ThreadPoolExecutor(workers or len(os.sched_getaffinity(0)) + 1) as pool:
        begun: deque[tuple[Staged, Log, list[Future[None]]]] = deque()
        try:
            for item, (_, log) in zip(staged, drives, strict=True):
                folder = output / item.run.folder
                todo = [at for at in range(len(log)) if not complete(folder, at)]
                resumed += len(log) - len(todo)
                done += len(log) - len(todo)
                progress.advance(len(log) - len(todo))
                jobs: list[Future[None]] = []
                if todo:
                    shared = _simulator(item, worlds[item.run.world], shared)
                    jobs = [pool.submit(_one, shared, item, log, folder, plan.layout, at) for at in todo]
                begun.append((item, log, jobs))
                while len(begun) > (1 if item is not staged[-1] else 0):
                    ready, sweeps, jobs = begun[0]
                    for job in as_completed(jobs):
                        job.result()
                        done += 1
                        progress.advance(1, f"{done}/{total}, {ready.run.folder}")
                    run = ready.run
                    finish(output / run.folder, plan.layout, sweeps.times, sweeps.poses, run.folder, run.sensor.name)
                    begun.popleft()
        finally:
            for _, _, jobs in begun:
                for job in jobs:
                    job.cancel()
    _write_json(
        output / RUNS, [{**item.run.facts(), "sweeps": len(log)} for item, (_, log) in zip(staged, drives, strict=True)]
    )
    return Summary(len(runs), total, resumed)


def check_output(output: Path, record: dict[str, Any]) -> None:
    """Raise if ``output`` holds anything but the (unfinished) dataset of this record."""
    if output.exists() and not output.is_dir():
        raise ResweepError(f"{output}: is a file; a dataset is a folder, choose another name")
    if not output.exists() or not any(output.iterdir()):
        return
    try:
        old = json.loads((output / RECORD).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        old = None
    if not isinstance(old, dict) or old.get("format") != FORMAT:
        raise ResweepError(f"{output}: is not empty and holds no dataset of resweep; choose another folder")
    if old.get("hash") != digest(record):
        what = _difference(old.get("record"), record) or "its settings"
        raise ResweepError(f"{output}: was made with other settings ({what}); choose another folder or remove it")


def _difference(old: Any, new: Any, where: str = "") -> str | None:
    """The first field in which two records differ, with both values."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in sorted(set(old) | set(new)):
            found = _difference(old.get(key), new.get(key), f"{where}.{key}" if where else key)
            if found:
                return found
        return None
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        pairs = enumerate(zip(old, new, strict=True))
        return next((found for at, (a, b) in pairs if (found := _difference(a, b, f"{where}[{at}]"))), None)
    return None if old == new else f"{where} was {json.dumps(old)[:40]}, is now {json.dumps(new)[:40]}"


def stage(plan: Plan, run: Run, world: World, bank: Bank) -> Staged:
    """A run in its world: actors placed and checked."""
    scenario = with_traffic(plan, run, world, bank)
    trajectory, actors = scenario.place(world, bank)
    if any(run.offset_m):
        trajectory = trajectory.offset(from_xyz_rpy(*run.offset_m))
    categories = scenario.categories(bank, actors)
    return Staged(run, trajectory, actors, class_names(actors, categories))


def _simulator(item: Staged, world: World, shared: Simulator | None) -> Simulator:
    """The simulator of a run; the native scene of the last one is used again in the same world."""
    if shared is None or shared.world is not world:
        simulator = Simulator(world, item.run.sensor, actors=item.actors, seed=item.run.seed, threads=1)
        _ = simulator.scene
        return simulator
    return shared.with_sensor(item.run.sensor).with_actors(item.actors).with_seed(item.run.seed)


def _drive(plan: Plan, item: Staged, world: World) -> tuple[Staged, Log]:
    """The times and poses of a run's sweeps; raises if the scenario is too short for one."""
    log = Simulator(world, item.run.sensor).run(item.trajectory)
    return item, log[: plan.sweeps] if plan.sweeps else log


def _one(simulator: Simulator, item: Staged, log: Log, folder: Path, layout: str, at: int) -> None:
    """Sweep and write the sweep ``at`` of a run."""
    sweep = simulator.sweep(item.trajectory, start=float(log.times[at]), index=at)
    write_sweep(folder, layout, at, sweep, annotate(simulator, sweep, at, item.names))


def _write_json(path: Path, data: Any) -> None:
    with atomic_file(path) as part:
        part.write_text(json.dumps(data, indent=1, default=np.ndarray.tolist) + "\n", encoding="utf-8")
