"""What the demo counts and shows: grass that lets beams through, and a wall that does not."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from resweep.scenes import Label
from resweep.scenes.meadow import FIRST_POLE, WALL_INSTANCE
from resweep.viewer import close_up

if TYPE_CHECKING:
    from collections.abc import Sequence

    from resweep.pose import Array, Trajectory
    from resweep.simulate import Simulator
    from resweep.sweep import Sweep
    from resweep.worlds import World

_BEHIND_GRASS_M = 0.1  # several sigma of range noise
_WALL_EDGE_M = 0.3  # a beam this far inside the wall's outline has its whole spot on it
_BEHIND_WALL_M = 0.2
_SLICE_M = 0.6  # half the width of what the close-up shows
_GRASS = -1  # a label of the close-up only, which separates grass from leaves


@dataclass(frozen=True)
class Passage:
    """Beams of one sweep that hit grass or were aimed at the wall, and those that returned from behind it."""

    hit_grass: int
    passed_grass: int
    aimed_at_wall: int
    passed_wall: int

    @property
    def grass_share(self) -> float:
        """Share of the beams that hit grass and returned from behind it."""
        return self.passed_grass / max(self.hit_grass, 1)

    @property
    def wall_share(self) -> float:
        """Share of the beams aimed at the wall that returned from behind it."""
        return self.passed_wall / max(self.aimed_at_wall, 1)


def count_passage(simulator: Simulator, sweep: Sweep, trajectory: Trajectory, index: int) -> Passage:
    """Count how ``sweep``, number ``index`` along ``trajectory``, passed the meadow's grass and wall.

    Which beams hit grass is known from the same pulses fired at the grass alone: the same seed and
    index give the same rays.
    """
    from resweep.simulate import Simulator
    from resweep.worlds import World

    grass = World([layer for layer in simulator.world.layers if layer.name == "grass"], simulator.world.origin)
    first = simulator.sensor.with_(**{"receiver.mode": "first"})
    alone = Simulator(grass, first, seed=simulator.seed).sweep(trajectory, start=sweep.timestamp, index=index)
    blade_m = np.full(sweep.n_beams, np.inf)
    blade_m[alone.beam] = alone.range
    behind = ~_is_grass(sweep) & (sweep.range > blade_m[sweep.beam] + _BEHIND_GRASS_M)
    at_wall = _aimed_at_wall(simulator.world, sweep)
    beyond = at_wall[sweep.beam] & (sweep.world_points()[:, 0] > _wall_box(simulator.world)[1, 0] + _BEHIND_WALL_M)
    return Passage(
        hit_grass=int(np.isfinite(blade_m).sum()),
        passed_grass=len(np.unique(sweep.beam[behind])),
        aimed_at_wall=int(at_wall.sum()),
        passed_wall=len(np.unique(sweep.beam[beyond])),
    )


def draw_close_up(world: World, sweeps: Sequence[Sweep], path: Path, counted: Passage) -> Path:
    """Draw a slice of the returns from the side: the meadow up to its wall, and the foot of the wall nearer."""
    points = np.concatenate([sweep.world_points() for sweep in sweeps])
    label = np.concatenate([np.where(_is_grass(sweep), _GRASS, sweep.label) for sweep in sweeps])
    instance = np.concatenate([sweep.instance for sweep in sweeps])
    wall = _wall_box(world)
    before = (points[:, 0] > 6.0) & (points[:, 0] < wall[0, 0])
    in_slice = np.abs(points[:, 1] - _clear_y(points[before & (instance >= FIRST_POLE), 1])) < _SLICE_M
    points, label, before = points[in_slice], label[in_slice], before[in_slice]
    foot = points[before & (points[:, 0] > wall[0, 0] - 4.0) & (label == Label.TERRAIN), 2]
    ground = float(np.median(foot)) if len(foot) else 0.0
    right = wall[1, 0]
    legend = {
        int(Label.TERRAIN): ("ground", "#c2a878"),
        _GRASS: ("grass", "#4fd06a"),
        int(Label.VEGETATION): ("leaves", "#1f9e89"),
        int(Label.TRUNK): ("wood", "#b5763a"),
        int(Label.POLE): ("pole", "#fff275"),
        int(Label.BUILDING): ("wall", "#ffb347"),
    }
    return close_up(
        points,
        label,
        path,
        boxes=[
            (5.0, right + 9.0, ground - 0.6, wall[1, 2] + 0.9),
            (right - 4.3, right + 1.2, ground - 0.25, ground + 1.0),
        ],
        legend=legend,
        title=f"{sweeps[0].sensor}, {2 * _SLICE_M:g} m deep, from the side: grass lets beams through, a wall does not",
        notes=[
            (
                6.0,
                ground + 2.2,
                f"{counted.grass_share:.0%} of {counted.hit_grass:,} beams of one sweep\n"
                "that hit grass returned from behind it",
            ),
            (
                right + 0.6,
                ground + 2.2,
                f"{counted.passed_wall} of {counted.aimed_at_wall:,} beams aimed at the wall returned\n"
                "from behind it, where the meadow goes on",
            ),
        ],
    )


def _is_grass(sweep: Sweep) -> Array:
    """The returns from grass: in the meadow every other plant has an instance id."""
    return np.asarray((sweep.label == Label.VEGETATION) & (sweep.instance == 0))


def _wall_box(world: World) -> Array:
    """Lowest and highest corner (2, 3) of the meadow's wall."""
    from resweep.worlds import Mesh
    from resweep.worlds.layers.layer import kinds_in

    for layer in kinds_in(world.layers, Mesh):
        if layer.name == "structures":
            corners = layer.vertices[layer.faces[layer.instance == WALL_INSTANCE].ravel()] + world.origin
            return np.array([corners.min(axis=0), corners.max(axis=0)])
    raise AssertionError("a meadow has structures")


def _aimed_at_wall(world: World, sweep: Sweep) -> Array:
    """The beams (b,) that cross the plane of the wall's front well inside its outline."""
    from resweep.pose import transform

    low, high = _wall_box(world)
    origin, direction = sweep.deskewed_beams()
    start = transform(sweep.pose, origin.astype(np.float64))
    along = direction.astype(np.float64) @ sweep.pose[:3, :3].T
    forward = along[:, 0] > 1e-6
    reach = (low[0] - start[:, 0]) / np.where(forward, along[:, 0], 1.0)
    cross = start + reach[:, None] * along
    inside = (cross[:, 1:] > low[1:] + _WALL_EDGE_M) & (cross[:, 1:] < high[1:] - _WALL_EDGE_M)
    return np.asarray(forward & (reach > 0) & inside.all(axis=1))


def _clear_y(taken: Array) -> float:
    """The y, as near to the middle as may be, with fewest of the returns ``taken`` in the slice around it."""
    candidates = sorted((float(y) for y in range(-8, 9)), key=abs)
    return min(candidates, key=lambda y: int((np.abs(taken - y) < _SLICE_M).sum()))
