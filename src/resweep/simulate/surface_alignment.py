"""A sweep registered to the surfaces of a world, point to plane: its pose, and how the sensor moved within it."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from resweep.neighbours import Neighbours
from resweep.pose import Array, transform
from resweep.registration import (
    DAMPING,
    correct_motion,
    huber_weight,
    list_powers,
    motion_jacobian,
    move_pose,
    plane_distances,
    rigid_step,
    solve_step,
)
from resweep.sweep import Sweep
from resweep.worlds import StreamedWorld, World
from resweep.worlds.layers import KINDS
from resweep.worlds.stream.cells import LayerCells, make_cells

_SAMPLES = 20_000
_REACH_M = 0.5
_HUBER_M = 0.03
_NOISE_M = 0.02  # of a distance from a surface
# Error of the recorded motion within a sweep at its ends, with time and with its square: vehicles shake, and
# poses of 10 Hz know nothing of it.
_TURN_RAD, _SHIFT_M = 0.001, 0.01
_MOTION_POWERS = 2
_NEAR_RANGE_M = 0.3  # between a recorded range and the predicted one, beyond which the beam hit another surface
_MEMORY_PARTS = 4  # of a streamed world: one part of the memory is for places, the others for its tiles
_PLACE_BYTES = 100


class Surfaces:
    """The surfaces of a world as sweeps are registered to them; made once for many sweeps.

    A volume counts as a surface across its shortest axis; otherwise returns from leaves would be matched with the
    walls and the ground beside them. A world of instances only has none. Worlds of many tiles are searched tile by
    tile, and those of a `StreamedWorld` are read when returns lie in them.
    """

    def __init__(self, world: World | StreamedWorld) -> None:
        self.origin = world.origin
        if isinstance(world, StreamedWorld) and not world.is_divided:
            world = world.load()
        cells = make_cells(world) if isinstance(world, World) else list(world.layers)
        self._planes: _SurfacePlanes | _PlanesInTiles | None
        if isinstance(world, World) and cells is None:
            parts = [planes for layer in world.layers if (planes := layer.list_planes()) is not None]
            self._planes = _SurfacePlanes(parts) if parts else None
        else:
            tiled: list[LayerCells] = [layer for layer in cells or () if KINDS[layer.kind].has_planes]
            max_places = np.inf if isinstance(world, World) else world.memory_bytes / _MEMORY_PARTS / _PLACE_BYTES
            self._planes = _PlanesInTiles(tiled, max_places) if tiled else None

    def align(self, sweep: Sweep, iterations: int = 10) -> Array:
        """``T_world_sensor`` (4, 4) at which the returns of a sweep fit the surfaces best.

        The search starts from the sweep's own pose and moves it by centimetres. Without surfaces or returns, the pose
        stays as it is.
        """
        if self._planes is None or len(sweep) == 0:
            return sweep.pose
        rows = np.random.default_rng(0).choice(len(sweep), min(_SAMPLES, len(sweep)), replace=False)
        local = sweep.deskewed()[rows].astype(np.float64)
        pose = sweep.pose.copy()
        pose[:3, 3] -= self.origin
        for _ in range(iterations):
            points = transform(pose, local)
            found, centre, normal = self._planes.find(points)
            points = points[found]
            error = plane_distances(points, centre, normal)
            near = np.abs(error) < 5 * _HUBER_M
            points, normal, error = points[near], normal[near], error[near]
            if len(error) < 100:
                break
            change = rigid_step(points, pose[:3, 3], normal, error, huber_weight(error, _HUBER_M))
            pose = move_pose(pose, change)
        pose[:3, 3] += self.origin
        return np.asarray(pose)

    def align_ranges(
        self, sweep: Sweep, predict: Callable[[Sweep], Array], motion: bool = True, iterations: int = 4
    ) -> Sweep:
        """The sweep near where it is, with the pose and motion at which ``predict(sweep)`` (b,) gives its ranges.

        Planes through the nearest surface are not quite what beams hit: where surfaces overlap, a ray reads a mean of
        them that begins at the first. ``predict`` gives infinity where nothing is hit. With ``motion``, the motion
        within the sweep is corrected by a turn and a shift that grow with time and with its square. That needs beams
        with times.
        """
        if self._planes is None or len(sweep) == 0:
            return sweep
        rows = np.random.default_rng(0).choice(len(sweep), min(_SAMPLES, len(sweep)), replace=False)
        chosen = np.zeros(sweep.n_beams, bool)
        chosen[sweep.beam[rows]] = True
        sample = sweep.select_beams(chosen)
        when = sample.beam_time[sample.beam] - sweep.timestamp
        lasts = float(np.abs(when).max()) if float(np.ptp(sweep.beam_time)) > 0.0 else 0.0
        pose, terms = sweep.pose, np.zeros((_MOTION_POWERS if motion and lasts > 0 else 0, 6))
        grown = list_powers(when / max(lasts, 1e-9), len(terms))
        spread = np.tile(np.repeat([_TURN_RAD, _SHIFT_M], 3), len(terms))
        for _ in range(iterations):
            placed = _move_sweep(sample, pose, terms, lasts)
            local, measured = placed.deskewed().astype(np.float64), placed.range.astype(np.float64)
            start = placed.deskewed_beams()[0].astype(np.float64)[placed.beam]
            ranges = predict(placed)[placed.beam].astype(np.float64)
            near = np.abs(ranges - measured) < _NEAR_RANGE_M
            along = (ranges[near] / measured[near])[:, None]
            place = pose.copy()
            place[:3, 3] -= self.origin
            points = transform(place, local[near])
            hit = transform(place, start[near] + along * (local[near] - start[near]))
            found, _, normal = self._planes.find(hit)
            points, hit, late = points[found], hit[found], grown[near][found]
            error = plane_distances(points, hit, normal)
            if len(error) < 100:
                break
            rigid = motion_jacobian(points - place[:3, 3], normal)
            jacobian = np.concatenate([rigid, *(late[:, [at]] * rigid for at in range(len(terms)))], axis=1)
            weight = huber_weight(error, _HUBER_M) / _NOISE_M**2
            prior = np.concatenate([np.full(6, _NOISE_M / np.sqrt(DAMPING * len(error))), spread])
            change = solve_step(jacobian, error, weight, prior, np.concatenate([np.zeros(6), terms.reshape(-1)]))
            place = move_pose(place, change[:6])
            place[:3, 3] += self.origin
            pose, terms = place, terms + change[6:].reshape(terms.shape)
        return _move_sweep(sweep, pose, terms, lasts)


def _move_sweep(sweep: Sweep, pose: Array, terms: Array, lasts: float) -> Sweep:
    """The sweep at ``pose`` (4, 4), its motion changed by ``terms`` (k, 6) after ``lasts`` seconds, by powers."""
    placed = sweep.moved_to(pose, sweep.timestamp)
    if not terms.any():
        return placed
    return replace(placed, trajectory=correct_motion(placed, terms / list_powers(np.array([lasts]), len(terms)).T))


class _SurfacePlanes:
    """Places on surfaces, with the nearest to a point."""

    def __init__(self, parts: Sequence[tuple[Array, Array]]) -> None:
        self.centre, self.normal = (np.concatenate(columns) for columns in zip(*parts, strict=True))
        self._near = Neighbours(self.centre)

    def find(self, points: Array) -> tuple[Array, Array, Array]:
        """Which points (n, 3) have a place within reach, (n,) bool, and centre and normal (k, 3) of the nearest."""
        at = self._near.knn(points, 1, _REACH_M).index[:, 0]
        found = at >= 0
        return found, self.centre[at[found]], self.normal[at[found]]


class _PlanesInTiles:
    """The same for layers that are read tile by tile; those used last are kept."""

    def __init__(self, layers: Sequence[LayerCells], max_places: float) -> None:
        self._layers, self._max_places = layers, max_places
        self._cells = [(i, tile) for i, layer in enumerate(layers) for tile in range(len(layer.table.n_rows))]
        self._boxes = np.concatenate([layer.table.bounds for layer in layers])
        self._kept: OrderedDict[int, _SurfacePlanes] = OrderedDict()

    def find(self, points: Array) -> tuple[Array, Array, Array]:
        """As `_SurfacePlanes.find`."""
        centre, normal = np.zeros((2, *points.shape))
        best = np.full(len(points), np.inf)
        low, high = self._boxes[:, 0] - _REACH_M, self._boxes[:, 1] + _REACH_M
        reached = (low <= points.max(axis=0)).all(axis=1) & (high >= points.min(axis=0)).all(axis=1)
        for cell in np.flatnonzero(reached).tolist():
            rows = np.flatnonzero(((points >= low[cell]) & (points <= high[cell])).all(axis=1))
            if not len(rows):
                continue
            found, places, normals = self._get(cell).find(points[rows])
            rows = rows[found]
            away = ((points[rows] - places) ** 2).sum(axis=1)
            nearer = away < best[rows]
            rows = rows[nearer]
            best[rows], centre[rows], normal[rows] = away[nearer], places[nearer], normals[nearer]
        found = np.isfinite(best)
        return found, centre[found], normal[found]

    def _get(self, cell: int) -> _SurfacePlanes:
        if cell not in self._kept:
            i, tile = self._cells[cell]
            planes = self._layers[i].read(tile).list_planes()
            assert planes is not None  # layers without are left out
            self._kept[cell] = _SurfacePlanes([planes])
            while len(self._kept) > 1 and sum(len(kept.centre) for kept in self._kept.values()) > self._max_places:
                self._kept.popitem(last=False)
        self._kept.move_to_end(cell)
        return self._kept[cell]


def align(world: World | StreamedWorld, sweep: Sweep, iterations: int = 10) -> Array:
    """``T_world_sensor`` (4, 4) at which the returns of one sweep fit the surfaces of a world best (`Surfaces`)."""
    return Surfaces(world).align(sweep, iterations)
