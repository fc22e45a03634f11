"""Errors of a sensor and of its poses, estimated from a recording."""

from __future__ import annotations

from resweep.calibrate.sensor.fit_sensor import SensorFit, fit_sensor

__all__ = ["SensorFit", "fit_sensor"]
