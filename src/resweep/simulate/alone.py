"""How many returns an actor would have if nothing stood before it: what occlusion is measured against."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from resweep import _core
from resweep.embree_library import open_embree
from resweep.pose import Array, Trajectory, inverse
from resweep.scenario import Actor
from resweep.sensors import Firing, fire
from resweep.sweep import Sweep

if TYPE_CHECKING:
    from resweep.simulate.simulator import Simulator

_CHUNK = 128
_MARGIN_RAD = 0.01  # beams diverge and jitter


def returns_alone(simulator: Simulator, sweep: Sweep, index: int) -> Array:
    """Returns (k,) int64 that each actor of ``sweep.boxes`` would have in an empty world.

    ``sweep`` is the ``index``-th of the simulator; the same pulses are fired again, but only those that can meet the
    actor, at it alone.
    """
    if sweep.boxes is None or not len(sweep.boxes):
        return np.zeros(0, np.int64)
    firing = fire(simulator.sensor, index)
    begin, end = sweep.timestamp, sweep.timestamp + float(firing.time[-1])
    motion = sweep.trajectory or Trajectory(np.array([begin]), sweep.pose[None])
    knots = motion.poses.copy()
    knots[:, :3, 3] -= simulator.world.origin
    empty = _empty_scene()
    cast = simulator._cast
    by_instance = {actor.instance: at for at, actor in enumerate(cast.actors) if _present(actor, begin, end)}
    counts = []
    for instance in sweep.boxes.track.tolist():
        actor = cast.actors[by_instance[instance]]
        rows = _towards(actor, firing, motion, begin, end)
        if simulator._ego is not None and len(rows):
            rows = rows[~simulator._ego.blocks(firing.direction[rows])]
        if not len(rows):
            counts.append(0)
            continue
        centre = tuple(float(value) for value in knots[:, :3, 3].mean(axis=0))
        alone = _core.ActorScene(
            [cast._native(by_instance[instance])], begin, end, centre, 2 * simulator.sensor.range_max_m
        )
        columns = empty.trace(
            simulator._plan,
            firing=_firing(firing, rows),
            motion=_core.Motion(motion.times, knots),
            start=begin,
            seed=simulator.seed,
            index=index,
            threads=simulator.threads,
            packet=simulator.packet,
            actors=alone,
        )
        counts.append(len(columns["range"]))
    return np.array(counts, np.int64)


@cache
def _empty_scene() -> _core.Scene:
    open_embree()
    scene = _core.Scene()
    scene.commit()
    return scene


def _present(actor: Actor, begin: float, end: float) -> bool:
    path = actor.trajectory
    return actor.instance > 0 and (len(path) == 1 or (path.start <= end and path.end >= begin))


def _towards(actor: Actor, firing: Firing, motion: Trajectory, begin: float, end: float) -> Array:
    """Rows of the pulses that can meet the actor: those in a cone around it, wide enough for all motion."""
    middle = []
    for time in (begin, (begin + end) / 2, end):
        T_sensor_world = inverse(motion.at(min(max(time, motion.start), motion.end)))
        pose = actor._pose(time)
        centre = pose[:3, :3] @ actor.bounds.mean(axis=0) + pose[:3, 3]
        middle.append(T_sensor_world[:3, :3] @ centre + T_sensor_world[:3, 3])
    where = np.array(middle)
    reach = float(np.linalg.norm(actor.bounds[1] - actor.bounds[0])) / 2
    reach += float(np.linalg.norm(where - where[1], axis=1).max())
    distance = float(np.linalg.norm(where[1]))
    if distance <= reach:
        return np.arange(len(firing))
    widest = np.cos(min(np.arcsin(reach / distance) + _MARGIN_RAD, np.pi))
    axis = (where[1] / distance).astype(np.float32)
    return np.flatnonzero(firing.direction @ axis >= widest)


def _firing(firing: Firing, rows: Array) -> _core.Firing:
    chunk = np.append(np.arange(0, len(rows), _CHUNK), len(rows)).astype(np.int32)
    return _core.Firing(
        direction=firing.direction,
        time=firing.time,
        order=rows.astype(np.int32),
        chunk=chunk,
    )
