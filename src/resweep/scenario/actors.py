"""Actors: objects that move through a world while a sensor sweeps it (D, 4.1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from resweep import portable
from resweep.boxes import BOX_MARGIN_M, Boxes
from resweep.errors import ResweepError
from resweep.labels import UNKNOWN_LABELS, LabelSet
from resweep.pose import Array, Trajectory, check_rigid, rotation_of, transform
from resweep.worlds import Layer, StreamedWorld, World
from resweep.worlds.layers.relabel import has_any_label


@dataclass(frozen=True, eq=False)
class Actor:
    """An object and where it is over time.

    ``layers`` are meshes and splats in the actor's frame: x forward, y left, z up, the origin on the ground below
    its centre. Actors that share a layer share its memory. ``trajectory`` holds ``T_world_actor``; the actor is
    there for as long as it lasts. With one pose, which may be a plain 4x4 matrix, it is stationary.

    ``instance`` (above 0) names the actor on its returns and boxes. 0 keeps the ids of its layers; such an actor
    is stationary and has no box. ``label`` is that of all its returns; None keeps the labels of its layers. Labels
    are in the vocabulary of the world it is simulated in; in a world without labels, in that of ``labels``.

    ``size_m`` is its length, width and height around the frame's origin; None takes the bounds of the layers, which
    is right for meshes. ``known`` is how much of its shape is known (`Boxes.known`).
    """

    layers: tuple[Layer, ...]
    trajectory: Trajectory
    instance: int
    label: int | None = None
    name: str = ""
    labels: LabelSet = UNKNOWN_LABELS
    size_m: tuple[float, float, float] | None = None
    known: float = float("nan")

    def __post_init__(self) -> None:
        what = f"actor '{self.name}'" if self.name else f"actor {self.instance}"
        object.__setattr__(self, "layers", tuple(self.layers))
        if not self.layers:
            raise ResweepError(f"{what}: no layer given; an actor has at least one mesh or layer of splats")
        for layer in self.layers:
            if not layer.can_move:
                raise ResweepError(f"{what}: a layer of kind '{layer.kind}' cannot move; use meshes or splats")
        if not isinstance(self.trajectory, Trajectory):
            poses = check_rigid(self.trajectory, f"{what}: pose").reshape(-1, 4, 4)
            object.__setattr__(self, "trajectory", Trajectory(np.zeros(1), poses))
        for field, lowest in (("instance", 0), ("label", 0)):
            value = getattr(self, field)
            if value is None and field == "label":
                continue
            if not isinstance(value, int | np.integer) or not lowest <= value < 2**31:
                raise ResweepError(f"{what}: {field} must be a whole number from {lowest}, got {value!r}")
            object.__setattr__(self, field, int(value))
        if self.instance == 0 and not self.is_stationary:
            raise ResweepError(f"{what}: it moves, so it needs an instance above 0 that identifies its returns")

    @cached_property
    def is_stationary(self) -> bool:
        """Whether it never moves."""
        return bool((np.abs(self.trajectory.poses - self.trajectory.poses[0]) < 1e-9).all())

    def is_present(self, begin: float, end: float) -> bool:
        """Whether it is there at any time from ``begin`` to ``end``, seconds."""
        path = self.trajectory
        return len(path) == 1 or (path.start <= end and path.end >= begin)

    def pose_at(self, time: float) -> Array:
        """``T_world_actor`` (4, 4) at ``time``, seconds; before and after the trajectory its nearest pose."""
        path = self.trajectory
        return path.poses[0] if len(path) == 1 else path.at(min(max(time, path.start), path.end))

    @cached_property
    def bounds(self) -> Array:
        """Lowest and highest corner (2, 3) of its layers, whole discs included, in the actor's frame, metres."""
        boxes = np.array([layer.bounds for layer in self.layers])
        return np.array([boxes[:, 0].min(axis=0), boxes[:, 1].max(axis=0)])

    @cached_property
    def box_bounds(self) -> Array:
        """Lowest and highest corner (2, 3) of its box in the actor's frame, metres: its size and `BOX_MARGIN_M`.

        The size is that of the object, whatever its surface: discs reach beyond the surface that they stand for, and
        a surface that is known from one side ends in the middle.
        """
        low, high = self.bounds
        if self.size_m is not None:
            length, width, height = self.size_m
            low, high = np.array([-length / 2, -width / 2, 0.0]), np.array([length / 2, width / 2, height])
        return np.array([low - [BOX_MARGIN_M, BOX_MARGIN_M, 0.0], high + BOX_MARGIN_M])

    @cached_property
    def radius_m(self) -> float:
        """Metres from the frame's origin to the furthest corner of the bounds."""
        return float(portable.norm(np.abs(self.bounds).max(axis=0)))

    def velocity(self, point: ArrayLike, time: float) -> Array:
        """Metres a second (3,) or (n, 3) at which a point of the actor, in world coordinates, moves at ``time``.

        Zero before and after the trajectory.
        """
        linear, angular, origin = self._rates(time)
        return np.asarray(linear + np.cross(angular, np.asarray(point, np.float64) - origin))

    def box(self, time: float) -> Boxes:
        """Its box at ``time``, one row in world coordinates: its size and `BOX_MARGIN_M`; tilt is left out."""
        pose = self.pose_at(time)
        centre = transform(pose, self.box_bounds.mean(axis=0)[None])
        return Boxes(
            centre,
            self.box_bounds[1] - self.box_bounds[0],
            portable.arctan2(pose[1, 0], pose[0, 0]),
            [self.name],
            np.array([self.instance]),
            label=np.array([self.label or 0]),
            velocity=self.velocity(centre, time),
            known=np.array([self.known]),
        )

    def _rates(self, time: float) -> tuple[Array, Array, Array]:
        """Linear and angular velocity (3,) in the world, and the origin of the frame."""
        path = self.trajectory
        pose = self.pose_at(time)
        if len(path) == 1 or not path.start <= time <= path.end:
            return np.zeros(3), np.zeros(3), pose[:3, 3]
        left = min(max(int(np.searchsorted(path.times, time, side="right")), 1), len(path) - 1) - 1
        first, second = path.poses[left], path.poses[left + 1]
        duration = path.times[left + 1] - path.times[left]
        turn = portable.matmul(first[:3, :3], rotation_of(portable.matmul(first[:3, :3].T, second[:3, :3])).as_rotvec())
        return (second[:3, 3] - first[:3, 3]) / duration, turn / duration, pose[:3, 3]


def find_common_labels(world: World | StreamedWorld, actors: Sequence[Actor]) -> LabelSet:
    """The vocabulary of what a sensor sees of a world and actors: the world's, or where that has no labels the actors'.

    Actors of several vocabularies in a world without labels have none in common: it is unknown.
    """
    found = [actor.labels for actor in actors if actor.label or (actor.label is None and has_any_label(actor.layers))]
    if world.labels.known or not found or world.has_labels:
        return world.labels
    return found[0] if all(labels.same_as(found[0]) for labels in found) else UNKNOWN_LABELS
