"""`generate`: a dataset from a plan, sweep by sweep, on all cores; a run that was stopped is completed."""

from __future__ import annotations

import json
import os
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from resweep.dataset.annotations import annotate, class_names
from resweep.dataset.cameras import choose_camera
from resweep.dataset.layouts import RunFacts, express_labels, is_complete, write_dataset, write_run, write_sweep
from resweep.dataset.plan import Plan, Run, list_runs
from resweep.dataset.record import FORMAT, RECORD, check_output, hash_record, identify_run, make_record
from resweep.dataset.traffic import add_traffic
from resweep.files import lock_output, write_file
from resweep.io.datasets.kitti.camera import DEFAULT_CAMERA, KittiCamera
from resweep.pose import Array, Trajectory, from_xyz_rpy
from resweep.progress import Progress, open_progress
from resweep.remote import discard_stage, find_path, is_remote, is_unfinished, lock_place, publish, stage
from resweep.scenario import Actor, Bank, builtin_bank, load_bank
from resweep.scenario.actors import common_labels
from resweep.scenes.opening import open_world
from resweep.simulate import Simulator
from resweep.worlds import World

RUNS = "runs.json"


@dataclass(frozen=True)
class Summary:
    """What a call of `generate` did: runs and sweeps of the dataset, and how many sweeps were there before."""

    runs: int
    sweeps: int
    resumed: int


@dataclass(frozen=True, eq=False)
class PlacedRun:
    """A run that is ready to be swept: its actors are placed and checked.

    ``trajectory`` is that of the sensor; ``times`` (n,) and ``poses`` (n, 4, 4) are those of its sweeps;
    ``names`` gives the class of each actor by its instance. ``dataset`` is the name of the plan, ``identity`` a hash
    over all that decides the run's bytes; ``first_frame`` counts the sweeps of the runs before it.
    """

    run: Run
    world: World
    trajectory: Trajectory
    times: Array
    poses: Array
    actors: list[Actor]
    names: dict[int, str]
    dataset: str = ""
    identity: str = ""
    first_frame: int = 0
    camera: KittiCamera = DEFAULT_CAMERA

    def facts(self) -> RunFacts:
        """What the files of the run say of it as a whole."""
        labels = common_labels(self.world, self.actors)
        run, whole = self.run, (self.dataset, self.run.sensor, self.identity)
        frames = (self.first_frame, self.camera)
        return RunFacts(run.folder, run.sensor.name, labels, self.times, self.poses, *whole, *frames)


def generate(plan: Plan, output: str | Path, *, workers: int = 0, progress: bool = True) -> Summary:
    """Make the dataset of a plan in the folder ``output``, which may be a URL of an object store.

    A folder that the same plan left unfinished is completed; the bytes are those of an unbroken run, whatever
    ``workers`` (0: all cores). A folder of another plan, or of anything else, is an error, and so is one that another
    process is writing. ``progress`` is shown on stderr. For a URL it is made in a local folder and then uploaded, its
    runs.json last.
    """
    output = find_path(output)
    with lock_place(output):
        runs = list_runs(plan)
        record = make_record(plan, runs)
        check_output(output, record)
        if is_remote(output) and (output / RUNS).is_file() and not is_unfinished(output):
            sweeps = sum(run["sweeps"] for run in json.loads((output / RUNS).read_text(encoding="utf-8")))
            return Summary(len(runs), sweeps, sweeps)
        with lock_output(place := stage(output)):
            made = _generate(plan, place, runs, record, workers, progress)
            publish(place, output, last=RUNS, first=[RECORD])
        discard_stage(output)
        return made


def _generate(
    plan: Plan, output: Path, runs: list[Run], record: dict[str, Any], workers: int, progress: bool
) -> Summary:
    """Make the dataset of a plan in a folder that no other process writes."""
    check_output(output, record)
    bank = builtin_bank() if plan.bank is None else load_bank(plan.bank)
    with open_progress(progress) as shown:
        shown.start("placing the actors")
        worlds = {word: open_world(word, plan.seed) for word in plan.worlds}
        placed = _number_frames([place_run(plan, run, worlds[run.world], bank) for run in runs])
        _write_json(output / RECORD, {"format": FORMAT, "hash": hash_record(record), "record": record})
        total = sum(len(item.times) for item in placed)
        shown.start("sweeping", total)
        resumed = _sweep_runs(placed, output, plan.layout, workers, shown)
        write_dataset(output, plan.layout, [item.facts() for item in placed])
    _write_json(output / RUNS, [{**item.run.facts(), "sweeps": len(item.times)} for item in placed])
    return Summary(len(runs), total, resumed)


def place_run(plan: Plan, run: Run, world: World, bank: Bank) -> PlacedRun:
    """A run in its world: traffic drawn, actors placed and checked. Raises if it is too short for a sweep."""
    scenario = add_traffic(plan, run, world, bank)
    trajectory, actors = scenario.place(world, bank)
    if any(run.offset_m):
        trajectory = trajectory.offset(from_xyz_rpy(*run.offset_m))
    sweeps = Simulator(world, run.sensor).run(trajectory)[: plan.sweeps]
    names = class_names(actors, scenario.categories(bank, actors))
    whole = (plan.name, identify_run(plan, run))
    camera = choose_camera(plan, run)
    return PlacedRun(run, world, trajectory, sweeps.times, sweeps.poses, actors, names, *whole, camera=camera)


def _number_frames(placed: list[PlacedRun]) -> list[PlacedRun]:
    """The runs, each with the number of sweeps before it."""
    first = np.cumsum([0, *(len(item.times) for item in placed)]).tolist()
    return [replace(item, first_frame=number) for item, number in zip(placed, first, strict=False)]


def _sweep_runs(placed: list[PlacedRun], output: Path, layout: str, workers: int, progress: Progress) -> int:
    """Make the sweeps of all runs that are not there yet; returns how many were."""
    # One more than cores, as some wait for the disk; the sweeps of the next run begin before the last of one end.
    with ThreadPoolExecutor(workers or len(os.sched_getaffinity(0)) + 1) as pool:
        queue = _RunQueue(output, layout, pool, progress, sum(len(item.times) for item in placed))
        try:
            for item in placed:
                queue.start(item)
                if len(queue) > 1:
                    queue.finish_first()
            while len(queue):
                queue.finish_first()
        finally:
            queue.cancel()
    return queue.resumed


class _RunQueue:
    """Runs whose sweeps are being made on a pool of threads, the first one first."""

    def __init__(self, output: Path, layout: str, pool: ThreadPoolExecutor, progress: Progress, total: int) -> None:
        self.output, self.layout, self.pool = output, layout, pool
        self.progress, self.total = progress, total
        self.done = self.resumed = 0
        self._runs: deque[tuple[PlacedRun, list[Future[None]]]] = deque()
        self._simulator: Simulator | None = None

    def __len__(self) -> int:
        return len(self._runs)

    def start(self, item: PlacedRun) -> None:
        """Begin to make the sweeps of a run that are not there yet."""
        folder = self.output / item.run.folder
        missing = [at for at in range(len(item.times)) if not is_complete(folder, at)]
        there = len(item.times) - len(missing)
        self.resumed += there
        self.done += there
        self.progress.advance(there)
        jobs: list[Future[None]] = []
        if missing:
            self._simulator = _make_simulator(item, self._simulator)
            jobs = [self.pool.submit(_make_sweep, self._simulator, item, folder, self.layout, at) for at in missing]
        self._runs.append((item, jobs))

    def finish_first(self) -> None:
        """Wait for the sweeps of the first run, and write the files that belong to the whole of it."""
        item, jobs = self._runs[0]
        run = item.run
        for job in as_completed(jobs):
            job.result()
            self.done += 1
            self.progress.advance(1, f"{self.done}/{self.total}, {run.folder}")
        write_run(self.output / run.folder, self.layout, item.facts())
        self._runs.popleft()

    def cancel(self) -> None:
        """Let no further sweep begin."""
        for _, jobs in self._runs:
            for job in jobs:
                job.cancel()


def _make_simulator(item: PlacedRun, last: Simulator | None) -> Simulator:
    """The simulator of a run; the native scene of the last one is used again in the same world."""
    if last is None or last.world is not item.world:
        simulator = Simulator(item.world, item.run.sensor, actors=item.actors, seed=item.run.seed, threads=1)
        _ = simulator.scene  # built here, once, and not by every thread
        return simulator
    return last.with_sensor(item.run.sensor).with_actors(item.actors).with_seed(item.run.seed)


def _make_sweep(simulator: Simulator, item: PlacedRun, folder: Path, layout: str, at: int) -> None:
    """Simulate and write the sweep ``at`` of a run."""
    facts = item.facts()
    sweep = simulator.sweep(item.trajectory, start=float(item.times[at]), index=at)
    sweep = express_labels(sweep, layout, facts)
    write_sweep(folder, layout, at, sweep, annotate(simulator, sweep, at, item.names), facts)


def _write_json(path: Path, data: Any) -> None:
    write_file(path, (json.dumps(data, indent=1, default=np.ndarray.tolist) + "\n").encode())
