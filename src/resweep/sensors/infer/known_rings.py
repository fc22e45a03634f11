"""Rings of points that carry none, where the sensor that fired them is known: the nearest of its elevations.

Points that were motion-compensated are first put back where the sensor measured them. When each was fired follows
from its azimuth; the sweep's own time may be that of its first pulse, of its middle or of its last one, and the one
that brings the points nearest to the sensor's elevations is taken.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import numpy as np

from resweep.pose import Array, Trajectory, inverse, transform
from resweep.sensors.firing import fire
from resweep.sensors.infer.find_rings import compute_azimuth_deg, compute_elevation_deg, find_nearest
from resweep.sensors.patterns import Spinning, TwoBlock
from resweep.sensors.spec import Sensor
from resweep.sweep import Sweep

_MIN_NEAR = 0.9  # share of the points that must lie near an elevation of the sensor
_NEAR = 0.2  # of the distance to the next elevation
_NEAR_M = 2.0  # nearer points show little: a centimetre is a third of a degree there
_SAMPLE = 4000  # points by which the motion is chosen
_STARTS = (0.0, -0.5, -1.0)  # of a sweep after its own time, in periods
_BINS = 720
_PASSES = 2


def assign_rings(sweep: Sweep, sensor: Sensor, motion: Trajectory | None = None) -> Sweep:
    """``sweep`` with the ring of each beam, where it has none yet; as it is where the points do not fit the sensor.

    ``motion`` is ``T_world_sensor`` around the sweep, which was taken out of its points; None where the sensor was
    stationary or is not known to have moved.
    """
    if not len(sweep) or sweep.n_beams != len(sweep) or sweep.beam_ring.any() or sensor.n_channels < 2:
        return sweep
    if not isinstance(sensor.pattern, Spinning | TwoBlock):
        return sweep
    levels = np.array(sensor.elevations_deg)
    points = sweep.points.astype(np.float64)
    far = np.flatnonzero(np.linalg.norm(points[:, :2], axis=1) > _NEAR_M)
    if not len(far):
        return sweep
    sample = points[far[:: max(1, len(far) // _SAMPLE)]]
    moves = sweep.trajectory is None and motion is not None
    starts: tuple[float | None, ...] = (None, *_STARTS) if moves else (None,)

    def find_elevations(chosen: Array, start: float | None) -> Array:
        if start is None or motion is None:
            return compute_elevation_deg(chosen)
        return compute_elevation_deg(_undo_motion(chosen, sweep, sensor, motion, start * sensor.sweep_period_s))

    shares = [_measure_near_share(find_elevations(sample, start), levels) for start in starts]
    best = int(np.argmax(shares))
    if shares[best] < _MIN_NEAR:
        return sweep
    elevation = find_elevations(points, starts[best])
    ring = np.zeros(sweep.n_beams, np.uint16)
    ring[sweep.beam] = find_nearest(levels, elevation)
    return replace(sweep, beam_ring=ring)


def _measure_near_share(elevation: Array, levels: Array) -> float:
    """Share of the elevations (n,) that lie near one of the ascending ``levels`` (k,), degrees."""
    nearest = find_nearest(levels, elevation)
    gaps = np.diff(levels)
    room = np.minimum(np.append(gaps, np.inf), np.insert(gaps, 0, np.inf))
    return float(np.mean(np.abs(elevation - levels[nearest]) < _NEAR * room[nearest]))


def _undo_motion(points: Array, sweep: Sweep, sensor: Sensor, motion: Trajectory, start_s: float) -> Array:
    """Points (n, 3) of the sweep's one frame in the frame of the sensor when it fired each."""
    delay = _find_firing_times(sensor)
    world = transform(sweep.pose, points)
    measured = points
    for _ in range(_PASSES):
        bins = (compute_azimuth_deg(measured) * (_BINS / 360.0)).astype(np.int64) % _BINS
        when = np.clip(sweep.timestamp + start_s + delay[bins], motion.start, motion.end)
        measured = transform(inverse(motion.at(when)), world)
    return measured


@lru_cache(maxsize=8)
def _find_firing_times(sensor: Sensor) -> Array:
    """Seconds after the start of a sweep at which the sensor looks along each of `_BINS` azimuths."""
    firing = fire(sensor)
    bins = (compute_azimuth_deg(firing.direction) * (_BINS / 360.0)).astype(np.int64) % _BINS
    order = np.lexsort((firing.time, bins))
    first = np.searchsorted(bins[order], np.arange(_BINS))
    count = np.bincount(bins, minlength=_BINS)
    middle = np.minimum(first + count // 2, len(order) - 1)
    return np.asarray(firing.time[order[middle]])
