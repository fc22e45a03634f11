"""Scenarios: where the sensor goes, and what moves around it; read from YAML or written in Python (D, 5.1)."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import numpy as np
from pydantic import Field, model_validator

from resweep.categories import find_category
from resweep.config import Spec, parse_yaml, read_text, validate
from resweep.errors import InputError, ResweepError, SettingsError
from resweep.pose import Trajectory
from resweep.quantities import Duration, Seed
from resweep.scenario.actors import Actor
from resweep.scenario.bank import Bank
from resweep.scenario.builtin import builtin_bank
from resweep.scenario.ground import Ground, find_ground
from resweep.scenario.overlap import Overlap
from resweep.scenario.spec import ActorSpec, EgoSpec, resolve_paths
from resweep.worlds import World

SCENARIOS = ("hidden-car", "animals", "construction")  # those that come with the package
MAX_ACTORS = 2000  # the boxes of every two of them are compared
_SHOWN = 5


class Scenario(Spec):
    """A drive of the sensor and the actors around it.

    ``ego`` says where the sensor goes, ``actors`` what moves or stands around it, ``duration_s`` for how long (default:
    as long as the ego moves). ``seed`` fixes which objects of a category are taken. Times count from the start of the
    ego's motion.
    """

    name: str = "scenario"
    """Name of the scenario."""
    ego: EgoSpec
    """Where the sensor goes."""
    actors: Annotated[tuple[ActorSpec, ...], Field(max_length=MAX_ACTORS)] = ()
    """What moves or stands around it."""
    duration_s: Duration | None = None
    """How long it lasts, seconds; as long as the ego moves if left out."""
    seed: Seed = 0
    """Number that fixes which objects of a category are taken."""

    @model_validator(mode="after")
    def _check(self) -> Scenario:
        seen: set[str] = set()
        for at, actor in enumerate(self.actors):
            if actor.name in seen:
                raise SettingsError(f"actors[{at}].name", f"'{actor.name}' is the name of another actor; names differ")
            seen.add(actor.name)
        if self.ego.at is not None and self.duration_s is None:
            raise SettingsError("duration_s", "missing; an ego that stands still needs a duration")
        return self

    def trajectory(self, world: World | Ground) -> Trajectory:
        """``T_world_sensor`` of the ego for the scenario's duration."""
        from resweep.scenario.placing import make_ego_trajectory

        return make_ego_trajectory(self, find_ground(world))

    def make_actors(
        self, world: World | Ground, bank: Bank | None = None, *, first_instance: int | None = None
    ) -> list[Actor]:
        """The actors, placed on the ground of the world; whether they collide is not checked.

        ``bank`` holds their objects (default: `builtin_bank`); their instances count from ``first_instance`` (default:
        the first that the world does not use).
        """
        from resweep.scenario.placing import ActorPlacer

        return ActorPlacer(self, world, builtin_bank() if bank is None else bank, first_instance).place()

    def categories(self, bank: Bank | None, actors: list[Actor]) -> dict[str, str]:
        """The class of each actor by its name: that of its object in the bank, or as the scenario names it."""
        from resweep.scenario.placing import find_recorded_track

        known = builtin_bank() if bank is None else bank
        found = {}
        for spec, actor in zip(self.actors, actors, strict=True):
            if spec.asset is not None:
                found[actor.name] = str(known.facts(spec.asset)["category"])
            elif spec.cad is not None:
                found[actor.name] = find_category(spec.cad.category).name
            elif spec.category is not None:
                found[actor.name] = find_category(spec.category).name
            elif spec.track is not None:
                found[actor.name] = find_recorded_track(spec.track)[1].category.name
        return found

    def find_overlaps(self, world: World | Ground, actors: list[Actor]) -> list[Overlap]:
        """What the actors run into, by time; those that ``allow_overlap`` are left out."""
        from resweep.scenario.placing import find_overlaps

        ground = find_ground(world)
        return find_overlaps(self, ground, actors, self.trajectory(ground))

    def place(self, world: World, bank: Bank | None = None) -> tuple[Trajectory, list[Actor]]:
        """The ego's trajectory and the checked actors; raises if an actor runs into another or the world."""
        ground = find_ground(world)
        actors = self.make_actors(world, bank)
        found = self.find_overlaps(ground, actors)
        if found:
            more = f"; and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
            raise ResweepError(
                f"scenario '{self.name}': {'; '.join(map(str, found[:_SHOWN]))}{more}; "
                "change the motion, or set allow_overlap of the actor"
            )
        return self.trajectory(ground), actors

    def variant(self, number: int) -> Scenario:
        """The scenario with speeds and starts drawn from the actors' ``vary_`` ranges; number 0 is as written."""
        if number == 0:
            return self
        rng = np.random.default_rng([self.seed, number, 0x76617279])
        actors = []
        for actor in self.actors:
            factor, later = rng.uniform(*actor.vary_speed), rng.uniform(*actor.vary_start_s)
            changes: dict[str, Any] = {"start_s": max(0.0, actor.start_s + later)}
            if actor.speed_mps is not None:
                changes["speed_mps"] = (np.asarray(actor.speed_mps) * factor).tolist()
            if actor.waypoints is not None:
                first = actor.waypoints[0][0]
                changes["waypoints"] = [(first + (row[0] - first) / factor, *row[1:]) for row in actor.waypoints]
            actors.append(ActorSpec(**{**actor.model_dump(exclude_unset=True), **changes}))
        given = self.model_dump(exclude_unset=True)
        return Scenario(**{**given, "actors": actors, "seed": self.seed + number})


def load_scenario(path: str | Path) -> Scenario:
    """The scenario in a YAML file, or one of `SCENARIOS` by name; paths in the file are relative to it.

    Example: ``trajectory, actors = rs.load_scenario("hidden-car").place(world)``
    """
    from importlib import resources

    if str(path) in SCENARIOS:
        text = (
            resources.files("resweep.scenario").joinpath("plans").joinpath(f"{path}.yaml").read_text(encoding="utf-8")
        )
        return parse_scenario(text, str(path))
    text = read_text(path, f"a scenario in YAML, or one of {', '.join(SCENARIOS)}")
    return parse_scenario(text, str(path), Path(path).parent)


def parse_scenario(text: str, where: str, folder: Path | None = None) -> Scenario:
    """The scenario in a YAML text; ``where`` names it in errors."""
    return validate_scenario(parse_yaml(text, where, "a scenario with keys such as ego and actors"), where, folder)


def validate_scenario(data: Any, where: str, folder: Path | None = None) -> Scenario:
    """A scenario from plain data, with errors that name ``where`` it came from."""
    if not isinstance(data, dict):
        raise InputError(f"{where}: not a scenario; expected keys such as ego and actors")
    return validate(data if folder is None else resolve_paths(data, folder), Scenario, where)
