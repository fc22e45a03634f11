"""How a volume's permeability is learned from beams (A, III-C), and matched to what simulated beams would show."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from resweep import _core
from resweep.embree_library import open_embree
from resweep.log import Log
from resweep.neighbours import Neighbours
from resweep.pose import Array, transform
from resweep.sensors.catalog import beam_slope
from resweep.simulate.retrace import Retracer, one_ray_sensor
from resweep.sweep import Sweep
from resweep.worlds import Layer, World
from resweep.worlds.volumes import Volumes

_WITHIN = 0.999  # of half a chord: an end that was put on the isosurface is still within it
_SAME_POINT_M = 1e-3
_LEAST_MET = 5  # simulated beams below which a volume's share of stops says nothing
_STEP = 3.0  # most that a round changes the rate of stops by


@dataclass(frozen=True, eq=False)
class Beams:
    """Beams (n,) in the world, as far as they went.

    ``origin`` and ``direction`` (n, 3) float32, metres from an origin and unit; ``length`` metres to where the
    beam ended; ``returned`` is false where it met nothing that the map holds up to there.
    """

    origin: Array
    direction: Array
    length: Array
    returned: Array


@dataclass(frozen=True, eq=False)
class Counts:
    """Beams (v,) that ``passed`` each volume and were ``stopped`` in it, and their mean ``exposure_m``."""

    passed: Array
    stopped: Array
    exposure_m: Array


def log_slope(log: Log) -> float:
    """Width at 1 m, in metres, of a log's beams: by the spec that came with it, else by its sensor's name."""
    if log.sensor is not None:
        return float(np.sqrt(log.sensor.beam.divergence_h_rad * log.sensor.beam.divergence_v_rad))
    return beam_slope(log.sensor_name)


def sweep_beams(sweep: Sweep, origin: Array, kept: Array, empty_range_m: float) -> Beams:
    """The beams of a sweep, motion undone, around ``origin`` (3,).

    ``kept`` (n,) tells the returns that the map holds: a beam that ended on anything else passed up to there. One
    without return passed up to ``empty_range_m``. Of several returns on a beam the nearest counts.
    """
    shift = sweep.pose.copy()
    shift[:3, 3] -= origin
    start, direction = sweep.deskewed_beams()
    length = np.full(sweep.n_beams, empty_range_m, np.float32)
    returned = np.zeros(sweep.n_beams, bool)
    rows = np.lexsort((-sweep.range, sweep.beam))  # the nearest of a beam is written last
    length[sweep.beam[rows]] = sweep.range[rows]
    returned[sweep.beam[rows]] = kept[rows]
    return Beams(
        transform(shift, start.astype(np.float64)).astype(np.float32),
        np.ascontiguousarray(direction.astype(np.float64) @ shift[:3, :3].T, np.float32),
        length,
        returned,
    )


def count_beams(volumes: Volumes, beams: Iterator[Beams], slope: float = 0.0, threads: int = 0) -> Counts:
    """Count beams natively, as they come; ``slope`` is their width at 1 m."""
    open_embree()
    counter = _core.BeamCounter(volumes.lower())
    for part in beams:
        counter.add(part.origin, part.direction, part.length, part.returned, slope, threads)
    return Counts(counter.passed().astype(np.int64), counter.stopped().astype(np.int64), counter.exposure())


class OwnVolumes:
    """Which volume each point of a map belongs to, for beams that end on those points.

    A counts a beam as stopped if it ends in a voxel and *passes* within tau of its Gaussian (III-C-1): the end
    itself may lie farther out, as a quarter of a Gaussian's points do at tau = 2.
    """

    def __init__(self, points: Array, cluster: Array, volumes: Volumes) -> None:
        self.near = Neighbours(points)
        self.cluster = cluster
        self.volumes = volumes
        self.precision = np.linalg.inv(volumes.matrices)

    def ended(self, beams: Beams) -> Beams:
        """The beams, those that end beyond the isosurface of their own volume but pass it ended on that surface."""
        rows = np.flatnonzero(beams.returned)
        end = beams.origin[rows] + beams.direction[rows] * beams.length[rows, None]
        found = self.near.knn(end.astype(np.float32), 1, _SAME_POINT_M).index[:, 0]
        rows, own = rows[found >= 0], self.cluster[found[found >= 0]]
        direction = beams.direction[rows].astype(np.float64)
        away = self.volumes.mean[own].astype(np.float64) - beams.origin[rows]
        weighed = np.einsum("nij,nj->ni", self.precision[own], direction)
        squared = (weighed * direction).sum(axis=1)
        centre = (weighed * away).sum(axis=1) / squared  # A, eq. 1
        nearest = centre[:, None] * direction - away
        offset2 = np.einsum("ni,nij,nj->n", nearest, self.precision[own], nearest)
        half = _WITHIN * np.sqrt(np.maximum(self.volumes.tau**2 - offset2, 0.0) / squared)
        length = beams.length.copy()
        held = np.clip(length[rows], centre - half, centre + half)
        length[rows] = np.where(half > 0, held, length[rows])
        return replace(beams, length=length)


def matched(
    volumes: Volumes,
    others: Sequence[Layer],
    origin: Array,
    log: Log,
    beams: Callable[[Sweep], Beams],
    goal: Counts,
    slope: float,
    empty_range_m: float,
    rounds: int,
) -> Volumes:
    """The volumes with a permeability at which simulated beams are counted as the recorded ones are (``goal``).

    Counts alone mislead where volumes overlap: a beam that one of them stops has often passed the middle of
    another. So the log's beams are traced in the volumes and in the ``others`` of the world and counted, and the rate
    of stops -ln ρ of each volume is scaled by how far its share of stops is off, ``rounds`` times. A range drawn beyond
    tau counts as passed, which makes volumes a little denser: it makes up for beams that slip between them.
    """
    wanted = _rate(goal.stopped / np.maximum(goal.passed + goal.stopped, 1))
    sensor = one_ray_sensor(slope, empty_range_m)
    for index in range(rounds):
        tracer = Retracer(World([*others, volumes], origin), sensor, seed=index)
        shown = count_beams(volumes, _simulated(log, tracer, beams, empty_range_m), slope)
        met = shown.passed + shown.stopped
        factor = np.clip(wanted / _rate((shown.stopped + 0.5) / (met + 1)), 1 / _STEP, _STEP)
        rate = _rate(1.0 - volumes.permeability.astype(np.float64)) * np.where(met >= _LEAST_MET, factor, 1.0)
        volumes = volumes.with_(permeability=np.exp(-rate).astype(np.float32))
    return volumes


def _rate(stopped: Array) -> Array:
    """-ln of the share that passes, kept from 0 and infinity."""
    return np.asarray(-np.log(np.clip(1.0 - stopped, 1e-6, 1 - 1e-4)))


def _simulated(log: Log, tracer: Retracer, beams: Callable[[Sweep], Beams], empty_range_m: float) -> Iterator[Beams]:
    """The log's beams as far as they go in the traced world; none passes what stopped it and is not in the map."""
    for index, sweep in enumerate(log):
        recorded = beams(sweep)
        traced = tracer.sweep(sweep, index)
        drawn = sweep_beams(traced, tracer.world.origin, np.ones(len(traced), bool), empty_range_m)
        hidden = ~recorded.returned & (drawn.length > recorded.length)
        yield replace(
            drawn,
            length=np.where(hidden, recorded.length, drawn.length),
            returned=drawn.returned & ~hidden,
        )
