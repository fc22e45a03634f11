"""Whether a log's sensor stood still and fired the same directions again and again, and which directions these are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from resweep import portable
from resweep.log import Log
from resweep.neighbours import Neighbours
from resweep.pose import Array
from resweep.sensors.spec import Pointing
from resweep.sweep import Sweep

# Chosen by hand where a line names no source.
SHOTS_MIN = 40  # of a direction: as many as a splat has neighbours. Fewer do not show how its ranges are distributed.
_STILL_M, _STILL_RAD = 0.01, 1e-3  # that poses of a stationary sensor differ by at most
_SAME_RAD = 2e-5  # between directions that are the same: a twentieth of a step of an encoder
_REPEATED = 0.5  # share of a sweep's beams that have directions of other sweeps; empty beams may be missing
_SAMPLED = 0.5  # of a beam's width: directions that far apart, or less, leave nothing between them unseen
_LOOKED_AT = 8  # sweeps, spread over the log, that directions are taken from
_GAUSSIAN = 12  # uniform numbers whose sum is nearly Gaussian, with a variance of one


@dataclass(frozen=True, eq=False)
class Directions:
    """The directions of a stationary sensor: ``unit`` (m, 3) float64 in the world, with the sensor's ``up`` (3,).

    ``step_h_rad`` and ``step_v_rad`` are the median angles between neighbours, along a ring and between rings.
    ``pointing`` is how far a shot may be off the direction that it reports.
    """

    unit: Array
    up: Array
    step_h_rad: float
    step_v_rad: float
    pointing: Pointing

    @property
    def is_exact(self) -> bool:
        """Whether shots go exactly where they report."""
        how = self.pointing
        return not (how.encoder_step_rad or how.sigma_h_rad or how.sigma_v_rad)

    def find(self, away: Array) -> Array:
        """The number (n,) of the direction that is nearest to each vector (n, 3) from the sensor."""
        near = Neighbours(self.unit.astype(np.float32))
        unit = away / np.maximum(portable.norm(away), 1e-9)[:, None]
        return np.asarray(near.knn(unit.astype(np.float32), 1).index[:, 0], np.int64)

    def frames(self, unit: Array) -> Array:
        """Axes (n, 3, 3) across, upwards and along directions (n, 3), as rows."""
        across = np.cross(self.up, unit)
        length = portable.norm(across)
        across = np.where(length[:, None] > 1e-6, across / np.maximum(length, 1e-6)[:, None], np.array([0.0, 1.0, 0.0]))
        return np.stack([across, np.cross(unit, across), unit], axis=1)

    def draw(self, reported: Array, random: np.random.Generator) -> Array:
        """A direction (n, 3) float32 that each shot may have had, by its ``reported`` one (n, 3) (A, section IV)."""
        how, count = self.pointing, len(reported)
        if self.is_exact:
            return reported
        unit = reported.astype(np.float64)
        frame = self.frames(unit)
        about = np.cross(self.up, unit)  # of length cos(elevation): the encoder turns about the spin axis
        off = about * ((random.random(count) - 0.5) * how.encoder_step_rad)[:, None]
        for axis, sigma in enumerate((how.sigma_h_rad, how.sigma_v_rad)):
            if sigma > 0:
                shift = random.random((count, _GAUSSIAN)).sum(axis=1) - _GAUSSIAN / 2
                off = off + frame[:, axis] * (sigma * shift)[:, None]
        drawn = unit + off
        return np.ascontiguousarray(drawn / portable.norm(drawn)[:, None], np.float32)


def find_directions(log: Log) -> Directions | None:
    """The directions of a log whose sensor stood still and fired each of them `SHOTS_MIN` times; None for others.

    Poses show whether it was at rest. Only then are some sweeps read, to see whether their directions are the same, and
    at least two to the width of a beam: where they are farther apart, nothing shows what lies between them, and splats
    reach across. The beams of an unknown sensor are unknown.
    """
    still = log.poses_known and log.sensor_position_known and len(log) >= SHOTS_MIN and _are_same(log.poses)
    if not still or log.sensor is None:
        return None
    turn = log.poses[0][:3, :3]
    looked = np.unique(np.linspace(0, len(log) - 1, _LOOKED_AT).astype(int)).tolist()
    first = log[looked[0]]
    unit, known = _turned(first, turn), None
    for at in looked[1:]:
        known = Neighbours(unit.astype(np.float32))
        more = _turned(log[at], turn)
        new = known.knn(more.astype(np.float32), 1, _SAME_RAD).index[:, 0] < 0
        if new.mean() > 1 - _REPEATED:
            return None
        unit = np.concatenate([unit, more[new]])
    along, between = _find_steps(first)
    if along is None or along > _SAMPLED * log.sensor.beam.divergence_h_rad:
        return None
    return Directions(unit, turn[:, 2], along, between or along, log.sensor.pointing)


def _are_same(poses: Array) -> bool:
    """Whether poses (n, 4, 4) differ by no more than a stationary sensor's."""
    shift = float(np.abs(poses[:, :3, 3] - poses[0, :3, 3]).max())
    return shift < _STILL_M and float(np.abs(poses[:, :3, :3] - poses[0, :3, :3]).max()) < _STILL_RAD


def _turned(sweep: Sweep, turn: Array) -> Array:
    """The directions (b, 3) of a sweep's beams in the world."""
    return portable.matmul(sweep.deskewed_beams()[1].astype(np.float64), turn.T)


def _find_steps(sweep: Sweep) -> tuple[float | None, float | None]:
    """The median angles between neighbours along rings and between rings, radians; None where there is none."""
    x, y, z = sweep.beam_direction.astype(np.float64).T
    azimuth, elevation = portable.arctan2(y, x), portable.arcsin(np.clip(z, -1.0, 1.0))
    order = np.lexsort((azimuth, sweep.beam_ring))
    ring = sweep.beam_ring[order]
    gap = np.diff(azimuth[order])[ring[1:] == ring[:-1]]
    gap = gap[gap > _SAME_RAD]
    if len(gap) == 0:
        return None, None
    heights = np.sort([np.median(elevation[sweep.beam_ring == number]) for number in np.unique(ring)])
    level = float(portable.cos(np.median(elevation)))
    return float(np.median(gap)) * level, float(np.median(np.diff(heights))) if len(heights) > 1 else None
