"""What an inertial sensor measures along a trajectory: turn rate and specific force.

Conventions of REP 103 (x forward, y left, z up; metres, seconds, radians) and REP 145 (the accelerometer reads the
reaction to gravity, so that it is +9.81 m/s² along up at rest). Values are exact, without noise or bias.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.interpolate import CubicSpline
from scipy.spatial.transform import Rotation, RotationSpline

from resweep import portable
from resweep.pose import Array, Trajectory, rotation_of

RATE_HZ = 200.0  # LIO-SAM asks for 200 Hz or more, FAST-LIO for 100
GRAVITY_MPS2 = 9.81  # what FAST-LIO scales accelerations to (include/common_lib.h, G_m_s2)
_GRAVITY = np.array([0.0, 0.0, -GRAVITY_MPS2])


@dataclass(frozen=True, eq=False)
class InertialMotion:
    """The state of a moving frame at n times.

    ``rotation`` is ``R_world_frame``; ``velocity`` and ``acceleration`` (n, 3) are in the world, ``turn_rate`` (n, 3)
    rad/s in the frame itself.
    """

    rotation: Rotation
    velocity: Array
    acceleration: Array
    turn_rate: Array

    @property
    def specific_force(self) -> Array:
        """Acceleration (n, 3) m/s² that an accelerometer reads, in the frame itself, gravity's reaction included."""
        return self._turn_back(self.acceleration - _GRAVITY)

    @property
    def own_velocity(self) -> Array:
        """Velocity (n, 3) m/s in the frame itself."""
        return self._turn_back(self.velocity)

    def _turn_back(self, vectors: Array) -> Array:
        return np.asarray(portable.matmul(self.rotation.inv().as_matrix(), vectors[:, :, None])[:, :, 0])


class SmoothMotion:
    """A trajectory with velocities and accelerations that are continuous.

    A `Trajectory` moves at constant velocity between its knots, so its acceleration is zero or infinite. Cubic
    splines through the same knots have finite ones, and integrate back to the poses at the knots. Before the first
    knot and after the last the motion goes on at the velocity it has there.
    """

    def __init__(self, trajectory: Trajectory) -> None:
        self._start, self._end = trajectory.start, trajectory.end
        times = trajectory.times - trajectory.start
        rotation = rotation_of(trajectory.poses)
        moves = len(times) > 1
        # Two knots at the same pose stand for the only one.
        self._place = CubicSpline(
            times if moves else [0.0, 1.0],
            trajectory.poses[:, :3, 3] if moves else np.repeat(trajectory.poses[:, :3, 3], 2, axis=0),
        )
        self._turn = RotationSpline(times, rotation) if moves else RotationSpline([0.0, 1.0], rotation[[0, 0]])

    def at(self, times: Array) -> InertialMotion:
        """The state at times (n,) in seconds."""
        inside = np.clip(times, self._start, self._end) - self._start
        beyond = np.asarray(times - self._start - inside)
        turn_rate = np.asarray(self._turn(inside, 1))
        rotation = self._turn(inside) * Rotation.from_rotvec(turn_rate * beyond[:, None])
        acceleration = np.where(beyond[:, None] == 0, self._place(inside, 2), 0.0)
        return InertialMotion(rotation, np.asarray(self._place(inside, 1)), acceleration, turn_rate)
