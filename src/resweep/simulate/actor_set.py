"""The actors of a simulation: their native shapes, and where they are in each sweep."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Sequence

import numpy as np

from resweep import _core, portable
from resweep.boxes import Boxes
from resweep.embree_library import open_embree
from resweep.errors import ResweepError
from resweep.pose import Array, Trajectory, inverse
from resweep.scenario import Actor
from resweep.worlds import Layer, StreamedWorld, World
from resweep.worlds.native import build_shape

_MAX_RANGES = 2.0  # actors further away than this many times the sensor's range are left out of a sweep


class ActorSet:
    """The actors of a simulation as the tracer takes them.

    Each layer is built once, when an actor that uses it first comes near, and is shared by all its users, also
    those of sets that are given these ``shapes``. ``unused`` are instance ids that the world is known not to use:
    large worlds take long to look through.
    """

    def __init__(
        self,
        world: World | StreamedWorld,
        actors: Sequence[Actor],
        shapes: dict[int, tuple[_core.Shape, Layer]] | None = None,
        unused: frozenset[int] = frozenset(),
    ) -> None:
        self.origin = world.origin
        self.actors = tuple(actors)
        for actor in self.actors:
            if not isinstance(actor, Actor):
                raise ResweepError(f"actors: expected a sequence of Actor, got {type(actor).__name__} in it")
        self.unused = _check_instances(world, self.actors, unused)
        # By the identity of a layer, or of an actor; both are kept too, so that nothing else gets their identity.
        self.shapes = {} if shapes is None else shapes
        self._natives: dict[int, tuple[_core.Actor, Actor]] = {}

    def __len__(self) -> int:
        return len(self.actors)

    def only(self, actor: Actor) -> ActorSet:
        """The set with one of its actors."""
        other = copy.copy(self)
        other.actors = (actor,)
        return other

    def find_present(self, begin: float, end: float, motion: Trajectory, range_max_m: float) -> PresentActors | None:
        """The actors that a sensor can hit between two times, seconds; None if the set is empty.

        ``motion`` holds ``T_world_sensor``. Those that are far beyond its range are left out.
        """
        if not self.actors:
            return None
        present = [actor for actor in self.actors if actor.is_present(begin, end)]
        positions = motion.poses[:, :3, 3] - self.origin
        centre = positions.mean(axis=0)
        reach = _MAX_RANGES * range_max_m + float(np.linalg.norm(positions - centre, axis=1).max())
        natives = [self._native(actor) for actor in present]
        native = _core.ActorScene(natives, begin, end, tuple(float(value) for value in centre), reach)
        return PresentActors(native, [present[i] for i in native.present()], self.origin)

    def _native(self, actor: Actor) -> _core.Actor:
        if id(actor) not in self._natives:
            open_embree()
            knots = actor.trajectory.poses.copy()
            knots[:, :3, 3] -= self.origin
            native = _core.Actor(
                shapes=[self._shape(layer) for layer in actor.layers],
                motion=_core.Motion(actor.trajectory.times, knots),
                radius=actor.radius_m,
                instance=actor.instance,
                label=-1 if actor.label is None else actor.label,
            )
            self._natives[id(actor)] = (native, actor)
        return self._natives[id(actor)][0]

    def _shape(self, layer: Layer) -> _core.Shape:
        if id(layer) not in self.shapes:
            self.shapes[id(layer)] = (build_shape(layer.lower()), layer)
        return self.shapes[id(layer)][0]


class PresentActors:
    """The actors that one sweep can hit."""

    def __init__(self, native: _core.ActorScene, actors: list[Actor], origin: Array) -> None:
        self.native = native
        self.actors = actors
        self.origin = origin

    def compute_velocities(
        self, instance: Array, time: Array, points: Array, sensor: _core.Motion
    ) -> tuple[Array, Array]:
        """Velocity (n, 3) float32 of what each return was measured on, and the number of returns of each actor.

        Metres a second in the world; zero where nothing moves. ``time`` (n,) are the seconds of firing and ``points``
        (n, 3) lie in the sensor's frame then; ``sensor`` is its motion, from the world's origin.
        """
        velocity, counts = self.native.velocities(instance, time, points, sensor)
        return velocity, counts.astype(np.int64)

    def compute_boxes(self, pose: Array, start: float, instance: Array, time: Array, n_points: Array) -> Boxes:
        """Boxes of the actors in the frame of ``pose`` (``T_world_sensor``), each where its actor was when it was hit.

        That is when half of its returns, given by their ``instance`` (n,) and ``time`` (n,), had been measured; an
        actor without returns is where it was at ``start``.
        """
        rows = [i for i, actor in enumerate(self.actors) if actor.instance > 0]
        actors = [self.actors[i] for i in rows]
        times = find_hit_times(np.array([actor.instance for actor in self.actors]), start, instance, time)
        poses, linear, angular = self.native.poses(times)
        poses = poses[rows]
        bounds = np.array([actor.box_bounds for actor in actors]).reshape(-1, 2, 3)
        arm = np.einsum("kij,kj->ki", poses[:, :3, :3], bounds.mean(axis=1))
        T_sensor_world = inverse(pose)
        turn = portable.matmul(T_sensor_world[:3, :3], poses[:, :3, :3])
        centre = poses[:, :3, 3] + arm + self.origin
        return Boxes(
            portable.matmul(centre, T_sensor_world[:3, :3].T) + T_sensor_world[:3, 3],
            bounds[:, 1] - bounds[:, 0],
            portable.arctan2(turn[:, 1, 0], turn[:, 0, 0]),
            [actor.name for actor in actors],
            np.array([actor.instance for actor in actors], np.int64),
            label=np.array([actor.label or 0 for actor in actors], np.int64),
            velocity=linear[rows] + np.cross(angular[rows], arm),
            n_points=n_points[rows],
            known=np.array([actor.known for actor in actors]),
        )


def find_hit_times(ids: Array, start: float, instance: Array, time: Array) -> Array:
    """The median ``time`` (k,) of the returns of each instance in ``ids`` (k,); ``start`` for those without."""
    times = np.full(len(ids), float(start))
    known = ids[ids > 0]
    if not len(known):
        return times
    of_actors = np.flatnonzero(instance >= known.min())
    order = of_actors[np.lexsort((time[of_actors], instance[of_actors]))]
    own, when = instance[order], time[order]
    begin, end = (np.searchsorted(own, ids, side=side) for side in ("left", "right"))
    hit = (end > begin) & (ids > 0)
    middle, other = (begin + end) // 2, (begin + end - 1) // 2
    times[hit] = (when[other[hit]] + when[middle[hit]]) / 2
    return times


def _check_instances(world: World | StreamedWorld, actors: Sequence[Actor], unused: frozenset[int]) -> frozenset[int]:
    """Instance ids tell actors from each other and from the world, so each must have its own.

    Gives the ids that the world does not use, as far as that is known.
    """
    named = sorted((actor for actor in actors if actor.instance > 0), key=lambda actor: actor.instance)
    for _, group in itertools.groupby(named, key=lambda actor: actor.instance):
        for one, other in itertools.combinations(group, 2):
            if one.is_present(other.trajectory.start, other.trajectory.end) or len(other.trajectory) == 1:
                raise ResweepError(f"actors '{one.name}' and '{other.name}': both have instance {one.instance}")
    wanted = sorted({actor.instance for actor in named} - unused)
    used = world.find_instance(np.array(wanted, np.int64)) if wanted else None
    if used is not None:
        raise ResweepError(
            f"actors: instance {used[0]} is also that of something in the world's layer '{used[1]}'; "
            "give the actor another"
        )
    return unused.union(wanted)
