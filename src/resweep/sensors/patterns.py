"""Where and when a sensor fires: the scan patterns as data.

Angles are in the sensor's frame (x forward, y left, z up): azimuth counter-clockwise from +x seen
from above, elevation up from the horizontal plane. `resweep.sensors.firing` turns them into pulses.
"""

from __future__ import annotations

import math
from typing import Annotated, Literal

import numpy as np
from pydantic import Field, model_validator

from resweep import portable
from resweep.config import NotNegative, Positive, Spec
from resweep.errors import SettingsError
from resweep.quantities import Angle, PulseRate, Rate, TurnRate

Direction = Literal["clockwise", "counterclockwise"]
Elevation = Annotated[float, Field(ge=-90.0, le=90.0)]
Azimuth = Annotated[float, Field(ge=-360.0, le=360.0)]
# More than any LiDAR has; memory grows with their product.
MAX_CHANNELS, MAX_STEPS = 4096, 1_000_000
Offset = Annotated[float, Field(ge=-1.0, le=1.0)]  # metres: beyond, it is in another unit


class Block(Spec):
    """A set of laser channels that fire in one step.

    Elevations are listed, or spread evenly from ``elevation_min_deg`` to ``elevation_max_deg``; both
    ends are kept and ``elevation_resolution_deg`` sets the number of channels. ``azimuth_offset_deg``
    turns a channel counter-clockwise from the head; ``firing_time_s`` is its delay within the step.
    The listed order is free: rings are numbered by elevation, from 0 at the lowest.

    Beams leave from the sensor's origin unless offsets say otherwise. ``vertical_offset_m`` is upwards and
    ``horizontal_offset_m`` to the left, both across the channel's own beam (the corrections of Velodyne's calibration
    files). ``radial_offset_m`` is outwards from the spin axis, where the head points (Ouster's beam origin).
    """

    elevation_deg: Annotated[tuple[Elevation, ...], Field(max_length=MAX_CHANNELS)] | None = None
    """Elevation of each channel, degrees up from the horizontal plane, in any order."""
    elevation_min_deg: Elevation | None = None
    """In place of the list: lowest elevation, degrees."""
    elevation_max_deg: Elevation | None = None
    """In place of the list: highest elevation, degrees."""
    elevation_resolution_deg: Positive | None = None
    """In place of the list: step of elevation, degrees."""
    azimuth_offset_deg: Annotated[tuple[Azimuth, ...], Field(max_length=MAX_CHANNELS)] | None = None
    """Azimuth of each channel from the head's, degrees counter-clockwise, one for each channel."""
    firing_time_s: Annotated[tuple[NotNegative, ...], Field(max_length=MAX_CHANNELS)] | None = None
    """Delay of each channel within the step, seconds, one for each channel."""
    vertical_offset_m: Annotated[tuple[Offset, ...], Field(max_length=MAX_CHANNELS)] | None = None
    """Offset of each channel's origin upwards, across its own beam, metres, one for each channel."""
    horizontal_offset_m: Annotated[tuple[Offset, ...], Field(max_length=MAX_CHANNELS)] | None = None
    """Offset of each channel's origin to the left, across its own beam, metres, one for each channel."""
    radial_offset_m: Offset | None = None
    """How far all origins lie from the spin axis, where the head points, metres."""

    @model_validator(mode="after")
    def _check(self) -> Block:
        span = (self.elevation_min_deg, self.elevation_max_deg, self.elevation_resolution_deg)
        if self.elevation_deg is None:
            if None in span:
                raise SettingsError(
                    "elevation_deg", "give the list, or all of elevation_min_deg, _max_deg, _resolution_deg"
                )
            _check_order(self.elevation_min_deg, self.elevation_max_deg, "elevation")
            if self._count > MAX_CHANNELS:
                raise SettingsError(
                    "elevation_resolution_deg", f"gives {self._count:.3g} channels, {MAX_CHANNELS} at most"
                )
        elif any(value is not None for value in span):
            raise SettingsError("elevation_deg", "given both as a list and as a range; give one of them")
        elif len(self.elevation_deg) == 0:
            raise SettingsError("elevation_deg", "is empty; give at least one channel")
        for name in ("azimuth_offset_deg", "firing_time_s", "vertical_offset_m", "horizontal_offset_m"):
            values = getattr(self, name)
            if values is not None and len(values) != self.n_channels:
                raise SettingsError(name, f"has {len(values)} values for {self.n_channels} channels; give one each")
        if self.firing_time_s is not None and max(self.firing_time_s) > 1.0:
            raise SettingsError("firing_time_s", f"{max(self.firing_time_s):g} s looks like microseconds; give seconds")
        return self

    @property
    def _count(self) -> float:
        """Channels of a range, which may be more than any number of them."""
        span = (self.elevation_max_deg or 0.0) - (self.elevation_min_deg or 0.0)
        return float(np.round(span / (self.elevation_resolution_deg or 1.0))) + 1

    @property
    def elevations_deg(self) -> tuple[float, ...]:
        """Elevation of each channel, in the order of the spec."""
        if self.elevation_deg is not None:
            return self.elevation_deg
        low, high = self.elevation_min_deg or 0.0, self.elevation_max_deg or 0.0
        return tuple(float(value) for value in np.linspace(low, high, int(self._count)))

    @property
    def n_channels(self) -> int:
        """Number of channels."""
        return len(self.elevations_deg)


class Spinning(Spec):
    """A head that turns about z and fires all channels at every step of azimuth.

    Give the step as ``azimuth_resolution_deg``, or as ``firing_period_s``: then it is
    360 · rotation rate · period, and grows with the rotation rate. A range of 360° is a full turn,
    whose seam is not fired twice; a smaller one includes both ends.
    """

    kind: Literal["spinning"] = "spinning"
    """Kind of the pattern."""
    azimuth_min_deg: Azimuth = -180.0
    """Azimuth at which the field of view begins, degrees counter-clockwise from x."""
    azimuth_max_deg: Azimuth = 180.0
    """Azimuth at which the field of view ends, degrees."""
    azimuth_resolution_deg: Positive | None = None
    """Azimuth between two firing steps, degrees; or give firing_period_s."""
    firing_period_s: Positive | None = None
    """Time between two firing steps, seconds; or give azimuth_resolution_deg."""
    direction: Direction = "clockwise"
    """Sense of rotation, seen from above."""
    channels: Block
    """The lasers, which all fire at every step."""

    @model_validator(mode="after")
    def _check(self) -> Spinning:
        _check_order(self.azimuth_min_deg, self.azimuth_max_deg, "azimuth")
        if self.azimuth_max_deg - self.azimuth_min_deg > 360.0:
            raise SettingsError("azimuth_max_deg", "more than 360° after azimuth_min_deg; a sweep is at most one turn")
        if (self.azimuth_resolution_deg is None) == (self.firing_period_s is None):
            raise SettingsError(
                "azimuth_resolution_deg", "give either this or firing_period_s, not both and not neither"
            )
        if self.firing_period_s is not None and self.firing_period_s > 0.1:
            raise SettingsError("firing_period_s", f"{self.firing_period_s:g} s looks like microseconds; give seconds")
        return self

    def azimuth_step_deg(self, rotation_rate_hz: float) -> float:
        """Azimuth between two firing steps, degrees."""
        if self.azimuth_resolution_deg is not None:
            return self.azimuth_resolution_deg
        return 360.0 * rotation_rate_hz * (self.firing_period_s or 0.0)


class TwoBlock(Spec):
    """Two blocks of lasers that share one head and take turns (B 3.5.2, the HDL-64E).

    Of every ``upper_packets + lower_packets`` steps the first are fired by the upper block and the
    rest by the lower one. The repetition rate of the lasers is constant, so that the horizontal
    resolution of each block follows from the rotation rate (B, eqs. 6 and 7).
    """

    kind: Literal["two-block"] = "two-block"
    """Kind of the pattern."""
    upper: Block
    """The lasers of the upper block."""
    lower: Block
    """The lasers of the lower block, as many as of the upper one."""
    laser_rate_hz: PulseRate = 250_000.0
    """Pulses a second of a block."""
    upper_packets: Annotated[int, Field(ge=1, le=64)] = 3
    """Steps in a row that the upper block fires."""
    lower_packets: Annotated[int, Field(ge=1, le=64)] = 1
    """Steps in a row that the lower block fires."""
    direction: Direction = "clockwise"
    """Sense of rotation, seen from above."""

    @model_validator(mode="after")
    def _check(self) -> TwoBlock:
        if self.upper.n_channels != self.lower.n_channels:
            raise SettingsError(
                "lower", f"has {self.lower.n_channels} channels, upper has {self.upper.n_channels}; must match"
            )
        if max(self.lower.elevations_deg) >= min(self.upper.elevations_deg):
            raise SettingsError(
                "lower", "reaches above the lowest channel of upper; swap them or correct the elevations"
            )
        return self

    def steps_per_turn(self, rotation_rate_hz: float) -> float:
        """Packets of one block's size fired in one turn: 250000/(8ω) for the HDL-64E (B, eq. 7)."""
        packets = self.upper_packets + self.lower_packets
        return self.laser_rate_hz * packets / (self.upper.n_channels * rotation_rate_hz)

    def upper_step_deg(self, rotation_rate_hz: float) -> float:
        """Horizontal resolution of the upper block, degrees (B, eq. 7)."""
        return 360.0 / (self.steps_per_turn(rotation_rate_hz) - 1.0)

    def lower_step_deg(self, rotation_rate_hz: float) -> float:
        """Horizontal resolution of the lower block, degrees (B, eq. 6)."""
        packets = self.upper_packets + self.lower_packets
        share = self.lower_packets / packets
        return 360.0 / (self.steps_per_turn(rotation_rate_hz) * share - 1.0)


class Raster(Spec):
    """A terrestrial scanner: a mirror sweeps lines of elevation while the head turns in azimuth.

    Each azimuth step is one line from ``elevation_max_deg`` down to ``elevation_min_deg``, fired at
    ``pulse_rate_hz``; ``line_rate_max_hz`` bounds the mirror. The head turns during the line.
    """

    kind: Literal["raster"] = "raster"
    """Kind of the pattern."""
    azimuth_min_deg: Azimuth = -180.0
    """Azimuth of the first line, degrees counter-clockwise from x."""
    azimuth_max_deg: Azimuth = 180.0
    """Azimuth of the last line, degrees."""
    azimuth_resolution_deg: Positive
    """Azimuth between two lines, degrees."""
    elevation_min_deg: Elevation
    """Elevation of the lowest pulse of a line, degrees."""
    elevation_max_deg: Elevation
    """Elevation of the highest pulse of a line, degrees."""
    elevation_resolution_deg: Positive
    """Elevation between two pulses of a line, degrees."""
    pulse_rate_hz: PulseRate
    """Pulses a second."""
    line_rate_max_hz: Rate
    """Lines a second at most, as the mirror allows."""
    direction: Direction = "clockwise"
    """Sense of rotation, seen from above."""

    @model_validator(mode="after")
    def _check(self) -> Raster:
        _check_order(self.azimuth_min_deg, self.azimuth_max_deg, "azimuth")
        _check_order(self.elevation_min_deg, self.elevation_max_deg, "elevation")
        if self.azimuth_max_deg - self.azimuth_min_deg > 360.0:
            raise SettingsError("azimuth_max_deg", "more than 360° after azimuth_min_deg; a sweep is at most one turn")
        if self.n_lines * self.n_per_line > 2**31 - 1 or self.n_per_line > 2**16:
            raise SettingsError(
                "elevation_resolution_deg", f"gives {self.n_lines} x {self.n_per_line} pulses; coarsen the steps"
            )
        return self

    @property
    def n_lines(self) -> int:
        """Lines of one scan."""
        return count_steps(self.azimuth_max_deg - self.azimuth_min_deg, self.azimuth_resolution_deg)

    @property
    def n_per_line(self) -> int:
        """Pulses in one line."""
        return count_steps(self.elevation_max_deg - self.elevation_min_deg, self.elevation_resolution_deg)

    @property
    def line_period_s(self) -> float:
        """Seconds from the start of a line to the next, limited by the pulse rate or by the mirror."""
        return max(self.n_per_line / self.pulse_rate_hz, 1.0 / self.line_rate_max_hz)


class Prism(Spec):
    """One rotating wedge: deflects the beam by ``deflection_deg``, turning at ``rate_hz`` (sign: sense)."""

    rate_hz: TurnRate
    """Turns a second; positive counter-clockwise, seen against the beam."""
    deflection_deg: Annotated[float, Field(gt=0.0, lt=60.0)]
    """Angle by which it bends the beam, degrees."""
    phase_deg: Angle = 0.0
    """Angle at which it begins, degrees."""


class Rosette(Spec):
    """A non-repetitive scan by rotating prisms (Risley scanner).

    Every prism bends the beam in a direction that turns with it; the direction cosines across the
    axis add up. ``lines`` beams fire together, ``line_spacing_deg`` apart along a direction
    ``line_tilt_deg`` from the horizontal, which turns at ``line_rate_hz``. The axis looks
    ``boresight_elevation_deg`` above x. With ``head_rate_hz`` the whole also turns about z, from azimuth
    ``head_phase_deg``, which gives a field of 360°. Positive rates are counter-clockwise, seen against the
    beam for prisms and lines and from above for the head. The phases run on from frame to frame, so that
    the pattern does not repeat and coverage grows with time.
    """

    kind: Literal["rosette"] = "rosette"
    """Kind of the pattern."""
    points_per_second: PulseRate
    """Pulses a second, of all lines together."""
    frame_s: Annotated[float, Field(gt=0.0, le=60.0)]
    """Duration of a frame, which is one sweep, seconds."""
    prisms: Annotated[tuple[Prism, ...], Field(min_length=1, max_length=8)]
    """The rotating wedges that bend the beam, one after another."""
    lines: Annotated[int, Field(ge=1, le=256)] = 1
    """Beams that fire together."""
    line_spacing_deg: Annotated[float, Field(ge=0.0, le=90.0)] = 0.0
    """Angle between two lines, degrees."""
    line_tilt_deg: Angle = 90.0
    """Direction along which the lines lie, degrees from the horizontal."""
    line_rate_hz: TurnRate = 0.0
    """Turns a second of that direction."""
    boresight_elevation_deg: Elevation = 0.0
    """Elevation of the axis, degrees above x."""
    head_rate_hz: TurnRate = 0.0
    """Turns a second of the whole head about z; 0 for one that looks ahead."""
    head_phase_deg: Angle = 0.0
    """Azimuth at which the head begins, degrees."""

    @model_validator(mode="after")
    def _check(self) -> Rosette:
        if self.points_per_second * self.frame_s < self.lines:
            raise SettingsError("frame_s", "is too short for one pulse on every line; lengthen it")
        if self.points_per_second * self.frame_s > 5e7:
            raise SettingsError("frame_s", "gives more than fifty million pulses a frame; shorten it")
        bends = [prism.deflection_deg for prism in self.prisms]
        reach = portable.sin(np.radians(bends)).sum() + np.radians(self.line_spacing_deg) * (self.lines - 1) / 2.0
        if reach > math.sin(math.radians(85.0)):
            raise SettingsError(
                "prisms", "together bend the beam beyond 85°; reduce the deflections or line_spacing_deg"
            )
        return self


Pattern = Annotated[Spinning | TwoBlock | Rosette | Raster, Field(discriminator="kind")]


def count_steps(span_deg: float, step_deg: float) -> int:
    """Steps in a range: a full turn has no second seam, a smaller range includes both ends."""
    if span_deg / step_deg > MAX_STEPS:
        raise SettingsError(
            "pattern", f"steps of {step_deg:.3g}° make more than {MAX_STEPS} of a turn; give wider ones"
        )
    steps = int(np.floor(span_deg / step_deg + 1e-6))
    return max(steps, 1) if span_deg >= 360.0 - 1e-9 else steps + 1


def _check_order(low: float | None, high: float | None, what: str) -> None:
    if low is not None and high is not None and low > high:
        raise SettingsError(f"{what}_min_deg", f"{low:g} is above {what}_max_deg {high:g}; swap them")
