"""What an autonomy answers: a command, that the vehicle is to brake, or that it gives up; and the events of a drive."""

from __future__ import annotations

from typing import Any

BRAKE = "brake"
Command = tuple[float, float]
Event = dict[str, Any]


class GiveUp(Exception):  # noqa: N818, it is no error but an answer
    """Raised by an autonomy that cannot go on, such as one that finds no path to the goal: the run ends with it."""
