"""What is known of the actors in a sweep: their boxes when they were hit, their returns, and what hides them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from resweep.boxes import BOX_MARGIN_M, Boxes
from resweep.pose import Array
from resweep.scenario import Actor
from resweep.simulate import Simulator
from resweep.simulate.actor_set import find_hit_times
from resweep.simulate.occlusion import count_unoccluded_returns
from resweep.sweep import Sweep


@dataclass(frozen=True, eq=False)
class Annotations:
    """Objects (k,) of one sweep.

    ``boxes`` lie in the frame of the sweep's pose, each where its object was at ``time_s`` (k,), when it was hit, so
    that it holds its returns although the object moved on; what moves while it is swept reaches out of it by as much.
    ``n_in_box`` (k,) are the points of the sweep in each box, whatever they are of; the returns of the object itself
    are ``boxes.n_points``. ``unoccluded`` (k,) are the returns that it would have in an empty world, ``occlusion``
    (k,) the share of those that something hides (NaN if there would be none).
    """

    boxes: Boxes
    time_s: Array
    n_in_box: Array
    unoccluded: Array
    occlusion: Array

    def rows(self) -> list[dict[str, Any]]:
        """The objects as plain data; lengths in metres, angles in radians, velocity in the world, None for unknown.

        ``size`` is that of the box, ``object_size`` that of the object, without the margin.
        """
        boxes, found = self.boxes, []
        for at in range(len(boxes)):
            found.append(
                {
                    "name": boxes.name[at],
                    "track": int(boxes.track[at]),
                    "label": int(boxes.label[at]),
                    "centre": boxes.centre[at].tolist(),
                    "size": boxes.size[at].tolist(),
                    "object_size": (boxes.size[at] - np.array([2, 2, 1]) * BOX_MARGIN_M).tolist(),
                    "yaw": float(boxes.yaw[at]),
                    "velocity": boxes.velocity[at].tolist(),
                    "time_s": float(self.time_s[at]),
                    "n_points": int(boxes.n_points[at]),
                    "n_points_in_box": int(self.n_in_box[at]),
                    "n_points_alone": int(self.unoccluded[at]),
                    "occlusion": _number(self.occlusion[at]),
                    "known": _number(boxes.known[at]),
                }
            )
        return found


def annotate(simulator: Simulator, sweep: Sweep, index: int, names: dict[int, str]) -> Annotations:
    """The annotations of the ``index``-th sweep of a simulator; ``names`` gives the class of each instance."""
    if sweep.boxes is None or not len(sweep.boxes):
        none, no_count = np.zeros(0), np.zeros(0, np.int64)
        no_boxes = Boxes(np.zeros((0, 3)), np.zeros((0, 3)), none, [])
        return Annotations(no_boxes, none, no_count, no_count, none)
    unoccluded = count_unoccluded_returns(simulator, sweep, index)
    ids, count = sweep.boxes.track, sweep.boxes.n_points
    share = np.divide(count, unoccluded, out=np.full(len(count), np.nan), where=unoccluded > 0)
    boxes = replace(sweep.boxes, name=tuple(names[instance] for instance in ids.tolist()))
    times = find_hit_times(ids, sweep.timestamp, sweep.instance, sweep.time)
    inside = boxes.count_points(sweep.deskewed())
    return Annotations(boxes, times, inside, unoccluded, np.clip(1.0 - share, 0.0, 1.0))


def name_classes(actors: Sequence[Actor], categories: dict[str, str]) -> dict[int, str]:
    """The class of each actor's instance, by the categories of the actors' names."""
    return {actor.instance: categories.get(actor.name, "other object") for actor in actors if actor.instance > 0}


def _number(value: float) -> float | None:
    return None if np.isnan(value) else float(value)
