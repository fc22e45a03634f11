"""A spinning sensor in a walled yard, computed by hand: what it records, and the beams that hit nothing."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from resweep.log import Log
from resweep.pose import Array, from_xyz_rpy
from resweep.sweep import Sweep

GROUND_M, SLOPE, WALL_TOP_M, HALF_M = -1.7, 0.06, 4.0, np.array([31.0, 17.0])
MAX_RANGE_M = 60.0


@dataclass(frozen=True)
class Spin:
    """One turn of a sensor that drives along x, clockwise from behind, ``drive_m`` in the turn."""

    elevation_deg: Array
    height_m: Array
    n_columns: int
    drive_m: float = 0.0

    def fire(self, x: float) -> tuple[Array, Array, Array, Array, Array]:
        """Ring, azimuth in degrees, phase, origin and direction of every beam, ring by ring from the top."""
        ring = np.repeat(np.arange(len(self.elevation_deg))[::-1], self.n_columns)
        # Counter-clockwise from 0°, as KITTI stores each ring; it is fired the other way round.
        azimuth = np.tile((np.arange(self.n_columns) + 0.5) * 360.0 / self.n_columns, len(self.elevation_deg))
        phase = -((azimuth + 180.0) % 360.0 - 180.0) / 360.0
        origin = np.stack([x + self.drive_m * phase, 0.0 * phase, self.height_m[ring]], axis=1)
        elevation, angle = np.radians(self.elevation_deg)[ring], np.radians(azimuth)
        level = np.cos(elevation)
        direction = np.stack([level * np.cos(angle), level * np.sin(angle), np.sin(elevation)], axis=1)
        return ring, azimuth, phase, origin, direction

    def record(self, x: float, compensated: float = 1.0) -> tuple[Sweep, Array, Array]:
        """The returns as a bare sweep, and ring and azimuth of every beam that hit nothing.

        ``compensated`` is the share of the motion that was taken out of the points.
        """
        ring, azimuth, _, origin, direction = self.fire(x)
        distance = _meets(origin, direction)
        hit = distance < MAX_RANGE_M
        points = (origin + distance[:, None] * direction)[hit] - [x, 0.0, 0.0]
        points -= (1.0 - compensated) * (origin[hit] - [x, 0.0, 0.0]) * [1.0, 1.0, 0.0]
        label = np.arange(hit.sum()) % 7
        sweep = Sweep.from_points(points, pose=from_xyz_rpy(x, 0, 0), label=label, timestamp=x, intensity=label / 7)
        return sweep, ring[~hit], azimuth[~hit]

    def log(self, count: int = 3, compensated: float = 1.0) -> Log:
        """Sweeps along x, 0.7 m apart."""
        return Log.from_sweeps([self.record(0.7 * at, compensated)[0] for at in range(count)])


def _meets(origin: Array, direction: Array) -> Array:
    """Range to the ground or the walls; far beyond where the beam passes above them."""
    with np.errstate(divide="ignore", invalid="ignore"):
        # The ground rises to the left, or a laser's height could not be distinguished from its elevation.
        falling = direction[:, 2] - SLOPE * direction[:, 1]
        ground = np.where(falling < 0, (GROUND_M - origin[:, 2]) / falling, np.inf)
        ahead = (np.sign(direction[:, :2]) * HALF_M - origin[:, :2]) / direction[:, :2]
    wall = np.nanmin(np.where(ahead > 0, ahead, np.inf), axis=1)
    wall = np.where(origin[:, 2] + wall * direction[:, 2] < WALL_TOP_M, wall, np.inf)
    return np.minimum(ground, wall)


def two_blocks() -> tuple[Array, Array]:
    """Elevations and heights of 32 lasers in two blocks, the upper one higher, as an HDL-64E has them."""
    elevation = np.concatenate([np.linspace(-24.0, -9.0, 16), np.linspace(-8.0, 12.0, 16)])
    return elevation, np.repeat([0.12, 0.20], 16)
