"""The actors of a closed loop: scripted ones, those that the ego sets off, and those that react."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from resweep.drive.body.collisions import find_actor_bounds
from resweep.drive.idm import Driver, Idm, RoadUser
from resweep.errors import ResweepError, nearest_names
from resweep.pose import Array, Trajectory
from resweep.scenario import Actor, Bank, Scenario
from resweep.scenario.spec import ActorSpec
from resweep.worlds import World


class Traffic:
    """The actors of a drive over time; `advance` moves on those that depend on what the ego does."""

    def __init__(
        self, actors: Sequence[Actor] = (), triggers: Sequence[Trigger] = (), drivers: Sequence[Driver] = ()
    ) -> None:
        self._scripted, self._triggers, self._drivers = tuple(actors), tuple(triggers), tuple(drivers)
        self.actors: tuple[Actor, ...] = ()
        self._gather()

    def with_actors(self, actors: Sequence[Actor]) -> Traffic:
        """The same with further scripted actors."""
        return Traffic((*self._scripted, *actors), self._triggers, self._drivers)

    def advance(self, start_s: float, end_s: float, ego: RoadUser, places: Array) -> None:
        """Move on to ``end_s``, with the ego at ``places`` (k, 3) meanwhile and as ``ego`` at the start."""
        changed = [trigger.look(end_s, places) for trigger in self._triggers]
        if self._drivers:
            reacting = [driver.state for driver in self._drivers]
            others = [_see(actor, start_s) for actor in self._list_scripted() if actor.is_present(start_s, start_s)]
            for at, driver in enumerate(self._drivers):
                driver.advance(start_s, end_s, [ego, *others, *reacting[:at], *reacting[at + 1 :]])
        if any(changed) or self._drivers:
            self._gather()

    def _list_scripted(self) -> list[Actor]:
        return [*self._scripted, *(trigger.actor for trigger in self._triggers)]

    def _gather(self) -> None:
        self.actors = (*self._list_scripted(), *(driver.actor for driver in self._drivers))


def _see(actor: Actor, time_s: float) -> RoadUser:
    pose = actor.pose_at(time_s)
    return RoadUser(pose, actor.velocity(pose[:3, 3], time_s)[:2], find_actor_bounds(actor))


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


def make_traffic(
    scenario: Scenario | None,
    world: World,
    bank: Bank | None,
    duration_s: float,
    reactive: Mapping[str, Idm] | None = None,
) -> Traffic:
    """The actors of a scenario in a closed loop; those that wait for the ego wait for the real one.

    ``reactive`` are the actors, by name, that drive along their path by the Intelligent Driver Model.
    """
    reacting = dict(reactive or {})
    names = () if scenario is None else tuple(spec.name for spec in scenario.actors)
    for name in reacting:
        if name not in names:
            raise ResweepError(f"reactive: the scenario has no actor '{name}'; {nearest_names(name, names)}")
    if scenario is None or not scenario.actors:
        return Traffic()
    freed = [_drop_trigger(spec) for spec in scenario.actors]
    lasting = Scenario(
        **{**scenario.model_dump(exclude_unset=True), "actors": freed, "duration_s": duration_s + _MARGIN_S}
    )
    scripted, triggers, drivers = [], [], []
    for spec, actor in zip(scenario.actors, lasting.make_actors(world, bank), strict=True):
        if spec.name in reacting:
            if spec.speed_mps is None:
                raise ResweepError(f"reactive: actor '{spec.name}' has no lane or spline with a speed to drive along")
            desired = float(np.max(spec.speed_mps))
            drivers.append(Driver(actor, reacting[spec.name], desired))
        elif spec.start_within_m is None:
            scripted.append(actor)
        else:
            triggers.append(Trigger(actor, spec.start_within_m, spec.start_s, duration_s + _MARGIN_S))
    return Traffic(scripted, triggers, drivers)


_MARGIN_S = 1.0  # actors outlast the drive, so that the last sweep still sees them


def _drop_trigger(spec: ActorSpec) -> ActorSpec:
    if spec.start_within_m is None:
        return spec
    given = spec.model_dump(exclude_unset=True)
    return ActorSpec(**{**given, "start_within_m": None, "start_s": 0.0})
