"""A sensor as data: beam, receiver, pointing and scan pattern, with the unit in every field name."""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal

import numpy as np
import yaml
from pydantic import Field, field_validator, model_validator

from resweep.config import NotNegative, Positive, Spec
from resweep.errors import SettingsError, nearest_names
from resweep.pose import Array
from resweep.quantities import Rate
from resweep.sensor_scatter import SensorScatter
from resweep.sensors.patterns import Pattern, Raster, Rosette, Spinning, TwoBlock
from resweep.sensors.sensor_calibration import Detection, Lasers
from resweep.sensors.sweep_size import check_sweep_size

Spot = Literal["circular", "rectangular", "elliptical"]
Mode = Literal["first", "last", "strongest", "strongest-and-last", "multiple"]

_MAX_DIVERGENCE_RAD = 0.1  # above it the figure is in another unit: the widest of the catalog has 0.013
_MIN_COSINE = 0.1  # beyond 84 degrees of incidence, noise grows no more
_RANGE_NOISES = ("range_noise_sigma_m", "range_noise_per_m", "range_noise_per_tan_m", "range_quantisation_m")
_RETURNS_OF_MODE = {"strongest-and-last": 2, "multiple": 4}


class Beam(Spec):
    """The cone of light of one pulse and how rays sample it.

    Divergences are full angles: across the spot horizontally and vertically. ``rays`` is one ray on
    the axis, the fixed nine-point stencil of B 3.2.1, or ``n_rays`` drawn afresh for every pulse with
    the energy ``profile``. For a gaussian profile the divergence is the full angle at 1/e² intensity.
    """

    spot: Spot = "circular"
    """Shape of the spot."""
    divergence_h_rad: NotNegative
    """Full angle of the beam across, horizontally, radians; at 1/e² for a gaussian profile."""
    divergence_v_rad: NotNegative
    """Full angle of the beam across, vertically, radians."""
    rays: Literal["single", "nine", "random"] = "nine"
    """How rays sample the beam: one on the axis, the nine of a stencil, or random ones."""
    n_rays: Annotated[int, Field(ge=1, le=1024)] = 9
    """Rays a pulse where they are random."""
    profile: Literal["uniform", "gaussian"] = "uniform"
    """Energy over the spot, for random rays."""

    @field_validator("divergence_h_rad", "divergence_v_rad")
    @classmethod
    def _radians(cls, value: float) -> float:
        if value > _MAX_DIVERGENCE_RAD:
            raise ValueError(f"{value:g} rad is too wide: it looks like mrad or degrees, give radians (full angle)")
        return value

    @model_validator(mode="after")
    def _check(self) -> Beam:
        if self.spot == "circular" and self.divergence_h_rad != self.divergence_v_rad:
            raise SettingsError("spot", "circular, but the two divergences differ; use elliptical or rectangular")
        return self

    @property
    def rays_per_pulse(self) -> int:
        """Rays traced for one pulse."""
        return {"single": 1, "nine": 9}.get(self.rays, self.n_rays)


class Receiver(Spec):
    """What the electronics make of the light that returns on one pulse.

    ``mode`` picks the returns and ``signal_cutoff_m`` is the length of signal averaged into one (B
    3.2.3). The strongest is the signal around the most intense ray, as in B, or with
    ``strongest_by: echo`` the stretch of signal that holds most light. A return fainter than
    ``detection_threshold`` (relative intensity) is lost. Range noise is Gaussian with sigma
    ``range_noise_sigma_m + range_noise_per_m · range + range_noise_per_tan_m · tan(incidence)``, then rounded to
    ``range_quantisation_m`` (0: not rounded). With ``range-squared`` falloff the intensity is multiplied by
    (``falloff_reference_m``/range)². ``max_returns`` follows the mode if not given.
    """

    mode: Mode = "strongest"
    """Which returns a pulse reports."""
    strongest_by: Literal["ray", "echo"] = "ray"
    """What is strongest: the most intense ray, or the echo that holds most light."""
    signal_cutoff_m: Positive = 1.0
    """Length of signal that is averaged into one return, metres."""
    max_returns: Annotated[int, Field(ge=1, le=16)] = 1
    """Returns a pulse at most; follows the mode if left out: 1, 2 for strongest-and-last, 4 for multiple."""
    detection_threshold: Annotated[float, Field(ge=0.0, le=1.0)] = 0.0
    """Relative intensity below which a return is lost, 0 to 1."""
    detection: Detection | None = None
    """Chance that a return is detected, by its signal; left out: each one above the threshold is."""
    return_separation_m: Annotated[float, Field(ge=0.0, le=100.0)] = 0.0
    """Of two returns of a pulse nearer to each other than that, the stronger is reported, metres."""
    range_noise_sigma_m: Annotated[float, Field(ge=0.0, le=1.0)] = 0.0
    """Sigma of the range noise, metres."""
    range_noise_per_m: Annotated[float, Field(ge=0.0, le=0.1)] = 0.0
    """Sigma of the range noise that is added per metre of range, metres."""
    range_noise_per_tan_m: Annotated[float, Field(ge=0.0, le=1.0)] = 0.0
    """Sigma of the range noise that is added on slanted surfaces, times the tangent of the incidence, metres."""
    range_quantisation_m: Annotated[float, Field(ge=0.0, le=1.0)] = 0.0
    """Step that ranges are rounded to, metres; 0 for none."""
    intensity_falloff: Literal["none", "range-squared"] = "none"
    """Whether intensity falls with the square of the range."""
    falloff_reference_m: Positive = 10.0
    """Range at which falloff leaves the intensity as it is, metres."""
    intensity_noise_sigma: Annotated[float, Field(ge=0.0, le=1.0)] = 0.0
    """Sigma of the intensity noise, relative."""

    @model_validator(mode="before")
    @classmethod
    def _default_returns(cls, data: Any) -> Any:
        if isinstance(data, dict) and data.get("max_returns") is None and isinstance(data.get("mode"), str):
            return {**data, "max_returns": _RETURNS_OF_MODE.get(data["mode"], 1)}
        return data

    @model_validator(mode="after")
    def _check(self) -> Receiver:
        exact = {"multiple": None, "strongest-and-last": 2}.get(self.mode, 1)
        if exact is not None and self.max_returns != exact:
            raise SettingsError(
                "max_returns", f"{self.max_returns}, but mode '{self.mode}' gives {exact}; set it to {exact}"
            )
        return self

    def find_range_sigma(self, range_m: Array, cosine: Array | None = None) -> Array:
        """Sigma (n,) of the range noise, metres, at ranges (n,) and, where known, cosines of incidence (n,)."""
        sigma = self.range_noise_sigma_m + self.range_noise_per_m * np.asarray(range_m, np.float64)
        if cosine is None:
            return sigma
        steep = np.clip(np.asarray(cosine, np.float64), _MIN_COSINE, 1.0)
        return np.asarray(sigma + self.range_noise_per_tan_m * np.sqrt(1.0 - steep**2) / steep)


class Pointing(Spec):
    """How far the true direction of a pulse strays from the reported one (A, section IV).

    The angle encoder rounds: a uniform error of ± half ``encoder_step_rad`` about the spin axis.
    ``sigma_h_rad`` and ``sigma_v_rad`` are Gaussian errors across and along the beam's vertical.
    """

    encoder_step_rad: Annotated[float, Field(ge=0.0, le=0.1)] = 0.0
    """Step of the angle encoder, radians: errors are uniform within half of it."""
    sigma_h_rad: Annotated[float, Field(ge=0.0, le=0.1)] = 0.0
    """Sigma of the pointing error across, radians."""
    sigma_v_rad: Annotated[float, Field(ge=0.0, le=0.1)] = 0.0
    """Sigma of the pointing error upwards, radians."""


class Sensor(Spec):
    """One LiDAR, read from YAML or a catalog name with `load_sensor`; frozen, compared by value."""

    name: Annotated[str, Field(min_length=1)]
    """Name of the sensor, without spaces."""
    title: str = ""
    """Maker and model, for people."""
    description: str = ""
    """What it is, in a sentence."""
    sources: Annotated[tuple[str, ...], Field(max_length=1000)] = ()
    """Where the figures come from."""
    range_min_m: NotNegative = 0.0
    """Smallest range that is reported, metres."""
    range_max_m: Annotated[float, Field(gt=0.0, le=10_000.0)]
    """Largest range that is reported, metres."""
    wavelength_nm: float | None = None
    """Wavelength of the laser, nanometres; for people, no figure depends on it."""
    rotation_rate_hz: Rate | None = None
    """Turns a second of a spinning or two-block head."""
    rotation_rate_min_hz: Rate | None = None
    """Slowest rate that the head can turn at, turns a second."""
    rotation_rate_max_hz: Rate | None = None
    """Fastest rate that the head can turn at, turns a second."""
    pattern: Pattern
    """Where and when it fires: the scan pattern, of one kind."""
    beam: Beam
    """The light of one pulse: spot, divergence and rays."""
    receiver: Receiver
    """What the electronics make of the returning light."""
    pointing: Pointing = Pointing()
    """Errors of the beams' directions."""
    lasers: Lasers | None = None
    """How lasers differ in range and intensity; left out: not at all."""
    scatter: SensorScatter | None = None
    """How it scatters, as a recording showed; left out: intensities as the recording of the world did."""

    @field_validator("wavelength_nm")
    @classmethod
    def _nanometres(cls, value: float | None) -> float | None:
        if value is not None and not 200.0 <= value <= 20_000.0:
            guess = "metres" if 0 < value < 1e-3 else "micrometres" if 0 < value < 100 else "another unit"
            raise ValueError(f"{value:g} nm is not a laser's: it looks like {guess}, give nanometres (e.g. 905)")
        return value

    @model_validator(mode="after")
    def _check(self) -> Sensor:
        if self.range_min_m >= self.range_max_m:
            raise SettingsError(
                "range_min_m", f"{self.range_min_m:g} is not below range_max_m {self.range_max_m:g}; swap them"
            )
        if self.lasers is not None:
            self.lasers.check_rings(self.n_channels)
        if self.scatter is not None:
            self._check_scatter(self.scatter)
        if isinstance(self.pattern, Spinning | TwoBlock):
            self._check_rate()
        elif self.rotation_rate_hz is not None:
            raise SettingsError("rotation_rate_hz", f"a {self.pattern.kind} pattern sets its own pace; remove it")
        check_sweep_size(self.pattern, self.rotation_rate_hz or 1.0, self.sweep_period_s)
        return self

    def __repr__(self) -> str:
        """One line; `to_yaml` gives every field."""
        angles = self.elevations_deg
        span = f", {angles[0]:g} to {angles[-1]:g}°" if angles else ""
        return (
            f"Sensor('{self.name}': {self.pattern.kind}, {self.n_channels} channels{span}, {self.range_min_m:g} to "
            f"{self.range_max_m:g} m, {1.0 / self.sweep_period_s:g} sweeps/s, {self.receiver.mode} return)"
        )

    __str__ = __repr__  # pydantic's prints every channel

    def _check_scatter(self, scatter: SensorScatter) -> None:
        if scatter.n_lasers > self.n_channels:
            raise SettingsError(
                "scatter.intensity.response",
                f"has {scatter.n_lasers} lasers, but the sensor {self.n_channels} channels; leave response, shift and "
                "spread out",
            )
        noises = {"intensity": ("intensity_noise_sigma",), "range": _RANGE_NOISES}
        for part, names in noises.items():
            given = [name for name in names if getattr(self.receiver, name) > 0.0]
            if getattr(scatter, part) is not None and given:
                raise SettingsError(
                    f"scatter.{part}", f"receiver.{given[0]} is noise of the same kind; leave one of them out"
                )

    def with_scatter(self, scatter: SensorScatter) -> Sensor:
        """The sensor with tables that a recording showed, as far as they hold of it, in place of its own noise."""
        carried = scatter.carried_over(self.n_channels)
        replaced = [name for name in _RANGE_NOISES if carried.range is not None]
        replaced += ["intensity_noise_sigma"] if carried.intensity is not None else []
        return self.with_(scatter=carried, **{f"receiver.{name}": 0.0 for name in replaced})

    def _check_rate(self) -> None:
        rate, low, high = self.rotation_rate_hz, self.rotation_rate_min_hz, self.rotation_rate_max_hz
        if rate is None:
            raise SettingsError("rotation_rate_hz", "missing; give the turns per second of the head")
        if low is not None and high is not None and low > high:
            raise SettingsError("rotation_rate_min_hz", f"{low:g} is above rotation_rate_max_hz {high:g}; swap them")
        if (low is not None and rate < low) or (high is not None and rate > high):
            limits = f"{low if low is not None else 0:g} to {high if high is not None else float('inf'):g} Hz"
            raise SettingsError("rotation_rate_hz", f"{rate:g} Hz is outside what the sensor can turn, {limits}")

    @property
    def sweep_period_s(self) -> float:
        """Seconds of one sweep: a turn of the head, a frame of a rosette, or a whole raster scan."""
        if isinstance(self.pattern, Rosette):
            return self.pattern.frame_s
        if isinstance(self.pattern, Raster):
            return self.pattern.n_lines * self.pattern.line_period_s
        return 1.0 / (self.rotation_rate_hz or 1.0)

    @property
    def elevations_deg(self) -> tuple[float, ...]:
        """Elevation of each ring, lowest first; empty for a rosette, which has no fixed elevations."""
        if isinstance(self.pattern, Spinning):
            return tuple(sorted(self.pattern.channels.elevations_deg))
        if isinstance(self.pattern, TwoBlock):
            return tuple(sorted(self.pattern.lower.elevations_deg + self.pattern.upper.elevations_deg))
        if isinstance(self.pattern, Raster):
            low, step = self.pattern.elevation_min_deg, self.pattern.elevation_resolution_deg
            return tuple(low + step * index for index in range(self.pattern.n_per_line))
        return ()

    @property
    def n_channels(self) -> int:
        """Number of rings: laser channels, lines of a rosette, or pulses in a raster line."""
        return self.pattern.lines if isinstance(self.pattern, Rosette) else len(self.elevations_deg)

    @property
    def beam_slope(self) -> float:
        """Width of the beam at 1 m, in metres: the geometric mean of its two divergences."""
        return math.sqrt(self.beam.divergence_h_rad * self.beam.divergence_v_rad)

    def with_(self, **changes: Any) -> Sensor:
        """A validated copy with fields changed; a dotted key reaches inside.

        ``sensor.with_(rotation_rate_hz=5, **{"beam.rays": "single"})``
        """
        data = self.model_dump(exclude_none=True)
        if "receiver.mode" in changes and "receiver.max_returns" not in changes:
            del data["receiver"]["max_returns"]  # each mode has its own default
        for key, value in changes.items():
            *path, last = key.split(".")
            target: Any = data
            for depth, part in enumerate(path):
                if not isinstance(target, dict) or part not in target:
                    known = target if isinstance(target, dict) else ()
                    raise SettingsError(
                        ".".join(path[: depth + 1]), f"no such part; {nearest_names(part, known)}", self.name
                    )
                target = target[part]
            if not isinstance(target, dict):
                raise SettingsError(".".join(path), "is a value, not a part with fields", self.name)
            target[last] = value.model_dump() if isinstance(value, Spec) else value
        return Sensor(**data)

    def to_yaml(self) -> str:
        """The spec as YAML text, which `load_sensor` reads back to an equal sensor."""
        data = self.model_dump(mode="json", exclude_none=True)
        return str(yaml.safe_dump(data, sort_keys=False, allow_unicode=True, width=100, default_flow_style=None))
