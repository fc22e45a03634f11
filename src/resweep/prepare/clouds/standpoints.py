"""Standpoints from which a cloud may have been seen, where nothing says where its scanner was.

A scanner stands where it sees much of what it records. Of many free places in and around the cloud, those are taken
one by one that see much, and most of what none of them saw yet. The cloud is covered with discs for this, and rays are
traced to its points: a point is visible if nothing stops the ray before it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from resweep import _core, portable
from resweep.neighbours import Neighbours
from resweep.pose import Array
from resweep.simulate.scene import make_native_scene
from resweep.voxels import find_cells
from resweep.worlds import World
from resweep.worlds.layers.splats import Splats

# Chosen by hand where a line names no source.
_MAX_DISCS = 120_000  # of the cover: bounds the time of tracing
_MIN_SIDE_SPACINGS = 2.0  # of the voxels that discs stand for, in spacings of the points
_MAX_VOXELS = 2**20  # along the longest side of the cloud
_MIN_SIDE_M = 1e-4  # of those voxels: points of a smaller cloud are one
_COARSER = 1.5  # by which the voxels grow until few enough hold points
_TRACED_POINTS = 6_000  # points to which rays are traced while standpoints are chosen
_PLACES = 250  # in the box of the cloud, about
_MAX_PLACES = 60  # along one axis of the box: a long cloud has no more
_MIN_BOX_SIDES = 4.0  # extent of the box along each axis, in voxels: a flat cloud has a box too
_NORMAL_K = 10  # nearest discs that give a normal
_DISC_SIDES = 1.5  # radius of the discs, in sides of the voxels that they stand for
_STOP_BEFORE = 1.5  # how far before its point a ray may be stopped, in those sides
_MIN_COSINE = 0.1  # below which a ray grazes the discs around its point
_MIN_VISIBLE_SHARE = 0.98  # of all that is visible at all: then no further standpoint is taken
_MIN_GAIN = 0.005  # share of the points that a further standpoint must add
_FAR_HALF_DIAGONALS = 4.0  # distance of standpoints around the cloud, in half diagonals of its box
_VOTERS = 16  # nearest discs whose standpoint a hidden one takes
_TIE_WEIGHT = 0.01  # what a point that is seen squarely counts, so that of equal places the better one is taken
_CLEAR_M = 1.0  # around a scanner: what is closed and smaller than twice that was seen from outside
_CLEAR_SIDES = 2.0  # around a scanner, in sides of the voxels: nearer it would stand among the discs


@dataclass(frozen=True, eq=False)
class Standpoints:
    """Standpoints (s, 3), and which of them sees each of ``points`` (n, 3): ``seen_from`` (n,).

    All in metres from one origin. Points that are not ``visible`` (n,) bool from any of them have the standpoint of
    most of their neighbours.
    """

    places: Array
    points: Array
    seen_from: Array
    visible: Array


def find_standpoints(points: Array, spacing_m: float, max_count: int, threads: int = 0) -> Standpoints:
    """The standpoints of a cloud (n, 3) around an origin nearby; at most ``max_count`` of them."""
    disc, side = _thin(points, spacing_m)
    near = Neighbours(disc)
    normal = near.pca(min(_NORMAL_K, len(disc)), np.inf, only=("normal", "count")).normal
    flat = portable.norm(normal) > 0.5  # 1, or 0 where there is none
    scene = _make_cover_scene(disc[flat], normal[flat], side)
    look = _PlaceScorer(scene, disc, normal, side, threads)
    candidates = _list_places(disc, side, near)
    asked = np.arange(0, len(disc), max(1, len(disc) // _TRACED_POINTS))
    score = np.stack([look.score(place, asked) for place in candidates])
    chosen = _choose(score, max_count)
    final = np.stack([look.score(candidates[at], np.arange(len(disc))) for at in chosen])
    seen_from = np.argmax(
        final > 0, axis=0
    )  # the first that sees it: a wall that two see from either side has one side
    visible = final.max(axis=0) > 0
    seen_from = _take_vote(near, disc, seen_from, visible, len(chosen))
    return Standpoints(candidates[chosen], disc, seen_from, visible)


def _thin(points: Array, spacing_m: float) -> tuple[Array, float]:
    """The first point (m, 3) float32 of each voxel, few enough to be traced, and the voxels' side."""
    side = max(_MIN_SIDE_SPACINGS * spacing_m, float(np.ptp(points, axis=0).max()) / _MAX_VOXELS, _MIN_SIDE_M)
    while True:
        cell = find_cells(points - points.min(axis=0), side)
        first = np.sort(np.unique(cell, axis=0, return_index=True)[1])
        if len(first) <= _MAX_DISCS:
            return np.ascontiguousarray(points[first], np.float32), side
        side *= _COARSER


def _make_cover_scene(centre: Array, normal: Array, side: float) -> _core.Scene:
    radius = np.full(len(centre), _DISC_SIDES * side, np.float32)
    return make_native_scene(World([Splats(centre, normal, radius, depth=1)]))


@dataclass(frozen=True, eq=False)
class _PlaceScorer:
    scene: _core.Scene
    points: Array
    normal: Array
    side: float
    threads: int

    def score(self, place: Array, rows: Array) -> Array:
        """How well (m,) each of the ``rows`` is seen from a place: the cosine of incidence; 0 where it is hidden."""
        away = self.points[rows].astype(np.float64) - place
        distance = np.maximum(portable.norm(away), 1e-6)
        direction = away / distance[:, None]
        origins = np.broadcast_to(np.asarray(place, np.float32), (len(rows), 3))
        limit = float(distance.max()) + 1.0
        hit = self.scene.intersect(
            np.ascontiguousarray(origins), np.ascontiguousarray(direction, np.float32), limit, threads=self.threads
        )["range"]
        cosine = np.abs(np.einsum("ni,ni->n", direction, self.normal[rows]))
        visible = (hit >= distance - _STOP_BEFORE * self.side) & (cosine >= _MIN_COSINE)
        return np.where(visible, cosine, 0.0)


def _list_places(points: Array, side: float, near: Neighbours) -> Array:
    """Places (p, 3) where a scanner could have been: free ones in the box of the cloud, and some around it."""
    low, high = (points.astype(np.float64).min(axis=0), points.astype(np.float64).max(axis=0))
    size = np.maximum(high - low, _MIN_BOX_SIDES * side)
    step = float(portable.power(np.array(size.prod() / _PLACES), 1.0 / 3.0))
    counts = np.clip(np.rint(size / step), 1, _MAX_PLACES).astype(int)
    axes = [low[at] + size[at] * (np.arange(counts[at]) + 0.5) / counts[at] for at in range(3)]
    inside = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)
    clear = near.knn(inside, 1).distance2[:, 0] > max(_CLEAR_SIDES * side, _CLEAR_M) ** 2
    around = [
        (x, y, z) for z in (0, 1) for x in (-1, 0, 1) for y in (-1, 0, 1) if (x, y, z) != (0, 0, 0)
    ]  # none below: a cloud is not scanned from under the ground
    direction = np.array(around, np.float64)
    direction /= portable.norm(direction)[:, None]
    outside = (low + high) / 2 + direction * _FAR_HALF_DIAGONALS * float(portable.norm(high - low)) / 2
    return np.concatenate([inside[clear], outside])


def _choose(score: Array, max_count: int) -> Array:
    """Rows (s,) of the places that see the most between them, in the order in which they are taken.

    Each has the largest product of the points that it sees and of those of them that none before it saw. The first
    factor excludes the inside of a closed block, from where nothing around it is seen.
    """
    total = (score > 0).sum(axis=1)
    unseen = np.ones(score.shape[1], bool)
    visible = int((score.max(axis=0) > 0).sum())
    chosen: list[int] = []
    while len(chosen) < max_count:
        fresh = (score[:, unseen] > 0).sum(axis=1)
        at = int(np.argmax(fresh * total + _TIE_WEIGHT * score[:, unseen].sum(axis=1)))
        if chosen and fresh[at] < _MIN_GAIN * score.shape[1]:
            break
        chosen.append(at)
        unseen &= score[at] <= 0
        if visible - int((unseen & (score.max(axis=0) > 0)).sum()) >= _MIN_VISIBLE_SHARE * visible:
            break
    return np.array(chosen, np.int64)


def _take_vote(near: Neighbours, points: Array, seen_from: Array, visible: Array, count: int) -> Array:
    """``seen_from`` (n,), where points that are not visible take the standpoint of most of their visible neighbours."""
    hidden = np.flatnonzero(~visible)
    if len(hidden) == 0 or not visible.any():
        return seen_from
    around = near.knn(points[hidden], min(_VOTERS, len(points))).index
    votes = np.where((around >= 0) & visible[np.maximum(around, 0)], seen_from[np.maximum(around, 0)], -1)
    tally = np.stack([(votes == at).sum(axis=1) for at in range(count)])
    fallback = int(np.bincount(seen_from[visible], minlength=count).argmax())
    found = seen_from.copy()
    found[hidden] = np.where(tally.max(axis=0) > 0, tally.argmax(axis=0), fallback)
    return found
