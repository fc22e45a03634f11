"""Turns a sensor's scan pattern into pulses: direction, origin, time, ring and column of one sweep.

Sensor frame: x forward, y left, z up; azimuth counter-clockwise from +x seen from above. Rings count
from 0 at the lowest elevation upwards for every sensor (lines of a rosette in their own order), and
columns count the firing steps from 0. Directions are nominal: pointing error is added when simulating.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from resweep import portable
from resweep.pose import Array
from resweep.sensors.patterns import Block, Raster, Rosette, Spinning, TwoBlock, count_steps
from resweep.sensors.spec import Sensor


@dataclass(frozen=True, eq=False)
class Firing:
    """The pulses of one sweep in the order they are fired; all arrays are read-only.

    ``direction`` (b, 3) float32 unit vectors in the sensor's frame; ``time`` (b,) float64 seconds from
    the start of the sweep, never decreasing; ``ring`` (b,) uint16; ``column`` (b,) int32.
    ``azimuth_step_deg`` is the turn between two columns (0 for a rosette). ``origin`` (b, 3) float32, metres in the
    sensor's frame, is where each pulse leaves; None where all leave from the sensor's origin.
    """

    direction: Array
    time: Array
    ring: Array
    column: Array
    azimuth_step_deg: float
    n_columns: int
    n_rings: int
    origin: Array | None = None

    def __len__(self) -> int:
        """Number of pulses."""
        return len(self.time)


def fire(sensor: Sensor, sweep_index: int = 0) -> Firing:
    """The pulses of sweep ``sweep_index``.

    Only a rosette differs from sweep to sweep, since its phase runs on; the others are computed once.
    """
    if isinstance(sensor.pattern, Rosette):
        return _fire_rosette(sensor.pattern, int(sweep_index))
    return _fire_repeated(sensor)


@lru_cache(maxsize=8)
def _fire_repeated(sensor: Sensor) -> Firing:
    pattern, rate = sensor.pattern, sensor.rotation_rate_hz or 1.0
    if isinstance(pattern, Spinning):
        return _fire_spinning(pattern, rate)
    if isinstance(pattern, TwoBlock):
        return _fire_two_block(pattern, rate)
    assert isinstance(pattern, Raster)
    return _fire_raster(pattern)


def _fire_spinning(pattern: Spinning, rate_hz: float) -> Firing:
    step_deg = pattern.azimuth_step_deg(rate_hz)
    n_columns = count_steps(pattern.azimuth_max_deg - pattern.azimuth_min_deg, step_deg)
    sign, start = _find_start(pattern.direction, pattern.azimuth_min_deg, pattern.azimuth_max_deg)
    column = np.arange(n_columns)[:, None]
    elevation, offset, delay = _list_channels(pattern.channels)
    time = column * (step_deg / (360.0 * rate_hz)) + delay
    # The head turns on while the channels of one step fire one after the other.
    head = start + sign * (column * step_deg + 360.0 * rate_hz * delay)
    origin = _place_origins(pattern.channels, head, head + offset, elevation)
    return _assemble(head + offset, elevation, time, _rank_channels(elevation), column, step_deg, n_columns, origin)


def _fire_two_block(pattern: TwoBlock, rate_hz: float) -> Firing:
    """Three packets of the upper block, then one of the lower in place of the fourth (B 3.5.2).

    As in B the blocks are two sensors that both start at the seam, each on its own grid of azimuth:
    packet k of the upper at k·δ_upper, packet j of the lower at j·δ_lower.
    """
    upper_deg, lower_deg = pattern.upper_step_deg(rate_hz), pattern.lower_step_deg(rate_hz)
    group = pattern.upper_packets + pattern.lower_packets
    n_columns = count_steps(360.0, upper_deg)
    column = np.arange(n_columns)
    is_lower = column % group >= pattern.upper_packets
    packet = (column // group) * pattern.lower_packets + column % group - pattern.upper_packets
    turned = np.where(is_lower, packet * lower_deg, column * upper_deg)

    sign, start = _find_start(pattern.direction, -180.0, 180.0)
    angles = np.array([_list_channels(pattern.upper), _list_channels(pattern.lower)])  # block, quantity, channel
    elevation, offset, delay = angles[is_lower.astype(int)].transpose(1, 0, 2)
    head = start + sign * (turned[:, None] + 360.0 * rate_hz * delay)
    azimuth = head + offset
    origins = [_place_origins(block, head, azimuth, elevation) for block in (pattern.upper, pattern.lower)]
    origin = None
    if any(table is not None for table in origins):
        upper, lower = (np.zeros((*azimuth.shape, 3)) if table is None else table for table in origins)
        origin = np.where(is_lower[:, None, None], lower, upper)
    time = column[:, None] / (pattern.steps_per_turn(rate_hz) * rate_hz) + delay
    rings = np.array([_rank_channels(angles[0, 0]) + pattern.lower.n_channels, _rank_channels(angles[1, 0])])
    return _assemble(
        azimuth, elevation, time, rings[is_lower.astype(int)], column[:, None], upper_deg, n_columns, origin
    )


def _fire_raster(pattern: Raster) -> Firing:
    step_deg, n_lines, n_per_line = pattern.azimuth_resolution_deg, pattern.n_lines, pattern.n_per_line
    sign, start = _find_start(pattern.direction, pattern.azimuth_min_deg, pattern.azimuth_max_deg)
    line = np.arange(n_lines)[:, None]
    ring = np.arange(n_per_line)[::-1]  # the mirror runs from the top of the line down
    elevation = pattern.elevation_min_deg + ring * pattern.elevation_resolution_deg
    delay = np.arange(n_per_line) / pattern.pulse_rate_hz
    azimuth = start + sign * step_deg * (line + delay / pattern.line_period_s)
    time = line * pattern.line_period_s + delay
    return _assemble(azimuth, elevation, time, ring, line, step_deg, n_lines)


@lru_cache(maxsize=4)
def _fire_rosette(pattern: Rosette, sweep_index: int) -> Firing:
    n_columns = max(1, round(pattern.points_per_second * pattern.frame_s / pattern.lines))
    period = pattern.lines / pattern.points_per_second
    column = np.arange(n_columns)[:, None]
    seconds = (column + sweep_index * n_columns) * period  # the phases run on from frame to frame
    line = np.arange(pattern.lines)

    # Across the axis: left + i·up, as direction cosines.
    aside = (line - (pattern.lines - 1) / 2.0) * portable.sin(np.radians(pattern.line_spacing_deg))
    across = aside * _turn(pattern.line_rate_hz, pattern.line_tilt_deg, seconds)
    for prism in pattern.prisms:
        bend = portable.sin(np.radians(prism.deflection_deg))
        across = across + bend * _turn(prism.rate_hz, prism.phase_deg, seconds)
    along = np.sqrt(1.0 - across.real**2 - across.imag**2)

    tilt = np.radians(pattern.boresight_elevation_deg)
    forward = along * portable.cos(tilt) - across.imag * portable.sin(tilt)
    up = along * portable.sin(tilt) + across.imag * portable.cos(tilt)
    head = _turn(pattern.head_rate_hz, pattern.head_phase_deg, seconds)
    ahead, left = (forward * head.real - across.real * head.imag), (forward * head.imag + across.real * head.real)
    direction = np.stack([ahead, left, up], axis=-1).reshape(-1, 3)
    shape = up.shape
    time, ring, column = (np.broadcast_to(values, shape).reshape(-1) for values in (column * period, line, column))
    return _freeze(direction, time, ring, column, 0.0, n_columns, pattern.lines)


def _turn(rate_hz: float, phase_deg: float, seconds: Array) -> Array:
    """A unit complex number that turns; whole turns are dropped first to keep precision for late sweeps."""
    return portable.phasor(2.0 * np.pi * ((rate_hz * seconds + phase_deg / 360.0) % 1.0))


def _list_channels(block: Block) -> tuple[Array, Array, Array]:
    """Elevation and azimuth offset in degrees and delay in seconds, each (channels,)."""
    zeros = np.zeros(block.n_channels)
    offset = zeros if block.azimuth_offset_deg is None else np.array(block.azimuth_offset_deg)
    delay = zeros if block.firing_time_s is None else np.array(block.firing_time_s)
    return np.array(block.elevations_deg), offset, delay


def _place_origins(block: Block, head_deg: Array, azimuth_deg: Array, elevation_deg: Array) -> Array | None:
    """Where pulses leave (column, channel, 3), metres in the sensor's frame; None without any offset.

    The terms across the beam are those of velodyne_pointcloud (rawdata.cc, unpack), the term along the head's azimuth
    that of Ouster's sensor manual (lidar_origin_to_beam_origin).
    """
    if block.vertical_offset_m is None and block.horizontal_offset_m is None and block.radial_offset_m is None:
        return None
    up = np.array(block.vertical_offset_m or np.zeros(block.n_channels))
    left = np.array(block.horizontal_offset_m or np.zeros(block.n_channels))
    out = block.radial_offset_m or 0.0
    head, azimuth, elevation = np.radians(head_deg), np.radians(azimuth_deg), np.radians(elevation_deg)
    level = -up * portable.sin(elevation)  # across a beam that looks down, upwards is also forwards
    x = out * portable.cos(head) + level * portable.cos(azimuth) - left * portable.sin(azimuth)
    y = out * portable.sin(head) + level * portable.sin(azimuth) + left * portable.cos(azimuth)
    return np.stack(np.broadcast_arrays(x, y, up * portable.cos(elevation)), axis=-1)


def _rank_channels(elevation: Array) -> Array:
    """Ring of each channel: 0 for the lowest elevation; equal elevations keep the order of the spec."""
    rank = np.empty(len(elevation), dtype=np.int64)
    rank[np.argsort(elevation, kind="stable")] = np.arange(len(elevation))
    return rank


def _find_start(direction: str, azimuth_min_deg: float, azimuth_max_deg: float) -> tuple[float, float]:
    """Sign of the turn and the azimuth where it starts; on a full turn both starts are the same seam."""
    return (-1.0, azimuth_max_deg) if direction == "clockwise" else (1.0, azimuth_min_deg)


def _assemble(
    azimuth_deg: Array,
    elevation_deg: Array,
    time: Array,
    ring: Array,
    column: Array,
    step_deg: float,
    n_columns: int,
    origin: Array | None = None,
) -> Firing:
    """Pulses from (column, channel) tables, sorted into the order of firing."""
    shape = time.shape
    azimuth, elevation = np.radians(azimuth_deg), np.radians(elevation_deg)
    level = portable.cos(elevation)
    direction = np.empty((*shape, 3), dtype=np.float32)
    direction[..., 0] = level * portable.cos(azimuth)
    direction[..., 1] = level * portable.sin(azimuth)
    direction[..., 2] = portable.sin(elevation)
    flat = time.reshape(-1)
    ring, column = np.broadcast_to(ring, shape).reshape(-1), np.broadcast_to(column, shape).reshape(-1)
    direction, n_rings = direction.reshape(-1, 3), int(ring.max()) + 1
    origin = None if origin is None else origin.reshape(-1, 3)
    if (np.diff(flat) < 0).any():
        order = np.argsort(flat, kind="stable")
        flat, ring, column, direction = flat[order], ring[order], column[order], direction[order]
        origin = None if origin is None else origin[order]
    return _freeze(direction, flat, ring, column, step_deg, n_columns, n_rings, origin)


def _freeze(
    direction: Array,
    time: Array,
    ring: Array,
    column: Array,
    step_deg: float,
    n_columns: int,
    n_rings: int,
    origin: Array | None = None,
) -> Firing:
    arrays = (
        np.ascontiguousarray(direction, dtype=np.float32),
        np.ascontiguousarray(time, dtype=np.float64),
        np.ascontiguousarray(ring, dtype=np.uint16),
        np.ascontiguousarray(column, dtype=np.int32),
    )
    origin = None if origin is None else np.ascontiguousarray(origin, dtype=np.float32)
    for array in (*arrays, *(() if origin is None else (origin,))):
        array.flags.writeable = False
    return Firing(
        *arrays, azimuth_step_deg=float(step_deg), n_columns=int(n_columns), n_rings=int(n_rings), origin=origin
    )


def measure_pattern(sensor: Sensor) -> dict[str, float]:
    """What a data sheet says of a firing pattern, counted from its pulses: rings, field of view, step, pulses, period.

    Example: ``rs.sensors.measure_pattern(rs.load_sensor("velodyne-vlp-16"))["pulses_per_sweep"]``
    """
    firing = fire(sensor)
    ends = firing.direction[[firing.direction[:, 2].argmin(), firing.direction[:, 2].argmax()]].astype(np.float64)
    elevation_deg = np.degrees(portable.arctan2(ends[:, 2], np.hypot(ends[:, 0], ends[:, 1])))
    return {
        "channels": sensor.n_channels,
        "elevation_from_deg": round(float(elevation_deg[0]), 2),
        "elevation_to_deg": round(float(elevation_deg[1]), 2),
        "azimuth_step_deg": round(firing.azimuth_step_deg, 5),
        "pulses_per_sweep": len(firing),
        "sweep_period_s": sensor.sweep_period_s,
    }
