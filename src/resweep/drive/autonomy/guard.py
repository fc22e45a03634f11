"""The rules between an autonomy and a vehicle: whatever is answered, the vehicle gets a command it can follow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from resweep.drive.autonomy.channel import Answer, Channel
from resweep.drive.command import BRAKE, Command, Event
from resweep.drive.config import AnswerRules
from resweep.drive.sensing.observation import Mission, Observation
from resweep.drive.vehicles import Vehicle


@dataclass(frozen=True)
class Decision:
    """The command of a step, or `BRAKE`; the events on the way to it; and the outcome if the run is to end."""

    command: Command | str
    events: tuple[Event, ...] = ()
    end: str = ""

    def to_plain(self) -> dict[str, Any]:
        """The decision as JSON holds it."""
        command = self.command if isinstance(self.command, str) else list(self.command)
        return {"command": command, "events": list(self.events), "end": self.end}

    @classmethod
    def from_plain(cls, data: Mapping[str, Any]) -> Decision:
        """The decision that `to_plain` gave."""
        command = data["command"]
        return cls(
            command if isinstance(command, str) else (float(command[0]), float(command[1])),
            tuple(data["events"]),
            str(data["end"]),
        )


@dataclass
class Guard:
    """Asks an autonomy, and applies `AnswerRules` to what comes back."""

    channel: Channel
    vehicle: Vehicle
    rules: AnswerRules
    _last: Command | str = field(default=BRAKE, init=False)
    _misses: int = field(default=0, init=False)
    _clipped: bool = field(default=False, init=False)
    _gave_up: str = field(default="", init=False)

    def start(self, mission: Mission) -> tuple[Event, ...]:
        """Send the autonomy its mission; one that is not ready never gets to drive."""
        answer = self.channel.start(mission, self.rules.timeout_s)
        if answer.kind == "command":
            return ()
        self._gave_up = "gave-up" if answer.kind == "gave-up" else "no-answer"
        return ({"time_s": 0.0, "kind": answer.kind, "detail": f"at the start: {answer.detail}"},)

    def decide(self, observation: Observation, speed_mps: float) -> Decision:
        """The command for an observation."""
        if self._gave_up:
            return Decision(BRAKE, end=self._gave_up if speed_mps == 0.0 else "")
        answer = self.channel.ask(observation, self.rules.deadline_s or self.rules.timeout_s)
        time_s = observation.time_s
        if answer.kind == "gave-up":
            self._gave_up = "gave-up"
            events: tuple[Event, ...] = ({"time_s": time_s, "kind": "gave-up", "detail": answer.detail},)
            return Decision(BRAKE, events, "gave-up" if speed_mps == 0.0 else "")
        if answer.kind != "command":
            return self._miss(answer, time_s, speed_mps)
        found, problem = parse_command(answer.value, self.vehicle)
        if found is None:
            return self._miss(Answer("error", detail=problem), time_s, speed_mps)
        self._misses = 0
        events = () if not problem or self._clipped else ({"time_s": time_s, "kind": "clipped", "detail": problem},)
        self._clipped, self._last = bool(problem), found
        return Decision(found, events)

    def _miss(self, answer: Answer, time_s: float, speed_mps: float) -> Decision:
        self._misses += 1
        rule = self.rules.on_late if answer.kind == "late" else self.rules.on_error
        command = self._last if rule == "hold" else BRAKE
        kind = "late" if answer.kind == "late" else "error"
        event: Event = {"time_s": time_s, "kind": kind, "detail": answer.detail, "rule": rule}
        # Without a deadline the run waits as long as it takes: silence beyond the timeout has no end.
        silent = answer.kind == "late" and self.rules.deadline_s is None
        if self._misses < self.rules.give_up_after and not silent:
            return Decision(command, (event,))
        self._gave_up = "no-answer"
        why = "it never answers" if silent else f"{self._misses} steps in a row without an answer"
        given_up: Event = {"time_s": time_s, "kind": "given-up", "detail": why}
        return Decision(BRAKE, (event, given_up), "no-answer" if speed_mps == 0.0 else "")


def parse_command(answer: Any, vehicle: Vehicle) -> tuple[Command | None, str]:
    """The command in an answer, within the vehicle's limits, and what had to be changed; None and why if it is none.

    An answer is a mapping with the names of `Vehicle.command_fields`, or two numbers in that order.
    """
    names = vehicle.command_fields
    what = f"expected {names[0]} and {names[1]}"
    if isinstance(answer, Mapping):
        missing = [name for name in names if name not in answer]
        if missing or len(answer) != 2:
            return None, f"{what}, got keys {', '.join(map(str, answer))[:100]}"
        values: Any = [answer[name] for name in names]
    elif isinstance(answer, Sequence | np.ndarray) and not isinstance(answer, str | bytes):
        values = answer
    else:
        return None, f"{what}, got {type(answer).__name__}"
    try:
        row = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        return None, f"{what}, got {str(values)[:100]}"
    if row.shape != (2,):
        return None, f"{what}, got shape {row.shape}"
    if not np.isfinite(row).all():
        return None, f"{what}, got {row.tolist()}"
    low, high = vehicle.command_limits
    within = np.clip(row, low, high)
    changed = [f"{n} {a:g} to {b:g}" for n, a, b in zip(names, row, within, strict=True) if a != b]
    return (float(within[0]), float(within[1])), ", ".join(changed)
