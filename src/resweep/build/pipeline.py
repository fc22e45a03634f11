"""From a log to a world: every step of a build, in the order in which data passes them.

The plan decides (`plan.py`); a map is in memory as one tile (`whole.py`) or on disk as many (`tiles/`);
what is done for each part of it is the same (`parts.py`).
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, overload

from resweep import _core
from resweep.build import limits
from resweep.build.hybrid.hybrid import uses_beams
from resweep.build.parts import STAGES, find_kinds, fit_part, record_part, refine_part
from resweep.build.plan import Plan, resolve
from resweep.build.refine import refine as refinement
from resweep.build.refusals import check_tiles_for_workers
from resweep.build.settings.base import BuildConfig
from resweep.build.settings.hybrid import HybridConfig
from resweep.build.sizes import AT_ONCE, check_workers
from resweep.build.stationary import fit as stationary
from resweep.build.store import LayerStore, MapStore
from resweep.build.tiles.tiled import scatter_log
from resweep.build.time_estimate import OnEstimate, open_stages
from resweep.build.whole import WholeMap, WholePart
from resweep.calibrate.calibrate import CalibrationResult
from resweep.calibration import Calibration
from resweep.errors import OutputError
from resweep.files.partial import find_partial
from resweep.log import Log
from resweep.map.checkpoints import Checkpoints
from resweep.map.map import Map, calibrate_log
from resweep.memory import format_memory, parse_memory
from resweep.prepare.spool import open_spool
from resweep.progress import begin_stage
from resweep.remote import discard_stage, find_path, lock_output, stage
from resweep.sensors.infer.inferred_drive import prepare_drive
from resweep.work import Threads, Workers, is_here
from resweep.worlds import StreamedWorld, World
from resweep.worlds.store.generations import is_taken
from resweep.worlds.store.save import check_name

_SPOOL_SHARE = 4  # of the memory that a build may take: one part for decoded sweeps
_BEAM_BYTES = 60  # of a beam and its point on disk, about


@dataclass(frozen=True, eq=False)
class BuildRun:
    """How a build runs, which changes no byte of its world: on which workers, where finished steps are kept."""

    workers: Workers
    checkpoints: Checkpoints
    folder: Path | None
    progress: bool
    on_estimate: OnEstimate | None = None


@overload
def build(
    log: Log,
    config: BuildConfig | None = None,
    path: None = None,
    *,
    tile_m: float | None = None,
    memory: int | str | None = None,
    workers: Workers | None = None,
    progress: bool = True,
    checkpoints: Checkpoints | None = None,
    on_estimate: OnEstimate | None = None,
) -> World: ...
@overload
def build(
    log: Log,
    config: BuildConfig | None,
    path: str | Path,
    *,
    tile_m: float | None = None,
    memory: int | str | None = None,
    workers: Workers | None = None,
    overwrite: bool = False,
    resume: bool = True,
    progress: bool = True,
    checkpoints: Checkpoints | None = None,
    on_estimate: OnEstimate | None = None,
) -> World | StreamedWorld: ...
def build(
    log: Log,
    config: BuildConfig | None = None,
    path: str | Path | None = None,
    *,
    tile_m: float | None = None,
    memory: int | str | None = None,
    workers: Workers | None = None,
    overwrite: bool = False,
    resume: bool = True,
    progress: bool = True,
    checkpoints: Checkpoints | None = None,
    on_estimate: OnEstimate | None = None,
) -> World | StreamedWorld:
    """A world built from a log of any length; the type of ``config`` says of which kind (default: `HybridConfig`).

    With a ``path``, also a URL of an object store, the world is written there; one that was built by tiles is then
    given as a `StreamedWorld`. `resolve` shows beforehand how a log is built: in one piece, or in tiles of ``tile_m``
    metres, within ``memory`` (such as ``"4GB"``; default: half of the machine's). ``workers`` run the tasks (default:
    threads of this process); their number changes no byte, and others than threads are refused where a method cannot be
    divided into tiles. A build with a ``path`` that was stopped goes on when it is
    called again with the same arguments, unless ``resume`` is false: finished steps are kept in ``PATH.partial``, or in
    ``checkpoints``, which stay for the caller to remove.

    ``progress`` begins with how long the build is expected to take, if that is 20 s or more, and says so again when it
    turns out wrong. ``on_estimate`` is called with the same `TimeEstimate`, however short.

    Example: ``world = rs.build(rs.open_log("kitti/sequences/00")[:150], rs.SplatConfig(k=60))``
    """
    target = None if path is None else find_path(path)
    if target is not None:
        check_name(target)
        _check_free(target, overwrite)  # before anything is read
    bound = parse_memory(memory)
    plan = resolve(log, config, tile_m=tile_m, memory=bound, progress=progress)
    run = Threads(min(AT_ONCE, _core.thread_count(0))) if workers is None else workers
    if not is_here(run):
        check_tiles_for_workers(plan.config, plan.stationary)
        check_workers(plan.tile_m, plan.square_points, run.count, bound)
    if target is None:
        with _open_scratch(plan, log, run, progress, checkpoints) as how:
            world = _build(log, plan, None, replace(how, on_estimate=on_estimate), bound, overwrite)
            assert world is not None
            return world
    with lock_output(target):
        _check_free(target, overwrite)
        folder = find_partial(stage(target))
        _check_disk(log, plan, folder)
        if not resume and folder.exists():
            shutil.rmtree(folder)
        kept = checkpoints or open_checkpoints(folder, log, plan)
        how = BuildRun(run, kept, kept.folder, progress, on_estimate)
        world = _build(log, plan, target, how, bound, overwrite)
        if checkpoints is None:
            kept.remove()
        discard_stage(target)
    return world or StreamedWorld(target, memory=bound)


def _build(log: Log, plan: Plan, path: Path | None, run: BuildRun, memory: int, overwrite: bool) -> World | None:
    prepared = prepare(log, plan)
    plan = replace(plan, placed=None)
    spool = open_spool(prepared, memory // _SPOOL_SHARE, run.folder)
    with spool as prepared, open_stages(prepared, plan, list_stages(plan), run.progress, run.on_estimate):
        lasers = calibrate(prepared, plan, run)
        plan = plan.with_lasers(None if lasers is None else lasers.calibration)
        store = accumulate(prepared, lasers, plan, run)
        store = choose_kinds(store, plan)
        layers = fit(store, plan)
        layers = refine(layers, plan)
        layers = record_losses(lasers, store, layers, plan, run)
        sensor = estimate_limits(lasers, store, layers, plan, run)
        return assemble(prepared, lasers, store, layers, sensor, plan, path, overwrite)


def prepare(log: Log, plan: Plan) -> Log:
    """The log whose beams are known and whose sweeps are corrected, computed as they are read."""
    if plan.placed is not None:
        return plan.placed
    return log if log.cloud == "placed" else prepare_drive(log)


def calibrate(prepared: Log, plan: Plan, run: BuildRun) -> CalibrationResult | None:
    """The log with its lasers and poses corrected; None where it stays as recorded."""
    if not plan.calibrates:
        return None
    return calibrate_log(prepared, plan.config.map, plan.config.calibrate, run.progress, run.checkpoints, run.workers)


def accumulate(prepared: Log, lasers: CalibrationResult | None, plan: Plan, run: BuildRun) -> MapStore:
    """The map of the log around one origin, without the vehicle and what moved: in memory, or in tiles on disk."""
    log = prepared if lasers is None else lasers.log
    if plan.tile_m is None:
        map = Map.from_log(log, plan.config.map, progress=run.progress, checkpoints=run.checkpoints)
        return WholeMap(WholePart(map))
    assert run.folder is not None
    begin_stage("reading sweeps")
    return scatter_log(log, plan, run.folder, run.workers, run.progress, run.checkpoints.key)


def choose_kinds(store: MapStore, plan: Plan) -> MapStore:
    """The map whose points are known to stand still, and to be a surface (C) or let beams through (A)."""
    unknown = store.unknown_share
    scales = find = None
    if isinstance(plan.config, HybridConfig) and not plan.stationary:
        asks = unknown is None or uses_beams(unknown, plan.config)
        if store.moving is None and not asks and not unknown:
            return store
        begin_stage(STAGES[plan.method][0])
        scales = store.measure(plan, surfaces=False, flatness=asks)
        find = partial(find_kinds, plan=plan, scales=scales, unknown_share=unknown)
    elif store.moving is None:
        return store
    return store.classify(find, plan, scales)


def fit(store: MapStore, plan: Plan) -> LayerStore:
    """The layers that cover the map, by the estimator that the type of the settings names; computed when asked for."""
    scales = store.measure(plan, surfaces=True)
    return store.cover(partial(fit_part, plan=plan, scales=scales), plan, scales)


def refine(layers: LayerStore, plan: Plan) -> LayerStore:
    """The layers adjusted to the recorded beams by their likelihood, and what each primitive was seen by."""
    if plan.config.refine != "none":
        layers = layers.add_step(partial(refine_part, plan=plan, scales=layers.scales))
    return layers.add_step(partial(record_part, plan=plan))


def record_losses(
    lasers: CalibrationResult | None, store: MapStore, layers: LayerStore, plan: Plan, run: BuildRun
) -> LayerStore:
    """The layers with the share of beams that come back empty from each splat, where lasers are calibrated."""
    if lasers is None or plan.stationary or not isinstance(plan.config, HybridConfig):
        return layers
    return limits.record_losses(lasers.log, store, layers, plan, run.progress)


def estimate_limits(
    lasers: CalibrationResult | None, store: MapStore, layers: LayerStore, plan: Plan, run: BuildRun
) -> Calibration | None:
    """The calibration with blind sectors, range limit and scatter of the sensor; None where nothing was calibrated."""
    if lasers is None:
        return None
    return limits.estimate_limits(lasers.log, lasers.calibration, store, layers, plan, run.progress)


def assemble(
    prepared: Log,
    lasers: CalibrationResult | None,
    store: MapStore,
    layers: LayerStore,
    sensor: Calibration | None,
    plan: Plan,
    path: Path | None,
    overwrite: bool,
) -> World | None:
    """The world of the layers with all that is known of its sensor, and the plan that it was built by."""
    begin_stage("writing the world")
    meta: dict[str, Any] = {
        "source": str(prepared.meta.get("path", prepared.name)),
        "build": plan.to_dict(),
        "sweeps": plan.sweeps,
        **{name: value for name, value in prepared.meta.items() if name in ("aligned", "odometry", "scanner")},
    }
    if lasers is not None:
        meta["plane_residual_m"] = list(lasers.plane_residual_m)
    meta["points"] = store.n_points
    return layers.write(path, plan=plan, meta=meta, calibration=sensor, overwrite=overwrite)


def list_stages(plan: Plan) -> tuple[str, ...]:
    """The stages of a build, as its progress names them."""
    names = ["calibrating lasers"] if plan.calibrates else []
    names.append("reading sweeps")
    if plan.tile_m is not None:
        names += [STAGES[plan.method][0]] if isinstance(plan.config, HybridConfig) else []
        names.append("building tiles")
    else:
        names += stationary.STAGES if plan.stationary else STAGES[plan.method]
        names += [refinement.STAGE] if plan.config.refine != "none" else []
    return (*names, "writing the world")


@contextmanager
def _open_scratch(
    plan: Plan, log: Log, workers: Workers, progress: bool, checkpoints: Checkpoints | None
) -> Iterator[BuildRun]:
    """How a world is built that stays in memory: its tiles, if there are any, are in a temporary folder."""
    kept = checkpoints or Checkpoints()
    if plan.tile_m is None or kept.folder is not None:
        yield BuildRun(workers, kept, kept.folder, progress)
        return
    with TemporaryDirectory(prefix="resweep-") as folder:
        yield BuildRun(workers, kept, Path(folder), progress)


def open_checkpoints(folder: Path, log: Log, plan: Plan) -> Checkpoints:
    """The finished steps of a build in ``folder``; those of another plan are discarded."""
    key = f"tiles of {plan.tile_m} m, {plan.square_points} points, stationary {plan.stationary}"
    return Checkpoints.open(folder, plan.placed or log, plan.config, plan.labels, more=key)


def _check_free(path: Path, overwrite: bool) -> None:
    if is_taken(path) and not overwrite:
        raise OutputError(f"{path}: exists already; choose another name or pass overwrite=True")


def _check_disk(log: Log, plan: Plan, folder: Path) -> None:
    """Raise if the disk has no room for a log that is scattered over tiles."""
    if plan.tile_m is None or folder.exists():
        return
    place = next(parent for parent in folder.absolute().parents if parent.is_dir())
    need = len(log) * max(log[0].n_beams, 1) * _BEAM_BYTES
    free = shutil.disk_usage(place).free
    if need > free:
        raise OutputError(
            f"{place}: no space left on the disk: it has {format_memory(free)}, and the beams of {len(log):,} sweeps "
            f"take about {format_memory(need)} there while the world is built; make room, or build from fewer sweeps"
        )
