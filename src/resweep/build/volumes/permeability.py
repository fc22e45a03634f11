"""Permeability learned from beams (A, III-C), and matched to what simulated beams would show."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from resweep import _core, portable
from resweep.embree_library import open_embree
from resweep.map.beams import Beams, extract_beams
from resweep.map.map import Map
from resweep.neighbours import Neighbours
from resweep.pose import Array
from resweep.simulate.recorded_sensor import make_one_ray_sensor
from resweep.simulate.retrace import Retracer
from resweep.worlds import Layer, World
from resweep.worlds.layers.volumes import Volumes

# Chosen by hand where a line names no source.
_WITHIN = 0.999  # of half a chord: an end that was put on the isosurface is still within it
_SAME_POINT_M = 1e-3  # an end of a beam and the point of the map that it is: they differ by rounding
_MIN_HIT = 5  # simulated beams below which a volume's share of stops is unreliable
_STEP = 3.0  # most that a round changes the rate of stops by
_JEFFREYS_STOPPED, _JEFFREYS_BEAMS = 0.5, 1  # Jeffreys' prior of a share: half of one more beam
_MIN_PASSED, _MIN_STOPPED = 1e-6, 1e-4  # shares at least, so that rates of stops are neither infinite nor 0


@dataclass(frozen=True, eq=False)
class Counts:
    """Beams (v,) that ``passed`` each volume and were ``stopped`` in it, and their mean ``exposure_m``."""

    passed: Array
    stopped: Array
    exposure_m: Array

    @property
    def hit(self) -> Array:
        """Beams (v,) that passed or were stopped."""
        return np.asarray(self.passed + self.stopped)

    def __getitem__(self, rows: Array) -> Counts:
        return Counts(self.passed[rows], self.stopped[rows], self.exposure_m[rows])


class BeamCounter:
    """Counts, natively, the beams that pass or stop in each volume; ``slope`` is their width at 1 m, metres."""

    def __init__(self, volumes: Volumes, slope: float = 0.0, threads: int = 0) -> None:
        open_embree()
        self._volumes = volumes.lower()
        self._native = {1: _core.BeamCounter(self._volumes)}  # by the number of returns of their pulses
        self._slope, self._threads = slope, threads

    def add(self, beams: Beams) -> None:
        """Count further beams."""
        if beams.shared is None:
            self._add(beams, 1)
            return
        shared = np.maximum(beams.shared, 1)
        numbers = np.flatnonzero(np.bincount(shared)).tolist()
        for number in numbers:
            self._add(beams if len(numbers) == 1 else beams[np.flatnonzero(shared == number)], number)

    def _add(self, beams: Beams, shared: int) -> None:
        if shared not in self._native:
            self._native[shared] = _core.BeamCounter(self._volumes)
        columns = (beams.origin, beams.direction, beams.length, beams.returned)
        self._native[shared].add(*columns, self._slope, self._threads)

    @property
    def counts(self) -> Counts:
        """What was counted so far; a beam that shares its pulse with others counts as its share of it."""
        counted = {shared: _read_counts(native) for shared, native in sorted(self._native.items())}
        if len(counted) == 1:
            return counted[1]
        passed = sum(counts.passed / shared for shared, counts in counted.items())
        stopped = sum(counts.stopped / shared for shared, counts in counted.items())
        weighed = sum(counts.exposure_m * counts.hit / shared for shared, counts in counted.items())
        first = counted[1].exposure_m
        hit = np.asarray(passed + stopped)
        exposure = np.where(hit > 0, weighed / np.maximum(hit, 1e-12), first).astype(first.dtype)
        return Counts(np.asarray(passed), np.asarray(stopped), exposure)


def _read_counts(native: _core.BeamCounter) -> Counts:
    passed, stopped = (count.astype(np.int64) for count in (native.passed(), native.stopped()))
    return Counts(passed, stopped, native.exposure())


class OwnVolumes:
    """Which volume each point of a map belongs to, for beams that end on those points.

    A counts a beam as stopped if it ends in a voxel and *passes* within tau of its Gaussian (III-C-1): the end
    itself may lie farther out, as a quarter of a Gaussian's points do at tau = 2.
    """

    def __init__(self, points: Array, cluster: Array, volumes: Volumes) -> None:
        self.near = Neighbours(points)
        self.cluster = cluster
        self.volumes = volumes
        self.precision = portable.inv3(volumes.matrices)

    def clip_to_own_volume(self, beams: Beams) -> Beams:
        """The beams; those that pass their own volume but end beyond its isosurface end on that surface."""
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
        clipped = np.clip(length[rows], centre - half, centre + half)
        length[rows] = np.where(half > 0, clipped, length[rows])
        return replace(beams, length=length)


def match_permeability(
    map: Map, volumes: Volumes, others: Sequence[Layer], goal: Counts, empty_range_m: float, rounds: int
) -> Volumes:
    """The volumes with a permeability at which simulated beams are counted as the recorded ones are (``goal``).

    Counts alone mislead where volumes overlap: a beam that one of them stops has often passed the middle of
    another. So the log's beams are traced in the volumes and in the ``others`` of the world and counted, and the rate
    of stops -ln ρ of each volume is scaled by how far its share of stops is off, ``rounds`` times. A range drawn beyond
    tau counts as passed, which makes volumes a little denser: it makes up for beams that slip between them.
    """
    wanted = _stop_rate(goal.stopped / np.maximum(goal.passed + goal.stopped, 1))
    sensor = make_one_ray_sensor(map.beam_slope, empty_range_m)
    for index in range(rounds):
        tracer = Retracer(World([*others, volumes], map.origin), sensor, seed=index)
        counter = BeamCounter(volumes, map.beam_slope)
        for beams in _simulate_beams(map, tracer, empty_range_m):
            counter.add(beams)
        shown = counter.counts
        hit = shown.passed + shown.stopped
        share = (shown.stopped + _JEFFREYS_STOPPED) / (hit + _JEFFREYS_BEAMS)
        factor = np.clip(wanted / _stop_rate(share), 1 / _STEP, _STEP)
        rate = _stop_rate(1.0 - volumes.permeability.astype(np.float64)) * np.where(hit >= _MIN_HIT, factor, 1.0)
        volumes = volumes.with_(permeability=portable.exp(-rate).astype(np.float32))
    return volumes


def _stop_rate(stopped: Array) -> Array:
    """-ln of the share that passes, kept from 0 and infinity."""
    return np.asarray(-portable.log(np.clip(1.0 - stopped, _MIN_PASSED, 1 - _MIN_STOPPED)))


def _simulate_beams(map: Map, tracer: Retracer, empty_range_m: float) -> Iterator[Beams]:
    """The log's beams as far as they go in the traced world; none passes what stopped it and is not in the map."""
    for index, sweep in enumerate(map.sweeps("matching permeability")):
        recorded = map.beams(sweep, empty_range_m)
        traced = tracer.sweep(sweep, index)
        drawn = extract_beams(traced, map.origin, np.ones(len(traced), bool), empty_range_m)
        hidden = ~recorded.returned & (drawn.length > recorded.length)
        yield replace(
            drawn,
            length=np.where(hidden, recorded.length, drawn.length),
            returned=drawn.returned & ~hidden,
        )
