"""How near each actor came to the vehicle, and when the LiDARs first saw it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from resweep.drive.body.collisions import Encounter
from resweep.scenario import Actor
from resweep.sweep import Sweep

SEEN_RETURNS = 3  # of an actor in a sweep: fewer may be strays


@dataclass(frozen=True)
class Nearness:
    """Of one actor: the least distance, metres, and the least time to collision at constant velocities, seconds.

    Both are infinity where it was never near (10 m). ``first_seen_s`` is the time of the first observation with at
    least three returns of it; None if there is none.
    """

    min_distance_m: float = math.inf
    min_ttc_s: float = math.inf
    first_seen_s: float | None = None

    def to_plain(self) -> dict[str, float | None]:
        """As JSON holds it: what is infinite is null."""
        return {
            "min_distance_m": _to_finite(self.min_distance_m),
            "min_ttc_s": _to_finite(self.min_ttc_s),
            "first_seen_s": self.first_seen_s,
        }

    @classmethod
    def from_plain(cls, data: Mapping[str, Any]) -> Nearness:
        """What `to_plain` gave."""
        distance, ttc = (
            math.inf if data[name] is None else float(data[name]) for name in ("min_distance_m", "min_ttc_s")
        )
        seen = data["first_seen_s"]
        return cls(distance, ttc, None if seen is None else float(seen))


_NEVER = Nearness()


class NearnessLog:
    """Nearness of every actor so far, by its name."""

    def __init__(self) -> None:
        self.actors: dict[str, Nearness] = {}

    def note_encounter(self, name: str, seen: Encounter, moving: bool) -> None:
        """Take in a period; a vehicle that stands has no time to collision."""
        old = self.actors.setdefault(name, _NEVER)
        ttc = seen.ttc_s if moving else math.inf
        if seen.distance_m < old.min_distance_m or ttc < old.min_ttc_s:
            distance = min(old.min_distance_m, seen.distance_m)
            self.actors[name] = replace(old, min_distance_m=distance, min_ttc_s=min(old.min_ttc_s, ttc))

    def note_sweep(self, actors: Sequence[Actor], sweep: Sweep, time_s: float) -> None:
        """Take in the returns of a sweep that was observed at a time."""
        unseen = [actor for actor in actors if self.actors.get(actor.name, _NEVER).first_seen_s is None]
        if not unseen:
            return
        instance = sweep.instance[np.flatnonzero(sweep.instance)]  # most returns have none
        for actor in unseen:
            if np.count_nonzero(instance == actor.instance) >= SEEN_RETURNS:
                old = self.actors.get(actor.name, _NEVER)
                self.actors[actor.name] = replace(old, first_seen_s=time_s)


def _to_finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
