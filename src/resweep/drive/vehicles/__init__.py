"""Vehicles: what they can do, and how they move under a command."""

from resweep.drive.vehicles.catalog import load_vehicle, vehicle_names
from resweep.drive.vehicles.dynamics import State, advance
from resweep.drive.vehicles.spec import Tyres, Vehicle

__all__ = ["State", "Tyres", "Vehicle", "advance", "load_vehicle", "vehicle_names"]
