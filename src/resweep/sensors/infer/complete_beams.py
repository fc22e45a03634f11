"""The beams that came back empty, for logs that keep only returns.

`estimate_grid` learns from some sweeps where a log's lasers point and how far they turn between two
shots; `complete_beams` then adds to each sweep the beams that returned nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import numpy as np

from resweep import portable
from resweep.pose import Array
from resweep.sensors.infer.beam_grid import (
    CELLS,
    BeamGrid,
    assign_rings,
    compute_phase,
    find_cells,
    is_timed,
    thin_points,
)
from resweep.sensors.infer.channel_motion import STILL, RingMotion, fit_motion
from resweep.sensors.infer.find_rings import compute_azimuth_deg, compute_beam_points
from resweep.sweep import BeamStatus, Sweep

_MOTION_POINTS = 4_000  # of a sweep, enough for its nine numbers
_OFFSET_M = 0.02  # lasers nearer than this to the origin count as in it
_ROUND_DOWN = 0.01  # a gap of one and a half mean steps is regular where lasers take turns


@dataclass(frozen=True, eq=False)
class _NewBeams:
    """Beams to be added: ``place`` is their column where columns are numbered, else their azimuth."""

    ring: Array
    azimuth: Array
    time: Array
    place: Array


def complete_beams(sweep: Sweep, grid: BeamGrid) -> Sweep:
    """``sweep`` with a beam in every cell of ``grid``: those that returned nothing are added at the end.

    Returns that are there stay where they are, in their order; their beams get ring and column where the log gave
    none, and begin where their laser was when it fired (`_place_own`). Added beams lie between their neighbours on the
    ring, at the ring's elevation, and have the status `BeamStatus.NO_RETURN`. None is added where the ring never left
    the sensor, on rings whose elevation the grid does not know, nor in the part of a turn that the sweep does not
    cover. A sweep that has empty beams already is returned as it is.
    """
    if sweep.n_beams == 0 or (np.bincount(sweep.beam, minlength=sweep.n_beams) == 0).any():
        return sweep
    points = compute_beam_points(sweep)
    azimuth = compute_azimuth_deg(points)
    ring = assign_rings(sweep, points, azimuth, grid)
    phase = compute_phase(sweep, azimuth)
    known = np.isfinite(_pad(grid.elevations_deg, ring, np.nan)[ring])
    seen, timed = thin_points(_MOTION_POINTS, points[known], ring[known], phase[known]), is_timed(sweep)
    motion = fit_motion(grid.channels, *seen, timed=timed)
    if motion is not STILL:
        phase = phase if timed else motion.measured_phase(points, phase)
        azimuth = compute_azimuth_deg(motion.undo(points, phase))
    place = sweep.beam_column.astype(np.float64) if grid.columned else azimuth
    new = _place_between(sweep, grid, ring, azimuth, place)
    new = _add_unseen_rings(new, grid, ring, azimuth, sweep.beam_time, place)
    cell = find_cells(new.azimuth)
    covered = np.bincount(find_cells(azimuth), minlength=CELLS) > 0
    covered |= np.roll(covered, 1) & np.roll(covered, -1)
    keep = grid.fires[new.ring, cell] & covered[cell]
    new = _NewBeams(new.ring[keep], new.azimuth[keep], new.time[keep], new.place[keep])
    return _add_beams(_place_own(sweep, grid, motion, ring, phase), grid, motion, ring, azimuth, new)


def _place_own(sweep: Sweep, grid: BeamGrid, motion: RingMotion, ring: Array, phase: Array) -> Sweep:
    """``sweep`` with its own beams from where their lasers fired, to the same returns.

    Formats that keep points alone do not hold that, and readers let all beams begin in the frame's origin. A sensor
    that moves half a metre in a turn then seems to see through a pole at 4 m: beams that passed beside it to what is
    behind it would have crossed it from the origin. Beams with several returns, which lie on one line from the
    origin that the log gave, stay as they are.
    """
    if sweep.beam_origin.any() or len(sweep) != sweep.n_beams or (sweep.beam_status != BeamStatus.RETURN).any():
        return sweep
    origin = np.zeros((sweep.n_beams, 3))
    origin[:, 2] = _pad(grid.channels.height_m, ring, 0.0)[ring]
    if motion is not STILL:
        origin += motion.shift(phase)
    if (np.abs(origin) < _OFFSET_M).all():
        return sweep
    away = sweep.points[np.argsort(sweep.beam, kind="stable")].astype(np.float64) - origin
    distance = np.linalg.norm(away, axis=1)
    direction = away / np.maximum(distance, 1e-9)[:, None]
    return replace(
        sweep,
        beam_origin=origin.astype(np.float32),
        beam_direction=direction.astype(np.float32),
        range=distance[sweep.beam].astype(np.float32),
    )


def _place_between(sweep: Sweep, grid: BeamGrid, ring: Array, azimuth: Array, place: Array) -> _NewBeams:
    """Beams in the gaps of each ring, evenly between the neighbours of a gap."""
    before, after, share, gap = (_find_gaps if grid.fired is None else _find_empty_cells)(place, ring, grid)
    # Where columns are numbered, azimuth runs with or against them, by offsets of its own.
    turned = gap * (360.0 / grid.turn) * (grid.rotation_sign if grid.columned else 1.0)
    turned += (azimuth[after] - azimuth[before] - turned + 180.0) % 360.0 - 180.0
    time = _interpolate_times(sweep, before, after, share, turned * grid.rotation_sign / 360.0, grid)
    at = (place[before] + share * gap) % grid.turn
    return _NewBeams(ring[before], (azimuth[before] + share * turned) % 360.0, time, at)


def _find_gaps(place: Array, ring: Array, grid: BeamGrid) -> tuple[Array, Array, Array, Array]:
    """For each missing beam the beams before and after its gap, its share of the way, and the gap's length."""
    order = np.argsort(ring * (2.0 * grid.turn) + place, kind="stable")
    sorted_ring = ring[order]
    starts = np.flatnonzero(np.diff(sorted_ring, prepend=-1))
    ends = np.append(starts[1:], len(order)) - 1
    following = np.arange(1, len(order) + 1)
    following[ends] = starts
    gap = place[order[following]] - place[order]
    gap[ends] += grid.turn
    step = np.where(np.isfinite(grid.elevations_deg), grid.step, np.inf)  # no beam is added on an unknown ring
    missing = np.round(gap / _pad(step, ring, np.inf)[sorted_ring] - _ROUND_DOWN).astype(np.int64) - 1
    missing = np.maximum(missing, 0)
    at = np.repeat(np.arange(len(order)), missing)
    number = np.arange(len(at)) - np.repeat(np.cumsum(missing) - missing, missing) + 1
    return order[at], order[following[at]], number / (missing[at] + 1.0), gap[at]


def _find_empty_cells(place: Array, ring: Array, grid: BeamGrid) -> tuple[Array, Array, Array, Array]:
    """As `_find_gaps`, where columns are numbered: the cells that a ring fires in and that hold no beam."""
    assert grid.fired is not None
    shape = grid.fired.shape
    column = place.astype(np.int64)
    inside = (ring < shape[0]) & (column >= 0) & (column < shape[1])
    beam = np.full(shape, -1)
    beam[ring[inside], column[inside]] = np.flatnonzero(inside)
    known = np.isfinite(grid.elevations_deg) & (beam >= 0).any(axis=1)
    rows, columns = np.nonzero((beam < 0) & grid.fired & known[:, None])
    before, after = _fill_forward(beam)[rows, columns], _fill_forward(beam[:, ::-1])[:, ::-1][rows, columns]
    gap = (column[after] - column[before]) % shape[1]
    gap = np.where(gap == 0, shape[1], gap).astype(np.float64)
    return before, after, ((columns - column[before]) % shape[1]) / gap, gap


def _fill_forward(beam: Array) -> Array:
    """Each row's values with -1 replaced by the last before it, around the end of the row."""
    twice = np.concatenate([beam, beam], axis=1)
    last = np.maximum.accumulate(np.where(twice >= 0, np.arange(twice.shape[1]), -1), axis=1)
    return np.asarray(np.take_along_axis(twice, last, axis=1)[:, beam.shape[1] :])


def _pad(values: Array, ring: Array, fill: float) -> Array:
    """``values`` by ring, with ``fill`` for rings of a sweep beyond those that the grid has seen."""
    return np.pad(values, (0, max(0, int(ring.max()) + 1 - len(values))), constant_values=fill)


def _interpolate_times(sweep: Sweep, before: Array, after: Array, share: Array, turns: Array, grid: BeamGrid) -> Array:
    """Firing times between those of the neighbours; ``turns`` is the part of a turn from one to the other."""
    times = sweep.beam_time
    if grid.period_s is None or not is_timed(sweep):
        return times[before]
    apart = times[after] - times[before]
    # Neighbours on either side of the seam are a whole sweep apart.
    apart += grid.period_s * np.round(turns - apart / grid.period_s)
    time = times[before] + share * apart
    first, last = times.min(), times.max()
    step = grid.period_s / grid.n_columns
    time -= grid.period_s * (time > last + step)
    time += grid.period_s * (time < first - step)
    return np.asarray(np.clip(time, first - step, last + step))


def _add_unseen_rings(
    new: _NewBeams, grid: BeamGrid, ring: Array, azimuth: Array, time: Array, place: Array
) -> _NewBeams:
    """``new`` with the beams of rings that returned nothing at all: like those of the nearest ring that did."""
    there, known = np.bincount(ring, minlength=grid.n_rings)[: grid.n_rings] > 0, np.isfinite(grid.elevations_deg)
    models = np.flatnonzero(there & known)
    if not len(models):
        return new
    parts = [new]
    for missing in np.flatnonzero(~there & known):
        model = int(models[np.argmin(np.abs(models - missing))])
        own, added = ring == model, new.ring == model
        columns = (
            np.concatenate([old[own], more[added]])
            for old, more in ((azimuth, new.azimuth), (time, new.time), (place, new.place))
        )
        parts.append(_NewBeams(np.full(int(own.sum() + added.sum()), missing), *columns))
    if len(parts) == 1:
        return new
    names = [column.name for column in fields(_NewBeams)]
    return _NewBeams(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))


def _add_beams(sweep: Sweep, grid: BeamGrid, motion: RingMotion, ring: Array, azimuth: Array, new: _NewBeams) -> Sweep:
    """``sweep`` with the ``new`` beams after its own."""
    count = len(new.ring)
    angle, level = np.radians(new.azimuth), portable.cos(grid.channels.elevation_rad)[new.ring]
    rise = portable.sin(grid.channels.elevation_rad)[new.ring]
    direction = np.stack([level * portable.cos(angle), level * portable.sin(angle), rise], axis=1)
    origin = np.zeros((count, 3))
    origin[:, 2] = grid.channels.height_m[new.ring]
    if motion is not STILL:
        phase = _find_new_phase(sweep, new)
        direction = motion.turn(direction, phase, 1.0)
        direction /= np.linalg.norm(direction, axis=1, keepdims=True)
        origin += motion.shift(phase)
    if grid.columned:
        column, added = sweep.beam_column, np.round(new.place) % grid.n_columns
    else:
        column, added = _find_columns(azimuth, grid), _find_columns(new.azimuth, grid)
    return replace(
        sweep,
        beam_origin=_extend_origins(sweep.beam_origin, origin),
        beam_direction=np.concatenate([sweep.beam_direction, direction.astype(np.float32)]),
        beam_time=np.concatenate([sweep.beam_time, new.time]),
        beam_ring=np.concatenate([ring, new.ring]),
        beam_column=np.concatenate([column, added]),
        beam_status=np.concatenate([sweep.beam_status, np.full(count, BeamStatus.NO_RETURN, np.uint8)]),
    )


def _find_new_phase(sweep: Sweep, new: _NewBeams) -> Array:
    if is_timed(sweep):
        return np.asarray((new.time - sweep.beam_time.min()) / np.ptp(sweep.beam_time) - 0.5)
    return np.asarray(((new.azimuth + 180.0) % 360.0 - 180.0) / 360.0)


def _find_columns(azimuth: Array, grid: BeamGrid) -> Array:
    """Column of each azimuth, counted from the seam behind the sensor in the direction of rotation."""
    turned = (grid.rotation_sign * azimuth + 180.0) % 360.0
    return np.asarray((turned / grid.azimuth_step_deg).astype(np.int64) % grid.n_columns)


def _extend_origins(old: Array, new: Array) -> Array:
    if not old.strides[0] and not old[:1].any() and (np.abs(new) < _OFFSET_M).all():
        return np.broadcast_to(np.zeros(3, np.float32), (len(old) + len(new), 3))  # no memory for zeros
    return np.concatenate([old, new.astype(np.float32)])
