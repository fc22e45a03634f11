"""The traffic of a recorded drive as actors: each annotated object becomes the best fit of a bank (D, 5.1)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from resweep.errors import ResweepError
from resweep.log import Log
from resweep.pose import Array, Trajectory
from resweep.scenario.actors import Actor
from resweep.scenario.bank import Bank
from resweep.scenario.placing import find_free_instance, make_actor
from resweep.scenario.recorded_objects import RecordedObject, find_recorded_objects
from resweep.worlds import StreamedWorld, World


class ReplayActors(NamedTuple):
    """The recorded objects of a log as actors.

    ``tracks`` gives the recorded track of each instance; ``left_out`` counts, by category, the objects for which the
    bank has no asset.
    """

    actors: list[Actor]
    tracks: dict[int, int]
    left_out: dict[str, int]


def replay_actors(
    log: Log,
    world: World | StreamedWorld,
    bank: Bank,
    objects: Sequence[RecordedObject] | None = None,
    *,
    itself: bool = True,
) -> ReplayActors:
    """Actors that move as the annotated objects of a log do; ``objects`` are those, if they are known already.

    An object is replaced by the asset of the bank that fits best by category, size and the side first seen. If the
    bank has the object itself, cut out of this log, that one is taken; without ``itself`` any but that one.
    """
    first = find_free_instance(world)
    ego = log.trajectory
    actors: list[Actor] = []
    tracks: dict[int, int] = {}
    left_out: dict[str, int] = {}
    own = {(str(bank.facts(name)["source"][0]), int(bank.facts(name)["source"][1])): name for name in bank}
    for item in find_recorded_objects(log) if objects is None else objects:
        category = item.category.name
        if category not in bank.categories:
            left_out[category] = left_out.get(category, 0) + 1
            continue
        motions, same = item.motions(), own.get((log.name, item.number))
        name = same if itself else None
        if name is None:
            ranked = [name for name, _ in bank.rank(category, item.size_m, _find_view_angle(motions[0], ego))]
            name = next((name for name in ranked if name != same), None)
        if name is None:  # the bank has no other
            left_out[category] = left_out.get(category, 0) + 1
            continue
        instance = first + len(tracks)
        tracks[instance] = item.number
        asset = bank[name]
        actors += [make_actor(asset, motion, instance, category, world.labels) for motion in motions]
    if not actors:
        raise ResweepError(
            f"log '{log.name}': the bank has no object of its categories ({', '.join(sorted(left_out))}); give another"
        )
    return ReplayActors(actors, tracks, dict(sorted(left_out.items())))


def find_sweep_starts(log: Log, duration_s: float) -> Array:
    """When sweeps of ``duration_s`` begin (n,), seconds, so that the middle of each is that of the recorded one.

    A timestamp may be that of a sweep's start, middle or end; the times of the beams say when it was measured.
    """
    middle = [float(sweep.beam_time.min() + sweep.beam_time.max()) / 2 if sweep.n_beams else sweep.timestamp
              for sweep in log]  # fmt: skip
    return np.array(middle) - duration_s / 2


def _find_view_angle(motion: Trajectory, ego: Trajectory) -> float:
    """The angle from the object's front to the sensor when it is first seen, radians."""
    pose = motion.poses[0]
    sensor = ego.at(float(np.clip(motion.start, ego.start, ego.end)))
    towards = sensor[:2, 3] - pose[:2, 3]
    return math.atan2(towards[1], towards[0]) - math.atan2(pose[1, 0], pose[0, 0])
