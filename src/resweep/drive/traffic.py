"""The actors of a closed loop: scripted ones, those that the ego sets off, and those that react."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from resweep.pose import Array, Trajectory
from resweep.scenario import Actor, Bank, Scenario
from resweep.scenario.spec import ActorSpec
from resweep.worlds import World


class Traffic:
    """The actors of a drive over time; `advance` moves on those that depend on what the ego does."""

    def __init__(self, actors: Sequence[Actor] = (), triggers: Sequence[Trigger] = ()) -> None:
        self._scripted = tuple(actors)
        self._triggers = tuple(triggers)
        self.actors: tuple[Actor, ...] = (*self._scripted, *(trigger.actor for trigger in self._triggers))

    def with_actors(self, actors: Sequence[Actor]) -> Traffic:
        """The same with further scripted actors."""
        return Traffic((*self._scripted, *actors), self._triggers)

    def advance(self, start_s: float, end_s: float, places: Array) -> bool:
        """Move on to ``end_s``, with the ego at ``places`` (k, 3) meanwhile; whether any actor has a new motion."""
        changed = [trigger.look(end_s, places) for trigger in self._triggers]
        if any(changed):
            self.actors = (*self._scripted, *(trigger.actor for trigger in self._triggers))
        return any(changed)


class Trigger:
    """An actor that waits until the ego comes near, and then follows its script.

    ``actor`` has the script's motion, from time 0 on; it begins ``later_s`` after the ego is within ``within_m``.
    """

    def __init__(self, actor: Actor, within_m: float, later_s: float, until_s: float) -> None:
        self._script, self._within_m, self._later_s, self._until_s = actor, within_m, later_s, until_s
        first = actor.trajectory.poses[:1]
        self.actor = replace(actor, trajectory=Trajectory(np.zeros(1), first))
        self._begun = False

    def look(self, time_s: float, places: Array) -> bool:
        """Whether the ego, now at the last of ``places`` (k, 3), has just set the actor off."""
        if self._begun:
            return False
        apart = places[:, :2] - self.actor.trajectory.poses[0, :2, 3]
        if float((apart * apart).sum(axis=1).min()) > self._within_m**2:
            return False
        self._begun = True
        script = self._script.trajectory
        begin = time_s + self._later_s
        times, poses = script.times - script.start + begin, script.poses
        if begin > 0:
            times, poses = np.concatenate([[0.0], times]), np.concatenate([poses[:1], poses])
        if times[-1] < self._until_s:
            times, poses = np.append(times, self._until_s), np.concatenate([poses, poses[-1:]])
        self.actor = replace(self._script, trajectory=Trajectory(times, poses))
        return True


def make_traffic(scenario: Scenario | None, world: World, bank: Bank | None, duration_s: float) -> Traffic:
    """The actors of a scenario in a closed loop; those that wait for the ego wait for the real one."""
    if scenario is None or not scenario.actors:
        return Traffic()
    freed = [_without_trigger(spec) for spec in scenario.actors]
    lasting = Scenario(
        **{**scenario.model_dump(exclude_unset=True), "actors": freed, "duration_s": duration_s + _MARGIN_S}
    )
    actors = lasting.make_actors(world, bank)
    scripted, triggers = [], []
    for spec, actor in zip(scenario.actors, actors, strict=True):
        if spec.start_within_m is None:
            scripted.append(actor)
        else:
            triggers.append(Trigger(actor, spec.start_within_m, spec.start_s, duration_s + _MARGIN_S))
    return Traffic(scripted, triggers)


_MARGIN_S = 1.0  # actors outlast the drive, so that the last sweep still sees them


def _without_trigger(spec: ActorSpec) -> ActorSpec:
    if spec.start_within_m is None:
        return spec
    given = spec.model_dump(exclude_unset=True)
    return ActorSpec(**{**given, "start_within_m": None, "start_s": 0.0})
