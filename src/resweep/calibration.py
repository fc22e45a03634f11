"""Corrections of a sensor's lasers: what a recorded direction and range really were."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from resweep import portable
from resweep.errors import ResweepError
from resweep.pose import Array
from resweep.sweep import Sweep

_PERMILLE = 1000.0
BLIND_BINS = 360  # of azimuth, in which the blind spots of a ring are counted


class Corrected(NamedTuple):
    """Points (n, 3) with their ranges (n,), unit directions and the unit vectors upwards across them."""

    points: Array
    range: Array
    along: Array
    up: Array


@dataclass(frozen=True, eq=False)
class Calibration:
    """What to add to the elevation (radians) and range (metres) of each laser, by ring (k,).

    Rings from k on, whose lasers met nothing while the others were calibrated, are left as they are.
    ``blind`` (m, `BLIND_BINS`), if it is known, is the chance that a beam of a ring towards an azimuth of the sensor
    comes back empty whatever stands there: the vehicle itself and mounts are in its way.
    ``gain`` (k,), if it is known, is how bright each laser reports what others report as 1.
    """

    elevation_rad: Array
    range_m: Array
    blind: Array | None = None
    gain: Array | None = None

    def __post_init__(self) -> None:
        for name in ("elevation_rad", "range_m"):
            object.__setattr__(self, name, np.asarray(getattr(self, name), np.float64))
        if self.elevation_rad.shape != self.range_m.shape or self.elevation_rad.ndim != 1:
            raise ResweepError("calibration: elevation_rad and range_m must have one value a ring")
        if self.gain is not None:
            object.__setattr__(self, "gain", np.asarray(self.gain, np.float64))
            if self.gain.shape != self.range_m.shape or not (self.gain > 0).all():
                raise ResweepError("calibration: gain must have one value above 0 a ring")
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

    def fits(self, sweep: Sweep) -> bool:
        """Whether there is a correction for every ring of a sweep."""
        return sweep.n_beams == 0 or int(sweep.beam_ring.max()) < len(self.elevation_rad)

    def directions(self, direction: Array, ring: Array) -> Array:
        """Unit directions (n, 3) as the lasers ``ring`` (n,) really fired those reported."""
        return self.corrected_points(np.asarray(direction, np.float64), ring).along

    def corrected_points(self, points: Array, ring: Array) -> Corrected:
        """Points (n, 3) in the sensor's frame where they really were."""
        level = np.hypot(points[:, 0], points[:, 1])
        azimuth = portable.arctan2(points[:, 1], points[:, 0])
        elevation = portable.arctan2(points[:, 2], level) + _look_up(self.elevation_rad, ring)
        reach = np.linalg.norm(points, axis=1) + _look_up(self.range_m, ring)
        c, s, h, z = portable.cos(azimuth), portable.sin(azimuth), portable.cos(elevation), portable.sin(elevation)
        along = np.stack([h * c, h * s, z], axis=1)
        return Corrected(along * reach[:, None], reach, along, np.stack([-z * c, -z * s, h], axis=1))

    def applied(self, sweep: Sweep) -> Sweep:
        """The sweep as calibrated lasers would have measured it."""
        return replace(
            sweep,
            beam_direction=self.directions(sweep.beam_direction, sweep.beam_ring).astype(np.float32),
            range=sweep.range + _look_up(self.range_m, sweep.ring).astype(np.float32),
            intensity=sweep.intensity if self.gain is None else sweep.intensity / self.find_gain(sweep.ring),
        )

    def find_gain(self, ring: Array) -> Array:
        """How bright the lasers ``ring`` (n,) report what others report as 1, float32."""
        gain = np.zeros(0) if self.gain is None else self.gain
        return (1.0 + _look_up(gain - 1.0, ring)).astype(np.float32)

    def find_blind(self, sweep: Sweep) -> Array | None:
        """The chance (b,) that each beam of a sweep comes back empty whatever it meets; None if it is not known."""
        if self.blind is None or sweep.n_beams == 0:
            return None
        ring = sweep.beam_ring.astype(np.int64)
        known = ring < len(self.blind)
        return np.where(known, self.blind[np.where(known, ring, 0), find_blind_bins(sweep.beam_direction)], 0.0)

    def to_dict(self) -> dict[str, list[Any]]:
        """For world.json; blind shares in thousandths."""
        known = {"elevation_rad": self.elevation_rad.tolist(), "range_m": self.range_m.tolist()}
        if self.gain is not None:
            known["gain"] = self.gain.tolist()
        if self.blind is None:
            return known
        return {**known, "blind_permille": np.round(self.blind * _PERMILLE).astype(int).tolist()}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Calibration:
        """What `to_dict` gave."""
        blind = data.get("blind_permille")
        shares = None if blind is None else np.asarray(blind) / _PERMILLE
        return cls(data["elevation_rad"], data["range_m"], shares, data.get("gain"))


def find_blind_bins(direction: Array) -> Array:
    """The bin of azimuth (n,) of directions (n, 3) in the sensor's frame."""
    turn = portable.arctan2(direction[:, 1].astype(np.float64), direction[:, 0].astype(np.float64))
    return np.floor((turn / (2 * np.pi) + 0.5) * BLIND_BINS).astype(np.int64) % BLIND_BINS


def _look_up(values: Array, ring: Array) -> Array:
    """The value (n,) of each ring (n,), zero beyond the last."""
    ring = np.asarray(ring, np.int64)
    known = ring < len(values)
    found = np.zeros(len(ring))
    found[known] = values[ring[known]]
    return found
