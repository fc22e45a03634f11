"""A map on disk: a log scattered over square tiles, each of which is built by itself with what lies around it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np

from resweep.build.hybrid.hybrid import list_permeable
from resweep.build.parts import Layers
from resweep.build.plan import Plan
from resweep.build.settings.hybrid import HybridConfig
from resweep.build.settings.splats import SplatConfig, SplatSettings
from resweep.build.settings.volumes import VolumeConfig
from resweep.build.sizes import MAX_SQUARE_POINTS
from resweep.build.splats.splats import Scales
from resweep.build.store import LAYER_ORDER, FindKinds, Step
from resweep.build.tiles.layers import join_layers
from resweep.build.tiles.squares import find_margin, plan_squares
from resweep.build.tiles.survey import measure_scales, plan_survey
from resweep.build.tiles.tile_tasks import TileTask, build_tile, classify_tile
from resweep.calibration import Calibration
from resweep.errors import ResweepError
from resweep.log import Log
from resweep.map.moving import MovingFinder, MovingRule
from resweep.map.store.grid import CELLS, Square
from resweep.map.store.part import TiledLog
from resweep.map.store.scatter import Scatter, plan_batches, read_observed, scatter_batch
from resweep.pose import Array
from resweep.work import Workers
from resweep.worlds import World
from resweep.worlds.load import load_world
from resweep.worlds.observed import ObservedSpace
from resweep.worlds.store.assemble import assemble_world


def scatter_log(log: Log, plan: Plan, folder: Path, workers: Workers, progress: bool, key: str = "") -> TiledMap:
    """The map of a log in tiles below ``folder``. Sweeps are read once; batches of ``key`` that are there are kept."""
    assert plan.tile_m is not None
    settings, labels = plan.config.map, plan.labels
    origin = np.round(log.poses[0][:3, 3])
    scatter = Scatter(log, folder / "store", origin, settings, labels, plan.tile_m, _empty_range(plan), key)
    facts = list(workers.map(scatter_batch, plan_batches(scatter), "reading sweeps", show=progress))
    moving = MovingFinder(log, settings, labels, scatter.images)
    for batch in facts:
        moving.extend(MovingFinder.unpack(batch["moving"], log, settings, labels, scatter.images))
    slope = 0.0 if log.sensor is None else log.sensor.beam_slope
    coloured = any(batch["coloured"] for batch in facts)
    known: dict[str, Any] = {"coloured": coloured, "key": key}
    tiled = TiledLog(scatter.folder, origin, plan.tile_m, settings, labels, slope, moving.decide(), **known)
    counts = tiled.store.count("points")
    points = sum(counts.values())
    if points == 0:
        raise ResweepError(
            f"log '{log.name}': no return is left for the map; loosen ego_radius_m or the dropped labels"
        )
    unknown = sum(batch["unknown"] for batch in facts) / points
    return TiledMap(tiled, counts, points, unknown, folder, workers, progress)


def _empty_range(plan: Plan) -> float | None:
    """How far beams without return go, as `Scatter` takes it."""
    config = plan.config
    if isinstance(config, HybridConfig):
        return config.volumes.empty_range_m
    if isinstance(config, VolumeConfig):
        return config.empty_range_m
    return None if isinstance(config, SplatConfig) and config.carve.rounds > 0 else 0.0


@dataclass(frozen=True, eq=False)
class TiledMap:
    """A map in tiles below ``folder``; ``counts`` are the points of each cell."""

    tiled: TiledLog
    counts: Mapping[tuple[int, int], int]
    n_points: int
    unknown_share: float
    folder: Path
    workers: Workers
    progress: bool

    @property
    def origin(self) -> Array:
        """Where its coordinates are counted from (3,)."""
        return self.tiled.origin

    @cached_property
    def observed(self) -> ObservedSpace | None:
        """The space that its beams crossed."""
        return read_observed(self.tiled.folder, self.tiled.key)

    @property
    def moving(self) -> MovingRule | None:
        """What tells the points that moved, which are still in the tiles."""
        rule = self.tiled.moving
        return rule if rule.method == "boxes" or rule.images is not None else None

    def measure(self, plan: Plan, *, surfaces: bool, flatness: bool = True) -> Scales | None:
        """R̄ and ε̄ of the map, measured on cells spread over it; None for worlds that have no splats."""
        settings = plan.config.splats if isinstance(plan.config, HybridConfig) else plan.config
        if not isinstance(settings, SplatSettings):
            return None
        permeable = list_permeable(plan.config) if isinstance(plan.config, HybridConfig) else ()
        tasks = plan_survey(self.tiled, self.counts, settings, surfaces, permeable)
        return measure_scales(tasks, self.workers, flatness, self.progress)

    def classify(self, find: FindKinds | None, plan: Plan, scales: Scales | None) -> TiledMap:
        """The map whose tiles have flags: which points stand still, and what ``find`` decides for those."""
        tasks = self.plan_tasks(plan, scales)
        function = partial(classify_tile, find=find)
        points = sum(self.workers.map(function, tasks, "classifying tiles", show=self.progress))
        return replace(self, tiled=replace(self.tiled, classes=True), n_points=points)

    def cover(self, step: Step, plan: Plan, scales: Scales | None) -> TiledLayers:
        """The layers that ``step`` gives for each tile."""
        return TiledLayers(self, self.plan_tasks(plan, scales), scales, (step,))

    def plan_tasks(self, plan: Plan, scales: Scales | None) -> list[TileTask]:
        """The tiles, each with the squares that it is built in."""
        margin_m = find_margin(plan.config, scales)
        tasks = []
        for x, y in sorted({(x // CELLS, y // CELLS) for x, y in self.counts}):
            tile = Square(x, y, self.tiled.tile_m)
            squares = plan_squares(tile, self.counts, margin_m, plan.square_points, self.tiled.cell_m)
            tasks.append(TileTask(self.tiled, tile, squares, margin_m, self.folder / "parts"))
        return tasks


@dataclass(frozen=True, eq=False)
class TiledLayers:
    """The layers of a map in tiles after some steps, which are done once and kept on disk."""

    store: TiledMap
    tasks: Sequence[TileTask]
    scales: Scales | None
    steps: tuple[Step, ...]

    @cached_property
    def parts(self) -> list[TileTask]:
        """The tiles that hold anything; all steps are done then."""
        workers, show = self.store.workers, self.store.progress
        holds = list(workers.map(partial(build_tile, steps=self.steps), self.tasks, "building tiles", show=show))
        return [task for task, some in zip(self.tasks, holds, strict=True) if some]

    def add_step(self, step: Step) -> TiledLayers:
        """The layers after a further step for each tile."""
        return TiledLayers(self.store, self.tasks, self.scales, (*self.steps, step))

    @property
    def whole(self) -> None:
        """None: they are on disk."""
        return None

    def with_whole(self, layers: Layers) -> TiledLayers:
        """Tiles are never given as a whole."""
        raise ValueError("layers in tiles are changed by steps")

    def near(self, place: Array, radius_m: float) -> Layers:
        """The layers of the tiles that come as near to a place (3,) in the world."""
        there = (place - self.store.origin)[None]
        near = [task.part for task in self.parts if task.tile.reaches(there, radius_m)[0]]
        return join_layers([load_world(part).layers for part in near])

    def write(
        self,
        path: Path | None,
        *,
        plan: Plan,
        meta: Mapping[str, Any],
        calibration: Calibration | None,
        overwrite: bool,
    ) -> World | None:
        """Put the tiles together at ``path``, or in memory if that is not given."""
        if not self.parts:
            raise ResweepError(
                f"log '{meta.get('source', '')}': its returns are too few to fit anything to them; accumulate more "
                "sweeps"
            )
        target = self.store.folder / "whole.world" if path is None else path
        meta = {**meta, "build": {**meta["build"], "square_points": self._count_square_points(plan)}}
        assemble_world(
            [task.part for task in self.parts],
            target,
            origin=self.store.origin,
            tile_size_m=self.store.tiled.tile_m,
            meta=meta,
            labels=plan.labels,
            calibration=calibration,
            map_filter=plan.config.map.filter(plan.labels),
            overwrite=overwrite or path is None,
            workers=self.store.workers,
            layer_order=LAYER_ORDER,
            observed=self.store.observed,
        )
        return load_world(target) if path is None else None

    def _count_square_points(self, plan: Plan) -> int:
        """The bound on points that is kept with the world: that of ample memory, if that divides tiles no other way."""
        ample = self.store.plan_tasks(replace(plan, square_points=MAX_SQUARE_POINTS), self.scales)
        same = [task.squares for task in ample] == [task.squares for task in self.tasks]
        return MAX_SQUARE_POINTS if same else plan.square_points
