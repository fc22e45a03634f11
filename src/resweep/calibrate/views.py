"""The returns of sweeps that refine poses and lasers, and where they lie once both are corrected."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from resweep import portable
from resweep.calibrate.config import CalibrateConfig
from resweep.calibration import OFFSET_RANGE_M, BeamAxes, Calibration, find_axes
from resweep.pose import Array, transform
from resweep.registration import POSE, RATES, move_pose
from resweep.sweep import Sweep

Keep = Callable[[Sweep], Array]


@dataclass
class SweepView:
    """The part of one sweep that takes part: beams in the frame of its pose, when they were fired, and the pose.

    ``origin`` and ``direction`` (n, 3), ``range`` (n,) as measured, ``ring`` (n,), ``intensity`` (n,), ``when`` (n,) in
    seconds from the time of the pose; zero where that is not known.
    """

    origin: Array
    direction: Array
    range: Array
    ring: Array
    intensity: Array
    when: Array
    pose: Array
    n_rings: int  # of all its beams: some lasers may hit nothing
    timestamp: float | None = None  # of the pose, seconds; None where its motion within the sweep is not known
    # Turn and shift so far, and those a second (12,), in world axes: radians and metres.
    change: Array = field(default_factory=lambda: np.zeros(POSE + RATES))

    def __len__(self) -> int:
        return len(self.ring)

    @property
    def timed(self) -> bool:
        """Whether the motion within the sweep can be separated from the pose."""
        return len(self.when) > 0 and float(np.ptp(self.when)) > 0.0

    @cached_property
    def axes(self) -> BeamAxes:
        """The axes of the beams as reported: every step needs them again."""
        return find_axes(self.direction)

    def move(self, change: Array) -> None:
        """Correct pose and motion by a further ``change`` (12,)."""
        self.pose = move_pose(self.pose, change[:POSE])
        self.change = self.change + change

    def place(self, calibration: Calibration, rows: Array | slice = slice(None)) -> PlacedReturns:
        """Where returns lie in the world as ``calibration`` says, and how they move with their lasers."""
        reported = BeamAxes(*(axis[rows] for axis in self.axes))
        beams = calibration.corrected_rays(reported, self.range[rows], self.ring[rows])
        along, up = (portable.matmul(axis, self.pose[:3, :3].T) for axis in (beams.along, beams.up))
        place = transform(self.pose, self.origin[rows]) + beams.range[:, None] * along
        if self.change[POSE:].any():
            turn, shift = np.split(self.change[POSE:], 2)
            spin = np.cross(np.broadcast_to(turn, place.shape), place - self.pose[:3, 3])
            place += self.when[rows][:, None] * (spin + shift)
        return PlacedReturns(place, up * beams.range[:, None], along, self.range[rows] - OFFSET_RANGE_M)


@dataclass(frozen=True, eq=False)
class PlacedReturns:
    """Returns in the world: ``place`` (n, 3), how it moves with elevation (``raise_``) and with range (``along``).

    ``reach`` (n,) is the range beyond that at which offsets are counted: an offset's slope moves a return by it.
    """

    place: Array
    raise_: Array
    along: Array
    reach: Array


def make_view(sweep: Sweep, config: CalibrateConfig, rng: np.random.Generator, keep: Keep | None) -> SweepView:
    """The view of a sweep: at most ``config.points_per_sweep`` of its returns that ``keep`` allows, by chance."""
    chosen = sweep.range < config.range_max_m
    if keep is not None:
        chosen &= keep(sweep)
    rows = np.flatnonzero(chosen)
    if len(rows) > config.points_per_sweep:
        rows = np.sort(rng.choice(rows, config.points_per_sweep, replace=False))
    beam = sweep.beam[rows]
    origin, direction = (values[beam].astype(np.float64) for values in sweep.deskewed_beams())
    timed = sweep.n_beams > 0 and float(np.ptp(sweep.beam_time)) > 0.0
    when = sweep.beam_time[beam] - sweep.timestamp if timed else np.zeros(len(rows))
    n_rings = 1 + int(sweep.beam_ring.max()) if sweep.n_beams else 1
    ring = sweep.ring[rows].astype(np.int64)
    range_m, intensity = sweep.range[rows].astype(np.float64), sweep.intensity[rows].astype(np.float64)
    moves = sweep.trajectory is not None and len(sweep.trajectory) > 1
    at = sweep.timestamp if moves else None
    return SweepView(origin, direction, range_m, ring, intensity, when, sweep.pose, n_rings, at)


def move_to_origin(views: Sequence[SweepView]) -> Array:
    """Count the poses of views from the position (3,) of the first, which is given: sums are more exact near zero."""
    origin: Array = views[0].pose[:3, 3].copy()
    for view in views:
        view.pose = view.pose.copy()
        view.pose[:3, 3] -= origin
    return origin


def join_voxels(parts: Iterable[tuple[Array, Array, Array]]) -> tuple[Array, Array, Array, int]:
    """Voxel, a value and intensity (n,) of the returns of all parts, and the number of voxels.

    Parts are stretches of a drive, which may pass the same place in other coordinates: they share no voxel.
    """
    voxels, values, lights, count = [], [], [], 0
    for voxel, value, light in parts:
        voxels.append(voxel + count)
        count += int(voxel.max()) + 1 if len(voxel) else 0
        values.append(value)
        lights.append(light)
    return np.concatenate(voxels), np.concatenate(values), np.concatenate(lights), count
