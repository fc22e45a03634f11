"""Settings of a closed loop."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from resweep.config import Positive, Spec
from resweep.errors import SettingsError
from resweep.quantities import Coordinate, Count, Duration

_TOLERANCE = 1e-9


class AnswerRules(Spec):
    """What happens when an autonomy is late, fails or answers nonsense; each case is an event of the run.

    A command outside of the vehicle's limits always acts as the nearest one within.
    """

    deadline_s: Duration | None = None
    """Seconds of real time within which an answer must come, else it is late. None: the drive's clock stands still
    until the answer is there, and the run does not depend on the machine's load."""
    timeout_s: Duration = 600.0
    """An autonomy that is silent for so many seconds of real time, where no deadline is set or before it is ready,
    never answers: the vehicle brakes, and the run ends as it stands."""
    on_late: Literal["hold", "brake"] = "hold"
    """What the vehicle does without an answer by the deadline: it holds the last command, or brakes."""
    on_error: Literal["hold", "brake"] = "brake"
    """What it does when the autonomy raises an error or answers what is no command, such as NaN."""
    give_up_after: Count = 10
    """After so many steps in a row without a good answer the vehicle brakes, and the run ends as it stands."""


class LoopConfig(Spec):
    """How a closed loop runs."""

    control_hz: float = Field(default=10.0, ge=0.1, le=10_000)
    """Commands a second."""
    physics_step_s: float = Field(default=0.01, ge=0.0001, le=0.1)
    """Step of the vehicle's motion, seconds; also the distance of the knots of its path."""
    duration_s: Duration | None = None
    """When the run ends at the latest, seconds; that of the scenario if left out."""
    goal: tuple[Coordinate, Coordinate] | None = None
    """Where to drive to: x and y in the world, metres."""
    goal_radius_m: Positive = 2.0
    """The goal is reached within this distance of the vehicle's origin, metres."""
    stop_on_collision: bool = True
    """Whether a collision ends the run; else it is recorded, and the vehicle drives on."""
    stop_on_goal: bool = True
    """Whether the run ends at the goal."""
    answers: AnswerRules = AnswerRules()
    """What happens when the autonomy is late, fails or answers nonsense."""

    @model_validator(mode="after")
    def _check(self) -> LoopConfig:
        steps = 1.0 / (self.control_hz * self.physics_step_s)
        if abs(steps - round(steps)) > _TOLERANCE * steps or round(steps) < 1:
            raise SettingsError(
                "physics_step_s",
                f"{self.physics_step_s:g} s does not divide the {1 / self.control_hz:g} s between two commands",
            )
        return self

    @property
    def steps_per_command(self) -> int:
        """Steps of the motion between two commands."""
        return round(1.0 / (self.control_hz * self.physics_step_s))
