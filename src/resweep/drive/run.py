"""The result of a closed loop: what was commanded, where the vehicle went, what happened, and the sweeps."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from resweep.drive.autonomy.guard import Decision
from resweep.drive.command import Event
from resweep.drive.nearness import Nearness
from resweep.drive.saved_run import FORMAT, STATE_FIELDS, VERSION, read_record
from resweep.errors import ResweepError
from resweep.files.strict_json import format_json
from resweep.log import Log
from resweep.pose import Array

FILE = "run.json"


@dataclass(frozen=True, eq=False)
class Run:
    """A finished drive.

    ``outcome``: ``goal``, ``collision``, ``left-ground``, ``time``, ``gave-up`` or ``no-answer``. ``events`` are rows
    with ``time_s`` and ``kind``. ``states`` (n, 9) has the columns of `STATE_FIELDS` at the start and after each step,
    ``decisions`` the command of each step. ``actors`` has by name how near each came that was near or seen. ``logs``
    has the sweeps by the name of their LiDAR, empty where none was kept. ``settings`` is all that decided it, as plain
    data.
    """

    outcome: str
    events: tuple[Event, ...]
    states: Array
    decisions: tuple[Decision, ...]
    actors: Mapping[str, Nearness]
    settings: Mapping[str, Any]
    logs: Mapping[str, Log] = field(default_factory=dict)

    @property
    def log(self) -> Log:
        """The sweeps of the first LiDAR."""
        if not self.logs:
            raise ResweepError("run: it has no sweeps; give the vehicle a LiDAR, and keep its sweeps")
        return next(iter(self.logs.values()))

    @property
    def collisions(self) -> int:
        """How many contacts there were."""
        return sum(event["kind"] == "collision" for event in self.events)

    @property
    def duration_s(self) -> float:
        """Seconds driven."""
        return float(self.states[-1, 0])

    @property
    def min_distance_m(self) -> float:
        """Least distance to any actor, metres; infinity where none was near (10 m)."""
        return min((near.min_distance_m for near in self.actors.values()), default=math.inf)

    @property
    def min_ttc_s(self) -> float:
        """Least time to a collision with any actor at constant velocities, seconds; infinity where none was near."""
        return min((near.min_ttc_s for near in self.actors.values()), default=math.inf)

    @property
    def path_m(self) -> float:
        """Metres driven, seen from above."""
        return float(np.linalg.norm(np.diff(self.states[:, 1:3], axis=0), axis=1).sum())

    def figures(self) -> dict[str, float | None]:
        """Length, duration, speeds and comfort: largest deceleration, lateral acceleration and jerk."""
        # A collision stops the vehicle at once, which is no braking.
        driven = self.states[:-1] if self.outcome == "collision" else self.states
        times, speed = driven[:, 0], driven[:, 5]
        step = np.diff(times)
        rates = np.diff(speed) / step if len(step) else np.zeros(1)
        jerk = np.abs(np.diff(rates) / step[1:]) if len(step) > 1 else np.zeros(1)
        return {
            "path_m": self.path_m,
            "duration_s": self.duration_s,
            "mean_speed_mps": self.path_m / self.duration_s if self.duration_s else 0.0,
            "max_deceleration_mps2": float(max(0.0, -rates.min())),
            "max_lateral_mps2": float(np.abs(speed * driven[:, 7]).max()),
            "max_jerk_mps3": float(jerk.max()),
            "min_distance_m": self.min_distance_m if math.isfinite(self.min_distance_m) else None,
            "min_ttc_s": self.min_ttc_s if math.isfinite(self.min_ttc_s) else None,
        }

    def to_plain(self) -> dict[str, Any]:
        """All but the sweeps, as JSON holds it."""
        return {
            "format": FORMAT,
            "version": VERSION,
            "outcome": self.outcome,
            "figures": self.figures(),
            "actors": {name: near.to_plain() for name, near in sorted(self.actors.items())},
            "events": list(self.events),
            "state_fields": list(STATE_FIELDS),
            "states": self.states.tolist(),
            "decisions": [decision.to_plain() for decision in self.decisions],
            "settings": dict(self.settings),
        }

    def to_bytes(self) -> bytes:
        """The text of run.json."""
        return (format_json(self.to_plain(), indent=1) + "\n").encode()


def load_run(folder: str | Path) -> Run:
    """The run that was saved in a folder, with its sweeps as logs; InputError for a damaged ``run.json``.

    Example: ``run = rs.drive.load_run("runs/0007")``
    """
    from resweep.io import open_log

    place = Path(folder)
    data = read_record(place / FILE)
    lidars = [lidar["name"] for lidar in data["settings"]["rig"]["lidars"]]
    return Run(
        data["outcome"],
        tuple(data["events"]),
        np.array(data["states"], float),
        tuple(Decision.from_plain(item) for item in data["decisions"]),
        {name: Nearness.from_plain(near) for name, near in data["actors"].items()},
        data["settings"],
        {name: open_log(at) for name, at in _list_logs(place, lidars)},
    )


def _list_logs(folder: Path, lidars: list[str]) -> list[tuple[str, Path]]:
    places = [(name, folder if at == 0 else folder / name) for at, name in enumerate(lidars)]
    return [(name, place) for name, place in places if (place / "log.json").is_file()]
