"""Checks of a grid before beams are added by it: returns held out must be found again, and gaps must be rare."""

from __future__ import annotations

import numpy as np
from scipy.spatial import cKDTree

from resweep.pose import Array
from resweep.sensors.infer.beam_grid import BeamGrid, find_cells
from resweep.sensors.infer.complete_beams import complete_beams
from resweep.sensors.infer.find_rings import compute_azimuth_deg, compute_beam_points
from resweep.sweep import Sweep

_HELD_OUT = 0.1  # share of the beams that are taken away and looked for again
_MIN_FOUND = 0.85  # share of them that must come back; KITTI's jittering azimuths leave 0.94
_MAX_ERROR_DEG = 0.1  # or half a step, if that is more: how far from its cell a beam may come back
_MAX_SURPLUS = 0.1  # beams added beyond those held out, or short of them
# Share of the returns that are followed by another on their ring. Recordings have 0.9 and more, as surfaces are
# larger than a step; in a cloud thinned to half of its points, gaps are no sign of an empty beam.
_MIN_FOLLOWED = 0.7
_NEAR_M = 1.0  # nearer points are on the vehicle that carries the sensor
_CANDIDATES = 8
_RING_APART_DEG = 1e4  # keeps rings apart in a tree of azimuths


def check_grid(grid: BeamGrid, sweep: Sweep) -> str | None:
    """What is wrong with the beams that ``grid`` adds to ``sweep``, or None if nothing is."""
    whole = complete_beams(sweep, grid)
    if whole.n_beams == sweep.n_beams:
        return None  # nothing is added, so nothing can be wrong
    held = np.random.default_rng(0).random(sweep.n_beams) < _HELD_OUT
    part = sweep.select_beams(~held)
    full = complete_beams(part, grid)
    if not (np.isfinite(whole.beam_direction).all() and np.isfinite(full.beam_direction).all()):
        return "times or points are out of all bounds, so inferred beams would have no direction"
    points = compute_beam_points(sweep)
    ring = whole.beam_ring[: sweep.n_beams]
    free = np.linalg.norm(points, axis=1) > _NEAR_M
    sure = held & free & grid.fires[ring, find_cells(compute_azimuth_deg(points))]
    if not sure.any():
        return "too few returns to check the grid with"
    error = _find_errors_deg(full, part.n_beams, points[sure], ring[sure])
    found = float(np.mean(error < max(_MAX_ERROR_DEG, 0.5 * grid.azimuth_step_deg)))
    if found < _MIN_FOUND:
        return f"only {found:.0%} of the returns that were held out were found again on the grid"
    expected = whole.n_beams - part.n_beams
    surplus = (full.n_beams - part.n_beams - expected) / max(int(held.sum()), 1)
    if abs(surplus) > _MAX_SURPLUS:
        return f"gaps do not fit the grid's steps ({surplus:+.0%} of the beams that were held out)"
    followed = _measure_followed_share(whole, sweep.n_beams)
    if followed < _MIN_FOLLOWED:
        return f"only {followed:.0%} of the returns have a neighbour: the cloud was thinned, or is no grid"
    return None


def is_crowded(sweep: Sweep, grid: BeamGrid) -> bool:
    """Whether a completed sweep has more beams on a ring than fit into its turn."""
    count = np.bincount(sweep.beam_ring, minlength=grid.n_rings)[: grid.n_rings]
    there = np.bincount(sweep.beam_ring[sweep.beam], minlength=grid.n_rings)[: grid.n_rings]
    room = grid.turn / grid.step
    return bool((count > np.maximum(1.05 * room + 8, there)).any())


def _find_errors_deg(full: Sweep, first: int, points: Array, ring: Array) -> Array:
    """Angle from each point (n, 3) to the nearest of the beams from ``first`` on, among those of its ring."""
    direction, origin = full.beam_direction[first:].astype(np.float64), full.beam_origin[first:].astype(np.float64)
    if not len(direction):
        return np.full(len(points), 180.0)

    def key(azimuth: Array, ring: Array) -> Array:
        return np.stack([azimuth, _RING_APART_DEG * ring], axis=1)

    tree = cKDTree(key(compute_azimuth_deg(direction), full.beam_ring[first:].astype(np.float64)))
    _, near = tree.query(key(compute_azimuth_deg(points), ring.astype(np.float64)), k=min(_CANDIDATES, len(direction)))
    near = np.asarray(near).reshape(len(points), -1)
    away = points[:, None] - origin[near]  # lasers need not fire from the frame's origin
    away /= np.maximum(np.linalg.norm(away, axis=2, keepdims=True), 1e-12)
    same = full.beam_ring[first:][near] == ring[:, None]
    apart = np.where(same, np.linalg.norm(away - direction[near], axis=2), np.pi)
    return np.asarray(np.degrees(apart.min(axis=1)))


def _measure_followed_share(whole: Sweep, returned: int) -> float:
    """Share of the first ``returned`` beams whose next on the ring is one of them too."""
    direction = whole.beam_direction
    order = np.lexsort((compute_azimuth_deg(direction), whole.beam_ring))
    has, ring = order < returned, whole.beam_ring[order]
    pairs = has[:-1] & (ring[:-1] == ring[1:])
    return float(np.mean(has[1:][pairs])) if pairs.any() else 0.0
