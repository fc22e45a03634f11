"""Corrections of a sensor's lasers: what a recorded direction and range really were."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from resweep import portable
from resweep.errors import ResweepError
from resweep.pose import Array
from resweep.sweep import Sweep


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
    """

    elevation_rad: Array
    range_m: Array

    def __post_init__(self) -> None:
        for name in ("elevation_rad", "range_m"):
            object.__setattr__(self, name, np.asarray(getattr(self, name), np.float64))
        if self.elevation_rad.shape != self.range_m.shape or self.elevation_rad.ndim != 1:
            raise ResweepError("calibration: elevation_rad and range_m must have one value a ring")

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
        )

    def to_dict(self) -> dict[str, list[float]]:
        """For world.json."""
        return {"elevation_rad": self.elevation_rad.tolist(), "range_m": self.range_m.tolist()}


def _look_up(values: Array, ring: Array) -> Array:
    """The value (n,) of each ring (n,), zero beyond the last."""
    ring = np.asarray(ring, np.int64)
    known = ring < len(values)
    found = np.zeros(len(ring))
    found[known] = values[ring[known]]
    return found
