"""What each beam of a log should have hit, by a map of the others: range, incidence and brightness of flat surfaces.

The truth behind a recorded beam is estimated from beams that took no part in it. The sweeps are divided in two; flat
places of one half become discs, and the beams of the other half are traced against them, those without return too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np

from resweep import portable
from resweep.calibration import find_blind_bins
from resweep.log import Log
from resweep.neighbours import Neighbours
from resweep.pose import Array, transform
from resweep.sweep import Sweep
from resweep.voxels import find_first_in_voxels
from resweep.worlds.layers.splats import Splats
from resweep.worlds.native import build_scene

# Chosen by hand where a line names no source.
VOXEL_M = 0.08  # of which one return takes part in planes: nearer ones would fit the noise
K = 32  # returns of a plane
_AROUND = 8  # of them, spread over it, that show how bright it is and which beams saw it
_RADIUS_M = 0.8  # in which they lie
_THICKNESS_M = 0.10  # sigma across a plane, at most
_FLATNESS, _BREADTH = 0.05, 0.04  # variance across over that along the short side; that over the long side
_MIN_COUNT = 16  # returns of a plane: half of K
_INNER = 0.25  # share of the neighbourhood's radius that its mean may lie aside: more is at the edge of a surface
_NARROW_DEG = 0.25  # discs of sparse places are at least this wide, seen from the sensor
_MIN_COSINE = 0.1  # of incidence; beyond 84° intensities are unreliable (chosen by hand, as `ReflectanceConfig`)
_MIN_SWEEPS = 4  # else columns are divided, not sweeps


@dataclass(frozen=True, eq=False)
class Expected:
    """Beams that hit a flat surface of a map built without them, (n,) each.

    ``range_m``, ``cosine`` of incidence and ``brightness`` (what intensity would be head-on, 0 where unknown) are the
    map's; ``ring``, ``azimuth`` (`resweep.calibration.find_blind_bins`) and ``sweep`` say which beam. ``measured_m``
    and ``intensity`` are those of its nearest return, infinite and 0 for a beam that came back empty. ``around`` (n, m)
    are the rings of some of the returns that the surface was fitted to.
    """

    range_m: Array
    cosine: Array
    brightness: Array
    ring: Array
    azimuth: Array
    sweep: Array
    measured_m: Array
    intensity: Array
    around: Array

    def __len__(self) -> int:
        return len(self.range_m)

    def __getitem__(self, rows: Array) -> Expected:
        return Expected(*(getattr(self, field.name)[rows] for field in fields(self)))

    @property
    def error_m(self) -> Array:
        """What beams measured beyond the map's range, infinite for empty ones."""
        return np.asarray(self.measured_m - self.range_m)

    @property
    def tangent(self) -> Array:
        """Tangent of the incidence."""
        cosine = np.clip(self.cosine, _MIN_COSINE, 1.0)
        return np.asarray(np.sqrt(1.0 - cosine**2) / cosine)


@dataclass(frozen=True, eq=False)
class _SweepBeams:
    """The beams of a sweep in the world: origin and unit direction (b, 3), and the half that each belongs to (b,)."""

    sweep: Sweep
    origin: Array
    direction: Array
    half: Array


def expect_returns(log: Log, range_max_m: float) -> Expected:
    """What the beams of a log hit by a map of the half that they do not belong to; its poses must be known.

    Halves are every other sweep, or of fewer than four sweeps every other column.
    """
    beams = [_place(sweep, at, len(log) < _MIN_SWEEPS, log.poses[0][:3, 3]) for at, sweep in enumerate(log)]
    found = []
    for half in (0, 1):
        discs = _make_discs(beams, 1 - half)
        if discs is None:
            continue
        scene = build_scene([discs.splats.lower()])
        for at, each in enumerate(beams):
            rows = np.flatnonzero(each.half == half)
            hits = scene.intersect(
                np.ascontiguousarray(each.origin[rows], np.float32),
                np.ascontiguousarray(each.direction[rows], np.float32),
                range_max_m,
            )
            found.append(_compare(each, at, rows, hits, discs))
    if not found:
        return no_returns()
    return Expected(*(np.concatenate([getattr(each, field.name) for each in found]) for field in fields(Expected)))


def no_returns() -> Expected:
    """No beam at all."""
    return Expected(*(np.zeros((0, _AROUND) if field.name == "around" else 0) for field in fields(Expected)))


def _place(sweep: Sweep, at: int, by_column: bool, origin: Array) -> _SweepBeams:
    start, direction = (values.astype(np.float64) for values in sweep.deskewed_beams())
    pose = sweep.pose.copy()
    pose[:3, 3] -= origin
    half = sweep.beam_column.astype(np.int64) % 2 if by_column else np.full(sweep.n_beams, at % 2)
    if by_column and not half.any():  # columns are unknown: neighbours in the order of the beams
        half = np.arange(sweep.n_beams) % 2
    return _SweepBeams(sweep, transform(pose, start), portable.matmul(direction, pose[:3, :3].T), half)


@dataclass(frozen=True, eq=False)
class _FlatDiscs:
    """Discs of a half: row i of the arrays is that of the label i + 1; label 0 is not flat."""

    splats: Splats
    normal: Array
    brightness: Array
    around: Array


def _make_discs(beams: Sequence[_SweepBeams], half: int) -> _FlatDiscs | None:
    points, direction, light, reach, rings = [], [], [], [], []
    for each in beams:
        sweep = each.sweep
        rows = np.flatnonzero((each.half[sweep.beam] == half) & (sweep.return_index == 0))
        along = each.direction[sweep.beam[rows]]
        points.append(each.origin[sweep.beam[rows]] + sweep.range[rows, None] * along)
        direction.append(along)
        light.append(sweep.intensity[rows].astype(np.float64))
        reach.append(sweep.range[rows].astype(np.float64))
        rings.append(sweep.ring[rows].astype(np.int64))
    place, along, intensity = np.concatenate(points), np.concatenate(direction), np.concatenate(light)
    distance, ring = np.concatenate(reach), np.concatenate(rings)
    if len(place) < 2 * K:
        return None
    few = find_first_in_voxels(place, VOXEL_M)
    return _fit_discs(place[few], along[few], intensity[few], distance[few], ring[few])


def _fit_discs(place: Array, along: Array, intensity: Array, distance: Array, ring: Array) -> _FlatDiscs:
    index = Neighbours(place)
    shape = index.pca(K, _RADIUS_M, only=("normal", "eigenvalues", "mean_offset", "radius", "count"))
    long, short, across = shape.eigenvalues.T.astype(np.float64)
    normal, offset = shape.normal.astype(np.float64), shape.mean_offset.astype(np.float64)
    height = (offset * normal).sum(axis=1)
    aside = np.linalg.norm(offset - height[:, None] * normal, axis=1)
    flat = (shape.count >= _MIN_COUNT) & (across < _THICKNESS_M**2)
    flat &= (across < _FLATNESS * short) & (short > _BREADTH * long) & (aside < _INNER * shape.radius)
    cosine = np.abs((normal * along).sum(axis=1))
    near = index.knn(place, K, _RADIUS_M).index[:, :: K // _AROUND]
    own = np.where(flat, intensity / np.clip(cosine, _MIN_COSINE, 1.0), np.nan)
    lit = np.where(near >= 0, own[near], np.nan)
    known = np.isfinite(lit)
    brightness = np.where(known, lit, 0.0).sum(axis=1) / np.maximum(known.sum(axis=1), 1)
    width = np.maximum(VOXEL_M, distance * np.radians(_NARROW_DEG))
    centre = np.where(flat[:, None], place + height[:, None] * normal, place)
    splats = Splats(
        centre.astype(np.float32),
        np.where(flat[:, None], normal, -along).astype(np.float32),
        width.astype(np.float32),
        label=np.where(flat, np.arange(len(place)) + 1, 0).astype(np.int32),
        depth=1,
    )
    return _FlatDiscs(splats, normal, brightness, np.where(near >= 0, ring[near], ring[:, None]))


def _compare(each: _SweepBeams, at: int, rows: Array, hits: dict[str, Array], discs: _FlatDiscs) -> Expected:
    """The beams ``rows`` of a sweep that hit a flat disc, with what they measured."""
    sweep = each.sweep
    measured, intensity = np.full(sweep.n_beams, np.inf), np.zeros(sweep.n_beams)
    first = np.flatnonzero(sweep.return_index == 0)
    measured[sweep.beam[first]] = sweep.range[first]
    intensity[sweep.beam[first]] = sweep.intensity[first]
    flat = np.flatnonzero(np.isfinite(hits["range"]) & (hits["label"] > 0))
    disc, row = hits["label"][flat] - 1, rows[flat]
    return Expected(
        hits["range"][flat].astype(np.float64),
        np.abs((discs.normal[disc] * each.direction[row]).sum(axis=1)),
        discs.brightness[disc],
        sweep.beam_ring[row].astype(np.int64),
        find_blind_bins(sweep.beam_direction[row]),
        np.full(len(row), at),
        measured[row],
        intensity[row],
        discs.around[disc],
    )
