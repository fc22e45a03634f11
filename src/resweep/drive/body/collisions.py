"""What a moving vehicle strikes, and when: contacts with the map and with actors, over the continuous motion.

Against the map, level rays 5 cm apart run through the vehicle's box, along and across it, at four heights. The box is
tested often enough that none of it jumps over anything, and the moment of contact is then bisected. Against actors the
distance between two boxes cannot shrink faster than they move: intervals in which it cannot reach zero are left out
whole, others are divided down to a tenth of a millisecond (conservative advancement).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from resweep import portable
from resweep.drive.body.boxes import distance, overlap
from resweep.drive.vehicles import Vehicle
from resweep.pose import Array, Trajectory
from resweep.scenario import Actor
from resweep.scenario.ground import Ground

_SPACING_M = 0.05  # of the rays through the box: a sign's pole is not missed
_LEVELS = 4
_TESTED_S = 0.02  # between two moments at which distances to actors are measured
_TESTED_M = 0.2  # of motion between two tests against the map: less than any side of a box
_REACH_M = 4.0  # from a vehicle's origin to its corners, about
_MOMENT_S = 1e-4
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


class BoxProbe:
    """The rays that look for anything within a vehicle's box."""

    def __init__(self, vehicle: Vehicle, ground: Ground) -> None:
        self.ground = ground
        self._begin, self._along, self._length = _make_rays(*vehicle.box)
        self._labelled = ground.labels.known

    def strikes(self, poses: Array) -> list[tuple[str, Array] | None]:
        """What is within the box at each pose (n, 4, 4), and where (3,) it is met; None where nothing is."""
        turn = poses[:, :3, :3].transpose(0, 2, 1)
        origins = portable.matmul(self._begin, turn) + poses[:, None, :3, 3]
        directions = portable.matmul(self._along, turn)
        found = self.ground.hits(origins.reshape(-1, 3), directions.reshape(-1, 3), float(self._length.max()))
        ranges = found["range"].reshape(len(poses), -1)
        within = ranges <= self._length
        met = np.flatnonzero(within)  # few rays: what they met is looked at for these alone
        within.reshape(-1)[met] = ~self._is_ground(found["label"][met], found["cosine"][met])
        made: list[tuple[str, Array] | None] = [None] * len(poses)
        for at in np.flatnonzero(within.any(axis=1)).tolist():
            ray = int(np.flatnonzero(within[at])[0])
            flat = at * len(self._length) + ray
            place = origins[at, ray] + directions[at, ray] * float(ranges[at, ray])
            made[at] = (self._describe(int(found["label"][flat]), int(found["instance"][flat])), place)
        return made

    def _is_ground(self, label: Array, cosine: Array) -> Array:
        unknown = ~self.ground.labels.is_labelled(label)
        return self.ground.is_ground(label) | (unknown & (np.abs(cosine) < _SIDE_ON))

    def _describe(self, label: int, instance: int) -> str:
        labels = self.ground.labels
        known = labels.known and bool(labels.is_labelled(np.array([label]))[0])
        name = labels.class_name(label) if known else "something"
        return f"{name} {instance}" if instance else name


def find_map_contact(probe: BoxProbe, path: Trajectory) -> MapContact | None:
    """The first contact with the map along the knots of ``T_world_vehicle``; its first pose is taken as free."""
    moved = path.length_m + _REACH_M * float(np.abs(np.diff(path.poses[:, :2, 0], axis=0)).sum())
    steps = max(1, math.ceil(moved / _TESTED_M))
    times = np.linspace(path.start, path.end, steps + 1)[1:]
    found = probe.strikes(path.at(times))
    first = next((at for at, hit in enumerate(found) if hit is not None), None)
    if first is None:
        return None
    hit = found[first]
    assert hit is not None
    free, struck = (path.start if first == 0 else float(times[first - 1])), float(times[first])
    while struck - free > _MOMENT_S:
        middle = 0.5 * (free + struck)
        (between,) = probe.strikes(path.at(np.array([middle])))
        if between is None:
            free = middle
        else:
            struck, hit = middle, between
    x, y, z = (float(value) for value in hit[1])
    return MapContact(struck, hit[0], (x, y, z))


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


def actor_bounds(actor: Actor) -> Array:
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
    own = actor.trajectory
    if len(own) > 1:
        start_s, end_s = max(start_s, own.start), min(end_s, own.end)
    if end_s < start_s:
        return None, float("inf")
    other = actor_bounds(actor)

    def poses_of(motion: Trajectory, times: Array) -> Array:
        return motion.at(times) if len(motion) > 1 else np.repeat(motion.poses, len(times), axis=0)

    def apart(times: Array) -> Array:
        one, two = poses_of(path, times), poses_of(own, times)
        gap = distance(one, box, two, other)
        return np.where(overlap(one, box, two, other), 0.0, np.maximum(gap, 1e-9))

    even = np.linspace(start_s, end_s, 1 + max(1, round((end_s - start_s) / _TESTED_S)))
    knots = np.unique(np.clip(np.concatenate([path.times, own.times, even]), start_s, end_s))
    gaps = apart(knots)
    contact = _advance(knots, gaps, apart, _fastest(path, box, knots) + _fastest(own, other, knots))
    if contact is None:
        return None, float(gaps.min())
    return ActorContact(contact, actor.name), 0.0


@dataclass(frozen=True)
class Encounter:
    """How near the vehicle came to an actor in one period: a contact, the least distance, and the time to collision."""

    contact: ActorContact | None
    distance_m: float
    ttc_s: float


def watch_actor(box: Array, reach_m: float, path: Trajectory, actor: Actor) -> Encounter | None:
    """What happened between the vehicle and an actor along ``path``; None if the actor is absent or far away.

    ``reach_m`` is the distance from the vehicle's origin to the farthest corner of its ``box``. Only actors that may
    come within `NEAR_M` are looked at closely: farther ones cost nothing.
    """
    if not actor.is_present(path.start, path.end):
        return None
    first, last = _poses_at_ends(actor, path.start, path.end)
    period = path.end - path.start
    velocity = (last[:3, 3] - first[:3, 3]) / period
    own = (path.poses[-1, :3, 3] - path.poses[0, :3, 3]) / period
    radius = reach_m + actor.radius_m
    (x, y), (vx, vy) = (last[:2, 3] - path.poses[-1, :2, 3]).tolist(), (velocity[:2] - own[:2]).tolist()
    ttc = float("inf")
    if _circles_meet((x, y), (vx, vy), radius):
        ttc = predict_contact(box, path.poses[-1], own, last, velocity, actor_bounds(actor))
    moved = math.sqrt(vx * vx + vy * vy) * period
    if math.sqrt(x * x + y * y) - radius - moved > NEAR_M:
        return Encounter(None, float("inf"), ttc)
    contact, least = find_actor_contact(box, path, actor, path.start, path.end)
    return Encounter(contact, least, ttc)


def _poses_at_ends(actor: Actor, start_s: float, end_s: float) -> tuple[Array, Array]:
    """``T_world_actor`` at two times, as `Actor.pose_at` gives each."""
    own = actor.trajectory
    if len(own) == 1:
        return own.poses[0], own.poses[0]
    first, last = own.at(np.array([min(max(time, own.start), own.end) for time in (start_s, end_s)]))
    return first, last


def _circles_meet(apart: tuple[float, float], closing: tuple[float, float], radius: float) -> bool:
    """Whether two circles with this sum of radii meet within `TTC_S` seconds at constant velocities."""
    (x, y), (vx, vy) = apart, closing
    speed = vx * vx + vy * vy
    when = min(max(-(x * vx + y * vy) / speed, 0.0), TTC_S) if speed > 0.0 else 0.0
    x, y = x + when * vx, y + when * vy
    return x * x + y * y <= radius * radius


def predict_contact(
    box: Array, pose: Array, velocity: Array, other_pose: Array, other_velocity: Array, other_box: Array
) -> float:
    """Time to collision: seconds until two boxes meet if both keep their velocities (3,); infinity if never.

    Looked at are `TTC_S` seconds, in steps of a tenth.
    """
    times = np.arange(0.0, TTC_S + 1e-9, 0.1)
    one, two = np.repeat(pose[None], len(times), axis=0), np.repeat(other_pose[None], len(times), axis=0)
    one[:, :3, 3] += times[:, None] * velocity
    two[:, :3, 3] += times[:, None] * other_velocity
    hit = np.flatnonzero(overlap(one, box, two, other_box))
    return float(times[hit[0]]) if len(hit) else float("inf")


def _fastest(motion: Trajectory, box: Array, knots: Array) -> float:
    """A bound on the speed of any point of a box, metres a second, between knots."""
    if len(motion) == 1 or len(knots) < 2:
        return 0.0
    near = (motion.times >= knots[0] - 1.0) & (motion.times <= knots[-1] + 1.0)
    chosen = np.flatnonzero(near) if near.sum() > 1 else np.arange(len(motion))
    poses, step = motion.poses[chosen], np.diff(motion.times[chosen])
    moved = np.linalg.norm(np.diff(poses[:, :3, 3], axis=0), axis=1)
    trace = np.einsum("nij,nij->n", poses[1:, :3, :3], poses[:-1, :3, :3])
    # The chord of a turn by an angle a is 2 sin(a / 2); the arc is longer by at most pi / 2.
    chord = np.sqrt(np.maximum(0.0, 3.0 - trace))
    reach = float(portable.norm(np.abs(box).max(axis=0)))
    return float(((moved + 1.6 * chord * reach) / step).max())


def _advance(knots: Array, gaps: Array, apart: Callable[[Array], Array], fastest: float) -> float | None:
    """The first moment at which a distance is zero; None if it never is."""
    if gaps[0] == 0.0:
        return float(knots[0])
    steps = zip(knots[:-1].tolist(), knots[1:].tolist(), gaps[:-1].tolist(), gaps[1:].tolist(), strict=True)
    pending: list[tuple[float, float, float, float]] = list(steps)[::-1]  # the earliest is looked at first
    while pending:
        begin, end, first, last = pending.pop()
        if last > 0.0 and first + last > fastest * (end - begin):
            continue
        if end - begin <= _MOMENT_S:
            if last == 0.0:
                return end
            continue
        middle = 0.5 * (begin + end)
        between = float(apart(np.array([middle]))[0])
        if between > 0.0:
            pending.append((middle, end, between, last))
        pending.append((begin, middle, first, between))
    return None
