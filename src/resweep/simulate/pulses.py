"""The pulses of a sweep in the order in which they are traced: neighbours together, in chunks."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from resweep import _core, portable
from resweep.errors import ResweepError
from resweep.pose import Array
from resweep.sensors import Firing
from resweep.simulate.ego import Ego
from resweep.sweep import Sweep

# Pulses are traced in chunks of one ring over this many columns: neighbours on a ring run through the
# same geometry, neighbours in a column do not.
_CHUNK_COLUMNS = 128
_CHUNK_PULSES = 64  # of recorded beams, whose columns may be unknown
_BAND_RAD = np.radians(0.4)  # beams without rings are grouped by bands of elevation this high


@dataclass(frozen=True, eq=False)
class Pulses:
    """Which beams of a sweep are traced, and how they leave the sensor.

    Of every beam: ``fired`` (b, 3) float32, the unit direction in which its pulse leaves, in the sensor's frame;
    ``reported`` (b, 3) float32, the direction that the sensor reports; ``time`` (b,) float64, seconds from the start
    of the sweep; ``origin`` (b, 3) float32, metres in the sensor's frame, None for zeros; ``ring`` (b,), its laser.

    ``order`` (n,) are the beams to trace, in that order; chunk i of them is ``order[chunk[i]:chunk[i + 1]]``.
    ``span`` are the first and last second, from the start of the sweep, at which actors may be hit.
    """

    fired: Array
    reported: Array
    time: Array
    order: Array
    chunk: Array
    span: tuple[float, float]
    ring: Array
    origin: Array | None = None

    @cached_property
    def native(self) -> _core.Firing:
        """The pulses as the tracer takes them."""
        return _core.Firing(
            direction=self.fired,
            time=self.time,
            order=self.order.astype(np.int32),
            chunk=self.chunk.astype(np.int32),
            reported=self.reported,
            origin=self.origin,
            ring=np.ascontiguousarray(self.ring, np.int32),
        )

    @classmethod
    def from_firing(cls, firing: Firing, ego: Ego | None = None) -> Pulses:
        """All pulses that a sensor fires in a sweep, but those that the vehicle ``ego`` blocks."""
        return _from_firing(firing, ego)

    @classmethod
    def from_beams(cls, firing: Firing, beams: Array) -> Pulses:
        """The pulses of some beams (n,) of a sweep."""
        chunk = np.append(np.arange(0, len(beams), _CHUNK_COLUMNS), len(beams))
        return cls(
            firing.direction,
            firing.direction,
            firing.time,
            beams,
            chunk,
            (0.0, float(firing.time[-1])),
            firing.ring,
            firing.origin,
        )

    @classmethod
    def from_sweep(cls, recorded: Sweep, fired: Array | None = None) -> Pulses:
        """The beams of a recorded sweep; times count from zero.

        ``fired`` (b, 3) are the directions in which they left, if they are not as reported. Neighbours on a ring stay
        together; without rings, neighbours in elevation do.
        """
        direction = np.ascontiguousarray(recorded.beam_direction if fired is None else fired, np.float32)
        azimuth = portable.arctan2(direction[:, 1], direction[:, 0])
        row: Array = recorded.beam_ring
        if len(row) and row.min() == row.max():
            row = np.floor(portable.arcsin(np.clip(direction[:, 2], -1, 1)) / _BAND_RAD).astype(np.int64)
        order = np.lexsort((azimuth, row))
        ends = np.flatnonzero(np.diff(row[order])) + 1
        rows = np.concatenate([[0], ends, [len(order)]])
        parts = [np.arange(first, last, _CHUNK_PULSES) for first, last in itertools.pairwise(rows)]
        times = recorded.beam_time if recorded.n_beams else np.array([recorded.timestamp])
        has_origin = bool(recorded.beam_origin.any())
        return cls(
            fired=direction,
            reported=np.ascontiguousarray(recorded.beam_direction, np.float32),
            time=recorded.beam_time,
            order=order,
            chunk=np.unique(np.concatenate([*parts, [len(order)]])),
            span=(float(times.min()), float(times.max())),
            ring=recorded.beam_ring,
            origin=np.ascontiguousarray(recorded.beam_origin, np.float32) if has_origin else None,
        )


@lru_cache(maxsize=16)
def _from_firing(firing: Firing, ego: Ego | None) -> Pulses:
    """Kept, since a sensor fires the same pulses in every sweep, unless its pattern never repeats."""
    if firing.azimuth_step_deg == 0.0:
        order = np.arange(len(firing))
        group = order // _CHUNK_COLUMNS
    else:
        group = (firing.column // _CHUNK_COLUMNS) * np.int64(firing.n_rings) + firing.ring
        order = np.lexsort((firing.column, group))
        group = group[order]
    if ego is not None:
        free = ~ego.blocks(firing.direction, firing.origin)[order]
        if not free.any():
            raise ResweepError("ego: the vehicle blocks every beam of the sensor; check the frame of the box or mesh")
        order, group = order[free], group[free]
    chunk = np.append(np.flatnonzero(np.diff(group, prepend=-1)), len(order))
    span = (0.0, float(firing.time[-1]))
    return Pulses(firing.direction, firing.direction, firing.time, order, chunk, span, firing.ring, firing.origin)
