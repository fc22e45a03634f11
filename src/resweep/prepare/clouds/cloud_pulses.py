"""Where the sensor was, from pulses of several returns.

All returns of a pulse lie on one line through the sensor. Lines of pulses that were fired within half a second
intersect where it was (Roussel, Bourdon and Achim 2020, "Range and scan angle normalization of LiDAR"; Gatziolis and
McGaughey 2019, "Reconstructing aircraft trajectories from multi-return airborne laser-scanning data").
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from resweep import portable
from resweep.pose import Array
from resweep.sweep import Sweep

# Chosen by hand but for the first.
_BIN_S = 0.5  # within which a sensor is taken as stationary, as in Roussel 2020
_MIN_LENGTH_M = 0.5  # between the first and the last return of a pulse that gives a line
_MIN_LINES = 10  # lines that give a position
_ROUNDS = 6  # of reweighting
_MAX_OFF_RAD = np.deg2rad(3.0)  # by which a line may miss the position
_MIN_NEAR_SHARE = 0.5  # of the lines, which must miss it by less
_MAX_UNSURE = 0.2  # standard deviation of a position, as a share of its distance
_MAX_LINES = 500_000  # an even selection of more: bounds memory
_LOOKED_AT = 1000  # returns whose times show whether pulses have times of their own
_CAUCHY_WIDTH = 3.0  # of the robust weights, in median misses


@dataclass(frozen=True, eq=False)
class Lines:
    """Pulses (n,): ``point`` (n, 3) their first returns, ``up`` (n, 3) unit towards the sensor, ``length_m`` between
    first and last return, ``time`` seconds and ``source``, the flight line."""

    point: Array
    up: Array
    length_m: Array
    time: Array
    source: Array

    @classmethod
    def join(cls, parts: Sequence[Lines]) -> Lines:
        """All lines, or an even selection of them where they are very many."""
        step = max(1, -(-sum(len(part.time) for part in parts) // _MAX_LINES))
        columns = [
            [getattr(part, name)[::step] for part in parts] for name in ("point", "up", "length_m", "time", "source")
        ]
        return cls(*(np.concatenate(column) for column in columns))


def read_lines(sweep: Sweep, points: Array) -> Lines:
    """The lines of the pulses of a sweep of which all returns are there; ``points`` (n, 3) are its returns.

    Returns of one pulse have one GPS time and one source.
    """
    total = read_return_counts(sweep)
    source = read_sources(sweep)
    rows = np.flatnonzero(total >= 2)
    if len(np.unique(sweep.time[rows[:_LOOKED_AT]])) < 2:  # no times, or one for all
        rows = rows[:0]
    rows = rows[np.lexsort((sweep.return_index[rows], sweep.time[rows], source[rows]))]
    time, origin = sweep.time[rows], source[rows]
    new = np.concatenate([[True], (time[1:] != time[:-1]) | (origin[1:] != origin[:-1])])[: len(rows)]
    first = np.flatnonzero(new)
    size = np.diff(np.append(first, len(rows)))
    number = sweep.return_index[rows].astype(np.int64)
    last = first + size - 1
    whole = (size == total[rows[first]]) & (number[first] == 0) & (number[last] == size - 1)
    first, last = first[whole], last[whole]
    begin, end = points[rows[first]], points[rows[last]]
    length = portable.norm(begin - end)
    long = length >= _MIN_LENGTH_M
    up = (begin - end)[long] / length[long, None]
    return Lines(begin[long], up, length[long], time[first][long], origin[first][long])


def read_return_counts(sweep: Sweep) -> Array:
    """How many returns (n,) int64 the pulse of each return had, by LAS' number_of_returns; 1 where unknown."""
    if "number_of_returns" not in sweep.extra:
        return np.ones(len(sweep), np.int64)
    return np.maximum(np.asarray(sweep.extra["number_of_returns"]).astype(np.int64), 1)


def read_sources(sweep: Sweep) -> Array:
    """The flight line (n,) int64 of each return, by LAS' point_source_id; 0 where unknown."""
    return np.asarray(sweep.extra.get("point_source_id", np.zeros(len(sweep)))).astype(np.int64)


@dataclass(frozen=True, eq=False)
class Track:
    """Positions (m, 3) of a sensor at times (m,), ascending, for each source."""

    by_source: dict[int, tuple[Array, Array]]

    def find(self, time: Array, source: Array) -> Array:
        """Positions (n, 3): interpolated between those known, the nearest beyond; NaN for an unknown source."""
        found = np.full((len(time), 3), np.nan)
        for number, (times, places) in self.by_source.items():
            rows = np.flatnonzero(source == number)
            for axis in range(3):
                found[rows, axis] = np.interp(time[rows], times, places[:, axis])
        return found


def find_track(lines: Lines) -> Track:
    """Where the sensor was, every half second in which enough lines intersect; it may be empty."""
    if len(lines.time) == 0:
        return Track({})
    slot = np.floor((lines.time - lines.time.min()) / _BIN_S).astype(np.int64)
    _, number = np.unique(np.stack([lines.source, slot], axis=1), axis=0, return_inverse=True)
    number = number.reshape(-1)
    place, good = _intersect(lines, number, int(number.max()) + 1)
    found: dict[int, tuple[Array, Array]] = {}
    count = np.bincount(number)
    time = np.bincount(number, lines.time) / count
    first = np.zeros(len(count), np.int64)
    first[number[::-1]] = np.arange(len(number))[::-1]
    of_slot = lines.source[first]
    for source in np.unique(lines.source).tolist():
        rows = np.flatnonzero(good & (of_slot == source))
        if len(rows):
            rows = rows[np.argsort(time[rows], kind="stable")]
            found[int(source)] = time[rows], place[rows]
    return Track(found)


def _intersect(lines: Lines, number: Array, count: int) -> tuple[Array, Array]:
    """The points (count, 3) nearest to the lines of each group, and whether they are known well (count,).

    A line errs by an angle that falls with the distance of its returns; lines that miss by far count little.
    """
    middle = lines.point.mean(axis=0)
    point = lines.point - middle
    across = np.eye(3) - lines.up[:, :, None] * lines.up[:, None, :]
    weight = lines.length_m**2
    place: Array = np.zeros((count, 3))
    for _ in range(_ROUNDS):
        place, _ = _solve_lines(across, point, weight, number, count)
        distance, angle = _measure(across, point, place[number])
        noise = np.maximum(np.median(angle * lines.length_m), 1e-9)
        error = distance * noise / lines.length_m  # metres by which a line misses
        weight = 1.0 / (error**2 * (1.0 + (angle * lines.length_m / (_CAUCHY_WIDTH * noise)) ** 2))
    place, covariance = _solve_lines(across, point, weight, number, count)
    distance, angle = _measure(across, point, place[number])
    ahead = np.einsum("ni,ni->n", place[number] - point, lines.up) > 0
    lines_of = np.bincount(number, minlength=count)
    mean_m = np.bincount(number, distance, count) / np.maximum(lines_of, 1)
    near = np.bincount(number, (angle < _MAX_OFF_RAD) & ahead, count) / np.maximum(lines_of, 1)
    unsure = np.sqrt(np.maximum(np.trace(covariance, axis1=1, axis2=2), 0.0))
    good = (lines_of >= _MIN_LINES) & (near >= _MIN_NEAR_SHARE) & (unsure < _MAX_UNSURE * mean_m)
    return place + middle, np.asarray(good & np.isfinite(place).all(axis=1))


def _solve_lines(across: Array, point: Array, weight: Array, number: Array, count: int) -> tuple[Array, Array]:
    matrix, right = np.zeros((count, 3, 3)), np.zeros((count, 3))
    weighed = across * weight[:, None, None]
    for i in range(3):
        right[:, i] = np.bincount(number, np.einsum("nj,nj->n", weighed[:, i], point), count)
        for j in range(3):
            matrix[:, i, j] = np.bincount(number, weighed[:, i, j], count)
    scale = np.maximum(np.trace(matrix, axis1=1, axis2=2), 1e-300)
    with np.errstate(all="ignore"):  # groups of parallel lines have no intersection
        inverse = portable.inv3(matrix / scale[:, None, None]) / scale[:, None, None]
        place = np.einsum("nij,nj->ni", inverse, right)
    return np.nan_to_num(place, nan=0.0, posinf=0.0, neginf=0.0), np.nan_to_num(inverse, nan=np.inf, posinf=np.inf)


def _measure(across: Array, point: Array, place: Array) -> tuple[Array, Array]:
    """Distance (n,) of each line's point from its place, and the angle (n,) by which the line misses it."""
    away = place - point
    distance = np.maximum(portable.norm(away), 1e-6)
    miss = portable.norm(np.einsum("nij,nj->ni", across, away))
    return distance, np.asarray(np.minimum(miss / distance, 1.0))
