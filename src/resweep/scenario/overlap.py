"""Collisions: actors that overlap each other or the world, over time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from resweep import portable
from resweep.labels import LabelSet
from resweep.memory import check_room
from resweep.pose import Array, Trajectory
from resweep.scenario.actors import Actor
from resweep.scenario.ground import Ground

STEP_S = 0.1  # between two looks: at 5 m/s an actor moves half a metre
_SHRINK_M = 0.03  # boxes may touch by this much
_CLEAR_M = 0.25  # kerbs and bumps below this height do not count
_SPACING_M = 0.05  # of the rays through a box: a sign's pole is not missed
_MAX_RAYS = 1_000_000  # that are traced at once
_BOX_BYTES = 250  # of an actor at one time, with the pose that it is computed from
_LEVELS = 4  # heights of the rays through a box


@dataclass(frozen=True)
class Overlap:
    """An actor that is where something else is; ``time_s`` is when it first is, seconds from the scenario's start."""

    actor: str
    time_s: float
    what: str
    other: str = ""

    def __str__(self) -> str:
        return f"actor '{self.actor}': runs into {self.what} at {self.time_s:.1f} s"


def find_actor_overlaps(actors: Sequence[Actor], start: float, end: float) -> list[Overlap]:
    """The first moment at which the boxes of each two actors overlap."""
    times = _list_times(start, end)
    what = f"comparing {len(actors)} actors over {end - start:,.0f} s"
    check_room(len(actors) * len(times) * _BOX_BYTES, f"scenario: {what}", "shorten it, or leave out actors")
    boxes = [_box_over_time(actor, times) for actor in actors]
    found = []
    for one, other in _list_near_pairs(boxes):
        hit = np.flatnonzero(_boxes_overlap(boxes[one], boxes[other]))
        if len(hit):
            name = actors[other].name
            found.append(Overlap(actors[one].name, float(times[hit[0]] - start), f"actor '{name}'", name))
    return found


def _list_near_pairs(boxes: Sequence[tuple[Array, Array, Array, Array]]) -> list[tuple[int, int]]:
    """Those of all pairs whose boxes share a place from above, at whatever time each is there."""
    reach = np.array([float(portable.norm(half[:2])) + _SHRINK_M for _, _, half, _ in boxes])[:, None]
    low = np.array([centre[:, :2].min(axis=0) for centre, *_ in boxes]).reshape(-1, 2) - reach
    high = np.array([centre[:, :2].max(axis=0) for centre, *_ in boxes]).reshape(-1, 2) + reach
    found = []
    for one in range(len(boxes)):
        near = ((low[one + 1 :] <= high[one]) & (high[one + 1 :] >= low[one])).all(axis=1)
        found += [(one, one + 1 + int(other)) for other in np.flatnonzero(near)]
    return found


def find_world_overlap(actor: Actor, ground: Ground, start: float, end: float) -> Overlap | None:
    """The first moment at which something of the world stands within the actor's box, above the ground."""
    path = actor.trajectory
    still = actor.is_stationary
    times = (
        np.array([path.start if len(path) > 1 else start])
        if still
        else _list_times(max(start, path.start), min(end, path.end))
    )
    if not len(times):
        return None
    times = _leave_out_rest(path, times)
    low, high = actor.bounds[0] + _SHRINK_M, actor.bounds[1] - _SHRINK_M
    low[2] = min(max(low[2], _CLEAR_M), 0.5 * (actor.bounds[0, 2] + actor.bounds[1, 2]))
    rays = _make_rays(low, np.maximum(high, low + 1e-3))
    step = max(1, _MAX_RAYS // len(rays[2]))
    for at in range(0, len(times), step):
        part = times[at : at + step]
        poses = path.at(part) if len(path) > 1 else np.repeat(path.poses, len(part), axis=0)
        hit = _find_first_hit(poses, rays, ground)
        if hit is not None:
            row, what, (x, y) = hit
            when = 0.0 if still else float(part[row] - start)
            return Overlap(actor.name, when, f"{what} of the world at ({x:.1f}, {y:.1f})")
    return None


def _leave_out_rest(path: Trajectory, times: Array) -> Array:
    """The times without those at which an actor is where it was at the one before: it waits, or has arrived."""
    if len(path) == 1:
        return times
    rests = (path.poses[1:] == path.poses[:-1]).all(axis=(1, 2))
    left = np.clip(np.searchsorted(path.times, times, side="left") - 1, 0, len(rests) - 1)
    again = np.concatenate([[False], left[1:] == left[:-1]])  # the first time within a rest counts
    return np.asarray(times[~(rests[left] & again)])


def _find_first_hit(
    poses: Array, rays: tuple[Array, Array, Array], ground: Ground
) -> tuple[int, str, tuple[float, float]] | None:
    """The first of poses (t, 4, 4) at which rays in a box hit something of the world, what that is and where."""
    begin, along, length = rays
    turn = poses[:, :3, :3].transpose(0, 2, 1)
    origins, directions = portable.matmul(begin, turn) + poses[:, None, :3, 3], portable.matmul(along, turn)
    found = ground.hits(origins.reshape(-1, 3), directions.reshape(-1, 3), float(length.max()))
    within = (found["range"] <= np.tile(length, len(poses))) & ~ground.is_ground(found["label"])
    hit = np.flatnonzero(within)
    if not len(hit):
        return None
    first = int(hit[0])
    what = _describe(int(found["label"][first]), int(found["instance"][first]), ground.labels)
    x, y = origins.reshape(-1, 3)[first, :2] + directions.reshape(-1, 3)[first, :2] * found["range"][first]
    return first // len(length), what, (float(x), float(y))


def _list_times(start: float, end: float) -> Array:
    return np.arange(start, end + 1e-9, STEP_S)


def _describe(label: int, instance: int, labels: LabelSet) -> str:
    name = labels.class_name(label) if labels.known else f"something of label {label}"
    name = name if label else "something"
    return f"{name} {instance}" if instance else name


def _make_rays(low: Array, high: Array) -> tuple[Array, Array, Array]:
    """Origins, unit directions (r, 3) and lengths (r,) of level rays through a box, along and across it."""
    size = high - low
    parts = []
    for axis, other in ((0, 1), (1, 0)):
        side = np.linspace(low[other], high[other], max(2, round(size[other] / _SPACING_M) + 1))
        level = np.linspace(low[2], high[2], _LEVELS)
        across, up = (grid.ravel() for grid in np.meshgrid(side, level))
        begin, along = np.zeros((len(across), 3)), np.zeros((len(across), 3))
        begin[:, axis], begin[:, other], begin[:, 2], along[:, axis] = low[axis], across, up, 1.0
        parts.append((begin, along, np.full(len(across), size[axis])))
    begin, along, length = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    return begin, along, length


def _box_over_time(actor: Actor, times: Array) -> tuple[Array, Array, Array, Array]:
    """Centre (t, 3), heading (t, 2), half size (3,) and presence (t,) of an actor's box at times."""
    path = actor.trajectory
    there = np.ones(len(times), bool) if len(path) == 1 else (times >= path.start - 1e-9) & (times <= path.end + 1e-9)
    poses = path.at(np.clip(times, path.start, path.end)) if len(path) > 1 else np.repeat(path.poses, len(times), 0)
    centre = np.einsum("tij,j->ti", poses[:, :3, :3], actor.bounds.mean(axis=0)) + poses[:, :3, 3]
    heading = poses[:, :2, 0] / np.linalg.norm(poses[:, :2, 0], axis=1, keepdims=True)
    return centre, heading, (actor.bounds[1] - actor.bounds[0]) / 2 - _SHRINK_M, there


def _boxes_overlap(one: tuple[Array, Array, Array, Array], other: tuple[Array, Array, Array, Array]) -> Array:
    """Whether two boxes (t,) overlap: no axis of either separates them, and their heights share a part."""
    apart = other[0] - one[0]
    overlap = one[3] & other[3] & (np.abs(apart[:, 2]) < one[2][2] + other[2][2])
    for heading in (one[1], other[1]):
        for axis in (heading, np.stack([-heading[:, 1], heading[:, 0]], axis=1)):
            reach = sum(
                box[2][0] * np.abs((box[1] * axis).sum(axis=1))
                + box[2][1] * np.abs(box[1][:, 0] * axis[:, 1] - box[1][:, 1] * axis[:, 0])
                for box in (one, other)
            )
            overlap &= np.abs((apart[:, :2] * axis).sum(axis=1)) < reach
    return np.asarray(overlap)
