"""What is known of the actors in a sweep: their boxes when they were hit, their returns, and what hides them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from resweep.boxes import Boxes
from resweep.pose import Array, inverse, transform
from resweep.scenario import Actor
from resweep.simulate import Simulator
from resweep.simulate.alone import returns_alone
from resweep.sweep import Sweep


@dataclass(frozen=True, eq=False)
class Annotations:
    """Objects (k,) of one sweep.

    ``boxes`` lie in the frame of the sweep's pose, each where its object was at ``time_s`` (k,): when half of its
    returns had been measured, so that it holds them although the object moved on. ``alone`` (k,) are the returns that
    it would have in an empty world, ``occlusion`` (k,) the share of those that something hides (NaN: none expected).
    """

    boxes: Boxes
    time_s: Array
    alone: Array
    occlusion: Array

    def rows(self) -> list[dict[str, Any]]:
        """The objects as plain data; lengths in metres, angles in radians, velocity in the world."""
        boxes, found = self.boxes, []
        for at in range(len(boxes)):
            hidden = float(self.occlusion[at])
            found.append(
                {
                    "name": boxes.name[at],
                    "track": int(boxes.track[at]),
                    "label": int(boxes.label[at]),
                    "centre": boxes.centre[at].tolist(),
                    "size": boxes.size[at].tolist(),
                    "yaw": float(boxes.yaw[at]),
                    "velocity": boxes.velocity[at].tolist(),
                    "time_s": float(self.time_s[at]),
                    "n_points": int(boxes.n_points[at]),
                    "n_points_alone": int(self.alone[at]),
                    "occlusion": None if np.isnan(hidden) else hidden,
                }
            )
        return found


def annotate(simulator: Simulator, sweep: Sweep, index: int, names: dict[int, str]) -> Annotations:
    """The annotations of the ``index``-th sweep of a simulator; ``names`` gives the class of each instance."""
    if sweep.boxes is None or not len(sweep.boxes):
        none = np.zeros(0)
        return Annotations(Boxes(np.zeros((0, 3)), np.zeros((0, 3)), none, []), none, none.astype(np.int64), none)
    alone = returns_alone(simulator, sweep, index)
    of_actors = np.flatnonzero(sweep.instance >= sweep.boxes.track.min())  # the world's own are below
    order = of_actors[np.argsort(sweep.instance[of_actors], kind="stable")]
    ids = sweep.instance[order]
    actors = {actor.instance: actor for actor in simulator.actors}
    when, placed, count = [], [], []
    for instance in sweep.boxes.track.tolist():
        rows = order[np.searchsorted(ids, instance) : np.searchsorted(ids, instance, side="right")]
        time = float(np.median(sweep.time[rows])) if len(rows) else sweep.timestamp
        when.append(time)
        count.append(len(rows))
        placed.append(actors[instance].box(time))
    boxes = _together(placed, inverse(sweep.pose), [names[i] for i in sweep.boxes.track.tolist()], np.array(count))
    share = np.divide(count, alone, out=np.full(len(count), np.nan), where=alone > 0)
    return Annotations(boxes, np.array(when), alone, np.clip(1.0 - share, 0.0, 1.0))


def _together(boxes: Sequence[Boxes], T_sweep_world: Array, names: Sequence[str], count: Array) -> Boxes:
    """Boxes of the world as one table in the sweep's frame."""
    turn = np.arctan2(T_sweep_world[1, 0], T_sweep_world[0, 0])
    yaw = np.concatenate([box.yaw for box in boxes]) + turn
    return Boxes(
        transform(T_sweep_world, np.concatenate([box.centre for box in boxes])),
        np.concatenate([box.size for box in boxes]),
        (yaw + np.pi) % (2 * np.pi) - np.pi,
        names,
        np.concatenate([box.track for box in boxes]),
        label=np.concatenate([box.label for box in boxes]),
        velocity=np.concatenate([box.velocity for box in boxes]),
        n_points=count,
    )


def class_names(actors: Sequence[Actor], categories: dict[str, str]) -> dict[int, str]:
    """The class of each actor's instance, by the categories of the actors' names."""
    return {actor.instance: categories.get(actor.name, "other object") for actor in actors if actor.instance > 0}
