"""What is done for each tile by itself: find what its points are, and fit primitives to them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import Path

import numpy as np

from resweep.build import surfels
from resweep.build.complete.complete import complete
from resweep.build.hybrid import hybrid
from resweep.build.refine.refine import refine
from resweep.build.settings.base import BuildConfig
from resweep.build.settings.hybrid import HybridConfig
from resweep.build.settings.splats import SplatConfig, SplatSettings, SurfelConfig
from resweep.build.settings.volumes import VolumeConfig
from resweep.build.splats import splats
from resweep.build.splats.close import find_reach
from resweep.build.splats.splats import Scales
from resweep.build.tiles.layers import cut_layers, join_layers
from resweep.build.volumes import volumes
from resweep.build.volumes.gaussians import MAX_REACH_M
from resweep.errors import NothingToFitError
from resweep.files import write_file
from resweep.labels import Group
from resweep.map.map import Map
from resweep.map.seen import record_seen
from resweep.map.store.grid import Square
from resweep.map.store.part import PERMEABLE, STILL, Ground, Part, write_flags
from resweep.map.store.scatter import read_observed
from resweep.pose import Array
from resweep.worlds import Layer, World
from resweep.worlds.observed import ObservedSpace
from resweep.worlds.store.save import save_world

_RADII = 6.0  # times R̄: as far as the normals of a splat's neighbours depend on points
_LEAST_MARGIN_M, _MOST_MARGIN_M = 1.0, 10.0
_LEAST_SQUARE_M = 1.5  # its margin holds more than itself


@dataclass(frozen=True, eq=False)
class TileTask:
    """A tile, the squares that it is built in, and what holds for the whole map.

    ``scales`` are those of the points that the task looks at, ``unknown_share`` how many of them have no group.
    """

    ground: Ground
    tile: Square
    squares: tuple[Square, ...]
    config: BuildConfig
    scales: Scales | None
    unknown_share: float
    parts: Path

    @property
    def margin_m(self) -> float:
        """How far around a square points are read with it."""
        if self.scales is None:
            return _LEAST_MARGIN_M
        reach = _RADII * self.scales.radius_m
        settings = self.config.splats if isinstance(self.config, HybridConfig) else self.config
        if isinstance(settings, SplatSettings):
            reach = max(reach, find_reach(settings.close, self.scales.radius_m))
        if isinstance(self.config, HybridConfig) and self.config.volumes.neighbour_slope:
            reach = max(reach, MAX_REACH_M)
        return float(np.clip(reach, _LEAST_MARGIN_M, _MOST_MARGIN_M))

    @property
    def part(self) -> Path:
        """Where the tile's layers are saved, as a world."""
        return self.parts / f"{self.tile.x}_{self.tile.y}.world"

    @property
    def nothing(self) -> Path:
        """The file that says that there is nothing in the tile."""
        return self.parts / f"{self.tile.x}_{self.tile.y}.empty"


def plan_squares(
    tile: Square, counts: Mapping[tuple[int, int], int], margin_m: float, most_points: float, cell_m: float
) -> tuple[Square, ...]:
    """The tile, or the quarters of it, and of those again, that hold about ``most_points`` at most with their margins.

    Squares of less than twice `_LEAST_SQUARE_M` are not divided.
    """
    if tile.size_m < 2 * _LEAST_SQUARE_M or _estimate_points(tile, counts, margin_m, cell_m) <= most_points:
        return (tile,)
    return tuple(
        square for quarter in tile.quarters() for square in plan_squares(quarter, counts, margin_m, most_points, cell_m)
    )


def _estimate_points(square: Square, counts: Mapping[tuple[int, int], int], margin_m: float, cell_m: float) -> float:
    """Points of a square and its margin, if those of each cell are spread evenly over it."""
    total = 0.0
    low, high = square.low - margin_m, square.high + margin_m
    for cell in square.cells(cell_m, margin_m):
        count = counts.get(cell, 0)
        if count:
            corner = np.array(cell) * cell_m
            inside = np.minimum(high, corner + cell_m) - np.maximum(low, corner)
            total += count * float(np.prod(np.maximum(inside, 0.0))) / cell_m**2
    return total


def classify_tile(task: TileTask) -> int:
    """Write the flags of a tile's points, if they are not there yet; how many of them stand still."""
    path = task.ground.find_flags((task.tile.x, task.tile.y))
    if not path.is_file():
        parts = []
        for square in task.squares:
            part = Part.read(task.ground, square, task.margin_m)
            parts.append((part, _find_flags(task, part)))
        write_flags(task.ground, (task.tile.x, task.tile.y), parts)
    with np.load(path, allow_pickle=False) as archive:
        return int(sum(((flags & STILL) > 0).sum() for flags in dict(archive).values()))


def _find_flags(task: TileTask, part: Part) -> Array:
    """The flags (n,) uint8 of the points of a part."""
    flags = np.full(len(part), STILL, np.uint8)
    if not part.own.any():
        return flags
    still = task.ground.moving.find_still(part.cloud, part.rows["track"].astype(np.int64))
    rows = np.arange(len(part))
    if still is not None:
        flags[~still] = 0
        rows = np.flatnonzero(still)
    if isinstance(task.config, HybridConfig) and len(rows):
        permeable = hybrid.find_permeable(part[rows].map(), task.config, task.scales, task.unknown_share)
        flags[rows[permeable]] |= PERMEABLE
    return flags


def fit_tile(task: TileTask) -> dict[str, int]:
    """Fit a tile and save its layers as a world, if that is not done yet; the number of primitives by layer."""
    if task.nothing.is_file():
        return {}
    if not (task.part / "world.json").is_file():
        parts = []
        for square in task.squares:
            part = Part.read(task.ground, square, task.margin_m)
            if part.own.any():
                parts.append(cut_layers(_fit_recorded(task, part), square))
        layers = join_layers(parts)
        if not layers:
            write_file(task.nothing, b"")
            return {}
        world = World(layers, task.ground.origin, labels=task.ground.labels)
        save_world(world, task.part, tile_size_m=task.tile.size_m, level=0)
        return {layer.name: layer.n_primitives for layer in layers}
    return {}


def _fit_recorded(task: TileTask, part: Part) -> tuple[Layer, ...]:
    """The layers of a part and its margin, with how they were seen, and what is continued from them."""
    layers = record_seen(part.cloud, _refine(task, part, _fit(task, part)))
    if task.config.complete and layers:
        layers = complete(part.map(), layers, _read_observed(str(task.ground.folder)))
    return layers


@lru_cache(maxsize=1)
def _read_observed(folder: str) -> ObservedSpace | None:
    return read_observed(Path(folder))


def _fit(task: TileTask, part: Part, sweeps: Array | None = None) -> tuple[Layer, ...]:
    """The layers of a part and its margin; by the beams of some sweeps, if they are given."""
    config, map = task.config, part.map()
    if sweeps is not None and map.stored is not None:
        map = replace(map, stored=map.stored.select(sweeps))
    try:
        if isinstance(config, HybridConfig):
            return _fit_hybrid(map, part, config, task.scales)
        if isinstance(config, SplatConfig):
            return () if len(map) <= config.k else splats.fit(map, config, task.scales)
        if isinstance(config, SurfelConfig):
            return surfels.fit(map, config)
        assert isinstance(config, VolumeConfig)
        return volumes.fit(map, config)
    except NothingToFitError:
        return ()


def _refine(task: TileTask, part: Part, layers: tuple[Layer, ...]) -> tuple[Layer, ...]:
    """The layers adjusted to the beams that cross the part, if the settings say so."""
    fit_rest = partial(_fit_sweeps, task, part)
    return refine(part.map(), layers, task.config.refine, fit_rest, task.config)


def _fit_sweeps(task: TileTask, part: Part, sweeps: Array) -> tuple[Layer, ...]:
    """The layers of what some sweeps saw of a part; fewer points lie farther apart."""
    seen = part[np.flatnonzero(np.isin(part.rows["sweep"], sweeps))]
    scales = task.scales
    if scales is not None and len(seen):
        scales = Scales(scales.radius_m * math.sqrt(len(part) / len(seen)), scales.bound_m)
    return _fit(replace(task, scales=scales), seen, sweeps) if len(seen) else ()


def _fit_hybrid(map: Map, part: Part, config: HybridConfig, scales: Scales | None) -> tuple[Layer, ...]:
    if part.flags is None:
        permeable = np.isin(map.groups, [Group[name.upper()] for name in config.permeable])
    else:
        permeable = (part.flags & PERMEABLE) > 0
    return hybrid.fit_classes(map, permeable, config, scales)
