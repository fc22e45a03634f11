"""How much of a held-out sweep the other sweeps show at all, whatever a world makes of them.

``near`` is the share of its returns that lie within 10 cm of a point of the others. ``bound`` also counts returns whose
range is that of the plane through the nearest points, to 10 cm along the beam, be they few or many: it takes the
best of several planes for each return, which no world can know, and so is more than a world can reach.
``again`` is the share that is right to 10 cm if each beam reads as far as the nearest return of its own laser in the
nearest other sweep lies from it: a replay of what was recorded last.
``again_f1`` is the F1 of returns if each beam returned just where the nearest beam of its own laser did in the nearest
other sweep: where a sensor hardly moves, that is how well it repeats itself. ``share_f1`` is the F1 if each beam
returned where a share of the nearest beams of its own laser did, with the number and the share chosen by hindsight:
single drops are chance, and nothing that another sweep shows in a direction predicts them.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

import resweep as rs
from experiments.c_shared import select_mappable
from resweep import portable
from resweep.build import BuildConfig
from resweep.neighbours import Neighbours
from resweep.pose import Array
from resweep.simulate import Retracer

RIGHT_M = 0.10
_COUNTS = (3, 6, 12, 24, 48)  # of the points that make a plane
_REACH_M = 3.0  # of the farthest of them
_GRAZING = 1e-6
_AROUND = (1, 3, 5, 9, 15)  # beams of one laser, of which a share returns
_BESIDE = 0.006  # radians, how far off a return of the same laser may lie: a few steps of azimuth


def find_bounds(log: rs.Log, held: int, world: rs.World, config: BuildConfig) -> dict[str, float]:
    """The figures of the sweep ``held`` of a log; ``world`` was built from the others.

    Lasers are corrected as the world's calibration says. The held-out sweep is aligned with the world, as it is when
    its beams are traced again; the poses of the others are those recorded.
    """
    labels = config.map.choose_labels(log)
    sweeps = [select_mappable(sweep, config.map, labels) for sweep in log]
    sweep = sweeps[held]
    sweep = Retracer(world).register(sweep, motion=True)
    others = [each for at, each in enumerate(sweeps) if at != held]
    nearest = min(others, key=lambda other: abs(other.timestamp - sweep.timestamp))
    replayed = find_again(nearest, sweep)
    again, share = find_again_f1(nearest, sweep), find_share_f1(nearest, sweep)
    if world.calibration is not None:
        sweep, *others = (world.calibration.applied(each) for each in (sweep, *others))
    first = np.unique(sweep.beam, return_index=True)[1]  # of several returns on a beam the nearest counts
    points = np.concatenate([each.world_points() - world.origin for each in others])
    place, start = sweep.world_points() - world.origin, _find_origins(sweep) - world.origin
    near, bound = find_reachable(points, place[first], start[first])
    return {
        "near": float(near.mean()),
        "bound": float(bound.mean()),
        "again": replayed,
        "again_f1": again,
        "share_f1": share,
    }


def find_reachable(points: Array, place: Array, start: Array) -> tuple[Array, Array]:
    """Returns (m,) bool at ``place`` (m, 3) that are near ``points`` (n, 3), and those near or in a plane of them.

    ``start`` (m, 3) is where their beams begin.
    """
    index = Neighbours(points.astype(np.float32))
    ray = place - start
    length = np.sqrt((ray**2).sum(axis=1))
    ray /= length[:, None]
    near = index.knn(place.astype(np.float32), 1).distance2[:, 0] <= RIGHT_M**2
    bound = near.copy()
    for count in (each for each in _COUNTS if each <= len(points)):
        rows = np.flatnonzero(~bound)
        found = index.knn(place[rows].astype(np.float32), count)
        around = points[found.index]
        middle = around.mean(axis=1)
        around = around - middle[:, None]
        normal = portable.eigh3(np.einsum("nki,nkj->nij", around, around) / count)[1][:, :, 0]
        slant = (ray[rows] * normal).sum(axis=1)
        slant = np.where(np.abs(slant) < _GRAZING, _GRAZING, slant)
        hit = ((middle - start[rows]) * normal).sum(axis=1) / slant
        bound[rows] = (np.abs(hit - length[rows]) <= RIGHT_M) & (found.distance2[:, -1] <= _REACH_M**2)
    return near, bound


def find_again(other: rs.Sweep, sweep: rs.Sweep) -> float:
    """The share of a sweep's returns that those of the same laser in ``other``, nearest in direction, give to 10 cm.

    Both are seen from where the lasers of ``sweep`` are; of several returns on a beam the nearest counts.
    """
    first = np.unique(sweep.beam, return_index=True)[1]
    start, place, ring = _find_origins(sweep)[first], sweep.world_points()[first], sweep.ring[first]
    theirs, right = other.world_points(), np.zeros(len(first), bool)
    for laser in np.intersect1d(other.ring, ring):
        own = np.flatnonzero(ring == laser)
        middle = start[own].mean(axis=0)
        seen, hit = (points - middle for points in (theirs[other.ring == laser], place[own]))
        reach, true = (np.sqrt((points**2).sum(axis=1)) for points in (seen, hit))
        index = Neighbours((seen / reach[:, None]).astype(np.float32))
        found = index.knn((hit / true[:, None]).astype(np.float32), 1)
        near = found.distance2[:, 0] <= _BESIDE**2
        right[own] = near & (np.abs(reach[found.index[:, 0]] - true) <= RIGHT_M)
    return float(right.mean())


def find_again_f1(other: rs.Sweep, sweep: rs.Sweep) -> float:
    """The F1 of returns of a sweep, if its beams return where the nearest of the same laser in ``other`` do."""
    return _find_f1(_find_shares(other, sweep, 1) > 0.5, _find_returned(sweep))


def find_share_f1(other: rs.Sweep, sweep: rs.Sweep) -> float:
    """The best F1 of returns of a sweep by what share of the nearest beams of the same laser in ``other`` return."""
    returned = _find_returned(sweep)
    shares = [_find_shares(other, sweep, count) for count in _AROUND]
    return max(_find_f1(share > least, returned) for share in shares for least in (-1.0, *np.unique(share)))


def _find_shares(other: rs.Sweep, sweep: rs.Sweep, count: int) -> Array:
    """The share (b,) of returns among the ``count`` nearest beams of the same laser in ``other``; 0 if it has none."""
    theirs = _find_returned(other)
    turned = [portable.matmul(each.beam_direction.astype(np.float64), each.pose[:3, :3].T) for each in (other, sweep)]
    found = np.zeros(sweep.n_beams)
    for ring in np.intersect1d(other.beam_ring, sweep.beam_ring):
        rows, own = np.flatnonzero(other.beam_ring == ring), np.flatnonzero(sweep.beam_ring == ring)
        near = Neighbours(turned[0][rows].astype(np.float32))
        index = near.knn(turned[1][own].astype(np.float32), min(count, len(rows))).index
        found[own] = theirs[rows[index]].mean(axis=1)
    return found


def _find_f1(expected: Array, returned: Array) -> float:
    return float(2 * (expected & returned).sum() / max(int(expected.sum() + returned.sum()), 1))


def _find_returned(sweep: rs.Sweep) -> Array:
    returned = np.zeros(sweep.n_beams, bool)
    returned[sweep.beam] = True
    return returned


def _find_origins(sweep: rs.Sweep) -> Array:
    """Where in the world the beam of each return begins (n, 3)."""
    bare = replace(sweep, range=np.zeros_like(sweep.range))
    return bare.world_points()
