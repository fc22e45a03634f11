"""The beams of a sweep as a map sees them: where each began, where it ended, and whether the map holds that end."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Protocol

import numpy as np

from resweep import portable
from resweep.labels import LabelSet
from resweep.log import Log
from resweep.map.accumulate import find_mappable
from resweep.map.cloud import UNCLEAR
from resweep.map.config import MapConfig
from resweep.pose import Array, transform
from resweep.progress import track
from resweep.sweep import Sweep


@dataclass(frozen=True, eq=False)
class Beams:
    """Beams (n,) in the world, as far as they went.

    ``origin`` and ``direction`` (n, 3) float32, metres from an origin and unit; ``length`` metres to where the
    beam ended; ``returned`` is false where nothing that the map holds ended it. ``shared`` (n,) uint8 is the number of
    returns of the pulse that a beam is a part of: each holds the same share of it. It is 0 for a beam whose origin is
    assumed and whose way is not known to be free. None: all beams are whole pulses.
    """

    origin: Array
    direction: Array
    length: Array
    returned: Array
    shared: Array | None = None

    def __len__(self) -> int:
        return len(self.length)

    def __getitem__(self, rows: Array) -> Beams:
        columns = {item.name: getattr(self, item.name) for item in fields(self)}
        return Beams(**{name: column[rows] for name, column in columns.items() if column is not None})

    @property
    def ends(self) -> Array:
        """Where the beams ended (n, 3) float32."""
        return np.asarray(self.origin + self.direction * self.length[:, None])

    @property
    def clear(self) -> Array:
        """Beams (n,) bool that show their way to be free."""
        return np.ones(len(self), bool) if self.shared is None else self.shared > 0

    def find_hidden(self, empty_range_m: float) -> Array:
        """Beams (n,) bool that ended on what the map does not hold; those without return end at ``empty_range_m``."""
        return ~self.returned & (self.length < np.float32(empty_range_m))


class BeamSource(Protocol):
    """The beams of a map, block by block, wherever they are kept."""

    @property
    def slope(self) -> float:
        """Width of the beams at 1 m, metres; 0 where the sensor is unknown."""
        ...

    @property
    def sweeps(self) -> Array:
        """Numbers (m,) of the sweeps that the beams are of, ascending."""
        ...

    def select(self, sweeps: Array) -> BeamSource:
        """The beams of some of the sweeps."""
        ...

    def blocks(self, what: str, empty_range_m: float, show: bool) -> Iterator[Beams]:
        """All beams in one pass, with progress of ``what`` if ``show``; those without return end at the range given."""
        ...


@dataclass(frozen=True, eq=False)
class LogBeams:
    """The beams of a log around ``origin`` (3,), read from its sweeps each time; ``config`` as the map has it."""

    log: Log
    origin: Array
    config: MapConfig
    labels: LabelSet

    @property
    def slope(self) -> float:
        """Width of the beams of the log's sensor at 1 m, metres."""
        return 0.0 if self.log.sensor is None else self.log.sensor.beam_slope

    @property
    def sweeps(self) -> Array:
        """All sweeps of the log."""
        return np.arange(len(self.log))

    def select(self, sweeps: Array) -> LogBeams:
        """The beams of some sweeps."""
        return LogBeams(self.log[[int(at) for at in sweeps]], self.origin, self.config, self.labels)

    def blocks(self, what: str, empty_range_m: float, show: bool) -> Iterator[Beams]:
        """The beams sweep by sweep."""
        for sweep in track(self.log, what, show=show):
            kept = find_mappable(sweep, self.config, self.labels)
            yield extract_beams(sweep, self.origin, kept, empty_range_m)


def extract_beams(sweep: Sweep, origin: Array, kept: Array, empty_range_m: float) -> Beams:
    """The beams of a sweep, motion undone, around ``origin`` (3,).

    ``kept`` (n,) are the returns that the map holds: a beam that ended on anything else passed up to there. One
    without return passed up to ``empty_range_m``. Of several returns on a beam the nearest counts. Returns of a survey
    have a beam each, of which LAS' number_of_returns says how many share a pulse.
    """
    shift = sweep.pose.copy()
    shift[:3, 3] -= origin
    start, direction = sweep.deskewed_beams()
    length = np.full(sweep.n_beams, empty_range_m, np.float32)
    returned = np.zeros(sweep.n_beams, bool)
    beam, reach = sweep.beam, sweep.range
    if not (beam[1:] > beam[:-1]).all():  # several returns on a beam: the nearest is written last
        rows = np.lexsort((-reach, beam))
        beam, reach, kept = beam[rows], reach[rows], kept[rows]
    length[beam] = reach
    returned[beam] = kept
    return Beams(
        transform(shift, start.astype(np.float64)).astype(np.float32),
        np.ascontiguousarray(portable.matmul(direction.astype(np.float64), shift[:3, :3].T), np.float32),
        length,
        returned,
        _count_shared(sweep),
    )


def _count_shared(sweep: Sweep) -> Array | None:
    """The returns (b,) uint8 of the pulse that each beam is a part of; None if all are whole."""
    total, unclear = (sweep.extra.get(name) for name in ("number_of_returns", UNCLEAR))
    if len(sweep) != sweep.n_beams or (total is None and unclear is None):
        return None
    shared = np.ones(sweep.n_beams, np.uint8)
    if total is not None:
        shared[sweep.beam] = np.clip(total, 1, np.iinfo(np.uint8).max)
    if unclear is not None:
        shared[sweep.beam[unclear]] = 0
    return shared
