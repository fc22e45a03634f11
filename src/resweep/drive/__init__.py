"""Driving in a world: sensors, autonomy, vehicle and new poses in one closed loop."""

from resweep.drive.autonomy import SocketAutonomy
from resweep.drive.command import GiveUp
from resweep.drive.config import AnswerRules, LoopConfig
from resweep.drive.idm import Idm
from resweep.drive.loop import Loop
from resweep.drive.run import Run, load_run
from resweep.drive.sensing import Compass, Gps, Imu, LidarMount, Mission, Observation, Odometry, Rig, Scan, load_rig
from resweep.drive.vehicles import Tyres, Vehicle, load_vehicle, vehicle_names

__all__ = [
    "AnswerRules",
    "Compass",
    "GiveUp",
    "Gps",
    "Idm",
    "Imu",
    "LidarMount",
    "Loop",
    "LoopConfig",
    "Mission",
    "Observation",
    "Odometry",
    "Rig",
    "Run",
    "Scan",
    "SocketAutonomy",
    "Tyres",
    "Vehicle",
    "load_rig",
    "load_run",
    "load_vehicle",
    "vehicle_names",
]
