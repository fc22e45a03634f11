"""What a moving vehicle strikes, and when: contacts with the map and with actors, over the continuous motion.

Against the map, level rays 5 cm apart run through the vehicle's box, along and across it, at four heights. The box is
tested often enough that none of it jumps over anything, and the moment of contact is then bisected. Against actors the
distance between two boxes cannot shrink faster than they move: intervals in which it cannot reach zero are left out
whole, others are divided down to a tenth of a millisecond (conservative advancement).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from resweep import _core, portable
from resweep.drive.body.solid import make_native_solid
from resweep.drive.vehicles import Vehicle
from resweep.pose import Array, Trajectory
from resweep.scenario import Actor
from resweep.scenario.ground import Ground

_SPACING_M = 0.05  # of the rays through the box: a sign's pole is not missed
_LEVELS = 4  # heights of the rays: bumper, bonnet, mirror and roof of a car
_TESTED_M = 0.2  # of motion between two tests against the map: less than any side of a box
_REACH_M = 4.0  # from a vehicle's origin to its corners, about
_MOMENT_S = 1e-4  # to which the time of a contact is bisected: 2 mm at 70 km/h
TTC_S = 5.0  # times to collision are looked for so far ahead
NEAR_M = 10.0  # distances are measured to actors that may be this near
_SIDE_ON = 0.3  # cosine: without labels, what rays graze may be the ground


@dataclass(frozen=True)
class MapContact:
    """A contact with the map: when, with what, and where in the world."""

    time_s: float
    what: str
    place: tuple[float, float, float]


@dataclass(frozen=True)
class ActorContact:
    """A contact with an actor: when, and its name."""

    time_s: float
    actor: str


@dataclass(frozen=True)
class Strike:
    """Something within the box at one of several poses: the number of the pose, what is hit, and where."""

    at: int
    what: str
    place: tuple[float, float, float]


class BoxProbe:
    """The rays that look for anything within a vehicle's box."""

    def __init__(self, vehicle: Vehicle, ground: Ground) -> None:
        self._labels = ground.labels
        self._rays = _make_rays(*vehicle.box)
        self._solid = make_native_solid(ground)

    def strike(self, poses: Array) -> Strike | None:
        """What is within the box at the first of poses (n, 4, 4) at which anything is; None if nothing ever is."""
        found = self._solid.strike(np.ascontiguousarray(poses), *self._rays, _SIDE_ON)
        if found is None:
            return None
        at, (x, y, z), label, instance = found
        return Strike(at, self._describe(label, instance), (x, y, z))

    def _describe(self, label: int, instance: int) -> str:
        known = self._labels.known and bool(self._labels.is_labelled(np.array([label]))[0])
        name = self._labels.class_name(label) if known else "something"
        return f"{name} {instance}" if instance else name


def find_map_contact(probe: BoxProbe, path: Trajectory) -> MapContact | None:
    """The first contact with the map along the knots of ``T_world_vehicle``; its first pose is taken as free."""
    moved = path.length_m + _REACH_M * float(np.abs(np.diff(path.poses[:, :2, 0], axis=0)).sum())
    steps = max(1, math.ceil(moved / _TESTED_M))
    times = np.linspace(path.start, path.end, steps + 1)[1:]
    hit = probe.strike(path.at(times))
    if hit is None:
        return None
    free, struck = (path.start if hit.at == 0 else float(times[hit.at - 1])), float(times[hit.at])
    while struck - free > _MOMENT_S:
        middle = 0.5 * (free + struck)
        between = probe.strike(path.at(np.array([middle])))
        if between is None:
            free = middle
        else:
            struck, hit = middle, between
    return MapContact(struck, hit.what, hit.place)


def _make_rays(low: Array, high: Array) -> tuple[Array, Array, Array]:
    """Origins, unit directions (r, 3) and lengths (r,) of level rays through a box, along and across it."""
    size, parts = high - low, []
    for axis, other in ((0, 1), (1, 0)):
        side = np.linspace(low[other], high[other], max(2, round(float(size[other]) / _SPACING_M) + 1))
        across, up = (grid.ravel() for grid in np.meshgrid(side, np.linspace(low[2], high[2], _LEVELS)))
        begin, along = np.zeros((len(across), 3)), np.zeros((len(across), 3))
        begin[:, axis], begin[:, other], begin[:, 2], along[:, axis] = low[axis], across, up, 1.0
        parts.append((begin, along, np.full(len(across), size[axis])))
    begin, along, length = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    return begin, along, length


def find_actor_bounds(actor: Actor) -> Array:
    """Lowest and highest corner (2, 3) of an actor in its own frame, without a margin for noise."""
    if actor.size_m is None:
        return actor.bounds
    length, width, height = actor.size_m
    return np.array([[-length / 2, -width / 2, 0.0], [length / 2, width / 2, height]])


def find_actor_contact(
    box: Array, path: Trajectory, actor: Actor, start_s: float, end_s: float
) -> tuple[ActorContact | None, float]:
    """The first contact of the vehicle with an actor between two times, and the least distance before it, metres.

    ``box`` (2, 3) is the vehicle's in its own frame, ``path`` holds ``T_world_vehicle``. The distance is that of the
    two rectangles seen from above; where one is over the other they do not touch.
    """
    contact_s, distance_m = _core.find_contact(
        path.native, box, actor.trajectory.native, find_actor_bounds(actor), float(start_s), float(end_s)
    )
    return _name_contact(contact_s, actor), distance_m


@dataclass(frozen=True)
class Encounter:
    """How near the vehicle came to an actor in one period: a contact, the least distance, and the time to collision."""

    contact: ActorContact | None
    distance_m: float
    ttc_s: float


class ContactMonitor:
    """Looks at what happens between a vehicle and actors. Only those that may come within `NEAR_M` are looked at
    closely: farther ones cost nothing."""

    def __init__(self, vehicle: Vehicle) -> None:
        self._box = np.ascontiguousarray(vehicle.box)
        self._reach_m = float(portable.norm(np.abs(self._box).max(axis=0)))
        self._actors: Sequence[Actor] = ()
        self._sizes = np.zeros((0, 2, 3)), np.zeros(0)

    def look(self, path: Trajectory, actors: Sequence[Actor]) -> list[tuple[Actor, Encounter]]:
        """What happened along ``path``, which holds ``T_world_vehicle``, with each of the actors that is there."""
        if actors is not self._actors:  # those that react are others in every period
            self._actors = actors
            bounds = [find_actor_bounds(actor) for actor in actors]
            self._sizes = np.array(bounds).reshape(-1, 2, 3), np.array([actor.radius_m for actor in actors], float)
        motions = [actor.trajectory.native for actor in actors]
        found = _core.watch_actors(
            path.native, self._box, motions, *self._sizes, reach=self._reach_m, near=NEAR_M, horizon=TTC_S
        )
        return [
            (actor, Encounter(_name_contact(seen[0], actor), seen[1], seen[2]))
            for actor, seen in zip(actors, found, strict=True)
            if seen is not None
        ]


def _name_contact(contact_s: float, actor: Actor) -> ActorContact | None:
    return None if math.isnan(contact_s) else ActorContact(contact_s, actor.name)
