"""A world of any size from a log of any length: scattered over tiles on disk, built tile by tile, written once."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from resweep import _core
from resweep.build.hybrid.hybrid import asks_beams, resolve_thinning
from resweep.build.plan import prepare_build
from resweep.build.settings.base import BuildConfig
from resweep.build.settings.hybrid import HybridConfig
from resweep.build.settings.splats import SplatConfig, SurfelConfig
from resweep.build.settings.volumes import VolumeConfig
from resweep.build.splats.settle import settle_reflectance
from resweep.build.splats.splats import Scales
from resweep.build.tiles.blind import estimate_blind_sectors
from resweep.build.tiles.survey import count_tile_repeats, measure_scales, plan_survey
from resweep.build.tiles.units import TileTask, classify_tile, fit_tile, plan_squares
from resweep.calibrate.calibrate import CalibrationResult
from resweep.errors import InputError, OutputError, ResweepError
from resweep.files.partial import find_partial
from resweep.log import Log
from resweep.map.checkpoints import Checkpoints
from resweep.map.images import ImageStore
from resweep.map.map import Map, calibrate_log
from resweep.map.moving import MovingFinder
from resweep.map.store.grid import CELLS, Square
from resweep.map.store.part import Ground
from resweep.map.store.scatter import Scatter, plan_batches, read_observed, scatter_batch
from resweep.memory import format_memory, parse_memory
from resweep.progress import Stages, begin_stage
from resweep.remote import discard_stage, find_path, lock_output, stage
from resweep.sweep import Sweep
from resweep.work import Threads, Workers, is_here
from resweep.worlds.store.assemble import assemble_world
from resweep.worlds.store.generations import is_taken
from resweep.worlds.store.save import check_name

TILE_M = 50.0

# Estimates on the safe side: bytes of an interpreter with the libraries and one batch of sweeps, and bytes that fitting
# takes for each point of a square (30 sweeps of KITTI raw 0051, 3.6 million points, took 2.4 GB in one piece).
_BASE_BYTES = 700 * 10**6
_POINT_BYTES = 700
_AT_ONCE = 2  # tiles in one process: while one of them waits for the disk or for Python, the other computes
_MOST_POINTS = 1_800_000  # of a square, however much memory there is: so that most bounds give the same bytes
_FEWEST_POINTS = 200_000
_STORED_BYTES = 60  # of a beam and its point on disk, about

_STAGES = (
    "reading sweeps",
    "measuring the map",
    "finding what beams pass through",
    "building tiles",
    "writing the world",
)
# How layers follow each other in a world, also where no tile has all of them.
_LAYER_ORDER = (("splats", "splats"), ("splats", "surfels"), ("volumes", "volumes"), ("splats", "completed"),
                ("volumes", "completed"))  # fmt: skip


def is_tiled(config: BuildConfig) -> bool:
    """Whether worlds of these settings are built tile by tile; all others need the whole map in memory."""
    if isinstance(config, HybridConfig):
        return config.volumes.method in ("voxels", "neighbours") and config.volumes.rounds == 0
    if isinstance(config, VolumeConfig):
        return config.method in ("voxels", "neighbours") and config.rounds == 0
    return isinstance(config, SplatConfig | SurfelConfig)


def build_tiled(
    log: Log,
    path: str | Path,
    config: BuildConfig | None = None,
    *,
    tile_m: float = TILE_M,
    memory: int | None = None,
    workers: Workers | None = None,
    overwrite: bool = False,
    progress: bool = True,
    resume: bool = True,
) -> Path:
    """Build a world from a log of any length and write it to the folder ``path``; returns the path.

    The sweeps are read once and scattered over square tiles of ``tile_m`` in ``PATH.partial``; then each tile is built
    by itself, with what lies around it. At most ``memory`` bytes are taken (default: half of the machine's), whatever
    the length of the log. ``workers`` run the tasks (default: this process); their number changes no byte.
    With ``resume``, a build that was stopped goes on where it was when it is called again.
    ``path`` may be a URL of an object store. Tiles are then kept in a local folder (`resweep.remote.stage`), which all
    ``workers`` must see, and the world is uploaded from there and replaced in one step.
    Methods that need the whole map (meshes, volumes top-down and bottom-up) are built by `resweep.build`.

    Example: ``rs.build_tiled(rs.open_log("kitti/sequences/00"), "town.world", memory=4_000_000_000)``
    """
    config = HybridConfig() if config is None else config
    path = find_path(path)
    check_name(path)
    bound = parse_memory(None) if memory is None else memory
    if not is_tiled(config):
        raise ResweepError("build_tiled: these settings need the whole map in memory; use build, or another method")
    if not 2.0 <= tile_m <= 10_000.0:
        raise ResweepError(f"tile_m: expected a side of 2 to 10,000 m, got {tile_m:g}")
    if len(log) == 0:
        raise InputError(f"log '{log.name}': holds no sweep; give at least one to build from")
    if len(log) > 1:
        log.require_poses("its sweeps make no map")
    log, config = prepare_build(log, config, progress)
    run = Threads(min(_AT_ONCE, _core.thread_count(0))) if workers is None else workers
    if is_here(run):
        log = replace(log, load=_OneAtATime(log.load))
    most_points = _plan_memory(bound, 1 if is_here(run) else run.count)
    with lock_output(path):
        if is_taken(path) and not overwrite:
            raise OutputError(f"{path}: exists already; choose another name or pass overwrite=True")
        folder = find_partial(stage(path))
        _check_disk(log, folder)
        key = f"tiles of {tile_m:g} m, {most_points} points"
        if not resume and folder.exists():
            shutil.rmtree(folder)
        checkpoints = Checkpoints.open(folder, log, config, config.map.choose_labels(log), more=key)
        work = _TiledBuild(log, path, config, tile_m, most_points, run, progress, checkpoints, overwrite)
        with Stages(work.stages, show=progress):
            work.run()
        checkpoints.remove()
        discard_stage(path)
    return path


def count_whole(log: Log) -> int:
    """Bytes that a build with the whole map in memory takes, about, by the first sweep."""
    return _BASE_BYTES + len(log) * max(len(log[0]), 1) * _POINT_BYTES


def check_whole(log: Log, memory: int) -> None:
    """Raise if a build with the whole map in memory would take more than ``memory`` bytes, by the first sweep."""
    need = count_whole(log)
    points = len(log) * max(len(log[0]), 1)
    less = "build from fewer sweeps" if log.cloud == "no" else "build from the part of it within bounds"
    if need > memory:
        raise ResweepError(
            f"log '{log.name}': this method holds all of its about {points:,} points in memory, which takes about "
            f"{format_memory(need)} of the {format_memory(memory)} allowed; {less}, allow more, or take a method that "
            "builds by tiles, such as hybrid or splats"
        )


def _plan_memory(bound: int, workers: int) -> int:
    """The most points of a square that fit into ``bound`` bytes; an error if hardly any do.

    It does not depend on the number of ``workers``, so that these change no byte.
    """
    most = min(_MOST_POINTS, (bound - _BASE_BYTES) // (_AT_ONCE * _POINT_BYTES))
    need = _BASE_BYTES + _AT_ONCE * _FEWEST_POINTS * _POINT_BYTES
    if most < _FEWEST_POINTS:
        raise ResweepError(
            f"memory: {format_memory(bound)} is too little for one tile; give at least {format_memory(need)}"
        )
    together = workers * (_BASE_BYTES + most * _POINT_BYTES)
    if workers > 1 and bound < together:
        raise ResweepError(
            f"memory: {format_memory(bound)} is too little for {workers} workers, which take up to "
            f"{format_memory(together)}; give that much, or fewer workers"
        )
    return int(most)


def _check_disk(log: Log, folder: Path) -> None:
    """Raise if the disk has no room for the scattered log."""
    place = next(parent for parent in folder.absolute().parents if parent.is_dir())
    need = len(log) * max(log[0].n_beams, 1) * _STORED_BYTES
    free = shutil.disk_usage(place).free
    if need > free and not folder.exists():
        raise OutputError(
            f"{place}: no space left on the disk: it has {format_memory(free)}, and the beams of {len(log):,} sweeps "
            f"take about {format_memory(need)} there while the world is built; make room, or build from fewer sweeps"
        )


class _OneAtATime:
    """Loads the sweeps of a log for several threads, one at a time: not every format can be read by two at once."""

    def __init__(self, load: Callable[[int], Sweep]) -> None:
        self._load, self._lock = load, threading.Lock()

    def __call__(self, at: int) -> Sweep:
        with self._lock:
            return self._load(at)


@dataclass
class _TiledBuild:
    """One build: its stages follow each other in `run`."""

    log: Log
    path: Path
    config: BuildConfig
    tile_m: float
    most_points: int
    workers: Workers
    progress: bool
    checkpoints: Checkpoints
    overwrite: bool

    @property
    def folder(self) -> Path:
        """Where finished steps are kept."""
        assert self.checkpoints.folder is not None
        return self.checkpoints.folder

    @property
    def stages(self) -> tuple[str, ...]:
        """The stages, as progress names them."""
        return (*Map.list_stages(self.log, self.config.calibrate)[:-1], *_STAGES)

    def run(self) -> None:
        """All stages in order."""
        settings = self.config.map, self.config.calibrate
        calibrated = calibrate_log(self.log, *settings, self.progress, self.checkpoints, self.workers)
        log = self.log if calibrated is None else calibrated.log
        self.config = settle_reflectance(self.config, None if calibrated is None else calibrated.calibration)
        begin_stage(_STAGES[0])
        ground, says = self._scatter(log)
        counts = ground.store.count("points")
        points = sum(counts.values())
        if points == 0:
            raise ResweepError(
                f"log '{log.name}': no return is left for the map; loosen ego_radius_m or the dropped labels"
            )
        unknown = sum(batch["unknown"] for batch in says) / points
        begin_stage(_STAGES[1])
        self._thin_repeats(ground, counts)
        if self._needs_classes(ground, unknown):
            scales = None
            if isinstance(self.config, HybridConfig):
                scales = self._measure(ground, counts, surfaces=False, flatness=asks_beams(unknown, self.config))
            begin_stage(_STAGES[2])
            tasks = self._plan(ground, counts, scales, unknown)
            points = sum(self.workers.map(classify_tile, tasks, "classifying tiles", show=self.progress))
            ground = replace(ground, classes=True)
        scales = None
        if isinstance(self.config, HybridConfig | SplatConfig):
            scales = self._measure(ground, counts, surfaces=True, flatness=True)
        begin_stage(_STAGES[3])
        tasks = self._plan(ground, counts, scales, unknown)
        for _ in self.workers.map(fit_tile, tasks, "building tiles", show=self.progress):
            pass
        begin_stage(_STAGES[4])
        if calibrated is not None and self.config.refine != "none":
            known = estimate_blind_sectors(log, ground, tasks, calibrated.calibration)
            calibrated = replace(calibrated, calibration=known)
        self._assemble(ground, tasks, points, calibrated)

    def _scatter(self, log: Log) -> tuple[Ground, Sequence[dict[str, Any]]]:
        labels = self.config.map.choose_labels(log)
        origin = np.round(log.poses[0][:3, 3])
        reach = _empty_range(self.config)
        scatter = Scatter(log, self.folder / "store", origin, self.config.map, labels, self.tile_m, reach)
        says = list(self.workers.map(scatter_batch, plan_batches(scatter), "reading sweeps", show=self.progress))
        moving = MovingFinder(log, self.config.map, labels, ImageStore(scatter.images))
        for batch in says:
            moving.extend(MovingFinder.unpack(batch["moving"], log, self.config.map, labels, scatter.images))
        slope = 0.0 if log.sensor is None else log.sensor.beam_slope
        rule = moving.decide()
        coloured = any(batch["coloured"] for batch in says)
        settings = self.config.map
        return Ground(scatter.folder, origin, self.tile_m, settings, labels, slope, rule, coloured=coloured), says

    def _thin_repeats(self, ground: Ground, counts: dict[tuple[int, int], int]) -> None:
        """Settle whether points are thinned where the settings leave it open, as `hybrid.thin_repeats` does."""
        config = self.config
        if not isinstance(config, HybridConfig) or config.splats.thin_m is not None:
            return
        tasks = plan_survey(ground, counts, config.splats.k, False, 0.0, False)
        count = partial(count_tile_repeats, noise_m=config.volumes.noise_m)
        found = list(self.workers.map(count, tasks, "looking for repeated beams", show=self.progress))
        self.config = resolve_thinning(config, sum(shared for shared, _ in found), sum(points for _, points in found))

    def _needs_classes(self, ground: Ground, unknown: float) -> bool:
        """Whether points must be looked at before primitives are fitted to them."""
        finds_moving = ground.moving.method == "boxes" or ground.moving.images is not None
        config = self.config
        return finds_moving or (isinstance(config, HybridConfig) and (unknown > 0 or asks_beams(unknown, config)))

    def _measure(
        self, ground: Ground, counts: dict[tuple[int, int], int], surfaces: bool, flatness: bool
    ) -> Scales | None:
        settings = self.config.splats if isinstance(self.config, HybridConfig) else self.config
        assert not isinstance(settings, BuildConfig) or isinstance(settings, SplatConfig)
        tasks = plan_survey(ground, counts, settings.k, surfaces, settings.thin_m or 0.0, settings.denoise)
        return measure_scales(tasks, self.workers, flatness, self.progress)

    def _plan(
        self, ground: Ground, counts: dict[tuple[int, int], int], scales: Scales | None, unknown: float
    ) -> list[TileTask]:
        tiles = sorted({(x // CELLS, y // CELLS) for x, y in counts})
        tasks = []
        for x, y in tiles:
            tile = Square(x, y, self.tile_m)
            task = TileTask(ground, tile, (tile,), self.config, scales, unknown, self.folder / "parts")
            squares = plan_squares(tile, counts, task.margin_m, self.most_points, ground.cell_m)
            tasks.append(replace(task, squares=squares))
        return tasks

    def _assemble(
        self, ground: Ground, tasks: Sequence[TileTask], points: int, calibrated: CalibrationResult | None
    ) -> None:
        parts = [task.part for task in tasks if task.part.is_dir()]
        if not parts:
            raise ResweepError(
                f"log '{self.log.name}': its returns are too few to fit anything to them; accumulate more sweeps"
            )
        meta: dict[str, Any] = {
            "source": str(self.log.meta.get("path", self.log.name)),
            "build": {"kind": type(self.config).__name__, "config": self.config.model_dump(mode="json")},
            "sweeps": len(self.log),
            **{name: value for name, value in self.log.meta.items() if name in ("aligned", "odometry", "scanner")},
        }
        if calibrated is not None:
            meta["plane_residual_m"] = list(calibrated.plane_residual_m)
        meta["points"] = points
        assemble_world(
            parts,
            self.path,
            origin=ground.origin,
            tile_size_m=self.tile_m,
            meta=meta,
            labels=ground.labels,
            calibration=None if calibrated is None else calibrated.calibration,
            overwrite=self.overwrite,
            workers=self.workers,
            layer_order=_LAYER_ORDER,
            observed=read_observed(ground.folder),
        )


def _empty_range(config: BuildConfig) -> float | None:
    """How far beams without return go, as `Scatter` takes it."""
    if isinstance(config, HybridConfig):
        return config.volumes.empty_range_m
    if isinstance(config, VolumeConfig):
        return config.empty_range_m
    return None if isinstance(config, SplatConfig) and config.carve.rounds > 0 else 0.0
