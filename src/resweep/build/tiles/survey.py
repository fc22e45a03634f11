"""The scales of a scattered map (R̄ and ε̄ of C 3.1), measured on cells spread over all of it.

Splats of every tile grow by the same scales, or a seam would show where two tiles meet. A map of up to half a
million points is surveyed as a whole, a larger one on cells that a hash of their place picks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from resweep.build.settings.splats import SplatSettings
from resweep.build.splats.denoise import DENOISE_COLUMNS, denoise
from resweep.build.splats.splats import MIN_POINTS, Scales
from resweep.labels import Group
from resweep.map.store.grid import CELLS, Square
from resweep.map.store.part import PERMEABLE, SquarePart, TiledLog
from resweep.neighbours import Neighbours
from resweep.pose import Array
from resweep.voxels import number_voxels
from resweep.work import Workers

# Chosen by hand where no source is named.
_POINTS = 500_000  # of the cells that are surveyed, about
_ASKED = 50_000  # points whose neighbours are looked for where a map is surveyed in part, about
_MARGIN_M = 1.0  # around a surveyed square; a neighbourhood that is wider is cut off there
# Places and rows are mixed by the primes of xxHash, then by Wellons, "Prospecting for Hash Functions" (2018).
_HASH_FIRST, _HASH_SECOND, _HASH_MIX = 0x9E3779B1, 0x85EBCA77, 0x2C1B3C6D
_HASH_SHIFT = 15
_LAST_SHIFT = 13
_BITS32 = 0xFFFFFFFF  # that are kept of a product
_DIGITS = 6  # that are kept of a scale, so that it does not depend on the order of sums


@dataclass(frozen=True, eq=False)
class SurveyTask:
    """Squares of one tile to be surveyed, and what of their points: ``share`` of them is asked for ``k`` neighbours.

    With ``surfaces`` only points that are not permeable count: by their flags, or where those were not needed by their
    groups, of which some are ``permeable``. ``radius_m`` is R̄ once that is known.
    """

    tiled: TiledLog
    squares: tuple[Square, ...]
    k: int
    share: float
    surfaces: bool
    permeable: tuple[int, ...]
    thin_m: float
    clean: bool
    radius_m: float | None = None


def plan_survey(
    tiled: TiledLog,
    counts: Mapping[tuple[int, int], int],
    settings: SplatSettings,
    surfaces: bool,
    permeable: Sequence[Group],
) -> list[SurveyTask]:
    """The tasks that survey a map whose cells hold ``counts`` points, for splats of some ``settings``."""
    total = sum(counts.values())
    chosen = [cell for cell in counts if _hash(*cell) < _POINTS / max(total, 1)]
    if not chosen:
        chosen = [max(counts, key=lambda cell: (counts[cell], cell))]
    all_of_it = len(chosen) == len(counts)
    share = 1.0 if all_of_it else min(1.0, _ASKED / sum(counts[cell] for cell in chosen))
    how = (settings.k, share, surfaces, tuple(map(int, permeable)), settings.thin_m or 0.0, settings.denoise)
    tiles: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for x, y in sorted(chosen):
        tiles.setdefault((x // CELLS, y // CELLS), []).append((x, y))
    tasks = []
    for (x, y), cells in tiles.items():
        squares = [Square(x, y, tiled.tile_m)] if all_of_it else [Square(*cell, tiled.cell_m) for cell in cells]
        tasks.append(SurveyTask(tiled, tuple(squares), *how))
    return tasks


def _hash(x: int, y: int) -> float:
    """A number from 0 to 1 that depends on a place only."""
    mixed = (x * _HASH_FIRST ^ y * _HASH_SECOND) & _BITS32
    mixed = ((mixed ^ (mixed >> _HASH_SHIFT)) * _HASH_MIX) & _BITS32
    return float(mixed ^ (mixed >> _LAST_SHIFT)) / 2**32


def measure_scales(tasks: Sequence[SurveyTask], workers: Workers, flatness: bool, show: bool) -> Scales | None:
    """R̄ and ε̄ of the map that ``tasks`` survey; None if it has no points. Without ``flatness`` ε̄ stays 0."""
    sums = np.array(list(workers.map(sum_radii, tasks, "measuring distances", show=show))).reshape(-1, 2)
    total, count = sums.sum(axis=0)
    if count == 0:
        return None
    radius = float(f"{total / count:.{_DIGITS}g}")
    if not flatness:
        return Scales(radius, 0.0)
    further = [replace(task, radius_m=radius) for task in tasks]
    sums = np.array(list(workers.map(sum_offsets, further, "measuring flatness", show=show))).reshape(-1, 2)
    total, count = sums.sum(axis=0)
    return Scales(radius, float(f"{total / max(count, 1):.{_DIGITS}g}"))


def sum_radii(task: SurveyTask) -> tuple[float, float]:
    """The sum over the asked points of the distance to the farthest of their k nearest, and their number."""
    total = count = 0.0
    for square in task.squares:
        points, asked = _read_points(task, square)
        if len(points) == 0 or len(asked) == 0:
            continue
        distance2 = Neighbours(points).knn(points[asked], min(task.k, len(points))).distance2[:, -1]
        total += float(np.sqrt(distance2.astype(np.float64)).sum())
        count += len(asked)
    return total, count


def sum_offsets(task: SurveyTask) -> tuple[float, float]:
    """The sum over the asked points of their neighbours' distances from their plane, and the number of neighbours."""
    assert task.radius_m is not None
    total = count = 0.0
    for square in task.squares:
        points, asked = _read_points(task, square)
        if len(points) == 0 or len(asked) == 0:
            continue
        k = np.zeros(len(points), np.int32)
        k[asked] = task.k
        shape = Neighbours(points).pca(k, task.radius_m, only=("mean_abs_plane_distance", *DENOISE_COLUMNS))
        flat = shape.count >= MIN_POINTS
        if task.clean:  # of the neighbours themselves, one in a thousand is noise
            flat &= denoise(shape)
        total += float((shape.mean_abs_plane_distance[flat].astype(np.float64) * shape.count[flat]).sum())
        count += float(shape.count[flat].sum())
    return total, count


def _read_points(task: SurveyTask, square: Square) -> tuple[Array, Array]:
    """Points (n, 3) of a square and around it, and the rows (m,) of those in it that are asked."""
    part = SquarePart.read(task.tiled, square, _MARGIN_M)
    if task.surfaces and len(part):
        passed = np.isin(part.map().groups, task.permeable) if part.flags is None else (part.flags & PERMEABLE) > 0
        part = part[np.flatnonzero(~passed)]
    if len(part) == 0:
        return np.zeros((0, 3), np.float32), np.zeros(0, np.int64)
    cloud = part.cloud
    if task.thin_m > 0:
        cloud = cloud.merged(number_voxels(cloud.points, task.thin_m, cloud.label))
        own = np.flatnonzero(square.contains(cloud.points))
        return cloud.points, own[:: max(1, round(1 / task.share))]
    mixed = (part.rows["sweep"].astype(np.uint32) * np.uint32(_HASH_FIRST)) ^ (
        part.rows["row"].astype(np.uint32) * np.uint32(_HASH_SECOND)
    )
    mixed = (mixed ^ (mixed >> np.uint32(_HASH_SHIFT))) * np.uint32(_HASH_MIX)
    return cloud.points, np.flatnonzero(part.own & (mixed < task.share * 2.0**32))
