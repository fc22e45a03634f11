"""Wheels on the ground: how high and how tilted a vehicle stands."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from resweep import _core, portable
from resweep.drive.body.solid import make_native_solid
from resweep.drive.vehicles import Vehicle
from resweep.pose import Array
from resweep.scenario.ground import Ground

_UPWARD = 0.3  # cosine of the steepest surface that a wheel stands on: 73 degrees, a wall beyond
_STEP_M = 0.8  # a wheel looks for ground from so far above where it was: below a bridge's deck
_DROP_M = 3.0  # and so far below: over an edge it hangs
_SKIP_M = 0.01  # below a surface that is no ground the search goes on
_MAX_SURFACES = 8  # surfaces that a ray down looks at


class Footing:
    """The ground under a vehicle's four wheels.

    Ground is what has a label of the ground; in a world without such labels, anything level enough to stand on. The
    nearest below the wheels counts, so a vehicle on a bridge stays on it.
    """

    def __init__(self, ground: Ground, vehicle: Vehicle) -> None:
        self.ground, self.vehicle = ground, vehicle
        self._solid = make_native_solid(ground)
        self._wheels = np.ascontiguousarray(vehicle.wheels)
        self._search: dict[str, Any] = {
            "step": _STEP_M,
            "drop": _DROP_M,
            "skip": _SKIP_M,
            "upward": _UPWARD,
            "deepest": _MAX_SURFACES,
            "labelled": bool(ground.labels.known and ground.ground_ids),
        }

    def heights(self, places: Array, near_m: Array) -> Array:
        """Height (n,) of the ground below places (n, 2), near given heights (n,); NaN where there is none.

        Where nothing below has a label of the ground, it is the lowest level surface.
        """
        return np.asarray(self._solid.heights(np.ascontiguousarray(places), near_m, **self._search))

    def first_height(self, x: float, y: float) -> float:
        """Height of the ground at a place of which no height is known; NaN where there is none."""
        return float(self.ground.heights(np.array([[x, y, np.nan]]))[0])

    def poses(self, places: Array, yaw: Array, near_m: float) -> Array:
        """``T_world_vehicle`` (n, 4, 4) with all wheels down, at places (n, 2) and headings (n,).

        ``near_m`` is the height of the ground where the vehicle was last. NaN where two wheels have no ground, or
        where it is steeper than the vehicle can stand on. One wheel may hang.
        """
        count, vehicle = len(places), self.vehicle
        c, s = portable.cos(yaw), portable.sin(yaw)
        u, v = self._wheels[:, 0], self._wheels[:, 1]
        under = np.empty((count, 4, 2))
        under[..., 0] = places[:, :1] + c[:, None] * u - s[:, None] * v
        under[..., 1] = places[:, 1:2] + s[:, None] * u + c[:, None] * v
        height = self.heights(under.reshape(-1, 2), np.full(4 * count, near_m)).reshape(count, 4)
        steepest = math.tan(vehicle.slope_max_rad)
        return np.asarray(
            _core.stand_on(self._wheels, vehicle.wheelbase_m, vehicle.track_m, steepest, places, c, s, height)
        )
