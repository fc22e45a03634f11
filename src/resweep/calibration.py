"""Corrections of a sensor's lasers: what a recorded direction and range really were."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from resweep import portable
from resweep.errors import ResweepError
from resweep.pose import Array
from resweep.sensor_scatter import SensorScatter
from resweep.sweep import Sweep

_PERMILLE = 1000.0
BLIND_BINS = 360  # of azimuth, in which the blind sectors of a ring are counted
OFFSET_RANGE_M = 20.0  # range offsets are those at this range
AZIMUTH_HARMONICS = 4  # columns of azimuth_bias_m
_AZIMUTH_BIAS_KEY = "range_wave_m"  # on disk, as since the first world that had one
_LASERS = ("elevation_rad", "range_m", "range_slope")


class CorrectedBeams(NamedTuple):
    """Ranges (n,) and unit directions (n, 3) as they really were, and the unit vectors upwards across them."""

    range: Array
    along: Array
    up: Array


class BeamAxes(NamedTuple):
    """Unit directions (n, 3) as reported, and the unit vectors upwards across them."""

    along: Array
    up: Array


@dataclass(frozen=True, eq=False)
class LaserSigma:
    """Standard deviations (k,) of the values that a `Calibration` has for each ring, and of the mean elevation.

    ``azimuth_bias_m`` (k,) is that of each of a ring's amplitudes; None where they are unknown.
    """

    elevation_rad: Array
    range_m: Array
    range_slope: Array
    elevation_bias_rad: float
    azimuth_bias_m: Array | None = None

    def __post_init__(self) -> None:
        for name in _LASERS:
            object.__setattr__(self, name, np.asarray(getattr(self, name), np.float64))
        if self.azimuth_bias_m is not None:
            object.__setattr__(self, "azimuth_bias_m", np.asarray(self.azimuth_bias_m, np.float64))

    def to_dict(self) -> dict[str, Any]:
        """For world.json."""
        known: dict[str, Any] = {name: getattr(self, name).tolist() for name in _LASERS}
        known["elevation_bias_rad"] = self.elevation_bias_rad
        if self.azimuth_bias_m is not None:
            known[_AZIMUTH_BIAS_KEY] = self.azimuth_bias_m.tolist()
        return known

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> LaserSigma:
        """What `to_dict` gave."""
        elevation, range_m, slope = (data[name] for name in _LASERS)
        return cls(elevation, range_m, slope, data["elevation_bias_rad"], data.get(_AZIMUTH_BIAS_KEY))


@dataclass(frozen=True)
class PoseRefinement:
    """How much the poses of ``sweeps`` sweeps were corrected (root mean squares), and the typical ``sigma`` of each.

    Turns are radians and shifts metres, at the time of the sweep's pose; ``turn_rad_s`` and ``shift_m_s`` correct the
    motion within the sweep, a second. Each sigma is the median over sweeps and axes.
    """

    sweeps: int
    turn_rad: float
    shift_m: float
    turn_rad_s: float
    shift_m_s: float
    turn_sigma_rad: float
    shift_sigma_m: float
    turn_sigma_rad_s: float
    shift_sigma_m_s: float


@dataclass(frozen=True, eq=False)
class Calibration:
    """What to add to the elevation (radians) and range (metres) of each laser, by ring (k,).

    ``range_m`` is added at a range of 20 m, and ``range_slope`` for each further metre. ``azimuth_bias_m`` (k, 4), if
    known, is added by the azimuth of the sensor: amplitudes of its cosine and sine, and of those of its double.
    Rings from k on, which did not fire while the others were calibrated, are not corrected. Lasers without hits have
    the mean correction of the others.
    ``sigma`` is the uncertainty of all this, and ``poses`` how the poses of the same recording were refined; None
    where that is unknown.
    ``blind`` (m, `BLIND_BINS`), if it is known, is the chance that a beam of a ring towards an azimuth of the sensor
    comes back empty whatever it hits beyond: the vehicle itself and mounts are in its way.
    ``gain`` (k,), if it is known, is the intensity that each laser reports where others report 1,
    ``incidence_exponent`` the power of the cosine of incidence by which reported intensities fall. ``range_limit_m``,
    if it is known, is the farthest that the recording has a return from, where more would have returned from beyond:
    sensors and writers of datasets cut off at a range. ``scatter``, if it is known, is how intensities and ranges
    scatter, and which returns are lost. ``intensity_scale``, if it is known, is the full scale of intensities.
    """

    elevation_rad: Array
    range_m: Array
    blind: Array | None = None
    range_slope: Array | None = None
    sigma: LaserSigma | None = None
    poses: PoseRefinement | None = None
    gain: Array | None = None
    incidence_exponent: float | None = None
    azimuth_bias_m: Array | None = None
    range_limit_m: float | None = None
    scatter: SensorScatter | None = None
    intensity_scale: float | None = None

    def __post_init__(self) -> None:
        if self.range_slope is None:
            object.__setattr__(self, "range_slope", np.zeros(np.shape(self.range_m)))
        for name in _LASERS:
            object.__setattr__(self, name, np.asarray(getattr(self, name), np.float64))
        if self.elevation_rad.ndim != 1 or self.elevation_rad.shape != self.range_m.shape:
            raise ResweepError("calibration: elevation_rad and range_m must have one value a ring")
        if self.slope.shape != self.range_m.shape:
            raise ResweepError("calibration: range_slope must have one value a ring")
        if self.sigma is not None and any(getattr(self.sigma, name).shape != self.range_m.shape for name in _LASERS):
            raise ResweepError("calibration: sigma must have one value a ring")
        if self.azimuth_bias_m is not None:
            object.__setattr__(self, "azimuth_bias_m", np.asarray(self.azimuth_bias_m, np.float64))
            if self.azimuth_bias_m.shape != (len(self.range_m), AZIMUTH_HARMONICS):
                raise ResweepError(f"calibration: azimuth_bias_m must have {AZIMUTH_HARMONICS} values a ring")
        if self.gain is not None:
            object.__setattr__(self, "gain", np.asarray(self.gain, np.float64))
            if self.gain.shape != self.range_m.shape or not (self.gain > 0).all():
                raise ResweepError("calibration: gain must have one value above 0 a ring")
        if self.range_limit_m is not None and not self.range_limit_m > 0.0:
            raise ResweepError("calibration: range_limit_m must be above 0")
        if self.intensity_scale is not None and not self.intensity_scale > 0.0:
            raise ResweepError("calibration: intensity_scale must be above 0")
        if self.incidence_exponent is not None and not 0.0 <= self.incidence_exponent <= 2.0:
            raise ResweepError("calibration: incidence_exponent must be from 0 to 2")
        if self.blind is None:
            return
        object.__setattr__(self, "blind", np.asarray(self.blind, np.float64))
        if self.blind.ndim != 2 or self.blind.shape[1] != BLIND_BINS:
            raise ResweepError(f"calibration: blind must have {BLIND_BINS} values a ring, got {self.blind.shape}")
        if not ((self.blind >= 0) & (self.blind <= 1)).all():
            raise ResweepError("calibration: blind must be from 0 to 1")

    def __repr__(self) -> str:
        if not len(self.range_m):
            return "Calibration(no rings)"
        turn, reach = np.degrees(np.abs(self.elevation_rad).max()), np.abs(self.range_m).max()
        return f"Calibration({len(self.range_m)} rings, up to {turn:.3f}° of elevation and {reach:.3f} m of range)"

    @property
    def slope(self) -> Array:
        """``range_slope`` (k,), which is never None here."""
        assert self.range_slope is not None
        return self.range_slope

    @property
    def elevation_bias_rad(self) -> float:
        """What all lasers together point too low by, radians: the mean of their elevation corrections."""
        return float(self.elevation_rad.mean()) if len(self.elevation_rad) else 0.0

    def describe(self) -> list[str]:
        """What was found and how well it is known, a line each: elevations, ranges, poses, motion within sweeps."""
        if not len(self.range_m):
            return ["no rings"]
        rings = f"{len(self.range_m)} rings"
        known = self.sigma
        bias = f"{np.degrees(self.elevation_bias_rad):+.3f}"
        if known is None:
            offset = f"{1e3 * self.range_m.mean():+.1f}"
            return [f"{rings}, elevation {bias}° and range {offset} mm on average, uncertainty unknown"]
        lines = [
            f"{rings}, elevation {bias} ± {np.degrees(known.elevation_bias_rad):.3f}° on average, "
            f"{np.degrees(np.std(self.elevation_rad)):.3f} ± {np.degrees(np.median(known.elevation_rad)):.3f}° by ring",
            f"range {1e3 * self.range_m.mean():+.1f} mm on average at {OFFSET_RANGE_M:g} m, "
            f"{1e3 * np.std(self.range_m):.1f} ± {1e3 * np.median(known.range_m):.1f} mm by ring, "
            f"{1e3 * np.std(self.slope):.2f} ± {1e3 * np.median(known.range_slope):.2f} mm per metre by ring",
        ]
        if self.azimuth_bias_m is not None and known.azimuth_bias_m is not None:
            size = np.sqrt((self.azimuth_bias_m**2).sum(axis=1).mean() / 2)
            error = np.sqrt(AZIMUTH_HARMONICS / 2) * np.median(known.azimuth_bias_m)
            lines.append(f"range {1e3 * size:.1f} ± {1e3 * error:.1f} mm by azimuth")
        if self.range_limit_m is not None:
            lines.append(f"no return from beyond {self.range_limit_m:.1f} m")
        if self.scatter is not None:
            lines.append(self.scatter.describe())
        return lines if self.poses is None else [*lines, *_describe_poses(self.poses)]

    def fits(self, sweep: Sweep) -> bool:
        """Whether there is a correction for every ring of a sweep."""
        return sweep.n_beams == 0 or int(sweep.beam_ring.max()) < len(self.elevation_rad)

    def directions(self, direction: Array, ring: Array) -> Array:
        """Unit directions (n, 3) as the lasers ``ring`` (n,) really fired those reported."""
        return self._tilt(_normalise(direction), ring)[0]

    def ranges(self, measured: Array, ring: Array, direction: Array) -> Array:
        """Ranges (n,) as they really were where the lasers ``ring`` (n,) measured ``measured`` (n,).

        ``direction`` (n, 3) is that of the beams in the sensor's frame.
        """
        reach = np.asarray(measured, np.float64)
        return reach + self._find_offsets(ring, direction) + _look_up(self.slope, ring) * (reach - OFFSET_RANGE_M)

    def readings(self, true: Array, ring: Array, direction: Array) -> Array:
        """What the lasers ``ring`` (n,) measure where the ranges are ``true`` (n,): the inverse of `ranges`."""
        slope = _look_up(self.slope, ring)
        return (np.asarray(true, np.float64) - self._find_offsets(ring, direction) + slope * OFFSET_RANGE_M) / (
            1.0 + slope
        )

    def _find_offsets(self, ring: Array, direction: Array) -> Array:
        """What to add to ranges (n,) at 20 m."""
        offset = _look_up(self.range_m, ring)
        if self.azimuth_bias_m is None or not len(self.azimuth_bias_m):
            return offset
        columns = [_look_up(amplitude, ring) for amplitude in self.azimuth_bias_m.T]
        return np.asarray(offset + (np.stack(columns, axis=1) * find_azimuth_harmonics(direction)).sum(axis=1))

    def corrected(self, direction: Array, measured: Array, ring: Array) -> CorrectedBeams:
        """Beams of ``direction`` (n, 3) and ``measured`` range (n,) as the lasers ``ring`` (n,) really fired them."""
        return self.corrected_rays(find_axes(direction), measured, ring)

    def corrected_rays(self, reported: BeamAxes, measured: Array, ring: Array) -> CorrectedBeams:
        """As `corrected`, of beams whose axes are known already (`find_axes`)."""
        along, up = self._tilt(reported.along, ring, reported.up)
        return CorrectedBeams(self.ranges(measured, ring, reported.along), along, up)

    def _tilt(self, along: Array, ring: Array, up: Array | None = None) -> tuple[Array, Array]:
        """Unit directions (n, 3) as the lasers really fired those reported, ``along`` (n, 3), and upwards across."""
        up = _find_up(along) if up is None else up
        # Turned upwards by its own angle: one sine a ring, none a beam.
        cosine, sine = (_look_up(values, ring, beyond) for values, beyond in self._list_turns)
        turned = cosine[:, None] * along + sine[:, None] * up
        return turned, cosine[:, None] * up - sine[:, None] * along

    @cached_property
    def _list_turns(self) -> tuple[tuple[Array, float], tuple[Array, float]]:
        """Cosines and sines (k,) of the elevations, each with what it is for lasers beyond the last."""
        return (portable.cos(self.elevation_rad), 1.0), (portable.sin(self.elevation_rad), 0.0)

    def applied(self, sweep: Sweep) -> Sweep:
        """The sweep as calibrated lasers would have measured it."""
        return replace(
            sweep,
            beam_direction=self.directions(sweep.beam_direction, sweep.beam_ring).astype(np.float32),
            range=self.ranges(sweep.range, sweep.ring, sweep.beam_direction[sweep.beam]).astype(np.float32),
            intensity=sweep.intensity if self.gain is None else sweep.intensity / self.find_gain(sweep.ring),
        )

    def find_gain(self, ring: Array) -> Array:
        """The intensity that the lasers ``ring`` (n,) report where others report 1, float32."""
        gain = np.zeros(0) if self.gain is None else self.gain
        return (1.0 + _look_up(gain - 1.0, ring)).astype(np.float32)

    def find_blind(self, sweep: Sweep) -> Array | None:
        """The chance (b,) that each beam of a sweep is blocked on the vehicle and comes back empty; None if unknown."""
        if self.blind is None or sweep.n_beams == 0:
            return None
        ring = sweep.beam_ring.astype(np.int64)
        known = ring < len(self.blind)
        return np.where(known, self.blind[np.where(known, ring, 0), find_blind_bins(sweep.beam_direction)], 0.0)

    def to_dict(self) -> dict[str, Any]:
        """For world.json; blind shares in thousandths."""
        known: dict[str, Any] = {name: getattr(self, name).tolist() for name in _LASERS}
        if self.sigma is not None:
            known["sigma"] = self.sigma.to_dict()
        if self.poses is not None:
            known["poses"] = asdict(self.poses)
        if self.blind is not None:
            known["blind_permille"] = np.round(self.blind * _PERMILLE).astype(int).tolist()
        if self.gain is not None:
            known["gain"] = self.gain.tolist()
        if self.incidence_exponent is not None:
            known["incidence_exponent"] = self.incidence_exponent
        if self.azimuth_bias_m is not None:
            known[_AZIMUTH_BIAS_KEY] = self.azimuth_bias_m.tolist()
        if self.range_limit_m is not None:
            known["range_limit_m"] = self.range_limit_m
        if self.scatter is not None:
            known["scatter"] = self.scatter.model_dump(mode="json", exclude_none=True)
        if self.intensity_scale is not None:
            known["intensity_scale"] = self.intensity_scale
        return known

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Calibration:
        """What `to_dict` gave, also of older versions, which knew less."""
        blind, sigma, poses, scatter = (data.get(name) for name in ("blind_permille", "sigma", "poses", "scatter"))
        return cls(
            data["elevation_rad"],
            data["range_m"],
            None if blind is None else np.asarray(blind) / _PERMILLE,
            data.get("range_slope"),
            None if sigma is None else LaserSigma.from_dict(sigma),
            None if poses is None else PoseRefinement(**poses),
            data.get("gain"),
            data.get("incidence_exponent"),
            data.get(_AZIMUTH_BIAS_KEY),
            data.get("range_limit_m"),
            None if scatter is None else SensorScatter(**scatter),
            data.get("intensity_scale"),
        )


def _describe_poses(poses: PoseRefinement) -> list[str]:
    many = f"{poses.sweeps} poses corrected by"
    lines = [
        f"{many} {100 * poses.shift_m:.1f} ± {100 * poses.shift_sigma_m:.1f} cm and "
        f"{np.degrees(poses.turn_rad):.3f} ± {np.degrees(poses.turn_sigma_rad):.3f}°"
    ]
    if not (poses.turn_rad_s or poses.shift_m_s):
        return [*lines, "motion within sweeps as recorded"]
    return [
        *lines,
        f"motion within sweeps by {100 * poses.shift_m_s:.1f} ± {100 * poses.shift_sigma_m_s:.1f} cm/s and "
        f"{np.degrees(poses.turn_rad_s):.3f} ± {np.degrees(poses.turn_sigma_rad_s):.3f}°/s",
    ]


def find_azimuth_harmonics(direction: Array) -> Array:
    """Cosine and sine of the azimuth of directions (n, 3) in the sensor's frame, and those of its double: (n, 4)."""
    x, y = (direction[:, axis].astype(np.float64) for axis in (0, 1))
    level = np.sqrt(x * x + y * y)
    upright = level < 1e-9
    cosine, sine = (np.where(upright, 0.0, part / np.where(upright, 1.0, level)) for part in (x, y))
    return np.stack([cosine, sine, cosine * cosine - sine * sine, 2.0 * cosine * sine], axis=1)


def find_blind_bins(direction: Array) -> Array:
    """The bin of azimuth (n,) of directions (n, 3) in the sensor's frame."""
    turn = portable.arctan2(direction[:, 1].astype(np.float64), direction[:, 0].astype(np.float64))
    return np.floor((turn / (2 * np.pi) + 0.5) * BLIND_BINS).astype(np.int64) % BLIND_BINS


def find_axes(direction: Array) -> BeamAxes:
    """The axes of beams of ``direction`` (n, 3)."""
    along = _normalise(direction)
    return BeamAxes(along, _find_up(along))


def _normalise(direction: Array) -> Array:
    along = np.asarray(direction, np.float64)
    return np.asarray(along / np.maximum(np.sqrt((along * along).sum(axis=1)), 1e-12)[:, None])


def _find_up(along: Array) -> Array:
    """Unit vectors (n, 3) upwards across unit directions (n, 3); backwards where they point straight up."""
    level = np.hypot(along[:, 0], along[:, 1])
    upright = level < 1e-9
    slope = along[:, 2] / np.where(upright, 1.0, level)
    up = np.stack([-slope * along[:, 0], -slope * along[:, 1], level], axis=1)
    up[upright] = np.where(along[upright, 2:] > 0, [[-1.0, 0.0, 0.0]], [[1.0, 0.0, 0.0]])
    return up


def _look_up(values: Array, ring: Array, beyond: float = 0.0) -> Array:
    """The value (n,) of each ring (n,), ``beyond`` for those after the last."""
    if len(values) == 0:
        return np.full(len(ring), beyond)
    ring = np.asarray(ring, np.int64)
    known = ring < len(values)
    found = values[np.where(known, ring, 0)]
    return found if known.all() else np.where(known, found, beyond)
