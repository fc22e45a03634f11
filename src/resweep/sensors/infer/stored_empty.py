"""Beams without return that a file stores as such: cells of a ring and a column, but no direction.

Drivers that write whole images fill the cells where nothing came back with zeros or NaN. Where such a beam
pointed follows from the returns of its ring and of its column.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from resweep import portable
from resweep.pose import Array
from resweep.sensors.infer.find_rings import compute_azimuth_deg, compute_elevation_deg, compute_group_medians
from resweep.sweep import BeamStatus, Sweep

_NEAR_M = 1.0  # nearer returns show little of a laser's angles
_MIN_RETURNS = 100
_MIN_CLOSE = 0.9  # share of the returns that must lie where their ring and column say
_CLOSE_DEG = 0.15  # or half a column, if that is more
_ROUNDS = 2
_MAX_RINGS = 1024
_MAX_COLUMNS = 1 << 17


def add_stored_empty(sweep: Sweep, ring: Array, column: Array) -> Sweep:
    """``sweep`` with beams without return in the cells ``ring`` (m,), ``column`` (m,), after its own.

    Cells on rings that have no return are left out: their elevation is unknown. Where the returns do not lie
    on a grid of rings and columns, ``sweep`` is returned as it is.
    """
    if not len(ring) or len(sweep) < _MIN_RETURNS:
        return sweep
    n_rings = int(max(sweep.beam_ring.max(), ring.max())) + 1
    n_columns = int(max(sweep.beam_column.max(), column.max())) + 1
    if n_rings > _MAX_RINGS or n_columns > _MAX_COLUMNS:
        return sweep  # numbers that no LiDAR has; tables of them would fill the memory
    far = sweep.range > _NEAR_M
    directions = sweep.beam_direction[sweep.beam[far]].astype(np.float64)
    own_ring, own_column = sweep.ring[far].astype(np.int64), sweep.column[far].astype(np.int64)
    if len(directions) < _MIN_RETURNS:
        return sweep
    azimuth, elevation = compute_azimuth_deg(directions), compute_elevation_deg(directions)
    level = compute_group_medians(elevation, own_ring, n_rings)
    step = _step_deg(azimuth, own_ring, own_column)
    if step is None:
        return sweep
    turn, offset = _fit_angles(azimuth, own_ring, own_column, n_rings, n_columns, step)
    error = np.abs(_wrap(azimuth - turn[own_column] - offset[own_ring]))
    limit = max(_CLOSE_DEG, 0.5 * abs(step))
    close = (error < limit) & (np.abs(elevation - level[own_ring]) < limit)
    if close.mean() < _MIN_CLOSE:
        return sweep
    known = np.isfinite(level[ring]) & np.isfinite(offset[ring])
    ring, column = ring[known], column[known]
    angle, rise = np.radians(turn[column] + offset[ring]), np.radians(level[ring])
    direction = np.stack(
        [portable.cos(rise) * portable.cos(angle), portable.cos(rise) * portable.sin(angle), portable.sin(rise)], axis=1
    )
    return replace(
        sweep,
        beam_origin=np.broadcast_to(np.zeros(3, np.float32), (sweep.n_beams + len(ring), 3))
        if not sweep.beam_origin.any()
        else np.concatenate([sweep.beam_origin, np.zeros((len(ring), 3), np.float32)]),
        beam_direction=np.concatenate([sweep.beam_direction, direction.astype(np.float32)]),
        beam_time=np.concatenate([sweep.beam_time, _interpolate_column_times(sweep, n_columns)[column]]),
        beam_ring=np.concatenate([sweep.beam_ring, ring]),
        beam_column=np.concatenate([sweep.beam_column, column]),
        beam_status=np.concatenate([sweep.beam_status, np.full(len(ring), BeamStatus.NO_RETURN, np.uint8)]),
    )


def _wrap(angle_deg: Array) -> Array:
    return np.asarray((angle_deg + 180.0) % 360.0 - 180.0)


def _step_deg(azimuth: Array, ring: Array, column: Array) -> float | None:
    """Degrees from one column to the next, negative where they run clockwise; None where no two neighbour."""
    order = np.lexsort((column, ring))
    next_to = (np.diff(ring[order]) == 0) & (np.diff(column[order]) == 1)
    if next_to.sum() < _MIN_RETURNS:
        return None
    step = float(np.median(_wrap(np.diff(azimuth[order]))[next_to]))
    return step or None


def _fit_angles(
    azimuth: Array, ring: Array, column: Array, n_rings: int, n_columns: int, step: float
) -> tuple[Array, Array]:
    """Azimuth of each column (c,), and what each ring adds to it (k,), NaN where it has no return."""
    turn = step * np.arange(n_columns)
    offset = np.zeros(n_rings)
    for _ in range(_ROUNDS):
        phasor = portable.phasor(np.radians(azimuth - turn[column]))
        total = np.bincount(ring, phasor.real, n_rings) + 1j * np.bincount(ring, phasor.imag, n_rings)
        offset = np.degrees(portable.angle(total))
        # The head does not turn quite evenly: what all rings of a column have in common is its own.
        aside = compute_group_medians(_wrap(azimuth - turn[column] - offset[ring]), column, n_columns)
        seen = np.isfinite(aside)
        turn = turn + np.interp(np.arange(n_columns), np.flatnonzero(seen), aside[seen])
    return turn, np.where(np.bincount(ring, minlength=n_rings) > 0, offset, np.nan)


def _interpolate_column_times(sweep: Sweep, n_columns: int) -> Array:
    """Firing time (c,) of each column, between those of its neighbours where nothing came back."""
    start = sweep.beam_time.min()
    late = compute_group_medians(sweep.beam_time - start, sweep.beam_column.astype(np.int64), n_columns)
    seen = np.isfinite(late)
    return np.asarray(start + np.interp(np.arange(n_columns), np.flatnonzero(seen), late[seen]))
