"""`generate`: a dataset from a plan, sweep by sweep, on all cores; a run that was stopped is completed."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import resweep
from resweep.dataset.actor_annotations import annotate, name_classes
from resweep.dataset.dataset_plan import DatasetPlan, RunPlan, list_runs
from resweep.dataset.dataset_record import (
    FORMAT,
    RECORD,
    check_output,
    check_unchanged,
    hash_record,
    identify_run,
    make_record,
)
from resweep.dataset.label_camera import choose_camera
from resweep.dataset.layouts import RunFacts, express_labels, is_complete, write_dataset, write_run, write_sweep
from resweep.dataset.random_traffic import add_traffic
from resweep.files import lock_local, write_file
from resweep.files.partial import find_partial, open_partial
from resweep.files.pieces import Pieces
from resweep.files.publication import discard_partial
from resweep.files.strict_json import format_json, parse_json
from resweep.files.untrusted import read_bytes
from resweep.files.write_file import note_files
from resweep.io.datasets.kitti.kitti_camera import DEFAULT_CAMERA, KittiCamera
from resweep.io.source import make_absolute_name
from resweep.labels import LabelSet
from resweep.pose import Array, Trajectory, from_xyz_rpy
from resweep.progress import Progress, open_progress
from resweep.remote import discard_stage, find_path, is_remote, is_unfinished, lock_output, publish, stage
from resweep.scenario import Actor, Bank, builtin_bank, load_bank
from resweep.scenario.actors import find_common_labels
from resweep.scenes.opening import SCENE, open_world
from resweep.simulate import RealismModel, Simulator, load_realism
from resweep.work import Threads, Workers, cache, clear_cache, is_here, map_batches
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
    over all that decides the run's bytes; ``first_frame`` counts the sweeps of the runs before it. ``labels`` are those
    of its returns, ``world_seed`` what a world that is a scene is made from, ``realism`` a learned model of the sensor,
    ``noise`` whether it scatters.
    """

    run: RunPlan
    labels: LabelSet
    world_seed: int
    trajectory: Trajectory
    times: Array
    poses: Array
    actors: list[Actor]
    names: dict[int, str]
    dataset: str = ""
    identity: str = ""
    first_frame: int = 0
    camera: KittiCamera = DEFAULT_CAMERA
    realism: RealismModel | None = None
    noise: bool = True

    def facts(self) -> RunFacts:
        """The facts of the run that its files hold."""
        run, whole = self.run, (self.dataset, self.run.sensor, self.identity)
        frames = (self.first_frame, self.camera)
        return RunFacts(run.folder, run.sensor.name, self.labels, self.times, self.poses, *whole, *frames)


def generate(plan: DatasetPlan, output: str | Path, *, workers: int | Workers = 0, progress: bool = True) -> Summary:
    """Make the dataset of a plan in the folder ``output``, which may be a URL of an object store.

    A folder that the same plan left unfinished is completed; the bytes are those of an unbroken run, whatever the
    ``workers``: threads of this process (0: all cores), or those of a cluster. A folder of another plan, or of anything
    else, is an error, and so is one that another process is writing. ``progress`` is shown on stderr. For a URL it is
    written to a local folder (`resweep.remote.stage`), which all workers must see, then uploaded, its runs.json last.
    """
    output = find_path(output)
    if isinstance(workers, int):
        # One more than cores, as some wait for the disk.
        workers = Threads(workers or len(os.sched_getaffinity(0)) + 1)
    clear_cache()  # worlds of before, whose files may be others now
    try:
        with lock_output(output):
            return _generate(plan, output, workers, progress)
    finally:
        clear_cache()


def _generate(plan: DatasetPlan, output: Path, workers: Workers, progress: bool) -> Summary:
    """Make the dataset of a plan, of which the lock is held, and upload it if ``output`` is a URL."""
    runs = list_runs(plan)
    record = make_record(plan, runs)
    check_output(output, record)
    if is_remote(output) and (output / RUNS).is_file() and not is_unfinished(output):
        sweeps = sum(run["sweeps"] for run in parse_json(read_bytes(output / RUNS)))
        return Summary(len(runs), sweeps, sweeps)
    with lock_local(place := stage(output)):
        summary = _make(plan, place, runs, record, workers, progress)
        publish(place, output, last=RUNS, first=[RECORD])
    discard_stage(output)
    return summary


def _make(
    plan: DatasetPlan, output: Path, runs: list[RunPlan], record: dict[str, Any], workers: Workers, progress: bool
) -> Summary:
    """Make the dataset of a plan in a folder that no other process writes."""
    check_output(output, record)
    bank = builtin_bank() if plan.bank is None else load_bank(plan.bank)
    with open_progress(progress) as shown:
        shown.start("placing the actors")
        placed = _number_frames([place_run(plan, run, _open_world(run.world, plan.seed), bank) for run in runs])
        _write_json(output / RECORD, {"format": FORMAT, "hash": hash_record(record), "record": record})
        seals = _open_seals(output, record)
        total = sum(len(item.times) for item in placed)
        shown.start("sweeping", total)
        resumed = _sweep_runs(placed, output, plan.layout, workers, shown, seals)
        write_dataset(output, plan.layout, [item.facts() for item in placed])
    check_unchanged(output, record, make_record(plan, runs))
    _write_json(output / RUNS, [{**item.run.facts(), "sweeps": len(item.times)} for item in placed])
    if find_partial(output).exists():
        discard_partial(find_partial(output))
    return Summary(len(runs), total, resumed)


def place_run(plan: DatasetPlan, run: RunPlan, world: World, bank: Bank) -> PlacedRun:
    """A run in its world: traffic drawn, actors placed and checked. Raises if it is too short for a sweep."""
    scenario = add_traffic(plan, run, world, bank)
    trajectory, actors = scenario.place(world, bank)
    if any(run.offset_m):
        trajectory = trajectory.offset(from_xyz_rpy(*run.offset_m))
    sweeps = Simulator(world, run.sensor).run(trajectory)[: plan.sweeps]
    names = name_classes(actors, scenario.categories(bank, actors))
    whole = (plan.name, identify_run(plan, run))
    camera = choose_camera(plan, run)
    model = None if plan.realism is None else load_realism(plan.realism)
    kept = (find_common_labels(world, actors), plan.seed)
    return PlacedRun(
        run,
        *kept,
        trajectory,
        sweeps.times,
        sweeps.poses,
        actors,
        names,
        *whole,
        camera=camera,
        realism=model,
        noise=plan.noise,
    )


def _number_frames(placed: list[PlacedRun]) -> list[PlacedRun]:
    """The runs, each with the number of sweeps before it."""
    first = np.cumsum([0, *(len(item.times) for item in placed)]).tolist()
    return [replace(item, first_frame=number) for item, number in zip(placed, first, strict=False)]


def _open_seals(output: Path, record: dict[str, Any]) -> Pieces | None:
    """The seals of the finished sweeps of an unfinished dataset, which lie beside it; None for a finished one."""
    if (output / RUNS).is_file():
        return None
    folder = find_partial(output)
    key = {"version": resweep.__version__, "config": hash_record(record), "inputs": ""}
    open_partial(folder, key, "finished sweeps of a dataset")
    return Pieces(folder / "seals", hash_record(record))


def _sweep_runs(
    placed: list[PlacedRun], output: Path, layout: str, workers: Workers, progress: Progress, seals: Pieces | None
) -> int:
    """Make the sweeps of all runs that are not there yet; returns how many were."""
    done = resumed = 0
    total = sum(len(item.times) for item in placed)
    for first in range(0, len(placed), _RUNS_PER_BATCH):
        group = tuple(placed[first : first + _RUNS_PER_BATCH])
        sent = group if is_here(workers) else tuple(map(_name_world, group))
        missing = [_find_missing(item, output, seals) for item in group]
        there = sum(len(item.times) for item in group) - sum(map(len, missing))
        done, resumed = done + there, resumed + there
        progress.advance(there)
        task = partial(_make_sweep, _TaskContext(sent, output.absolute(), layout, 1 if is_here(workers) else 0, seals))
        items = [(at, number) for at, numbers in enumerate(missing) for number in numbers]
        results = map_batches(workers, task, items, "sweeping", show=False)
        for item, numbers in zip(group, missing, strict=True):
            for _ in zip(numbers, results, strict=False):
                done += 1
                progress.advance(1, f"{done}/{total}, {item.run.folder}")
            write_run(output / item.run.folder, layout, item.facts())
    return resumed


_RUNS_PER_BATCH = 20  # that are sent to workers together


def _name_world(item: PlacedRun) -> PlacedRun:
    """The run, whose world processes in other folders find too."""
    name = item.run.world
    return item if name.startswith(SCENE) else replace(item, run=replace(item.run, world=make_absolute_name(name)))


def _find_missing(item: PlacedRun, output: Path, seals: Pieces | None) -> list[int]:
    folder = output / item.run.folder

    def is_finished(at: int) -> bool:
        if not is_complete(folder, at):
            return False
        return seals is None or seals.find_sealed(_name_seal(item, at), output) is not None

    return [at for at in range(len(item.times)) if not is_finished(at)]


def _name_seal(item: PlacedRun, at: int) -> str:
    return f"{item.run.folder}/{at:06d}"


@dataclass(frozen=True, eq=False)
class _TaskContext:
    """What tasks share: runs, where and how their sweeps are written and sealed, and the threads of each (0: all)."""

    runs: tuple[PlacedRun, ...]
    output: Path
    layout: str
    threads: int
    seals: Pieces | None


def _make_sweep(work: _TaskContext, place: tuple[int, int]) -> None:
    """Simulate and write a sweep: ``place`` is the number of its run and its own."""
    item, at = work.runs[place[0]], place[1]
    simulator, facts = _open_simulator(item, work.threads), item.facts()
    sweep = simulator.sweep(item.trajectory, start=float(item.times[at]), index=at)
    sweep = express_labels(sweep, work.layout, facts)
    found = annotate(simulator, sweep, at, item.names)
    with note_files() as files:
        write_sweep(work.output / item.run.folder, work.layout, at, sweep, found, facts)
    if work.seals is not None:
        work.seals.seal(_name_seal(item, at), work.output, files)


@cache(3)
def _open_simulator(item: PlacedRun, threads: int) -> Simulator:
    """The simulator of a run, which shares the native scene of its world."""
    bare = _open_scene(item.run.world, item.world_seed, threads, item.noise)
    return (
        bare.with_sensor(item.run.sensor).with_actors(item.actors).with_seed(item.run.seed).with_realism(item.realism)
    )


@cache(2)
def _open_scene(name: str, seed: int, threads: int, noise: bool) -> Simulator:
    # Each run has its own sensor.
    simulator = Simulator(_open_world(name, seed), "velodyne-vlp-16", noise=noise, threads=threads)
    _ = simulator.scene  # built here, once, and not by every thread
    return simulator


@cache(2)
def _open_world(name: str, seed: int) -> World:
    return open_world(name, seed)


def _write_json(path: Path, data: Any) -> None:
    write_file(path, (format_json(data, indent=1, default=np.ndarray.tolist) + "\n").encode())
