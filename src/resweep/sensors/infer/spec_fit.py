"""A sensor's spec fitted to a log: what its points show, and the rest from the nearest of the catalog.

A log shows where and when the lasers fire, how far they reach and how ranges are rounded. It does not show
the beam's divergence or the wavelength: those are the catalog's, as the description states. Noise, biases of lasers
and detection need a map of the place: `resweep.calibrate.sensor` adds them to the spec.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from resweep import portable
from resweep.errors import ResweepError
from resweep.log import Log
from resweep.pose import Array
from resweep.sensors.catalog import load_sensor, sensor_names
from resweep.sensors.infer.beam_grid import (
    BeamGrid,
    assign_rings,
    compute_phase,
    estimate_grid,
    is_timed,
    sample_sweeps,
    thin_points,
)
from resweep.sensors.infer.channel_motion import fit_motion
from resweep.sensors.infer.find_rings import compute_azimuth_deg, compute_beam_points, compute_group_medians
from resweep.sensors.patterns import Block, Spinning
from resweep.sensors.spec import Sensor
from resweep.sweep import Sweep

_QUANTA_M = (0.01, 0.005, 0.004, 0.002, 0.001)
_MIN_QUANTUM_PHASOR = 0.8  # length of the mean phasor of ranges over a quantum; 0 where they are not rounded to it
_OFFSET_DEG = 0.02  # azimuth offsets of channels below it count as none
_DELAY_S = 2e-7  # firing delays below it count as none
_ANGLE_DIGITS, _TIME_DIGITS = 4, 9


@dataclass(frozen=True, eq=False)
class SpecFit:
    """A fitted sensor, the grid it came from, and the nearest of the catalog.

    ``elevation_rms_deg`` is how far the two differ in elevation; ``returns`` (k,) counts points by ring.
    """

    sensor: Sensor
    grid: BeamGrid
    nearest: Sensor
    elevation_rms_deg: float
    returns: Array


def fit_log(log: Log | Sequence[Sweep], name: str = "fitted", sweeps: int = 5) -> SpecFit:
    """The spec of the spinning sensor that recorded ``log``, with its grid and the nearest sensor of the catalog.

    ``sweeps`` of the log take part.
    """
    if len(log) == 0:
        raise ResweepError("fit: the log has no sweeps; give one that has")
    grid = estimate_grid(log, sweeps)
    chosen = sample_sweeps(log, sweeps)
    rings = [
        assign_rings(sweep, points := compute_beam_points(sweep), compute_azimuth_deg(points), grid) for sweep in chosen
    ]
    returns = np.sum(
        [np.bincount(ring[s.beam], minlength=grid.n_rings) for s, ring in zip(chosen, rings, strict=True)], axis=0
    )
    seen = np.isfinite(grid.elevations_deg)
    near, rms = find_nearest_sensor(grid.elevations_deg[seen])
    rate_hz, rate_from = _find_rate(log, grid, near)
    delay = _estimate_delays(chosen, rings, grid)
    offset = _estimate_offsets(chosen, rings, grid, delay, rate_hz)
    ranges = np.concatenate([sweep.range for sweep in chosen]).astype(np.float64)
    channels = Block(
        elevation_deg=_round_values(grid.elevations_deg[seen], _ANGLE_DIGITS),
        azimuth_offset_deg=None if offset is None else _round_values(offset[seen], _ANGLE_DIGITS),
        firing_time_s=None if delay is None else _round_values(delay[seen], _TIME_DIGITS),
    )
    pattern = Spinning(
        azimuth_resolution_deg=grid.azimuth_step_deg, direction=grid.direction or "clockwise", channels=channels
    )
    low, high = float(ranges.min()), float(ranges.max())
    sensor = Sensor(
        name=name,
        title=name,
        description=_describe(grid, near, rms, rate_from, len(ranges)),
        sources=("fitted to a log with resweep.sensors.infer.spec_fit", f"beam, receiver, wavelength: {near.name}"),
        range_min_m=max(0.0, np.floor(low * 10.0) / 10.0),
        range_max_m=np.ceil(high * 10.0) / 10.0,
        wavelength_nm=near.wavelength_nm,
        rotation_rate_hz=round(rate_hz, 4),
        pattern=pattern,
        beam=near.beam,
        receiver=near.receiver.model_copy(update={"range_quantisation_m": estimate_quantum_m(ranges)}),
        pointing=near.pointing,
    )
    return SpecFit(sensor, grid, near, rms, returns)


def _round_values(values: Array, digits: int) -> tuple[float, ...]:
    return tuple(float(value) for value in np.round(values, digits) + 0.0)


def find_nearest_sensor(elevation_deg: Array) -> tuple[Sensor, float]:
    """The spinning sensor of the catalog nearest to channels at ``elevation_deg`` (k,), and the RMS difference.

    One with as many channels is taken before any other; those with another number are compared by the
    elevations at equal shares of their channels.
    """
    wanted = np.sort(elevation_deg)
    share = np.linspace(0.0, 1.0, max(len(wanted), 2))
    best: tuple[bool, float, Sensor] | None = None
    for item in map(load_sensor, sensor_names()):
        if item.rotation_rate_hz is None:
            continue
        theirs = np.array(item.elevations_deg)
        at = np.interp(share, np.linspace(0.0, 1.0, len(theirs)), theirs) if len(theirs) > 1 else theirs
        ours = wanted if len(wanted) > 1 else np.repeat(wanted, 2)
        rms = float(np.sqrt(np.mean((ours - at) ** 2)))
        key = (len(theirs) != len(wanted), rms, item)
        if best is None or key[:2] < best[:2]:
            best = key
    assert best is not None
    return best[2], best[1]


def estimate_quantum_m(ranges: Array) -> float:
    """The step that ranges (n,) are rounded to, 0 where none of the usual ones shows."""
    few = ranges[:: max(1, len(ranges) // 20_000)]
    for quantum in _QUANTA_M:
        if abs(np.mean(portable.phasor(2.0 * np.pi * few / quantum))) > _MIN_QUANTUM_PHASOR:
            return quantum
    return 0.0


def _find_rate(log: Log | Sequence[Sweep], grid: BeamGrid, near: Sensor) -> tuple[float, str]:
    """Turns per second, and where they were found."""
    if grid.period_s is not None:
        return 1.0 / grid.period_s, "the points' times"
    times = log.times if isinstance(log, Log) else np.array([sweep.timestamp for sweep in log])
    if isinstance(log, Log) and not log.times_known:
        times = times[:0]  # those of an assumed rate show nothing
    apart = np.diff(np.asarray(times, dtype=np.float64))
    if len(apart) and (period := float(np.median(apart))) > 0:
        return 1.0 / period, "the sweeps' times"
    return near.rotation_rate_hz or 10.0, f"the catalog's {near.name}"


def _estimate_delays(sweeps: list[Sweep], rings: list[Array], grid: BeamGrid) -> Array | None:
    """Seconds (k,) from the start of a step to the firing of each ring, None where times do not show it.

    Each shot is timed from the last one of the ring with most points; the step begins after the longest
    pause of its cycle.
    """
    period = (grid.period_s or 0.0) / grid.n_columns
    if period <= 0 or np.ptp(grid.step) > 0.1 * grid.step.min():
        return None
    late: list[Array] = []
    for sweep, ring in zip(sweeps, rings, strict=True):
        if not is_timed(sweep):
            return None
        times, first = np.sort(sweep.beam_time[ring == _find_fullest_ring(ring)]), sweep.beam_time
        since = first - times[np.clip(np.searchsorted(times, first, side="right") - 1, 0, None)]
        since = np.where((since >= 0) & (since < period * 0.999), since, np.nan)
        angle = portable.phasor(2.0 * np.pi * since / period)
        good = np.isfinite(since)
        mean = np.bincount(ring[good], angle.real[good], grid.n_rings) + 1j * np.bincount(
            ring[good], angle.imag[good], grid.n_rings
        )
        late.append((portable.angle(mean) / (2.0 * np.pi) % 1.0) * period)
    delay = late[0] if len(late) == 1 else np.median(late, axis=0)
    ordered = np.sort(delay)
    pause = np.diff(np.append(ordered, ordered[0] + period))
    start = ordered[(int(np.argmax(pause)) + 1) % len(ordered)]
    delay = np.round((delay - start) % period, _TIME_DIGITS) % period
    return None if np.ptp(delay) < _DELAY_S else np.asarray(delay)


def _find_fullest_ring(ring: Array) -> int:
    return int(np.bincount(ring).argmax())


def _estimate_offsets(
    sweeps: list[Sweep], rings: list[Array], grid: BeamGrid, delay: Array | None, rate_hz: float
) -> Array | None:
    """Azimuth (k,) in degrees that each ring is turned from the head by, None where nothing shows it.

    The head's own azimuth follows from a beam's time, or from its column.
    """
    found = []
    for sweep, ring in zip(sweeps, rings, strict=True):
        points = compute_beam_points(sweep)
        azimuth = compute_azimuth_deg(points)
        if grid.period_s is not None and is_timed(sweep):
            since = sweep.beam_time - sweep.beam_time.min()
            head = grid.rotation_sign * 360.0 * since / grid.period_s
        elif grid.columned:
            head = grid.rotation_sign * grid.azimuth_step_deg * sweep.beam_column
            head = head if delay is None else head + grid.rotation_sign * 360.0 * rate_hz * delay[ring]
        else:
            return None
        part = thin_points(20_000, points, ring, compute_phase(sweep, azimuth))
        if not fit_motion(grid.channels, *part, timed=is_timed(sweep)).is_still:
            return None  # compensated motion turned the points by more than their offsets
        turned = np.radians(azimuth - head)
        centre = portable.angle(portable.phasor(turned).mean())
        aside = np.degrees(portable.angle(portable.phasor(turned - centre)))
        found.append(compute_group_medians(aside, ring, grid.n_rings))
    offset = np.nanmedian(found, axis=0)
    offset = offset - np.nanmedian(offset)
    return None if np.nanmax(np.abs(offset)) < _OFFSET_DEG else np.nan_to_num(offset)


def _describe(grid: BeamGrid, near: Sensor, rms: float, rate_from: str, returns: int) -> str:
    rings = {"given": "as the log gives them", "order": "from the stored order", "elevation": "from their elevations"}
    uneven = ""
    if np.ptp(grid.step) > 0.1 * grid.step.min():
        uneven = " Rings fire at unequal steps; the finest is given for all."
    turning = "" if grid.direction else " The direction of rotation is not seen: clockwise is assumed."
    return (
        f"Fitted to {returns} returns in {grid.sweeps} sweeps of a log; rings {rings[grid.source]}, rotation rate "
        f"from {rate_from}, range limits as observed.{uneven}{turning} Beam, receiver, pointing and wavelength cannot "
        f"be seen in a log: they are those of {near.name}, the nearest of the catalog ({rms:.2f}° RMS in elevation)."
    )
