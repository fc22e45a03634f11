"""Scenes with unknown objects: animals cross the path, construction blocks it, objects lie about (D, 5.5)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from resweep.perception.open_set.unknown_objects import ANIMALS, CONSTRUCTION
from resweep.pose import Array, Trajectory
from resweep.scenario import Actor, Bank
from resweep.scenario.ground import Ground
from resweep.scenario.overlap import find_actor_overlaps, find_world_overlap
from resweep.scenario.placing import make_actor

_AROUND_S = 0.2  # actors are there so long before and after the sweep
_TRIES = 12  # places that are tried for each object
_CLEAR_M = 4.0  # around the sensor: the ego itself
_LANE_M = 1.6  # half a lane


@dataclass(frozen=True)
class Placement:
    """Where an object is wanted: ``x`` ahead of and ``y`` left of the sensor, its heading from the ego's, its speed."""

    asset: str
    x_m: float
    y_m: float
    yaw_rad: float
    speed_mps: float = 0.0


Draw = Callable[[np.random.Generator], list[Placement]]


def draw_crossing(rng: np.random.Generator) -> Placement:
    """An animal that crosses the path 6 to 25 m ahead."""
    side = rng.choice((-1.0, 1.0))
    yaw = side * (0.5 * np.pi + rng.normal(0.0, 0.25))
    return Placement(_choose(rng, list(ANIMALS)), rng.uniform(6, 25), rng.uniform(-4, 4), yaw, rng.uniform(0.5, 3.0))


def draw_blocking(rng: np.random.Generator) -> list[Placement]:
    """A row of construction elements across the lane 7 to 20 m ahead, from one side to the other."""
    ahead, kind = rng.uniform(7, 20), _choose(rng, ["cone", "barrel", "concrete-barrier", "barricade"])
    wide = kind in ("concrete-barrier", "barricade")
    places = np.array([-1.3, 1.3]) if wide else np.linspace(-_LANE_M, _LANE_M, 3)
    row = [Placement(kind, ahead + rng.normal(0, 0.2), y, 0.5 * np.pi + rng.normal(0, 0.1)) for y in places]
    behind = _choose(rng, ["cement-block", "pipes", "barrel"])
    return [*row, Placement(behind, ahead + rng.uniform(2.5, 5), rng.uniform(-1.5, 1.5), rng.uniform(0, np.pi))]


def draw_scattered(rng: np.random.Generator) -> Placement:
    """Any of the objects, somewhere before the ego or beside it."""
    names = [*ANIMALS, *CONSTRUCTION]
    return Placement(_choose(rng, names), rng.uniform(-8, 25), rng.uniform(-8, 8), rng.uniform(-np.pi, np.pi))


@dataclass(frozen=True)
class SceneKind:
    """A kind of scenes: ``draw`` gives objects that belong together, so often drawn."""

    draw: Callable[[np.random.Generator], Placement | list[Placement]]
    groups: int


KINDS: Mapping[str, SceneKind] = {
    "animals crossing": SceneKind(draw_crossing, 3),
    "construction blocking": SceneKind(draw_blocking, 1),
    "objects scattered": SceneKind(draw_scattered, 8),
}


def make_scene(
    kind: str, ground: Ground, pose: Array, time: float, bank: Bank, first_instance: int, seed: Sequence[int]
) -> list[Actor]:
    """The actors of a scene around a sensor with ``T_world_sensor`` (4, 4) at ``time``, seconds.

    Instances count from ``first_instance``. Objects for which there is no free ground are drawn again, and left out
    after a few tries; so is a group of which one part has no place. The same ``seed`` gives the same scene.
    """
    rng = np.random.default_rng([*seed, list(KINDS).index(kind)])
    actors: list[Actor] = []
    for _ in range(KINDS[kind].groups):
        for _ in range(_TRIES):
            drawn = KINDS[kind].draw(rng)
            group = _place_group(
                drawn if isinstance(drawn, list) else [drawn], ground, pose, time, bank, first_instance + len(actors)
            )
            if group and _is_free(group, actors, ground, time):
                actors += group
                break
    return actors


def _place_group(
    wanted: Sequence[Placement], ground: Ground, pose: Array, time: float, bank: Bank, first: int
) -> list[Actor]:
    """The actors of a group on the ground; none if one of them has no place."""
    found: list[Actor] = []
    for at, placement in enumerate(wanted):
        motion = _find_motion(placement, ground, pose, time, bank[placement.asset].size_m)
        if motion is None:
            return []
        name = f"{placement.asset} {first + at}"
        found.append(make_actor(bank[placement.asset], motion, first + at, name, ground.labels))
    return found


def _find_motion(
    wanted: Placement, ground: Ground, pose: Array, time: float, size_m: tuple[float, float, float]
) -> Trajectory | None:
    """Where an object is around the time of the sweep; None where there is no ground, or the ego stands."""
    if np.hypot(wanted.x_m, wanted.y_m) < _CLEAR_M:
        return None
    heading = math.atan2(pose[1, 0], pose[0, 0])
    yaw = heading + wanted.yaw_rad
    centre = pose[:2, 3] + wanted.x_m * _direct(heading) + wanted.y_m * _direct(heading + 0.5 * np.pi)
    times = time + np.array([-_AROUND_S, _AROUND_S]) if wanted.speed_mps else np.array([time])
    places = centre + (times - time)[:, None] * wanted.speed_mps * _direct(yaw)
    low, high = ground.bounds[:, :2]
    if ((places < low) | (places > high)).any():
        return None
    given = np.column_stack([places, np.full(len(places), np.nan)])
    poses = ground.poses(given, np.full(len(places), yaw), size_m[0], size_m[1])
    return Trajectory(times, poses) if np.isfinite(poses).all() else None


def _is_free(group: Sequence[Actor], others: Sequence[Actor], ground: Ground, time: float) -> bool:
    """Whether a group runs into nothing of the world, and not into others."""
    names = {actor.name for actor in group}
    begin, end = time - _AROUND_S, time + _AROUND_S
    if any(find_world_overlap(actor, ground, begin, end) for actor in group):
        return False
    return not any({found.actor, found.other} & names for found in find_actor_overlaps([*others, *group], begin, end))


def _direct(angle: float) -> Array:
    return np.array([math.cos(angle), math.sin(angle)])


_T = TypeVar("_T")


def _choose(rng: np.random.Generator, names: Sequence[_T]) -> _T:
    return names[int(rng.integers(len(names)))]
