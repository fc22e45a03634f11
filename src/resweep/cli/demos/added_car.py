"""One car more: an object of the bank that drives ahead of the sensor, where no car was."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from resweep.errors import ResweepError

if TYPE_CHECKING:
    from resweep.log import Log
    from resweep.pose import Array
    from resweep.scenario import Actor, Bank
    from resweep.worlds import World

GAPS_M = (11.0, 8.0, 15.0, 20.0, 26.0)  # how far ahead it drives; the first that is free of others
_CATEGORIES = ("car", "van", "truck", "pedestrian")
_SHOWN = 1.5  # metres from another's path to its own, at least, beyond half their lengths


def add_car(log: Log, world: World, bank: Bank, others: Sequence[Actor]) -> Actor:
    """A car of ``bank`` that drives along the path of ``log`` ahead of its sensor, on the world's ground.

    Raises if nowhere ahead is ground that is free of ``others``.
    """
    from resweep.scenario.ground import find_ground
    from resweep.scenario.placing import find_free_instance, make_actor

    asset = bank[_choose(bank)]
    ground = find_ground(world)
    taken = [actor.instance for actor in others]
    instance = max([find_free_instance(world), *(number + 1 for number in taken)])
    for gap in GAPS_M:
        times, places = _drive_ahead(log, gap)
        if len(times) < 2:
            continue
        yaw = np.unwrap(np.arctan2(*(np.gradient(places[:, axis], times) for axis in (1, 0))))
        poses = ground.poses(np.column_stack([places, _expect_ground(log, ground, places)]), yaw, *asset.size_m[:2])
        if not np.isfinite(poses).all() or not _is_free(times, poses, asset.size_m[0], others):
            continue
        from resweep.pose import Trajectory

        return make_actor(asset, Trajectory(times, poses), instance, "added", world.labels)
    raise ResweepError("no free ground ahead of the sensor")


def _choose(bank: Bank) -> str:
    """The object of the bank that is known best: a car if there is one."""
    for category in _CATEGORIES:
        if category in bank.categories:
            return max(bank.categories[category], key=lambda name: (bank.facts(name)["n_points"], name))
    return str(next(iter(bank)))


def _drive_ahead(log: Log, gap_m: float) -> tuple[Array, Array]:
    """Times (k,) and places (k, 2) of something that is ``gap_m`` ahead on the same path, straight on at its end."""
    places = log.poses[:, :2, 3]
    steps = np.linalg.norm(np.diff(places, axis=0), axis=1)
    length = np.r_[0.0, np.cumsum(steps)]
    if length[-1] < 1.0:
        return np.zeros(0), np.zeros((0, 2))
    moved = np.r_[True, steps > 1e-6]
    # The way it goes at the end: over the last metre, or the last step where that is longer.
    before = min(int(np.searchsorted(length, length[-1] - 1.0, side="right")), len(places) - 1)
    end = places[-1] - places[max(before - 1, 0)]
    beyond = places[-1] + 200.0 * end / np.linalg.norm(end)
    along, path = np.r_[length[moved], length[-1] + 200.0], np.vstack([places[moved], beyond])
    ahead = np.stack([np.interp(length + gap_m, along, path[:, axis]) for axis in (0, 1)], axis=1)
    margin = max(0.5, float(np.diff(log.times).max()))
    speed = (ahead[-1] - ahead[-2]) / (log.times[-1] - log.times[-2])
    first = (ahead[1] - ahead[0]) / (log.times[1] - log.times[0])
    times = np.r_[log.times[0] - margin, log.times, log.times[-1] + margin]
    return times, np.vstack([ahead[0] - margin * first, ahead, ahead[-1] + margin * speed])


def _expect_ground(log: Log, ground: object, places: Array) -> Array:
    """The height (k,) near which the ground lies: that under the first pose of the log, as far as it is known."""
    from resweep.scenario.ground import Ground

    assert isinstance(ground, Ground)
    under = ground.heights(log.poses[:, :3, 3] - [0.0, 0.0, 2.0])
    known = under[np.isfinite(under)]
    return np.full(len(places), float(np.median(known)) if len(known) else np.nan)


def _is_free(times: Array, poses: Array, length_m: float, others: Sequence[Actor]) -> bool:
    """Whether it keeps clear of all others at all times."""
    for other in others:
        reach = (length_m + (other.size_m or (4.0, 2.0, 1.5))[0]) / 2
        for time, pose in zip(times, poses, strict=True):
            if other.is_present(time, time):
                apart = other.pose_at(float(time))[:2, 3] - pose[:2, 3]
                along = pose[:2, 0] @ apart
                across = pose[:2, 1] @ apart
                if abs(along) < reach + 0.5 and abs(across) < 2.0 + 0.5 * _SHOWN:
                    return False
    return True
