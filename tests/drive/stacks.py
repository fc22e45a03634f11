"""Autonomies that tests name by module."""

from __future__ import annotations

from resweep.drive import Observation


def keep_speed(observation: Observation) -> tuple[float, float]:
    """Neither brakes nor turns."""
    return (0.0, 0.0)
