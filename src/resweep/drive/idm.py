"""Traffic that reacts: the Intelligent Driver Model (Treiber, Hennecke, Helbing, Physical Review E 62, 2000, 1805)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np
from pydantic import Field

from resweep import portable
from resweep.config import NotNegative, Positive, Spec
from resweep.drive.body.collisions import find_actor_bounds
from resweep.drive.lane import Lane
from resweep.pose import Array, Trajectory
from resweep.quantities import Acceleration
from resweep.scenario import Actor

_HISTORY_S = 3.0  # of an actor's past, for sweeps that have not ended


class Idm(Spec):
    """How a driver follows and yields; the defaults are those of the paper's Table I where it has them."""

    headway_s: Annotated[float, Field(gt=0.0, le=60.0)] = 1.6
    """Time to the vehicle ahead that is kept, seconds."""
    gap_min_m: Positive = 2.0
    """Distance to the vehicle ahead when both stand, metres."""
    acceleration_mps2: Acceleration = 0.73
    """Acceleration on a free road, m/s²."""
    braking_mps2: Acceleration = 1.67
    """Comfortable braking, m/s²."""
    braking_max_mps2: Acceleration = 8.0
    """Hardest braking, m/s²."""
    exponent: Annotated[float, Field(gt=0.0, le=20.0)] = 4.0
    """How the acceleration falls as the speed comes near the desired one."""
    yield_s: Annotated[float, Field(ge=0.0, le=60.0)] = 2.0
    """It yields to the ego where that would cross its lane within this time, seconds; 0: only if it is in the way."""
    aside_m: NotNegative = 0.3
    """Beyond its own width, what comes this near to its lane is in the way, metres."""


def accelerate(idm: Idm, speed: float, desired: float, gap: float, closing: float) -> float:
    """The acceleration of a driver, m/s²: ``gap`` metres behind the vehicle ahead (infinity: none), which comes nearer
    at ``closing`` m/s."""
    free = 1.0 - math.pow(speed / desired, idm.exponent)
    if not math.isfinite(gap):
        return max(idm.acceleration_mps2 * free, -idm.braking_max_mps2)
    wanted = speed * idm.headway_s + speed * closing / (2.0 * math.sqrt(idm.acceleration_mps2 * idm.braking_mps2))
    ratio = (idm.gap_min_m + max(wanted, 0.0)) / max(gap, 0.01)
    return max(idm.acceleration_mps2 * (free - ratio * ratio), -idm.braking_max_mps2)


@dataclass(frozen=True, eq=False)
class RoadUser:
    """Another vehicle as a driver sees it: pose (4, 4), velocity (2,) in the world, box (2, 3) in its own frame."""

    pose: Array
    velocity: Array
    box: Array
    is_ego: bool = False

    def corners(self, later_s: float = 0.0) -> Array:
        """Its corners (4, 2) from above, after some time at its velocity."""
        x, y = self.box[[0, 1, 1, 0], 0], self.box[[0, 0, 1, 1], 1]
        heading = self.pose[:2, 0]
        across = np.array([-heading[1], heading[0]])
        return np.asarray(self.pose[:2, 3] + later_s * self.velocity + x[:, None] * heading + y[:, None] * across)


class Driver:
    """An actor that drives along its own path by the model, not by its times."""

    def __init__(self, actor: Actor, idm: Idm, desired_mps: float) -> None:
        path = actor.trajectory
        self._idm, self._desired = idm, desired_mps
        self.lane = Lane(path.poses[:, :2, 3])
        self._by_length = _index_by_length(path.poses)
        self._bounds = find_actor_bounds(actor)
        self.s, self.speed = 0.0, desired_mps
        self.actor = replace(actor, trajectory=Trajectory(np.zeros(1), path.poses[:1]))
        self._times, self._poses = [0.0], [path.poses[0]]

    @property
    def state(self) -> RoadUser:
        """The actor as others see it."""
        pose = self._poses[-1]
        return RoadUser(pose, self.speed * pose[:2, 0], self._bounds)

    def advance(self, start_s: float, end_s: float, others: Sequence[RoadUser]) -> None:
        """Drive from one time to the next, with the others where they are at the start."""
        step = end_s - start_s
        gap, closing = self._look(others)
        rate = accelerate(self._idm, self.speed, self._desired, gap, closing)
        after = max(0.0, self.speed + rate * step)
        # One that stops does so before the end of the step.
        braked = self.speed * self.speed / (2.0 * -rate) if after == 0.0 and rate < 0 else math.inf
        self.s = min(self.s + min(0.5 * (self.speed + after) * step, braked), self.lane.length_m)
        self.speed = 0.0 if self.s >= self.lane.length_m else after
        self._note(end_s)

    def _look(self, others: Sequence[RoadUser]) -> tuple[float, float]:
        """The gap to the nearest that is in the way, metres, and how fast it shrinks, m/s."""
        front = self.s + float(self._bounds[1, 0])
        half = float(self._bounds[1, 1]) + self._idm.aside_m
        best = (math.inf, 0.0)
        for other in others:
            moments = np.arange(0.0, self._idm.yield_s + 1e-9, 0.25) if other.is_ego else np.zeros(1)
            for later in moments.tolist():
                s, d = self.lane.project(other.corners(later))
                if float(d.min()) > half or float(d.max()) < -half or float(s.max()) <= front:
                    continue
                ahead = self.lane.heading(float(s.mean()))
                along = float(other.velocity[0] * math.cos(ahead) + other.velocity[1] * math.sin(ahead))
                gap = float(s.min()) - front
                if gap > -1.0 and gap < best[0]:
                    best = (max(gap, 0.0), self.speed - (along if later == 0.0 else 0.0))
                break
        return best

    def _note(self, time_s: float) -> None:
        self._times.append(time_s)
        self._poses.append(self._by_length.at(min(self.s, self._by_length.end)))
        while len(self._times) > 2 and self._times[1] < time_s - _HISTORY_S:
            self._times.pop(0)
            self._poses.pop(0)
        self.actor = replace(self.actor, trajectory=Trajectory.trusted(np.array(self._times), np.stack(self._poses)))


def _index_by_length(poses: Array) -> Trajectory:
    """Poses (n, 4, 4) of a path by the metres along it, seen from above; those where it stands are left out."""
    along = np.concatenate([[0.0], np.cumsum(portable.norm(np.diff(poses[:, :2, 3], axis=0)))])
    moved = np.concatenate([[True], np.diff(along) > 1e-9])
    return Trajectory(along[moved], poses[moved])
