"""What an autonomy answers: a command, that the vehicle is to brake, or that it gives up; and the events of a drive."""

from __future__ import annotations

import math
from typing import Any

from resweep.errors import ResweepError

BRAKE = "brake"
Command = tuple[float, float]
Event = dict[str, Any]


def check_command(command: Command | str) -> Command | str:
    """The command as it is given; ResweepError unless it is `BRAKE` or two finite numbers.

    A vehicle keeps its limits whatever it is told, but NaN has no order: it would become part of its state.
    """
    if isinstance(command, str):
        if command != BRAKE:
            raise ResweepError(f"command: expected '{BRAKE}' or two numbers, got {command!r:.60}")
    elif len(command) != 2 or not all(math.isfinite(value) for value in command):
        raise ResweepError(f"command: expected two finite numbers, got {command!r:.100}")
    return command


class GiveUp(Exception):  # noqa: N818, it is no error but an answer
    """Raised by an autonomy that cannot go on, such as one that finds no path to the goal: the run ends with it."""
