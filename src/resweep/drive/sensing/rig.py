"""The rig: which sensors a vehicle carries, where, and how far off they read."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Annotated

import numpy as np
from pydantic import Field, model_validator

from resweep.config import Spec, read_spec
from resweep.errors import ResweepError, SettingsError
from resweep.pose import Array, from_xyz_rpy
from resweep.quantities import Angle, Duration, Moment, Mount, Rate, Sigma
from resweep.sensors import Sensor, load_sensor

_ABOVE_ROOF_M = 0.25


class LidarMount(Spec):
    """A LiDAR and where it sits in the vehicle's frame."""

    name: str = Field(default="lidar", pattern=r"^[A-Za-z][A-Za-z0-9_-]*$")
    """Name of the LiDAR on this vehicle, unlike all others; its sweeps are called by it."""
    sensor: str | Sensor
    """A name of the catalog, a YAML file, or a whole spec."""
    position_m: tuple[Mount, Mount, Mount]
    """Where it sits, x forward, y left and z up from the vehicle's origin on the ground, metres."""
    roll_deg: Angle = 0.0
    """Turn about x, degrees."""
    pitch_deg: Angle = 0.0
    """Turn about y, degrees; positive looks down."""
    yaw_deg: Angle = 0.0
    """Turn about z, degrees counter-clockwise."""
    start_s: Moment = 0.0
    """When its first sweep begins, seconds from the start of the drive."""
    noise: bool = True
    """Whether it scatters; false gives the mean."""

    def load(self) -> Sensor:
        """The spec of the LiDAR."""
        return self.sensor if isinstance(self.sensor, Sensor) else load_sensor(self.sensor)

    @property
    def T_vehicle_sensor(self) -> Array:
        """Pose (4, 4) of the LiDAR in the vehicle's frame."""
        roll, pitch, yaw = (float(np.radians(angle)) for angle in (self.roll_deg, self.pitch_deg, self.yaw_deg))
        return from_xyz_rpy(*self.position_m, roll=roll, pitch=pitch, yaw=yaw)


class InstrumentSpec(Spec):
    """What all instruments share: a rate, and times without readings.

    Outages come and go as a Markov chain: their share of all time, and how long one lasts on average.
    """

    rate_hz: Rate
    """Readings a second."""
    outage_share: float = Field(default=0.0, ge=0.0, lt=1.0)
    """Share of the time without readings."""
    outage_s: Duration = 2.0
    """How long an outage lasts on average, seconds."""


class Gps(InstrumentSpec):
    """A receiver of satellites: places in the world with white noise and a slow drift."""

    rate_hz: Rate = 10.0
    """Readings a second."""
    sigma_m: Sigma = 0.02
    """Standard deviation of the noise of x and y, metres."""
    sigma_up_m: Sigma = 0.04
    """Standard deviation of the noise of z, metres."""
    drift_sigma_m: Sigma = 0.0
    """Standard deviation of the drift of each coordinate, a Gauss-Markov process, metres."""
    drift_time_s: Duration = 60.0
    """Time constant of the drift, seconds."""
    position_m: tuple[Mount, Mount, Mount] = (0.0, 0.0, 0.0)
    """Where the antenna sits in the vehicle's frame, metres."""


class Compass(InstrumentSpec):
    """A compass: the heading in the world."""

    rate_hz: Rate = 10.0
    """Readings a second."""
    sigma_rad: Sigma = 0.005
    """Standard deviation of the noise, radians."""
    bias_sigma_rad: Sigma = 0.0
    """Standard deviation of the bias that it has from the start, radians."""
    bias_walk_radpsqrts: Sigma = 0.0
    """How the bias walks: standard deviation after a second, radians a root second."""


class Imu(InstrumentSpec):
    """An inertial unit: angular rate and specific force in the vehicle's frame."""

    rate_hz: Rate = 100.0
    """Readings a second."""
    gyro_sigma_radps: Sigma = 0.002
    """Standard deviation of the noise of each angular rate, rad/s."""
    gyro_bias_radps: Sigma = 0.0005
    """Standard deviation of the bias of each angular rate from the start, rad/s."""
    gyro_walk_radps: Sigma = 0.00005
    """How that bias walks: standard deviation after a second, rad/s a root second."""
    accel_sigma_mps2: Sigma = 0.03
    """Standard deviation of the noise of each acceleration, m/s²."""
    accel_bias_mps2: Sigma = 0.02
    """Standard deviation of the bias of each acceleration from the start, m/s²."""
    accel_walk_mps2: Sigma = 0.0005
    """How that bias walks: standard deviation after a second, m/s² a root second."""


class Odometry(InstrumentSpec):
    """Wheel odometry: forward speed and yaw rate from the wheels, with an error of scale."""

    rate_hz: Rate = 50.0
    """Readings a second."""
    speed_sigma_mps: Sigma = 0.02
    """Standard deviation of the noise of the speed, m/s, while the wheels turn."""
    scale_sigma: Sigma = 0.01
    """Standard deviation of the error of scale that it has from the start, as a share of the speed."""
    yaw_rate_sigma_radps: Sigma = 0.005
    """Standard deviation of the noise of the yaw rate, rad/s, while the wheels turn."""


class Rig(Spec):
    """The sensors of a vehicle; null leaves an instrument out."""

    lidars: Annotated[tuple[LidarMount, ...], Field(max_length=100)] = ()
    """The LiDARs; the first one's sweeps are the log of a saved drive."""
    gps: Gps | None = Gps()
    """The receiver of satellites."""
    compass: Compass | None = Compass()
    """The compass."""
    imu: Imu | None = None
    """The inertial unit."""
    odometry: Odometry | None = Odometry()
    """The wheel odometry."""

    @model_validator(mode="after")
    def _check(self) -> Rig:
        names = [lidar.name for lidar in self.lidars]
        for at, name in enumerate(names):
            if name in names[:at]:
                raise SettingsError(f"lidars[{at}].name", f"'{name}' is the name of another LiDAR; names differ")
        return self


Sensors = Rig | str | Sensor | LidarMount | Sequence[str | Sensor | LidarMount]


def load_rig(path: str | PathLike[str]) -> Rig:
    """The rig in a YAML file."""
    return read_spec(Path(path), Rig)


def make_rig(sensors: Sensors, length_m: float, rear_m: float, height_m: float) -> Rig:
    """A rig from what users give: LiDARs without a place sit above the middle of the vehicle's roof."""
    if isinstance(sensors, Rig):
        return sensors
    given = [sensors] if isinstance(sensors, str | Sensor | LidarMount) else list(sensors)
    middle = (length_m / 2 - rear_m, 0.0, height_m + _ABOVE_ROOF_M)
    mounts = []
    for at, item in enumerate(given):
        if isinstance(item, LidarMount):
            mounts.append(item)
        elif isinstance(item, str | Sensor):
            mounts.append(LidarMount(name="lidar" if len(given) == 1 else f"lidar{at}", sensor=item, position_m=middle))
        else:
            raise ResweepError(f"sensors: expected names, Sensor or LidarMount, got {type(item).__name__}")
    return Rig(lidars=tuple(mounts))
