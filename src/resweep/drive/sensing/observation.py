"""What an autonomy gets: a mission at the start, and at each step what its sensors measured since the last."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from resweep.drive.sensing.rig import Rig
from resweep.drive.vehicles import Vehicle
from resweep.pose import Array


@dataclass(frozen=True, eq=False)
class Scan:
    """A sweep as a LiDAR reports it, without the truth.

    ``points`` (n, 3) float32 metres in the LiDAR's frame when each was measured; ``time`` (n,) seconds, ``intensity``
    (n,), ``ring`` (n,). The sweep lasted from ``start_s`` to ``end_s``. ``T_vehicle_sensor`` (4, 4) is its mount.
    """

    points: Array
    time: Array
    intensity: Array
    ring: Array
    start_s: float
    end_s: float
    T_vehicle_sensor: Array


@dataclass(frozen=True, eq=False)
class Readings:
    """Readings of an instrument since the last step: ``time`` (n,) seconds, ``value`` (n, k); none in an outage.

    GPS: x, y, z metres in the world. Compass: yaw. IMU: angular rates x, y, z (rad/s), specific forces x, y, z
    (m/s²). Odometry: speed m/s, yaw rate rad/s.
    """

    time: Array
    value: Array

    def __len__(self) -> int:
        return len(self.time)

    @property
    def last(self) -> Array | None:
        """The newest reading (k,); None if there is none."""
        return self.value[-1] if len(self.time) else None


def make_no_readings(width: int) -> Readings:
    """Readings of an instrument that has given none."""
    return Readings(np.zeros(0), np.zeros((0, width)))


@dataclass(frozen=True, eq=False)
class Truth:
    """What only the simulator knows, for those who ask for it: pose (4, 4) of the vehicle, its velocity, and boxes.

    ``actors`` are rows of the actors: name, x, y, z, yaw, length, width, height.
    """

    T_world_vehicle: Array
    speed_mps: float
    yaw_rate_radps: float
    actors: tuple[tuple[str, float, float, float, float, float, float, float], ...] = ()


@dataclass(frozen=True, eq=False)
class Observation:
    """What the sensors measured between the last step and ``time_s``.

    ``scans`` are the sweeps that ended, by the name of their LiDAR, oldest first. ``truth`` is None unless the loop was
    created with ``truth=True``.
    """

    step: int
    time_s: float
    scans: Mapping[str, tuple[Scan, ...]]
    gps: Readings
    compass: Readings
    imu: Readings
    odometry: Readings
    truth: Truth | None = None


@dataclass(frozen=True, eq=False)
class Mission:
    """What an autonomy knows before it starts.

    ``start`` is x, y and yaw in the world, ``goal`` x and y or None, ``route`` (n, 2) a line to follow, empty if there
    is none; ``speed_mps`` is the desired speed along it, ``start_speed_mps`` that at the start.
    """

    vehicle: Vehicle
    rig: Rig
    period_s: float
    start: tuple[float, float, float]
    goal: tuple[float, float] | None = None
    route: Array = field(default_factory=lambda: np.zeros((0, 2)))
    speed_mps: float = 0.0
    start_speed_mps: float = 0.0
    seed: int = 0

    def describe(self) -> dict[str, Any]:
        """The mission as plain data, for other processes."""
        return {
            "vehicle": self.vehicle.model_dump(mode="json"),
            "rig": self.rig.model_dump(mode="json"),
            "command_fields": list(self.vehicle.command_fields),
            "command_limits": self.vehicle.command_limits.tolist(),
            "period_s": self.period_s,
            "start": list(self.start),
            "goal": None if self.goal is None else list(self.goal),
            "route": self.route.tolist(),
            "speed_mps": self.speed_mps,
            "start_speed_mps": self.start_speed_mps,
            "seed": self.seed,
        }
