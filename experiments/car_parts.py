"""The cars of a recorded drive and their parts, by which `experiments.d_cars` compares recorded and simulated beams.

A car is an instance of the labels. One that stands is known from all sweeps, one that moves from the compared sweep
alone. Parts are bands of its height above the ground under it; an edge is a beam beside which another one misses it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.spatial import ConvexHull, cKDTree

import resweep as rs
from resweep.labels import Group
from resweep.pose import Array, inverse, transform
from resweep.sweep import Sweep

PARTS = ("wheels", "body", "windows", "roof")
NO_PART = -1
# Chosen by hand.
_BANDS = (0.22, 0.62, 0.90)  # of the height: above the sills, the window line, and below the roof
_TOP = 0.995  # of the heights of a car's points, that is its height
_GROUND_BESIDE_M = 1.0  # around a car, where its ground is looked for
_MIN_POINTS = 20  # of a car that has parts
_ID = 0xFFFF  # the bits of an instance id in the labels; actors have their label above them
_UNDER_M = 0.3  # from a point of a car, seen from above, within which ground is under or beside it


@dataclass(frozen=True, eq=False)
class Car:
    """One car: the points (n, 3) on it, in the world, and of the ground and height of which metres."""

    instance: int
    moving: bool
    points: Array
    ground_m: float
    height_m: float

    def find_parts(self, points: Array) -> Array:
        """The part (n,) of points (n, 3) in the world, as an index of `PARTS`."""
        share = (points[:, 2] - self.ground_m) / max(self.height_m, 0.5)
        return np.asarray(np.searchsorted(_BANDS, share).astype(np.int8))


def list_cars(sweeps: Sequence[Sweep], held: int, labels: rs.LabelSet) -> list[Car]:
    """The cars that sweep ``held`` hit, of which it has enough points."""
    ids = find_car_labels(labels)
    grounds = labels.in_group(Group.GROUND)
    cars: list[Car] = []
    ground = np.concatenate([sweep.world_points()[np.isin(sweep.label, grounds)] for sweep in sweeps])
    near = cKDTree(ground[:, :2])
    for moving in (False, True):
        label = [item for item in ids if (item in labels.moving) == moving]
        used = [sweeps[held]] if moving else sweeps
        at = np.isin(sweeps[held].label, label)
        for instance in np.unique(sweeps[held].instance[at]):
            rows = [np.isin(sweep.label, label) & (sweep.instance == instance) for sweep in used]
            points = np.concatenate([s.world_points()[row] for s, row in zip(used, rows, strict=True)])
            if np.count_nonzero(at & (sweeps[held].instance == instance)) < _MIN_POINTS:
                continue
            floor = _find_ground(points, ground, near)
            height = float(np.quantile(points[:, 2], _TOP)) - floor
            cars.append(Car(int(instance), moving, points, floor, height))
    return cars


def find_car_labels(labels: rs.LabelSet) -> list[int]:
    """The ids of cars, those that move among them."""
    return [label for label, item in labels.classes.items() if item.category == "car"]


def _find_ground(points: Array, ground: Array, near: cKDTree) -> float:
    """The height of the ground around a car; that of its lowest points where none is known."""
    beside = near.query_ball_point(points[:: max(len(points) // 200, 1), :2], _GROUND_BESIDE_M)
    rows = np.unique(np.concatenate([np.asarray(row, np.int64) for row in beside]))
    return float(np.median(ground[rows, 2])) if len(rows) else float(points[:, 2].min())


@dataclass(frozen=True, eq=False)
class Outline:
    """What a sensor sees of the cars: for each beam (b,) the car within whose outline it lies, and which part there.

    ``car`` is an index in the list of cars, -1 in none; ``part`` an index of `PARTS`; ``near_m`` the range at which
    the car is, there.
    """

    car: Array
    part: Array
    near_m: Array


def find_outlines(cars: Sequence[Car], sweep: Sweep) -> Outline:
    """The outlines of cars in a sweep where it lies in the world: the nearest car where two overlap."""
    _, direction = sweep.deskewed_beams()
    azimuth, elevation = _find_angles(direction.astype(np.float64))
    car, part = np.full(len(direction), -1, np.int16), np.full(len(direction), NO_PART, np.int8)
    near = np.full(len(direction), np.inf)
    for number, each in enumerate(cars):
        local = transform(inverse(sweep.pose), each.points)
        far = np.linalg.norm(local, axis=1)
        x, y = _find_angles(local / far[:, None])
        middle = float(np.median(x))
        x, around = _wrap(x - middle), _wrap(azimuth - middle)
        seen = np.column_stack([x, y])
        rows = np.flatnonzero((np.abs(around) <= np.abs(x).max()) & (elevation >= y.min()) & (elevation <= y.max()))
        asked = np.column_stack([around[rows], elevation[rows]])
        hull = ConvexHull(seen)
        rows = rows[(asked @ hull.equations[:, :2].T + hull.equations[:, 2] <= 1e-9).all(axis=1)]
        asked = np.column_stack([around[rows], elevation[rows]])
        _, like = cKDTree(seen).query(asked)
        closer = far[like] < near[rows]
        rows, like = rows[closer], like[closer]
        car[rows], near[rows], part[rows] = number, far[like], each.find_parts(each.points[like])
    return Outline(car, part, near)


def _find_angles(direction: Array) -> tuple[Array, Array]:
    return np.arctan2(direction[:, 1], direction[:, 0]), np.arcsin(np.clip(direction[:, 2], -1, 1))


def _wrap(angle: Array) -> Array:
    return np.asarray((angle + np.pi) % (2 * np.pi) - np.pi)


@dataclass(frozen=True, eq=False)
class BeamReturns:
    """The first return of every beam (b,): its range, infinite where there is none, and on which car and part.

    ``kind`` is what was hit: 0 nothing, 1 ground, 2 a car, 3 anything else.
    """

    range: Array
    car: Array
    part: Array
    kind: Array


def find_returns(sweep: Sweep, cars: Sequence[Car], labels: rs.LabelSet, placed: Sweep) -> BeamReturns:
    """The returns of a sweep by beam; ``placed`` is the same sweep where it lies in the world of the cars.

    A return on a car of the labels belongs to that of its instance.
    """
    count = sweep.n_beams
    ranges = np.full(count, np.inf)
    car, part = np.full(count, -1, np.int16), np.full(count, NO_PART, np.int8)
    kind: Array = np.zeros(count, np.int8)
    first = np.flatnonzero(sweep.return_index == 0)
    ids = find_car_labels(labels)
    kinds = np.where(np.isin(sweep.label, labels.in_group(Group.GROUND)), 1, np.where(np.isin(sweep.label, ids), 2, 3))
    ranges[sweep.beam[first]], kind[sweep.beam[first]] = sweep.range[first], kinds[first]
    points = placed.world_points()
    for number, each in enumerate(cars):
        own = [item for item in ids if (item in labels.moving) == each.moving]
        rows = first[np.isin(sweep.label[first], own) & ((sweep.instance[first] & _ID) == each.instance)]
        car[sweep.beam[rows]], part[sweep.beam[rows]] = number, each.find_parts(points[rows])
    return BeamReturns(ranges, car, part, kind)


def find_ground(sweep: Sweep, placed: Sweep, cars: Sequence[Car], labels: rs.LabelSet) -> Array:
    """The car (b,) under or close beside which each beam hit the ground, as an index of ``cars``; -1 for none."""
    found = np.full(sweep.n_beams, -1, np.int16)
    rows = np.flatnonzero(np.isin(sweep.label, labels.in_group(Group.GROUND)))
    places = placed.world_points()[rows, :2]
    for number, each in enumerate(cars):
        near = cKDTree(each.points[:, :2]).query(places, distance_upper_bound=_UNDER_M)[0] < _UNDER_M
        found[sweep.beam[rows[near]]] = number
    return found


def find_edges(found: BeamReturns, sweep: Sweep) -> Array:
    """Beams (b,) bool that hit a car beside a beam of their ring that hit something else, or nothing."""
    order = np.lexsort((sweep.beam_column, sweep.beam_ring))
    ring, car = sweep.beam_ring[order], found.car[order]
    beside = (ring[1:] == ring[:-1]) & (car[1:] != car[:-1])
    edge: Array = np.zeros(len(order), bool)
    edge[order[1:][beside]] = True
    edge[order[:-1][beside]] = True
    return np.asarray(edge & (found.car >= 0))
