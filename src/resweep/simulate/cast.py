"""The actors of a simulation: their native shapes, and where they are in each sweep."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from resweep import _core
from resweep.boxes import Boxes
from resweep.embree_library import open_embree
from resweep.errors import ResweepError
from resweep.pose import Array, Trajectory, inverse
from resweep.scenario import Actor
from resweep.worlds import Instances, Mesh, Splats, World

# Actors further away than this many times the sensor's range are left out of a sweep.
_FAR = 2.0


class Cast:
    """Actors as the tracer takes them.

    Each layer is built once, when an actor that uses it first comes near, and is shared by all its users, also
    those of a cast made from this one (``shapes``).
    """

    def __init__(self, world: World, actors: Sequence[Actor], shapes: dict[int, Any] | None = None) -> None:
        self.world = world
        self.actors = tuple(actors)
        for actor in self.actors:
            if not isinstance(actor, Actor):
                raise ResweepError(f"actors: expected a sequence of Actor, got {type(actor).__name__} in it")
        _check_instances(world, self.actors)
        # By the layer's identity; the layer is kept too, so that its identity stays its own.
        self.shapes: dict[int, tuple[Any, Mesh | Splats]] = {} if shapes is None else shapes
        self._natives: dict[int, Any] = {}

    def __len__(self) -> int:
        return len(self.actors)

    def stage(self, begin: float, end: float, motion: Trajectory, range_max_m: float) -> Stage | None:
        """The actors that are there between two times, seconds, for a sensor that moves so; None if there are none."""
        if not self.actors:
            return None
        near = [i for i, actor in enumerate(self.actors) if _there(actor.trajectory, begin, end)]
        positions = motion.poses[:, :3, 3] - self.world.origin
        centre = positions.mean(axis=0)
        reach = _FAR * range_max_m + float(np.linalg.norm(positions - centre, axis=1).max())
        natives = [self._native(i) for i in near]
        native = _core.ActorScene(natives, begin, end, tuple(float(value) for value in centre), reach)
        return Stage(native, [self.actors[near[i]] for i in native.present()], self.world.origin)

    def _native(self, index: int) -> Any:
        if index not in self._natives:
            actor = self.actors[index]
            open_embree()
            knots = actor.trajectory.poses.copy()
            knots[:, :3, 3] -= self.world.origin
            self._natives[index] = _core.Actor(
                shapes=[self._shape(layer) for layer in actor.layers],
                motion=_core.Motion(actor.trajectory.times, knots),
                radius=actor.radius_m,
                instance=actor.instance,
                label=-1 if actor.label is None else actor.label,
            )
        return self._natives[index]

    def _shape(self, layer: Mesh | Splats) -> Any:
        if id(layer) not in self.shapes:
            make = _core.Shape.triangles if isinstance(layer, Mesh) else _core.Shape.discs
            self.shapes[id(layer)] = (make(layer.lower()), layer)
        return self.shapes[id(layer)][0]


class Stage:
    """The actors of one sweep."""

    def __init__(self, native: Any, actors: list[Actor], origin: Array) -> None:
        self.native = native
        self.actors = actors
        self.origin = origin

    def velocities(self, instance: Array, second: Array, points: Array, sensor: _core.Motion) -> tuple[Array, Array]:
        """Velocity (n, 3) float32 of what each return was measured on, and the number of returns of each actor.

        Metres a second in the world; zero where nothing moves. ``second`` (n,) are the times of firing and ``points``
        (n, 3) lie in the sensor's frame then; ``sensor`` is its motion, from the world's origin.
        """
        velocity, seen = self.native.velocities(instance, second, points, sensor)
        return velocity, seen.astype(np.int64)

    def boxes(self, pose: Array, start: float, instance: Array, second: Array, n_points: Array) -> Boxes:
        """Boxes of the actors in the frame of ``pose`` (``T_world_sensor``), each where its actor was when it was hit.

        That is when half of its returns, told by their ``instance`` (n,) and ``second`` (n,), had been measured; an
        actor without returns stands where it was at ``start``.
        """
        rows = [i for i, actor in enumerate(self.actors) if actor.instance > 0]
        actors = [self.actors[i] for i in rows]
        times = hit_times(np.array([actor.instance for actor in self.actors]), start, instance, second)
        flat, linear, angular = self.native.poses(times)
        poses = np.asarray(flat).reshape(-1, 4, 4)[rows]
        bounds = np.array([actor.bounds for actor in actors]).reshape(-1, 2, 3)
        arm = np.einsum("kij,kj->ki", poses[:, :3, :3], bounds.mean(axis=1))
        T_sensor_world = inverse(pose)
        there = T_sensor_world[:3, :3] @ poses[:, :3, :3]
        centre = poses[:, :3, 3] + arm + self.origin
        return Boxes(
            centre @ T_sensor_world[:3, :3].T + T_sensor_world[:3, 3],
            bounds[:, 1] - bounds[:, 0],
            np.arctan2(there[:, 1, 0], there[:, 0, 0]),
            [actor.name for actor in actors],
            np.array([actor.instance for actor in actors], np.int64),
            label=np.array([actor.label or 0 for actor in actors], np.int64),
            velocity=linear[rows] + np.cross(angular[rows], arm),
            n_points=n_points[rows],
        )


def hit_times(ids: Array, start: float, instance: Array, second: Array) -> Array:
    """The median ``second`` (k,) of the returns of each instance in ``ids`` (k,); ``start`` for those without."""
    times = np.full(len(ids), float(start))
    known = ids[ids > 0]
    if not len(known):
        return times
    of_actors = np.flatnonzero(instance >= known.min())
    order = of_actors[np.argsort(instance[of_actors], kind="stable")]
    begin, end = (np.searchsorted(instance[order], ids, side=side) for side in ("left", "right"))
    for at in np.flatnonzero((end > begin) & (ids > 0)).tolist():
        times[at] = np.median(second[order[begin[at] : end[at]]])
    return times


def _there(path: Trajectory, begin: float, end: float) -> bool:
    return len(path) == 1 or (path.start <= end and path.end >= begin)


def _check_instances(world: World, actors: Sequence[Actor]) -> None:
    """Instance ids tell actors from each other and from the world, so each must have its own."""
    named = sorted((actor for actor in actors if actor.instance > 0), key=lambda actor: actor.instance)
    for _, group in itertools.groupby(named, key=lambda actor: actor.instance):
        for one, other in itertools.combinations(group, 2):
            if _there(one.trajectory, other.trajectory.start, other.trajectory.end) or len(other.trajectory) == 1:
                raise ResweepError(f"actors '{one.name}' and '{other.name}': both have instance {one.instance}")
    wanted = np.array([actor.instance for actor in named], np.int64)
    for layer in world.layers if len(wanted) else ():
        for part in (layer, layer.mesh) if isinstance(layer, Instances) else (layer,):
            column = np.asarray(part.instance)
            used = np.intersect1d(wanted, column[:1] if column.strides == (0,) else column)
            if len(used):
                raise ResweepError(
                    f"actors: instance {used[0]} is also that of something in the world's layer '{layer.name}'; "
                    "give the actor another"
                )
