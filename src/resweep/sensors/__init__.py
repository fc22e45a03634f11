"""Sensors as data: specs, the catalog, firing patterns and beam stencils."""

from __future__ import annotations

from resweep.sensors.catalog import find_sensor, load_sensor, sensor_names
from resweep.sensors.firing import Firing, fire, measure_pattern
from resweep.sensors.patterns import Block, Prism, Raster, Rosette, Spinning, TwoBlock
from resweep.sensors.sensor_calibration import Detection, Lasers
from resweep.sensors.spec import Beam, Pointing, Receiver, Sensor
from resweep.sensors.stencil import random_offsets, stencil, tangent_frame

__all__ = [
    "Beam",
    "Block",
    "Detection",
    "Firing",
    "Lasers",
    "Pointing",
    "Prism",
    "Raster",
    "Receiver",
    "Rosette",
    "Sensor",
    "Spinning",
    "TwoBlock",
    "find_sensor",
    "fire",
    "load_sensor",
    "measure_pattern",
    "random_offsets",
    "sensor_names",
    "stencil",
    "tangent_frame",
]
