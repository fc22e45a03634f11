"""A run as it is saved: the model that ``run.json`` is checked against, once, when it is read."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, model_validator

from resweep.errors import InputError
from resweep.files.untrusted import read_json
from resweep.saved_record import SavedRecord, check_record

FORMAT, VERSION = "resweep-run", 2
STATE_FIELDS = (
    "time_s",
    "x_m",
    "y_m",
    "z_m",
    "yaw_rad",
    "speed_mps",
    "lateral_mps",
    "yaw_rate_radps",
    "steering_rad",
)
_AGAIN = "run the drive again"
_LARGEST = 1e9  # of any number in a run: metres across the Earth are 1.3e7, seconds of a month 2.6e6
_MAX_TEXT = 20_000  # characters of a name or a detail

Figure = Annotated[float, Field(ge=-_LARGEST, le=_LARGEST)]
Size = Annotated[float, Field(ge=0.0, le=_LARGEST)]
Text = Annotated[str, Field(max_length=_MAX_TEXT)]
Plain = dict[str, Any]
Row = Annotated[list[Figure], Field(min_length=len(STATE_FIELDS), max_length=len(STATE_FIELDS))]


class SavedEvent(SavedRecord):
    """What happened, and when; the rest of an event depends on its kind."""

    model_config = ConfigDict(extra="allow")

    time_s: Figure
    kind: Text


class SavedDecision(SavedRecord):
    """The command of a step: two numbers, or ``brake``."""

    command: Literal["brake"] | Annotated[list[Figure], Field(min_length=2, max_length=2)]
    events: list[SavedEvent]
    end: Text


class _ActorNearness(SavedRecord):
    min_distance_m: Size | None
    min_ttc_s: Size | None
    first_seen_s: Figure | None


class _RigLidar(SavedRecord):
    model_config = ConfigDict(extra="allow")

    name: Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9_-]*$", max_length=100)]  # of a folder too


class _RunRig(SavedRecord):
    model_config = ConfigDict(extra="allow")

    lidars: list[_RigLidar]


class _RunSettings(SavedRecord):
    """All that decided the run; vehicle, config and scenario are checked by their own models when it is rebuilt."""

    model_config = ConfigDict(extra="allow")

    world: Text
    vehicle: Plain
    rig: _RunRig
    config: Plain
    scenario: Plain | None
    start: Annotated[list[Figure], Field(min_length=3, max_length=3)]
    start_speed_mps: Figure
    duration_s: Size
    reactive: dict[str, Plain] = Field(default_factory=dict)
    actors: list[Any] = Field(default_factory=list)
    seed: Annotated[int, Field(ge=0)]


class SavedRun(SavedRecord):
    """What `Run.to_plain` gives."""

    format: Literal["resweep-run"]
    version: Literal[2]
    outcome: Literal["goal", "collision", "left-ground", "time", "gave-up", "no-answer"]
    figures: dict[Text, Figure | None]
    actors: dict[Text, _ActorNearness]
    events: list[SavedEvent]
    state_fields: list[str]
    states: Annotated[list[Row], Field(min_length=1)]
    decisions: list[SavedDecision]
    settings: _RunSettings

    @model_validator(mode="after")
    def _fits(self) -> SavedRun:
        if tuple(self.state_fields) != STATE_FIELDS:
            raise ValueError(f"state_fields: expected {', '.join(STATE_FIELDS)}")
        for at, (before, after) in enumerate(pairwise(self.states), 1):
            if after[0] <= before[0]:
                raise ValueError(f"states[{at}]: expected a later time than {before[0]:g} s, got {after[0]:g} s")
        return self


def read_record(file: Path) -> dict[str, Any]:
    """The checked contents of ``run.json``; one error of one line for anything else."""
    data = read_json(file, _AGAIN)
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise InputError(f"{file}: is no saved run; give the folder that a loop was run into")
    if data.get("version") != VERSION:
        raise InputError(f"{file}: version {data.get('version')!r:.40}, this Resweep reads {VERSION}; {_AGAIN}")
    check_record(data, SavedRun, str(file), _AGAIN)
    return data
