"""Wheels on the ground: how high and how tilted a vehicle stands."""

from __future__ import annotations

import math

import numpy as np

from resweep import portable
from resweep.drive.vehicles import Vehicle
from resweep.pose import Array
from resweep.scenario.ground import Ground

_UPWARD = 0.3  # cosine of the steepest surface that a wheel stands on
_STEP_M = 0.8  # a wheel looks for ground from so far above where it was
_DROP_M = 3.0  # and so far below
_SKIP_M = 0.01
_DEEPEST = 8  # surfaces met on the way down


class Footing:
    """The ground under a vehicle's four wheels.

    Ground is what has a label of the ground; in a world without such labels, anything level enough to stand on. The
    nearest below the wheels counts, so a vehicle on a bridge stays on it.
    """

    def __init__(self, ground: Ground, vehicle: Vehicle) -> None:
        self.ground, self.vehicle = ground, vehicle
        self._labelled = bool(ground.labels.known and len(ground._ground_ids))
        self._wheels = vehicle.wheels

    def heights(self, places: Array, near_m: Array) -> Array:
        """Height (n,) of the ground below places (n, 2), near given heights (n,); NaN where there is none.

        Where nothing below has a label of the ground, it is the lowest level surface.
        """
        count = len(places)
        z, best, other = near_m + _STEP_M, np.full(count, np.nan), np.full(count, np.nan)
        lowest, active = near_m - _DROP_M, np.arange(count)
        down = np.tile([0.0, 0.0, -1.0], (count, 1))
        for _ in range(_DEEPEST):
            found = self.ground.hits(
                np.column_stack([places[active], z[active]]), down[: len(active)], _STEP_M + _DROP_M
            )
            height = z[active] - found["range"].astype(np.float64)
            met = np.isfinite(found["range"]) & (height >= lowest[active])
            stands = met & (np.abs(found["cosine"]) >= _UPWARD) & self._is_ground(found["label"])
            best[active[stands]] = height[stands]
            again = met & ~stands
            level = again & (np.abs(found["cosine"]) >= _UPWARD)
            other[active[level]] = height[level]
            z[active[again]] = height[again] - _SKIP_M
            active = active[again]
            if not len(active):
                break
        return np.where(np.isnan(best), other, best)

    def _is_ground(self, label: Array) -> Array:
        if not self._labelled:
            return np.ones(len(label), bool)
        return self.ground.is_ground(label) | ~self.ground.labels.is_labelled(label)

    def first_height(self, x: float, y: float) -> float:
        """Height of the ground at a place of which no height is known; NaN where there is none."""
        return float(self.ground.heights(np.array([[x, y, np.nan]]))[0])

    def poses(self, places: Array, yaw: Array, near_m: float) -> Array:
        """``T_world_vehicle`` (n, 4, 4) with all wheels down, at places (n, 2) and headings (n,).

        ``near_m`` is the height of the ground where the vehicle was last. NaN where two wheels have no ground, or
        where it is steeper than the vehicle can stand on. One wheel may hang.
        """
        count = len(places)
        c, s = portable.cos(yaw)[:, None], portable.sin(yaw)[:, None]
        u, v = self._wheels[:, 0], self._wheels[:, 1]
        under = np.stack([places[:, :1] + c * u - s * v, places[:, 1:2] + s * u + c * v], axis=-1)
        height = self.heights(under.reshape(-1, 2), np.full(4 * count, near_m)).reshape(count, 4)
        return self._tilt(places, c[:, 0], s[:, 0], _fill_one(height))

    def _tilt(self, places: Array, c: Array, s: Array, height: Array) -> Array:
        """Poses on the planes that fit the four heights (n, 4) of the wheels best."""
        vehicle, count = self.vehicle, len(places)
        along = (height[:, 2] + height[:, 3] - height[:, 0] - height[:, 1]) / (2 * vehicle.wheelbase_m)
        across = (height[:, 1] + height[:, 3] - height[:, 0] - height[:, 2]) / (2 * vehicle.track_m)
        level = height.mean(axis=1) - along * float(self._wheels[:, 0].mean())
        steep = along * along + across * across > math.tan(vehicle.slope_max_rad) ** 2
        x = np.stack([np.ones(count), np.zeros(count), along], axis=1)
        z = np.stack([-along, -across, np.ones(count)], axis=1)
        x /= np.linalg.norm(x, axis=1, keepdims=True)
        z /= np.linalg.norm(z, axis=1, keepdims=True)
        turn = np.zeros((count, 3, 3))
        turn[:, 0, 0] = turn[:, 1, 1] = c
        turn[:, 1, 0], turn[:, 0, 1], turn[:, 2, 2] = s, -s, 1.0
        poses = np.zeros((count, 4, 4))
        poses[:, :3, :3] = portable.matmul(turn, np.stack([x, np.cross(z, x), z], axis=-1))
        poses[:, :2, 3], poses[:, 2, 3], poses[:, 3, 3] = places, level, 1.0
        poses[steep | np.isnan(level)] = np.nan
        return poses


def _fill_one(height: Array) -> Array:
    """Heights (n, 4) in which one wheel without ground gets the height of the plane through the three others."""
    lost = np.isnan(height)
    # The corners of a rectangle: the sums over its two diagonals are equal on a plane.
    opposite, sides = (3, 2, 1, 0), ((1, 2), (0, 3), (0, 3), (1, 2))
    filled = height.copy()
    for wheel in range(4):
        alone = lost[:, wheel] & (lost.sum(axis=1) == 1)
        one, other = sides[wheel]
        filled[alone, wheel] = height[alone, one] + height[alone, other] - height[alone, opposite[wheel]]
    return filled
