"""Neighbourhoods of the points of a map: nearest points, normals and shapes, and the growing of splats.

The neighbourhood of a point is the smaller of its K nearest points and a sphere (C, 3.1). The point is one of its own
neighbours and counts as one of the K. All functions run natively on all cores. No table of the
neighbours of all points is kept: an index takes 18 bytes a point, and 34 while it is built; shapes take at most 52
bytes a point; growing splats takes 17 bytes a point and at most 32 a splat. The result depends on the points and their
order, never on the number of threads.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from resweep import _core
from resweep.errors import ResweepError
from resweep.pose import Array

ALPHA, BETA = 0.2, 0.6  # C, 3.1 and 3.2
_SAMPLE = 100_000  # points that a mean is taken over: its error is below a hundredth of the spread
_MIN_ORDERED = 1000  # queries from which on ordering them pays
_MAX_POINTS = 2**31 - 1


@dataclass(frozen=True, eq=False)
class KnnResult:
    """Neighbours (m, k) by distance: ``index`` int32 and ``distance2`` float32 in m²; −1 and infinity for none."""

    index: Array
    distance2: Array


@dataclass(frozen=True, eq=False)
class Pca:
    """The shape of every point's neighbourhood, float32, in metres.

    ``normal`` (n, 3): the direction of least variance, with z ≥ 0; zero with fewer than three neighbours.
    ``eigenvalues`` (n, 3): of the covariance, m², descending. ``mean_offset`` (n, 3): the mean of the neighbours
    less the point. ``count`` (n,) int32 and ``radius`` (n,): neighbours, and the distance of the farthest.
    ``mean_abs_plane_distance`` and ``std_abs_plane_distance`` (n,): of |n · (pₖ − pᵢ)| (C, eq. 4).
    Columns that were not asked for are empty.
    """

    normal: Array
    eigenvalues: Array
    mean_offset: Array
    radius: Array
    mean_abs_plane_distance: Array
    std_abs_plane_distance: Array
    count: Array


@dataclass(frozen=True, eq=False)
class Growth:
    """Splats (m,) that grew: row of the ``seed``, ``count`` of points included, ``radius`` in metres (C, eq. 6).

    The centre is the seed's point plus ``shift`` times its normal (C, eq. 5). ``values`` (m, c) are means over
    the points included.
    """

    seed: Array
    count: Array
    shift: Array
    radius: Array
    values: Array


PCA_COLUMNS = tuple(item.name for item in fields(Pca))


class Neighbours:
    """An index of ``points`` (n, 3), metres, of any density and anywhere: UTM coordinates lose nothing.

    Coordinates are rounded to ``step_m``, a 2³¹th of the extent of the points or less than twice that.
    ``threads``: 0 for all cores.
    """

    def __init__(self, points: ArrayLike, threads: int = 0) -> None:
        rows = _check_rows(points, "points")
        if len(rows) > _MAX_POINTS:
            raise ResweepError(f"points: {len(rows)} are more than an index takes ({_MAX_POINTS}); build by tiles")
        self.threads = threads
        self._tree = _core.KdTree(rows, threads)
        self._n = len(rows)

    def __len__(self) -> int:
        return self._n

    @property
    def step_m(self) -> float:
        """What coordinates are rounded to, in metres."""
        return float(self._tree.step)

    def knn(self, queries: ArrayLike | None, k: int, max_radius: float = np.inf) -> KnnResult:
        """The ``k`` nearest points of ``queries`` (m, 3), or of every point with ``None``, within ``max_radius``.

        The result has m · k entries: query in blocks where that is too many.
        """
        places = None if queries is None else _check_rows(queries, "queries").astype(np.float64, copy=False)
        extent = _check_count(k), _check_radius(max_radius, "max_radius"), self.threads
        if places is None or len(places) < _MIN_ORDERED:
            index, distance2 = self._tree.knn(places, *extent)
            return KnnResult(index.reshape(-1, k), distance2.reshape(-1, k))
        # Queries near each other find the same part of the tree in the processor's cache: a third less time.
        order = _order_by_place(places)
        found = [values.reshape(-1, k) for values in self._tree.knn(places[order], *extent)]
        ordered = [np.empty_like(values) for values in found]
        for target, values in zip(ordered, found, strict=True):
            target[order] = values
        return KnnResult(*ordered)

    def radius_count(self, radius: float) -> Array:
        """How many points (n,) int32 lie within ``radius`` of each, itself included."""
        return self._tree.radius_count(_check_radius(radius, "radius"), self.threads)

    def mean_radius(self, k: int, sample: int | None = _SAMPLE) -> float:
        """R̄ of C 3.1: the mean over the points of the distance to the farthest of their ``k`` nearest.

        Taken over about ``sample`` points spread evenly over the map, or over all of them with ``None``.
        """
        return float(self._tree.mean_radius(_check_count(k), self._stride(sample), self.threads))

    def mean_plane_distance(self, k: int, max_radius: float, sample: int | None = _SAMPLE) -> float:
        """ε̄ of C 3.1: the mean distance, metres, of neighbours from the plane of their point (C, eq. 4).

        Taken over about ``sample`` points spread evenly over the map, or over all of them with ``None``.
        """
        reach = _check_radius(max_radius, "max_radius")
        return float(self._tree.mean_plane_distance(_check_count(k), reach, self._stride(sample), self.threads))

    def pca(self, k: ArrayLike, max_radius: ArrayLike = np.inf, only: Sequence[str] = PCA_COLUMNS) -> Pca:
        """The shape of the neighbourhoods; ``k`` and ``max_radius`` for all, or one for each point (n,).

        ``only`` names the columns of `Pca` that are wanted. A point with a ``k`` of 0 is skipped: its row is zero.
        """
        extent = self._counts(k, minimum=0), self._lengths(max_radius, "max_radius")
        return Pca(**self._tree.pca(*extent, list(only), self.threads))

    def grow(
        self,
        normal: ArrayLike,
        k: ArrayLike,
        radius: ArrayLike,
        bound: ArrayLike,
        label: ArrayLike = 0,
        alpha: float = ALPHA,
        beta: float = BETA,
        values: ArrayLike | None = None,
    ) -> Growth:
        """Splats that grow from the points with unit ``normal`` (n, 3) over their neighbourhoods (C, 3.1 and 3.2).

        A seed includes its neighbours in the order of their distance. It stops at the first that is farther than
        ``bound`` from its plane, has another ``label``, or a normal whose cosine to its own is ``beta`` or less.
        Neighbours within ``alpha`` times the radius of the centre are no longer seeds. Splats of radius 0 are not
        kept, and a point with a zero normal is no seed. ``k``, ``radius``, ``bound`` and ``label`` are for all or one
        for each point; ``values`` (n, c) are averaged over the points of each splat. Seeds come in `seed_order`. The
        nearer ``radius`` is to that of the ``k`` nearest (`Pca.radius`), the faster.
        """
        rows = _check_rows(normal, "normal").astype(np.float32, copy=False)
        averaged = np.zeros((self._n, 0), np.float32) if values is None else np.ascontiguousarray(values, np.float32)
        if len(rows) != self._n or averaged.ndim != 2 or len(averaged) != self._n:
            raise ResweepError(f"normal, values: expected a row for each of the {self._n} points")
        kind = self._column(label, np.int32, "label")
        extent = self._counts(k), self._lengths(radius, "radius"), self._lengths(bound, "bound")
        grown = self._tree.grow(rows, *extent, kind, alpha, beta, averaged, self.threads)
        means = grown.pop("values").reshape(len(grown["seed"]), averaged.shape[1])
        return Growth(**grown, values=means)

    def join(
        self, normal: Array, kind: Array, missing: Array, k: int, radius: float, beta: float = BETA
    ) -> tuple[Array, Array]:
        """Rows (m,) int32 of points that need further points near them, and of a neighbour to join each with (C, 3.4).

        A point with ``missing`` (n,) int32 above 0 is joined with so many of its ``k`` nearest within ``radius``, the
        farthest first, that are of its ``kind`` (n,) int32 and have a normal with a cosine to its own above ``beta``.
        """
        return self._tree.join(
            normal, kind, missing, _check_count(k), _check_radius(radius, "radius"), beta, self.threads
        )

    def seed_order(self) -> Array:
        """The rows (n,) of the points in the order in which `grow` visits them: spread over the map first."""
        return self._tree.seed_order()

    def _stride(self, sample: int | None) -> int:
        """The step between the leaves of the tree that are sampled."""
        return 1 if sample is None else max(1, self._n // max(sample, 1))

    def _counts(self, k: ArrayLike, minimum: int = 1) -> Array:
        counts = self._column(k, np.int32, "k")
        if self._n and counts.min() < minimum:
            raise ResweepError(f"k: every point needs at least {minimum}")
        return counts

    def _lengths(self, lengths: ArrayLike, name: str) -> Array:
        column = self._column(lengths, np.float32, name)
        if self._n and not column.min() >= 0:  # also false of NaN
            raise ResweepError(f"{name}: expected metres, 0 or more")
        return column

    def _column(self, values: ArrayLike, dtype: Any, name: str) -> Array:
        """One value for each point; a single one is repeated without taking memory."""
        column = np.asarray(values, dtype)
        if column.shape not in ((), (self._n,)):
            raise ResweepError(f"{name}: shape {column.shape}, expected one value or one for each of {self._n} points")
        return np.broadcast_to(column, (self._n,))


def _order_by_place(places: Array) -> Array:
    """Rows (n,) of ``places`` (n, 3) along a Z-order curve through a grid of 1024 cells a side (Morton 1966)."""
    low = places.min(axis=0)
    size = max(float((places.max(axis=0) - low).max()), 1e-9) / 1023.0
    code = np.zeros(len(places), np.uint32)
    for axis in range(3):
        cell = ((places[:, axis] - low[axis]) / size).astype(np.uint32)
        for shift, mask in ((16, 0x030000FF), (8, 0x0300F00F), (4, 0x030C30C3), (2, 0x09249249)):  # spread ten bits
            cell = (cell | (cell << np.uint32(shift))) & np.uint32(mask)
        code |= cell << np.uint32(axis)
    return np.argsort(code, kind="stable")


def _check_rows(points: ArrayLike, name: str) -> Array:
    """Rows (n, 3) that are finite, float32 or float64, in C order."""
    rows = np.asarray(points)
    if rows.ndim != 2 or rows.shape[1] != 3:
        raise ResweepError(f"{name}: shape {rows.shape}, expected (n, 3)")
    rows = np.ascontiguousarray(rows, np.float32 if rows.dtype == np.float32 else np.float64)
    # The sum is finite if all values are, and takes no memory. Only where it is not, each value is checked.
    if not np.isfinite(rows.sum()) and not np.isfinite(rows).all():
        bad = int(np.flatnonzero(~np.isfinite(rows).all(axis=1))[0])
        raise ResweepError(f"{name}: row {bad} holds NaN or infinity; remove such rows first")
    return rows


def _check_count(k: int) -> int:
    if k < 1:
        raise ResweepError(f"k: {k}, expected at least 1")
    return k


def _check_radius(radius: float, name: str) -> float:
    if not radius >= 0:
        raise ResweepError(f"{name}: {radius}, expected metres, 0 or more")
    return float(radius)
