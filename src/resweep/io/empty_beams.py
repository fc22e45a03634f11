"""The beams that came back empty, for logs of formats that keep only returns.

`infer_empty_beams` estimates the grid of a log's LiDAR from some of its sweeps, once, when a sweep is first read,
and checks it on returns held out; each sweep then gets the beams that returned nothing. Where no grid can be
trusted, sweeps keep the beams that they have, and ``log.empty_beams`` notes why.

The grid is that of the points as measured. Points of which the log's own motion was taken out (``LidarRig.motion``)
are put back where their LiDAR measured them first, and the new beams are moved as the points were; where times
or motion are not known, the motion is found from the rings themselves (`resweep.sensors.infer.channel_motion`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

from resweep import portable
from resweep.bounds import check_sweep
from resweep.errors import ResweepError
from resweep.log import EmptyBeams, Log
from resweep.pose import Array, Trajectory, inverse, transform
from resweep.sensors.infer.beam_grid import BeamGrid, estimate_grid, sample_readable
from resweep.sensors.infer.complete_beams import complete_beams
from resweep.sensors.infer.grid_check import check_grid, is_crowded
from resweep.sweep import Sweep

_GRID_SWEEPS = 5  # that the grid is estimated from
_CHECKED_SWEEPS = 2  # of them, on which it is checked
_MOMENT_S = 1e-3  # vehicles move smoothly: between poses so far apart, matrices may be interpolated
_MAX_MOMENTS = 60_000  # a sweep that lasts longer than a minute has times that are wrong
_UPRIGHT = np.diag([1.0, -1.0, -1.0, 1.0])


@dataclass(frozen=True, eq=False)
class LogLidar:
    """One LiDAR of a log: its rings, from ``first_ring`` to below ``last_ring``, and where it is mounted.

    ``T_frame_lidar`` leads to the frame of the log's points; its z axis is the one that the LiDAR spins about.
    """

    first_ring: int = 0
    last_ring: int = 1 << 16
    T_frame_lidar: Array | None = None

    @property
    def upright(self) -> Array:
        """``T_frame_lidar`` (4, 4), turned over for a LiDAR that hangs: what carries it must be below it."""
        mount = np.eye(4) if self.T_frame_lidar is None else self.T_frame_lidar
        return np.asarray(portable.matmul(mount, _UPRIGHT) if mount[2, 2] < 0 else mount)


@dataclass(frozen=True, eq=False)
class LidarRig:
    """The LiDARs of a log. ``motion`` is ``T_world_frame`` where points were compensated with it, by their times."""

    lidars: Sequence[LogLidar] = (LogLidar(),)
    motion: Trajectory | None = None

    @property
    def is_plain(self) -> bool:
        """Whether points are as one LiDAR measured them, in its own frame."""
        return self.motion is None and len(self.lidars) == 1 and self.lidars[0].T_frame_lidar is None

    def T_frame_fired(self, lidar: LogLidar, sweep: Sweep, times: Array) -> Array:
        """``T_frame_lidar`` (n, 4, 4) at ``times``, in the frame of ``sweep``."""
        mount = lidar.upright
        if self.motion is None:
            return np.broadcast_to(mount, (len(times), 4, 4))
        inside = np.clip(times, self.motion.start, self.motion.end)
        first = float(inside.min()) if len(inside) else self.motion.start
        late = (inside - first) / _MOMENT_S
        if late.max(initial=0.0) > _MAX_MOMENTS:
            return np.asarray(portable.matmul(inverse(sweep.pose), self.motion.at(inside), mount))
        before = late.astype(np.int64)
        moments = first + _MOMENT_S * np.arange(int(before.max(initial=0)) + 2)
        knots = portable.matmul(
            inverse(sweep.pose), self.motion.at(np.clip(moments, self.motion.start, self.motion.end)), mount
        )
        share = (late - before)[:, None, None]
        return np.asarray((1.0 - share) * knots[before] + share * knots[before + 1])


def infer_empty_beams(bare: Log, wanted: bool = True, rig: LidarRig | None = None) -> Log:
    """``bare`` with the empty beams of each sweep, if ``wanted``; the grid is estimated on the first use.

    Sweeps that hold beams without return already stay as they are.
    """
    load = bare.load
    placed = bare.sensor_position_known
    bare = replace(bare, load=lambda at: check_sweep(load(at), placed))  # a grid of what was not measured has no end
    if not wanted:
        return replace(bare, empty_beams=EmptyBeams("unknown", "not inferred: not asked for"))
    rig = rig or LidarRig()

    @cache
    def estimate() -> tuple[list[BeamGrid], EmptyBeams]:
        return _estimate_grids(bare, rig)

    beams = EmptyBeams.lazy(lambda: estimate()[1])

    def complete(sweep: Sweep) -> Sweep:
        if not len(sweep) or _has_empty(sweep) or beams.source != "inferred":
            return sweep
        return _complete_sweep(sweep, rig, estimate()[0])

    return bare.map(complete, "infer empty beams", empty_beams=beams)


def _has_empty(sweep: Sweep) -> bool:
    return bool((np.bincount(sweep.beam, minlength=sweep.n_beams) == 0).any())


def _estimate_grids(log: Log, rig: LidarRig) -> tuple[list[BeamGrid], EmptyBeams]:
    """The grid of each LiDAR, and where empty beams then come from; no grid where one of them fails the check."""
    sweeps = sample_readable(log, _GRID_SWEEPS)
    if sweeps and all(_has_empty(sweep) for sweep in sweeps):
        return [], EmptyBeams("stored", "as stored")
    sweeps = [sweep for sweep in sweeps if not _has_empty(sweep)]
    grids: list[BeamGrid] = []
    for lidar in rig.lidars:
        parts = [part for sweep in sweeps if len(part := _take_measured(sweep, rig, lidar))]
        try:
            grid = estimate_grid(parts)
        except ResweepError as error:
            return [], EmptyBeams("unknown", f"not inferred: {str(error).removeprefix('grid: ')}")
        for part in parts[:: max(1, len(parts) - 1)][:_CHECKED_SWEEPS]:
            if (why := check_grid(grid, part)) is not None:
                return [], EmptyBeams("unknown", f"not inferred: {why}")
        grids.append(grid)
    rings = {"given": "as the log gives them", "order": "by their stored order", "elevation": "by elevation"}
    each = " and ".join(f"{grid.n_rings} rings x {grid.n_columns} columns" for grid in grids)
    return grids, EmptyBeams("inferred", f"inferred on {each}, rings {rings[grids[0].source]}")


def _find_beams(sweep: Sweep, lidar: LogLidar) -> Array:
    """Beams (b,) bool of a LiDAR."""
    return np.asarray((sweep.beam_ring >= lidar.first_ring) & (sweep.beam_ring < lidar.last_ring))


def _take_measured(sweep: Sweep, rig: LidarRig, lidar: LogLidar) -> Sweep:
    """The part of a sweep that a LiDAR measured, in the LiDAR's own frame when it fired."""
    if rig.is_plain:
        return sweep
    rows = _find_beams(sweep, lidar)
    part = sweep if rows.all() else sweep.select_beams(rows)
    T_fired_frame = inverse(rig.T_frame_fired(lidar, sweep, part.beam_time))
    points = transform(T_fired_frame[part.beam], part.points.astype(np.float64))
    return Sweep.from_points(
        points,
        ring=part.ring - np.uint16(lidar.first_ring),
        time=part.time,
        column=part.column,
        pose=sweep.pose,
        timestamp=sweep.timestamp,
    )


def _complete_sweep(sweep: Sweep, rig: LidarRig, grids: list[BeamGrid]) -> Sweep:
    """``sweep`` with the empty beams of each LiDAR after its own; as it is where it does not fit the grids."""
    if rig.is_plain:
        full = complete_beams(sweep, grids[0])
        return sweep if is_crowded(full, grids[0]) else _clip_times(full, sweep)
    ring, column = sweep.beam_ring.copy(), sweep.beam_column.copy()
    parts: list[tuple[Array, ...]] = []
    for lidar, grid in zip(rig.lidars, grids, strict=True):
        part = _take_measured(sweep, rig, lidar)
        if not len(part):
            continue
        full = complete_beams(part, grid)
        if is_crowded(full, grid):
            return sweep
        rows = _find_beams(sweep, lidar)
        ring[rows] = full.beam_ring[: len(part)] + np.uint16(lidar.first_ring)
        column[rows] = full.beam_column[: len(part)]
        parts.append(_move_to_frame(full, len(part), rig, lidar, sweep))
    added = [np.concatenate(values) for values in zip(*parts, strict=True)]
    own = (sweep.beam_origin, sweep.beam_direction, sweep.beam_time, ring, column, sweep.beam_status)
    names = ("beam_origin", "beam_direction", "beam_time", "beam_ring", "beam_column", "beam_status")
    joined: dict[str, Any] = {
        name: np.concatenate([old, new]) for name, old, new in zip(names, own, added, strict=True)
    }
    return _clip_times(replace(sweep, **joined), sweep)


def _move_to_frame(full: Sweep, first: int, rig: LidarRig, lidar: LogLidar, sweep: Sweep) -> tuple[Array, ...]:
    """Beam columns from beam ``first`` on of a LiDAR's own sweep, in the frame of ``sweep``."""
    time = full.beam_time[first:]
    T_frame_fired = rig.T_frame_fired(lidar, sweep, time)
    return (
        transform(T_frame_fired, full.beam_origin[first:].astype(np.float64)),
        np.einsum("nij,nj->ni", T_frame_fired[:, :3, :3], full.beam_direction[first:]),
        time,
        full.beam_ring[first:] + np.uint16(lidar.first_ring),
        full.beam_column[first:],
        full.beam_status[first:],
    )


def _clip_times(full: Sweep, sweep: Sweep) -> Sweep:
    """``full`` with the times of new beams inside the motion of ``sweep``, which ends at its last return."""
    if sweep.trajectory is None or full is sweep:
        return full
    time = full.beam_time.copy()
    first = sweep.n_beams
    time[first:] = np.clip(time[first:], sweep.trajectory.start, sweep.trajectory.end)
    return replace(full, beam_time=time)
