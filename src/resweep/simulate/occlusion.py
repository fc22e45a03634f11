"""How many returns an actor would have if nothing were before it: what occlusion is measured against."""

from __future__ import annotations

import math

import numpy as np

from resweep import portable
from resweep.pose import Array, Trajectory, inverse
from resweep.scenario import Actor
from resweep.sensors import Firing, fire
from resweep.simulate.pulses import Pulses
from resweep.simulate.simulator import Simulator
from resweep.sweep import Sweep

_MARGIN_RAD = 0.01  # beams diverge and jitter


def count_unoccluded_returns(simulator: Simulator, sweep: Sweep, index: int) -> Array:
    """Returns (k,) int64 that each actor of ``sweep.boxes`` would have in an empty world.

    ``sweep`` is the ``index``-th of the simulator; the same pulses are fired again, but only those that can hit the
    actor, at it alone.
    """
    if sweep.boxes is None or not len(sweep.boxes):
        return np.zeros(0, np.int64)
    firing = fire(simulator.sensor, index)
    begin, end = sweep.timestamp, sweep.timestamp + float(firing.time[-1])
    motion = sweep.trajectory or Trajectory(np.array([begin]), sweep.pose[None])
    by_instance = {actor.instance: actor for actor in simulator.actors if actor.is_present(begin, end)}
    counts = []
    for instance in sweep.boxes.track.tolist():
        actor = by_instance[instance]
        beams = _find_beams_towards(actor, firing, motion, begin, end)
        if simulator.ego is not None and len(beams):
            origin = None if firing.origin is None else firing.origin[beams]
            beams = beams[~simulator.ego.blocks(firing.direction[beams], origin)]
        if not len(beams):
            counts.append(0)
            continue
        pulses = Pulses.from_beams(firing, beams)
        counts.append(len(simulator.tracer.with_only(actor).trace(pulses, motion, start=begin, index=index)))
    return np.array(counts, np.int64)


def _find_beams_towards(actor: Actor, firing: Firing, motion: Trajectory, begin: float, end: float) -> Array:
    """Beams (n,) that can hit the actor: those in a cone around it, wide enough for all motion."""
    middle = []
    for time in (begin, (begin + end) / 2, end):
        T_sensor_world = inverse(motion.at(min(max(time, motion.start), motion.end)))
        pose = actor.pose_at(time)
        centre = portable.matmul(pose[:3, :3], actor.bounds.mean(axis=0)) + pose[:3, 3]
        middle.append(portable.matmul(T_sensor_world[:3, :3], centre) + T_sensor_world[:3, 3])
    where = np.array(middle)
    reach = float(portable.norm(actor.bounds[1] - actor.bounds[0])) / 2
    reach += float(np.linalg.norm(where - where[1], axis=1).max())
    if firing.origin is not None:
        reach += float(portable.norm(firing.origin).max())
    distance = float(portable.norm(where[1]))
    if distance <= reach:
        return np.arange(len(firing))
    widest = math.cos(min(math.asin(reach / distance) + _MARGIN_RAD, np.pi))
    axis = (where[1] / distance).astype(np.float32)
    return np.flatnonzero(portable.matmul(firing.direction, axis) >= widest)
