"""A recorded drive's own traffic as actors: each annotated object replaced by one of a bank that fits (D, 5.1)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from resweep.errors import ResweepError
from resweep.log import Log
from resweep.pose import Array, Trajectory
from resweep.scenario.actors import Actor
from resweep.scenario.bank import Bank
from resweep.scenario.placing import actor_of, free_instance
from resweep.scenario.recorded import Recorded, recorded_in
from resweep.worlds import World


def replay_actors(
    log: Log, world: World, bank: Bank, tracks: Sequence[Recorded] | None = None
) -> tuple[list[Actor], dict[int, int], list[str]]:
    """Actors that move as the annotated objects of a log do.

    An object is taken from the bank by category, size and the side first seen; one that the bank has itself from this
    log is taken as it is. Returns the actors, the track of each instance, and a line for each category of which
    the bank has nothing and whose objects are left out.
    """
    first = free_instance(world)
    ego = log.trajectory
    made: list[Actor] = []
    track_of: dict[int, int] = {}
    missing: dict[str, int] = {}
    own = {(str(bank.facts(name)["source"][0]), int(bank.facts(name)["source"][1])): name for name in bank}
    for item in recorded_in(log) if tracks is None else tracks:
        category = item.category.name
        if category not in bank.categories:
            missing[category] = missing.get(category, 0) + 1
            continue
        stretches = item.stretches()
        name = own.get((log.name, item.number)) or bank.ranked(category, item.size_m, _view(stretches[0], ego))[0][0]
        instance = first + len(track_of)
        track_of[instance] = item.number
        asset = bank[name]
        made += [actor_of(asset, motion, instance, category, world.labels) for motion in stretches]
    if not made:
        raise ResweepError(
            f"log '{log.name}': the bank has no object of its categories ({', '.join(sorted(missing))}); give another"
        )
    return made, track_of, [f"{count} of category '{category}'" for category, count in sorted(missing.items())]


def sweep_starts(log: Log, lasts_s: float) -> Array:
    """When sweeps that take ``lasts_s`` begin (n,), if the middle of each is to be that of the recorded one.

    A stamp may be that of a sweep's start, middle or end: what was measured when, its beams' times tell.
    """
    middle = [float(sweep.beam_time.min() + sweep.beam_time.max()) / 2 if sweep.n_beams else sweep.timestamp
              for sweep in log]  # fmt: skip
    return np.array(middle) - lasts_s / 2


def _view(motion: Trajectory, ego: Trajectory) -> float:
    """The angle from the object's front to the sensor when it is first seen, radians."""
    pose = motion.poses[0]
    sensor = ego.at(float(np.clip(motion.start, ego.start, ego.end)))
    towards = sensor[:2, 3] - pose[:2, 3]
    return float(np.arctan2(towards[1], towards[0]) - np.arctan2(pose[1, 0], pose[0, 0]))
