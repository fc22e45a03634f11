"""Driving in a world: sensors, autonomy, vehicle and new poses in one closed loop."""

from resweep.drive.autonomy import SocketAutonomy
from resweep.drive.command import GiveUp
from resweep.drive.config import AnswerRules, LoopConfig
from resweep.drive.loop import Loop
from resweep.drive.run import Run, load_run
from resweep.drive.sensing import LidarMount, Mission, Observation, Rig
from resweep.drive.vehicles import Vehicle, load_vehicle, vehicle_names

__all__ = [
    "AnswerRules",
    "GiveUp",
    "LidarMount",
    "Loop",
    "LoopConfig",
    "Mission",
    "Observation",
    "Rig",
    "Run",
    "SocketAutonomy",
    "Vehicle",
    "load_run",
    "load_vehicle",
    "vehicle_names",
]
