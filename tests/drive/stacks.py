"""Autonomies that tests name by module."""

from __future__ import annotations

import threading

from resweep.drive import Observation


def keep_speed(observation: Observation) -> tuple[float, float]:
    """Neither brakes nor turns."""
    return (0.0, 0.0)


def never(observation: Observation) -> tuple[float, float]:
    """Gives no answer, as far as a test waits."""
    threading.Event().wait(60.0)
    return (0.0, 0.0)


def leave(observation: Observation) -> tuple[float, float]:
    """Tries to end the whole process."""
    raise SystemExit(3)


class Unmade:
    """Cannot be created."""

    def __init__(self) -> None:
        raise RuntimeError("no weights")

    def step(self, observation: Observation) -> tuple[float, float]:
        """Never asked."""
        return (0.0, 0.0)
