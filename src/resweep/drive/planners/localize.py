"""Where the vehicle is, from GPS, compass and wheel odometry, without the truth."""

from __future__ import annotations

import math

import numpy as np

from resweep import portable
from resweep.drive.sensing.observation import Mission, Observation, Scan
from resweep.pose import Array

_HISTORY_S = 2.0


class Localizer:
    """Dead reckoning by the wheels, corrected by every reading of GPS and compass with a constant gain.

    ``place_gain`` and ``yaw_gain`` are the shares of a reading's difference that are taken over. The antenna is taken
    for the vehicle's origin: GPS readings are moved by its mount.
    """

    def __init__(self, mission: Mission, place_gain: float = 0.3, yaw_gain: float = 0.1) -> None:
        self._gains = place_gain, yaw_gain
        self.x, self.y, self.yaw = mission.start
        self.speed, self.yaw_rate = mission.start_speed_mps, 0.0
        self.time_s = 0.0
        gps = mission.rig.gps
        self._antenna = (0.0, 0.0) if gps is None else gps.position_m[:2]
        self._history: list[tuple[float, float, float, float]] = [(0.0, self.x, self.y, self.yaw)]

    @property
    def pose(self) -> tuple[float, float, float]:
        """x, y and yaw now."""
        return self.x, self.y, self.yaw

    def update(self, observation: Observation) -> None:
        """Take in all readings of a step, in the order of their times."""
        events: list[tuple[float, int, Array]] = []
        for kind, readings in enumerate((observation.odometry, observation.gps, observation.compass)):
            events += [(float(time), kind, value) for time, value in zip(readings.time, readings.value, strict=True)]
        for time, kind, value in sorted(events, key=lambda item: item[:2]):
            self._move(time)
            if kind == 0:
                self.speed, self.yaw_rate = float(value[0]), float(value[1])
            elif kind == 1:
                self._correct_place(value)
            else:
                off = float(value[0]) - self.yaw
                self.yaw += self._gains[1] * math.atan2(math.sin(off), math.cos(off))
            self._note()
        self._move(observation.time_s)
        self._note()

    def _note(self) -> None:
        if self._history[-1][0] == self.time_s:
            self._history.pop()
        self._history.append((self.time_s, self.x, self.y, self.yaw))
        while self._history[0][0] < self.time_s - _HISTORY_S:
            self._history.pop(0)

    def _move(self, time_s: float) -> None:
        step = time_s - self.time_s
        if step <= 0:
            return
        heading = self.yaw + 0.5 * self.yaw_rate * step
        self.x += self.speed * step * math.cos(heading)
        self.y += self.speed * step * math.sin(heading)
        self.yaw += self.yaw_rate * step
        self.time_s = time_s

    def _correct_place(self, value: Array) -> None:
        c, s = math.cos(self.yaw), math.sin(self.yaw)
        u, v = self._antenna
        gain = self._gains[0]
        self.x += gain * (float(value[0]) - (c * u - s * v) - self.x)
        self.y += gain * (float(value[1]) - (s * u + c * v) - self.y)

    def register(self, scan: Scan) -> Array:
        """The points (n, 3) of a scan in the world, each where the vehicle was when it was measured.

        Heights are above the ground under the vehicle; tilt is not known and taken as none.
        """
        turn, at = scan.T_vehicle_sensor[:3, :3], scan.T_vehicle_sensor[:3, 3]
        points = np.einsum("ni,ji->nj", scan.points.astype(np.float64), turn) + at
        times, x, y, yaw = (np.array(column) for column in zip(*self._history, strict=True))
        angle = np.interp(scan.time, times, np.unwrap(yaw))
        c, s = portable.cos(angle), portable.sin(angle)
        return np.column_stack(
            [
                np.interp(scan.time, times, x) + c * points[:, 0] - s * points[:, 1],
                np.interp(scan.time, times, y) + s * points[:, 0] + c * points[:, 1],
                points[:, 2],
            ]
        )
