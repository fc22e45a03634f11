"""What the vehicle senses: LiDARs, GPS, compass, IMU and wheel odometry, each with its own clock and errors."""

from resweep.drive.sensing.observation import Mission, Observation, Readings, Scan
from resweep.drive.sensing.rig import Compass, Gps, Imu, LidarMount, Odometry, Rig, load_rig

__all__ = [
    "Compass",
    "Gps",
    "Imu",
    "LidarMount",
    "Mission",
    "Observation",
    "Odometry",
    "Readings",
    "Rig",
    "Scan",
    "load_rig",
]
